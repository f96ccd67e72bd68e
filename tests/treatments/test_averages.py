"""Numbers that are published as means or medians: from the spec to the verdict of a stranger."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, median

import numpy as np
import pyarrow as pa
import pytest
import yaml

import kohort as ko

RNG = np.random.default_rng(5)
NAMES = ["wage", "hours", "height"]
TABLE = pa.table(
    {
        "wage": np.round(RNG.lognormal(3, 0.5, 300), 1),
        "hours": RNG.integers(10, 60, 300),
        "height": np.round(RNG.normal(1.7, 0.1, 300), 2),
        "illness": RNG.choice(["flu", "cold", "gout"], 300),
    }
)
MEANS = dict.fromkeys(NAMES, "mean")


def release_of(publish=MEANS, algorithm="mdav", k=3, **more):
    asked = {"sensitive": ["illness"], "shuffle": False} | more
    return ko.anonymize(
        TABLE, quasi_identifiers=dict.fromkeys(NAMES), k=k, publish=publish, algorithm=algorithm, **asked
    )


def classes_of(release):
    found = defaultdict(list)
    for row, look in enumerate(zip(*(release.table[name].to_pylist() for name in NAMES))):
        found[look].append(row)
    return found


def squares_by_definition(release):
    """SSE / SST, a mean over columns, in plain Python."""
    shares = []
    for name in NAMES:
        values = TABLE[name].to_pylist()
        total = sum((value - fmean(values)) ** 2 for value in values)
        lost = 0.0
        for rows in classes_of(release).values():
            here = [values[row] for row in rows]
            lost += sum((value - fmean(here)) ** 2 for value in here)
        shares.append(lost / total)
    return fmean(shares)


@pytest.mark.parametrize("how, average", [("mean", fmean), ("median", median)])
@pytest.mark.parametrize("algorithm", ["mdav", "mondrian", "improve"])
def test_every_class_publishes_its_average(how, average, algorithm):
    release = release_of(dict.fromkeys(NAMES, how), algorithm, time_limit=1)
    for look, rows in classes_of(release).items():
        assert len(rows) >= 3
        for name, shown in zip(NAMES, look):
            assert shown == pytest.approx(average([TABLE[name][row].as_py() for row in rows]), abs=0.006)
    assert release.verdict.holds
    assert release.table["wage"].type == pa.float64()
    assert release.loss["squares"] == pytest.approx(squares_by_definition(release))


def test_means_keep_the_mean_of_the_column_and_intervals_may_stand_beside_them():
    release = release_of({"wage": "mean", "hours": "interval"})
    assert fmean(release.table["wage"].to_pylist()) == pytest.approx(
        fmean(TABLE["wage"].to_pylist()), abs=0.01
    )
    assert release.table["hours"][0].as_py().startswith("[")


@pytest.mark.parametrize("k", [2, 3, 5, 10])
def test_improve_loses_less_than_mdav_and_its_bound_holds(k):
    by_mdav = release_of(k=k, cost="squares")
    improved = release_of(k=k, cost="squares", algorithm="improve")
    assert improved.loss["squares"] < by_mdav.loss["squares"]
    assert improved.loss["squares"] == pytest.approx(squares_by_definition(improved))
    assert 0 < improved.solver_bound <= improved.cost
    assert release_of(k=k, cost="squares", algorithm="auto").algorithm == "improve"


def test_v_mdav_makes_groups_of_many_sizes():
    sizes = {len(rows) for rows in classes_of(release_of(algorithm=ko.Mdav(gamma=1.2))).values()}
    assert min(sizes) >= 3
    assert len(sizes) > 2
    assert max(sizes) <= 5 + 2  # what is left over joins groups


def test_groups_are_united_for_other_promises():
    release = release_of(privacy=[ko.LDiversity("illness", 2)])
    assert release.verdict.holds
    assert "diversify" in release.parameters


def test_withheld_records_are_stars():
    release = release_of(algorithm="forest", suppression=0.2, k=4)
    assert release.verdict.holds
    if release.verdict.withheld:
        assert "*" in release.table["wage"].to_pylist()


SPEC = {
    "attributes": {
        **{name: {"role": "quasi-identifier", "hierarchy": "none", "publish": "mean"} for name in NAMES},
        "illness": {"role": "sensitive"},
    },
    "privacy": {"k": 3},
    "cost": "squares",
    "shuffle": False,
}


def test_a_stranger_checks_means_against_the_original(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(SPEC))
    release = ko.anonymize(TABLE, spec=path)
    verdict = ko.verify(release.table, spec=path, original=TABLE)
    assert verdict.holds
    assert any(check.name == "mean of 'wage'" and check.holds for check in verdict.checks)
    assert ko.verify(release.table, spec=path).holds
    wrong = release.table.set_column(
        0, "wage", [pa.array([value + 1 for value in release.table["wage"].to_pylist()])]
    )
    found = ko.verify(wrong, spec=path, original=TABLE)
    assert not found.holds
    assert any("differ from the mean of their class" in check.detail for check in found.checks)


def test_in_another_order_only_classes_are_checked(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(SPEC | {"shuffle": True}))
    release = ko.anonymize(TABLE, spec=path)
    verdict = ko.verify(release.table, spec=path, original=TABLE)
    assert verdict.holds
    assert any("give the order file" in check.detail for check in verdict.checks)


@pytest.mark.parametrize(
    "more, says",
    [
        ({"publish": {"illness": "mean"}}, "not a quasi-identifier"),
        ({"publish": {"wage": "mode"}}, "Column 'wage': 'publish' must be interval, mean or median"),
        (
            {"publish": {"illness": "mean"}, "quasi_identifiers": ["illness", *NAMES], "sensitive": ()},
            "is for numbers without a hierarchy.*'illness' is not",
        ),
        (
            {"publish": MEANS, "quasi_identifiers": {"wage": ko.intervals(5), "hours": None, "height": None}},
            "'wage' is not",
        ),
        (
            {"cost": "squares", "quasi_identifiers": ["illness", *NAMES], "sensitive": ()},
            "The cost squares is for numbers.*'illness' is not",
        ),
    ],
)
def test_microaggregation_of_text_is_refused(more, says):
    asked = {"quasi_identifiers": dict.fromkeys(NAMES), "sensitive": ["illness"], "k": 3}
    with pytest.raises(ko.InputError, match=says):
        ko.anonymize(TABLE, **asked | more)


def test_missing_numbers_are_refused():
    table = pa.table({"wage": [1.0, None, 2.0, 3.0]})
    with pytest.raises(ko.InputError, match="without missing values"):
        ko.anonymize(table, quasi_identifiers={"wage": None}, k=2, publish={"wage": "mean"})


def test_squares_are_refused_where_labels_count():
    with pytest.raises(ko.UnsupportedError, match="mondrian cannot minimise 'squares'"):
        release_of(algorithm="mondrian", cost="squares")
    with pytest.raises(ko.UnsupportedError, match="Choose another cost"):
        release_of(algorithm="improve", cost="squares", privacy=[ko.LDiversity("illness", 2)])


def test_the_report_and_the_certificate_tell_of_means(tmp_path):
    release = release_of()
    release.write(
        tmp_path / "out.csv",
        certificate=tmp_path / "out.json",
        certificate_version="internal",
        report=tmp_path / "out.html",
    )
    assert "squares" in (tmp_path / "out.json").read_text(encoding="utf-8")
    assert "squares" in (tmp_path / "out.html").read_text(encoding="utf-8")
    assert any("mean of every class" in note for note in release.notes)


def test_one_column_is_solved_exactly():
    asked = {"quasi_identifiers": {"wage": None}, "k": 4, "publish": {"wage": "mean"}, "cost": "squares"}
    table = TABLE.select(["wage"])
    best = ko.anonymize(table, **asked, algorithm="improve")
    assert best.solver_gap < 1e-6
    assert best.loss["squares"] <= ko.anonymize(table, **asked, algorithm="mdav").loss["squares"]
    assert any("no groups of this column" in note for note in best.notes)


def test_a_mean_beside_a_column_with_missing_values():
    table = pa.table({"wage": [3.5, 1.5, 5.5, 2.5, 6.5, 4.5], "sex": ["f", None, "m", "f", None, "m"]})
    release = ko.anonymize(
        table, quasi_identifiers={"wage": None, "sex": None}, k=2, publish={"wage": "mean"}
    )
    found = {(wage, sex) for wage, sex in zip(*(release.table[name].to_pylist() for name in ("wage", "sex")))}
    assert release.verdict.holds and None in {sex for _, sex in found}


@pytest.mark.parametrize("how", ["mean", "median"])
def test_an_order_that_is_kept_is_attacked_where_means_are_published(how):
    table = TABLE.sort_by("wage")
    asked = {"k": 3, "algorithm": "mdav", "sensitive": ["illness"], "shuffle": False}
    release = ko.anonymize(table, quasi_identifiers=dict.fromkeys(NAMES), publish={"wage": how}, **asked)
    shown = ko.anonymize(table, quasi_identifiers=dict.fromkeys(NAMES), **asked)
    attack = release.risk()["order"]
    assert attack["orders"] == [["wage"]] and attack["narrowed_records"]
    assert attack == shown.risk()["order"]  # as much as the intervals give
