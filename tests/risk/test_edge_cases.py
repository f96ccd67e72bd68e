"""Tables at the edge: risk and utility answer, in plain numbers that JSON can hold."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko


def facts(release, **options):
    found = release.risk(sampling_fraction=0.1, **options), release.utility(queries=50)
    for part in found:
        text = json.dumps(part, ensure_ascii=False, allow_nan=False)
        assert json.loads(text) == part
    return found


def people(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return {"age": rng.integers(20, 60, n), "sex": rng.choice(["f", "m"], n)}


def test_no_sensitive_attribute():
    release = ko.anonymize(pa.table(people()), quasi_identifiers=["age", "sex"], privacy=[ko.KAnonymity(4)])
    risk, utility = facts(release)
    assert risk["attribute_disclosure"] == [] and utility["classification"] is None
    assert risk["prosecutor"]["after"]["maximum"] <= 1 / 4


def test_one_class_and_everything_suppressed():
    release = ko.anonymize(
        pa.table(people() | {"ill": ["a", "b"] * 30}),
        quasi_identifiers=["age", "sex"],
        sensitive=["ill"],
        privacy=[ko.KAnonymity(60)],
    )
    assert set(release.arrow["age"].to_pylist()) == {"*"}
    risk, utility = facts(release)
    assert risk["prosecutor"]["after"]["maximum"] == pytest.approx(1 / 60)
    assert risk["linkage"]["after"]["maximum"] == pytest.approx(1 / 60)
    assert risk["attribute_disclosure"][0]["after"]["average"] == 0.5
    assert all(pair["after"] < 1e-9 for pair in utility["association"]["pairs"])


def test_one_quasi_identifier_with_one_value():
    release = ko.anonymize(
        pa.table({"sex": ["f"] * 5}), quasi_identifiers=["sex"], privacy=[ko.KAnonymity(2)]
    )
    risk, utility = facts(release)
    assert risk["prosecutor"]["before"]["maximum"] == risk["prosecutor"]["after"]["maximum"] == 0.2
    assert utility["association"] is None and utility["queries"]["median_relative_error"] == 0


@pytest.mark.long
def test_a_hundred_attributes():
    rng = np.random.default_rng(0)
    names = [f"q{i}" for i in range(100)]
    table = pa.table({name: rng.integers(0, 5, 200) for name in names} | {"ill": rng.choice(["a", "b"], 200)})
    release = ko.anonymize(table, quasi_identifiers=names, sensitive=["ill"], privacy=[ko.KAnonymity(5)])
    risk, utility = facts(release)
    assert risk["linkage"]["after"]["maximum"] <= 0.2
    assert utility["association"]["sampled"] and len(utility["association"]["pairs"]) == 200


def test_odd_names_nulls_and_no_value_at_all():
    table = pa.table(
        {
            "найти | <b>": ["a", None, "b", "b", None, "a"],
            "": [1.5, None, 2.5, 2.5, 1.5, None],
            "пусто": pa.nulls(6, pa.string()),
            "病": ["x", None, "x", "y", "y", "x"],
        }
    )
    release = ko.anonymize(
        table, quasi_identifiers=["найти | <b>", "", "пусто"], sensitive=["病"], privacy=[ko.KAnonymity(2)]
    )
    risk, utility = facts(release)
    assert risk["prosecutor"]["after"]["maximum"] <= 0.5
    assert risk["attribute_disclosure"][0]["attribute"] == "病"
    assert not math.isnan(utility["queries"]["median_relative_error"])


@pytest.mark.parametrize("suppressed", ["star", "drop"])
def test_a_withheld_record_that_would_be_found_is_left_out(suppressed):
    values = ["a"] * 5 + ["b"] * 5 + ["odd"]
    release = ko.anonymize(
        pa.table({"q": values}),
        quasi_identifiers=["q"],
        privacy=[ko.KAnonymity(5)],
        algorithm="forest",
        suppression=0.1,
        suppressed=suppressed,
    )
    assert release.verdict.withheld == 1
    risk, _ = facts(release)
    assert risk["records"] == 10 and risk["withheld"] == 1
    assert risk["prosecutor"]["after"]["maximum"] == 0.2
    linkage = risk["linkage"]
    assert linkage["after"]["maximum"] == 0.2 and linkage["after_withheld"] is None
    assert release.facts()["suppressed_as"] == "drop"


def test_tables_with_items():
    rng = np.random.default_rng(0)
    bought = [[f"i{i}" for i in range(6) if rng.random() < 0.4] for _ in range(60)]
    for extra in ({}, people()):
        release = ko.anonymize(
            pa.table(extra | {"bought": bought}),
            quasi_identifiers=list(extra) or None,
            items="bought",
            privacy=ko.KmAnonymity(4, 2),
        )
        risk, utility = facts(release)
        assert risk["linkage"]["after"]["maximum"] <= 1 / 4
        assert (utility["queries"] is None) == (not extra)
        assert all("sentence" in cost for cost in utility["costs"].values())
