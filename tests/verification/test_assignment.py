"""Assignments of shuffled records against all permutations."""

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from by_definition import order as by_definition
from kohort.data.baskets import read_baskets
from kohort.job.verify import verify_release
from kohort.problem.attribute import Attribute, tight_domain
from kohort.statement.from_yaml import from_yaml as parse_spec
from kohort.tables.memory import MemoryTable
from kohort.verification.assignment import _Flow, assign_records
from kohort.verification.item_coverage import basket_fit


@pytest.mark.parametrize("seed", range(60))
def test_records_are_assigned_where_that_is_possible(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    ages, wards = rng.integers(0, 6, n), rng.choice(["a", "b"], n)
    shown = int(rng.integers(1, n + 1))
    picked = rng.permutation(n)[:shown]
    low, high = ages[picked] - rng.integers(0, 2, shown), ages[picked] + rng.integers(0, 3, shown)
    if rng.random() < 0.6:  # some are wrong
        low[0], high[0] = rng.integers(0, 3), 3 + rng.integers(0, 3)
        low[-1] += rng.integers(0, 2)
    labels = [f"[{a}, {b}]" for a, b in zip(low, high)]
    original = MemoryTable(pa.table({"age": ages, "ward": wards}))
    published = MemoryTable(pa.table({"age": labels, "ward": wards[picked]}))
    column = original.column("age")
    found = assign_records(published, original, [Attribute(column, tight_domain(column))], ["ward"])

    def fits(record, row):
        return low[record] <= ages[row] <= high[record] and wards[picked[record]] == wards[row]

    assert (found is not None) == by_definition.can_be_assigned(fits, shown, n)
    if found is not None:
        assert len(set(found.rows.tolist())) == shown
        assert all(fits(record, row) for record, row in enumerate(found.rows))
        choices = [sum(fits(record, row) for row in range(n)) for record in range(shown)]
        assert found.sure == (set(choices) == {1})


def test_rows_give_way_to_each_other():
    """Every row takes what the next one needs, until the last one moves."""
    left = np.array([0, 0, 1, 1, 2, 2, 3])
    right = np.array([0, 1, 1, 2, 2, 3, 0])
    flow = _Flow(np.array([5, 5, 5, 5]), np.array([5, 5, 5, 5]), left, right)
    assert flow.saturate()
    assert sum(sum(sent.values()) for sent in flow.sent) == 20
    assert all(sum(sent.values()) == 5 for sent in flow.sent)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("suppressed", ["star", "drop"])
def test_a_shuffled_release_is_assigned_and_its_costs_are_the_same(seed, suppressed):
    rng = np.random.default_rng(seed)
    table = pa.table(
        {
            "age": rng.integers(20, 40, 30),
            "town": rng.choice(["Ayr", "Ely", "Wick"], 30),
            "illness": rng.choice(["flu", "cold"], 30),
        }
    )
    spec = {
        "attributes": {
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}},
            "town": {"role": "quasi-identifier"},
            "illness": {"role": "sensitive"},
        },
        "privacy": {"k": 3},
        "algorithm": "forest",
        "suppression": 0.2,
        "suppressed": suppressed,
        "shuffle": True,
    }
    release = ko.anonymize(table, spec=spec)
    found = verify_release(MemoryTable(release.table), parse_spec(spec), original=MemoryTable(table))
    assert found.verdict.holds
    unknown = {"hierarchical-discernibility"}  # it depends on which record is which
    known = {name: value for name, value in release.loss.items() if name in found.loss}
    assert found.loss == pytest.approx(known) and set(release.loss) - set(known) <= unknown


def test_baskets_fit_by_what_their_labels_stand_for():
    tree = ko.Hierarchy.from_paths([("a1", "A", "*"), ("a2", "A", "*"), ("b1", "B", "*"), ("b2", "B", "*")])
    table = pa.table({"items": [["a1", "b1"], ["a2"], ["a1", "a2"], ["b2"]]})
    asked = {"items": {"items": tree}, "privacy": [ko.KmAnonymity(2, 1)], "shuffle": False}
    problem = ko.anonymize(table, **asked).items.problem
    shown = read_baskets(
        MemoryTable(pa.table({"items": [["A", "B"], ["A"], None, ["b2"], ["A", "b1"]]})), "items"
    )
    fit = basket_fit(shown, problem)
    fits = fit.fits[fit.published][:, fit.original]
    assert fits.tolist() == [
        [True, False, False, False],
        [False, True, True, False],
        [True, True, True, True],
        [False, False, False, True],
        [True, False, False, False],
    ]
