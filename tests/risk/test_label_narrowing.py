"""The attack on the order of records against its definition: every sorted sequence that the labels allow."""

import numpy as np
import pytest

from by_definition import order as by_definition
from kohort.risk.order import Sighted, attack_ranks, narrowed_columns


def column(name, ranges, true):
    first, last = np.array(ranges).T
    return Sighted(name, first, last, np.array(true))


def random_ranges(rng, true, n_values):
    return [(max(t - rng.integers(3), 0), min(t + rng.integers(3), n_values - 1)) for t in true]


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_labels_are_narrowed_to_what_a_sorted_column_allows(seed, falling):
    rng = np.random.default_rng(seed)
    true = np.sort(rng.integers(0, 5, 6))[:: -1 if falling else 1]
    ranges = random_ranges(rng, true, 5)
    [found], _ = narrowed_columns([column("age", ranges, true)], [])
    if len(set(true)) == 1:
        return  # sorted both ways, and neither tells
    for first, last, possible in zip(
        found.first, found.last, by_definition.possible_values(ranges, falling=falling)
    ):
        assert possible == set(range(first, last + 1))


@pytest.mark.parametrize("seed", range(20))
def test_records_may_be_sorted_by_two_columns(seed):
    """Within a ward that is published as it is, ages are sorted."""
    rng = np.random.default_rng(seed)
    ward = np.repeat(rng.permutation(3), 2 + seed % 2)
    age = np.concatenate([np.sort(rng.integers(0, 4, 2 + seed % 2)) for _ in range(3)])
    if not np.diff(age)[np.diff(ward) == 0].any():
        return  # nothing is sorted within a ward
    ranges = random_ranges(rng, age, 4)
    kept = Sighted("ward", ward, ward, ward)
    [found], orders = narrowed_columns([column("age", ranges, age)], [kept])
    within = by_definition.possible_values(ranges, ward.tolist())
    whole = age.tolist() in (sorted(age), sorted(age, reverse=True))
    for first, last, possible in zip(found.first, found.last, within):
        assert {*range(first, last + 1)} == possible or (whole and {*range(first, last + 1)} <= possible)
    assert whole or set(orders) <= {("ward", "age")}


def test_a_label_that_hides_the_first_column_hides_the_order_of_the_second():
    sex = column("sex", [(0, 1)] * 4, [0, 0, 1, 1])
    age = column("age", [(0, 3)] * 4, [2, 3, 0, 1])
    found, orders = narrowed_columns([sex, age], [])
    assert (found[1].first.tolist(), found[1].last.tolist(), orders) == ([0] * 4, [3] * 4, ())
    told = column("sex", [(0, 0), (0, 0), (1, 1), (1, 1)], [0, 0, 1, 1])
    ages = column("age", [(2, 3), (0, 3), (0, 3), (1, 1)], [2, 3, 0, 1])
    found, orders = narrowed_columns([told, ages], [])
    assert found[1].first.tolist() == [2, 2, 0, 1] and found[1].last.tolist() == [3, 3, 1, 1]
    assert orders == (("sex", "age"),)


def test_a_missing_value_has_no_place_in_the_order():
    ages = column("age", [(-1, -1), (1, 3), (-1, -1), (0, 2), (0, 3)], [-1, 1, -1, 2, 3])
    [found], _ = narrowed_columns([ages], [])
    assert found.first.tolist() == [-1, 1, -1, 1, 1]
    assert found.last.tolist() == [-1, 2, -1, 2, 3]


@pytest.mark.parametrize("seed", range(20))
def test_who_is_left_alone_is_counted(seed):
    rng = np.random.default_rng(seed)
    age = np.sort(rng.integers(0, 5, 6))
    if len(set(age)) == 1:
        return
    ranges = random_ranges(rng, age, 5)
    sexes = rng.integers(0, 2, 6)
    sex = column("sex", [(s, s) for s in sexes], sexes)
    found = attack_ranks([column("age", ranges, age), sex], [], 3)
    if found["orders"] not in ([], [["age"]]):
        return  # by chance the sexes are sorted, too
    possible = by_definition.possible_values(ranges)
    sizes = by_definition.class_sizes([(*sorted(p), s) for p, s in zip(map(tuple, possible), sexes)])
    if found["orders"]:
        assert found["records_below_k"] == sum(size < 3 for size in sizes)
        assert found["unique_records"] == sizes.count(1)
    assert found["exact_values"] == sum(len(p) == 1 and a < b for p, (a, b) in zip(possible, ranges))
    assert found["narrowed_records"] == sum(len(p) < b - a + 1 for p, (a, b) in zip(possible, ranges))


def test_an_order_that_nobody_has_narrows_nothing():
    ages = column("age", [(0, 3)] * 4, [2, 0, 3, 1])
    found = attack_ranks([ages], [], 2)
    gained = ("narrowed_records", "records_below_k", "unique_records", "exact_values")
    assert found["orders"] == [] and not any(found[name] for name in gained)
