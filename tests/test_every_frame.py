"""Every kind of dataframe, however it holds its records, goes through the whole job with the same result."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import kohort as ko
from frames import MAKERS, as_lists
from kohort.io.tables import read_table, write_table

N = 12
PEOPLE = {
    "id": [f"p{i:02d}" for i in range(N)],
    "age": [20 + i for i in range(N)],
    "town": ["Ayr", "Ely", "Ayr", "Wick"] * 3,
    "weight": [0.5 * i for i in range(N)],
    "born": [date(1990, 1 + i, 1) for i in range(N)],
    "smokes": [i % 3 == 0 for i in range(N)],
    "illness": ["flu", "cold", None, "cough"] * 3,
    "seen": [datetime(2024, 1, 1 + i, 12) for i in range(N)],
    "note": [f"n{i % 5}" if i % 4 else None for i in range(N)],
}
ASKED = {
    "quasi_identifiers": {
        "age": ko.intervals(5, 10),
        "town": ko.flat(),
        "weight": None,
        "born": ko.dates("month", "year"),
        "smokes": None,
    },
    "sensitive": ["illness"],
    "insensitive": ["seen", "note"],
    "identifiers": {"id": "pseudonym"},
    "key": b"sixteen bytes or more",
    "privacy": [ko.KAnonymity(3), ko.LDiversity("illness", 2, kind="distinct")],
    "algorithm": "mondrian",
}


@pytest.fixture(params=MAKERS, ids=MAKERS)
def kind(request):
    return request.param


ORDERED = ("pandas categorical", "polars enum")  # their categories have the order that MAKERS give them


def expected(kind="pyarrow", **changes):
    if kind in ORDERED:
        changes["orders"] = {"town": ["Wick", "Ely", "Ayr", "nobody has it"]}
    return as_lists(ko.anonymize(MAKERS["pyarrow"](PEOPLE), **ASKED | changes).table)


def same(found, wanted):
    """Two mappings of lists hold the same."""
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert found[name] == values, name


@pytest.mark.parametrize(
    "changes",
    [{}, {"shuffle": True, "seed": 3}, {"suppression": 0.4, "suppressed": "drop"}, {"labels": "tight"}],
    ids=["plain", "shuffled", "dropped", "tight"],
)
def test_the_same_release_of_the_kind_that_came_in(kind, changes):
    frame = MAKERS[kind](PEOPLE)
    before = as_lists(frame)
    release = ko.anonymize(frame, **ASKED | changes)
    assert type(release.table) is type(frame)
    assert release.verdict.holds
    same(as_lists(release.table), expected(kind, **changes))
    assert as_lists(frame) == before
    if isinstance(frame, pd.DataFrame):
        assert release.table.index.equals(pd.RangeIndex(len(release.table)))


def test_untouched_columns_keep_their_types(kind):
    frame = MAKERS[kind](PEOPLE)
    release = ko.anonymize(frame, **ASKED)
    for name in ("illness", "seen", "note"):
        if isinstance(frame, pd.DataFrame):
            expected = frame[name]
            if isinstance(expected.dtype, pd.CategoricalDtype):  # categories that nobody has may be of others
                expected = expected.cat.remove_unused_categories()
            assert release.table[name].dtype == expected.dtype
        elif isinstance(frame, pl.DataFrame):
            expected = frame.schema[name]
            if isinstance(expected, pl.Enum):
                used = set(frame[name].to_list())
                expected = pl.Enum([each for each in expected.categories if each in used])
            assert release.table.schema[name] == expected
        else:
            assert release.table.schema.field(name).type == frame.schema.field(name).type


def test_a_stranger_finds_the_release_good(kind):
    frame = MAKERS[kind](PEOPLE)
    asked = {name: value for name, value in ASKED.items() if name not in ("identifiers", "key")}
    release = ko.anonymize(frame, **asked | {"identifiers": ["id"]})
    attributes = {
        "id": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}},
        "town": {"role": "quasi-identifier"},
        "weight": {"role": "quasi-identifier"},
        "born": {"role": "quasi-identifier", "hierarchy": {"date": ["month", "year"]}},
        "smokes": {"role": "quasi-identifier"},
        "illness": {"role": "sensitive"},
    }
    diversity = {"attribute": "illness", "l": 2, "kind": "distinct"}
    spec = {"attributes": attributes, "others": "keep", "privacy": {"k": 3, "diversity": diversity}}
    for original in (frame, MAKERS["pyarrow"](PEOPLE)):
        verdict = ko.verify(release.table, spec=spec, original=original)
        assert verdict.holds, verdict.reasons()


def test_risk_and_utility_are_the_same(kind):
    found, wanted = (ko.anonymize(MAKERS[k](PEOPLE), **ASKED) for k in (kind, "pyarrow"))
    assert found.risk() == wanted.risk()
    assert found.utility(queries=50) == wanted.utility(queries=50)


def test_maps_are_applied(kind, tmp_path):
    frame = MAKERS[kind](PEOPLE)
    quasi = ASKED["quasi_identifiers"] | {"weight": ko.flat()}
    release = ko.anonymize(frame, **ASKED | {"quasi_identifiers": quasi, "algorithm": "full-domain"})
    release.maps(tmp_path / "maps.json")
    applied = ko.apply_maps(tmp_path / "maps.json", frame, k=3, key=ASKED["key"])
    assert type(applied.table) is type(frame)
    same(as_lists(applied.table), as_lists(release.table))


def test_profiles_are_the_same(kind):
    found, wanted = (ko.profile(MAKERS[k](PEOPLE)).to_dict() for k in (kind, "pyarrow"))
    for column in (*found["columns"], *wanted["columns"]):
        del column["type"]  # of Arrow's
    assert found == wanted


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx", ".jsonl"])
def test_releases_are_written_and_read_back(kind, tmp_path, suffix):
    release = ko.anonymize(MAKERS[kind](PEOPLE), **ASKED, shuffle=False)
    write_table(release.arrow, tmp_path / f"r{suffix}")
    read = read_table(tmp_path / f"r{suffix}").table
    assert read["age"].to_pylist() == expected(shuffle=False)["age"]
    assert read["illness"].to_pylist() == PEOPLE["illness"]


def test_the_transformer_of_scikit_learn_takes_it(kind):
    pytest.importorskip("sklearn", reason="kohort[sklearn] is not installed")
    from kohort.sklearn import Anonymizer

    columns = {name: PEOPLE[name] for name in ("age", "weight")}
    frame = MAKERS[kind](columns)
    published = Anonymizer(k=3, values="numbers", algorithm="mondrian").fit_transform(frame)
    assert type(published) is type(frame)
    wanted = Anonymizer(k=3, values="numbers", algorithm="mondrian").fit_transform(pd.DataFrame(columns))
    for name in columns:
        np.testing.assert_allclose(as_lists(published)[name], wanted[name])
    if isinstance(frame, pd.DataFrame):
        assert published.index.equals(frame.index)
