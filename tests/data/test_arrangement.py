"""The tests of order, against all orders, and on tables in order and in none."""

from itertools import pairwise

import numpy as np
import pytest

from by_definition import order as by_definition
from kohort.data import arrangement
from kohort.data.arrangement import scores, telling_columns

VALUES = [0, 0, 1, 2, 2, 4, 5]


def ranks_of(values):
    n = len(values)
    return [
        sum(other < value for other in values)
        + (sum(other == value for other in values) - 1) / 2
        - (n - 1) / 2
        for value in values
    ]


def trend(values):
    return sum(place * value for place, value in enumerate(values))


def agreement(values):
    return sum(a == b for a, b in pairwise(values))


def closeness(values):
    return sum(a * b for a, b in zip(values, [*values[1:], values[0]]))


@pytest.mark.parametrize(
    ("place", "statistic", "of_ranks"), [(0, trend, True), (1, agreement, False), (2, closeness, True)]
)
def test_scores_are_distances_from_the_mean_over_all_orders(place, statistic, of_ranks):
    rng = np.random.default_rng(place)
    mean, variance = by_definition.moments(statistic, ranks_of(VALUES) if of_ranks else VALUES)
    for _ in range(10):
        order = rng.permutation(VALUES)
        found = statistic(ranks_of(order.tolist()) if of_ranks else order.tolist())
        expected = abs(found - float(mean)) / float(variance) ** 0.5
        assert scores(order, np.array(ranks_of(order.tolist())))[place] == pytest.approx(expected)


def random_columns(rng, n):
    return {name: rng.integers(0, size, n) for name, size in (("two", 2), ("ten", 10), ("many", 10 * n))}


@pytest.mark.parametrize("n", [4, 12, 40, 300, 3000])
def test_a_random_order_tells_hardly_ever_anything(n):
    rng = np.random.default_rng(n)
    assert sum(bool(telling_columns(random_columns(rng, n))) for _ in range(60)) <= 4


ORDERS = {
    "rising": lambda n, rng: np.arange(n),
    "falling": lambda n, rng: np.arange(n)[::-1].copy(),
    "few values, rising": lambda n, rng: np.arange(n) * 4 // n,
    "runs in any order": lambda n, rng: np.repeat(rng.permutation(n // 4), 4),
    "near values together": lambda n, rng: (
        np.repeat(rng.permutation(n // 8), 8) * 10 + rng.integers(0, 10, n // 8 * 8)
    ),
    "in turn": lambda n, rng: np.arange(n) % 4,
    "sorted within blocks": lambda n, rng: np.concatenate(
        [np.sort(rng.integers(0, 50, n // 4)) for _ in range(4)]
    ),
    "nearly sorted": lambda n, rng: np.argsort(np.argsort(np.arange(n) + rng.normal(0, n / 10, n))),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", [40, 400, 4000])
def test_an_order_is_noticed_and_named(order, n):
    rng = np.random.default_rng(0)
    ordered = ORDERS[order](n, rng)
    columns = random_columns(rng, len(ordered)) | {"ordered": ordered}
    if n == 40 and order in ("in turn", "near values together", "sorted within blocks"):
        return  # so few records prove little
    assert telling_columns(columns) == ["ordered"]


def test_six_sorted_records_are_enough():
    assert telling_columns({"age": np.arange(6)}) == ["age"]
    assert telling_columns({"age": np.arange(4)}) == []
    assert telling_columns({"age": np.zeros(9, dtype=int)}) == []
    assert telling_columns({}) == []


def test_the_same_table_gives_the_same_answer():
    rng = np.random.default_rng(5)
    columns = random_columns(rng, 30)
    assert len({arrangement._highest_by_chance(columns, columns, 30) for _ in range(3)}) == 1
