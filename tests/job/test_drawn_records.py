"""Differentially private releases: what is drawn, what is left out, what is refused."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.algorithms.sampling import safe_pub
from kohort.data.column import code_column

RNG = np.random.default_rng(7)
TABLE = pa.table(
    {
        "name": [f"p{i}" for i in range(3000)],
        "age": RNG.integers(20, 80, 3000),
        "sex": RNG.choice(["f", "m"], 3000),
    }
)
ASKED = {
    "quasi_identifiers": {"age": ko.intervals(10, 30), "sex": ko.flat()},
    "identifiers": ["name"],
    "privacy": [ko.DifferentialPrivacy(1, 1e-4, levels={"age": 1, "sex": 0})],
}
K = ko.DifferentialPrivacy(1, 1e-4).k


def test_classes_are_large_enough_and_the_share_drawn_is_as_said():
    release = ko.anonymize(TABLE, **ASKED)
    classes = Counter(zip(release.table["age"].to_pylist(), release.table["sex"].to_pylist()))
    assert min(classes.values()) >= K
    drawn = release.table.num_rows / TABLE.num_rows
    assert drawn == pytest.approx(0.632, abs=0.06)  # six standard deviations
    [found] = release.verdict.models
    assert found.holds
    assert 0 < found.measured <= 1e-4
    assert any("drawn with the chance 0.6321" in note for note in release.notes)
    assert release.algorithm == "safe-pub"


def test_no_two_releases_are_alike_whatever_the_seed():
    first, second = (ko.anonymize(TABLE, **ASKED, seed=1) for _ in range(2))
    assert not first.table.equals(second.table)


def test_small_classes_are_left_out_after_drawing(monkeypatch):
    """With everybody but the last record of each class drawn, classes of k have k - 1 and disappear."""
    ages = [25] * K + [45] * (K + 1) + [75] * (4 * K)
    table = pa.table({"age": ages, "sex": ["f"] * len(ages)})
    left_out = {K - 1, 2 * K, len(ages) - 1}
    drawn = np.array([i not in left_out for i in range(len(ages))])
    monkeypatch.setattr(safe_pub, "_drawn", lambda n, epsilon: drawn)
    asked = {key: value for key, value in ASKED.items() if key != "identifiers"}
    release = ko.anonymize(table, **asked)
    assert Counter(release.table["age"].to_pylist()) == {"[40, 50)": K, "[70, 80)": 4 * K - 1}


def test_a_stranger_verifies_the_classes(tmp_path):
    release = ko.anonymize(TABLE, **ASKED)
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "attributes:\n"
        "  name: {role: identifier}\n"
        "  age: {role: quasi-identifier, hierarchy: {intervals: [10, 30]}}\n"
        "  sex: {role: quasi-identifier}\n"
        "privacy:\n"
        "  differential: {epsilon: 1, delta: 0.0001, levels: {age: 1, sex: 0}}\n"
    )
    assert ko.verify(release.table, spec=spec).holds
    assert not ko.verify(release.table.slice(0, K - 1), spec=spec).holds
    assert ko.anonymize(TABLE, spec=spec).verdict.holds


@pytest.mark.parametrize(
    "changes, error, says",
    [
        ({"privacy": [ko.DifferentialPrivacy(1, 1e-4), ko.LDiversity("sex", 1)]}, "Unsupported", "k alone"),
        (
            {"identifiers": (), "insensitive": ["name"]},
            "Unsupported",
            "every published column counts.*'name'",
        ),
        ({"identifiers": (), "sensitive": ["name"]}, "Unsupported", "every published column counts"),
        ({"algorithm": "mondrian"}, "Unsupported", "mondrian does not support differential-privacy"),
        ({"quasi_identifiers": {"age": ko.quantiles(), "sex": None}}, "Unsupported", "built from the data"),
        ({"quasi_identifiers": {"age": ko.mask(), "sex": None}}, "Unsupported", "built from the data"),
        ({"privacy": [ko.DifferentialPrivacy(1, 1e-4, levels={"agge": 1})]}, "Input", "Did you mean 'age'"),
        ({"privacy": [ko.DifferentialPrivacy(1, 1e-4, levels={"age": 9})]}, "Input", "the levels 0 to 3"),
        ({"privacy": [ko.DifferentialPrivacy(5, "1e-12")]}, "Infeasible", "delta of .* at best"),
        (
            {"privacy": [ko.DifferentialPrivacy(1, 1e-4, levels={"age": 0, "sex": 0})]},
            "Infeasible",
            "No class has",
        ),
    ],
)
def test_what_does_not_go_is_refused(changes, error, says):
    with pytest.raises(getattr(ko, f"{error}Error"), match=says):
        ko.anonymize(TABLE, **ASKED | changes)


@pytest.mark.parametrize("wrong", [0, -1, 6, "0.0001", "x", None])
def test_an_epsilon_that_means_nothing_is_refused(wrong):
    with pytest.raises(
        ko.InputError, match="'epsilon' parameter of DifferentialPrivacy must be a number from"
    ):
        ko.DifferentialPrivacy(wrong, 1e-6)


@pytest.mark.parametrize("wrong", [0, 1, -1, "x"])
def test_a_delta_that_means_nothing_is_refused(wrong):
    with pytest.raises(ko.InputError, match="'delta' parameter of DifferentialPrivacy must be"):
        ko.DifferentialPrivacy(1, wrong)


@pytest.mark.parametrize("wrong", ["age", [1], {"age": -1}, {"age": True}, {"age": "1"}, 3])
def test_levels_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ko.InputError, match="'levels' parameter of DifferentialPrivacy must give"):
        ko.DifferentialPrivacy(1, 1e-6, levels=wrong)


def test_the_label_of_a_value_depends_on_no_other_value():
    for builder in (ko.intervals(10, 30), ko.intervals(7), ko.flat()):
        known = defaultdict(set)
        for others in ([], [26], [3, 100], list(range(90))):
            column = code_column("age", pa.array([25, *others]))
            tree = builder.build(column)
            for steps in range(tree.height + 1):
                node = safe_pub._nodes_above(tree, steps)[tree.leaf_of["25"]]
                known[steps].add(tree.published[node])
        assert all(len(labels) == 1 for labels in known.values())
