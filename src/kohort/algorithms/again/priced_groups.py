"""Groups of people with different values, chosen by prices: new ones are grown where prices make them cheap.

The linear program of which groups to publish has a dual: prices of people such that no group costs less than
the prices of its members. Groups are grown around everybody by the prices so far, prices are raised until
they pay for the groups that are known, and so on (the idea of Tobar, Castro and Gentile, 2023, who solve the
program itself). At the end the groups that their members' prices pay for best are taken first.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kohort.algorithms.again.buckets import Signature
from kohort.algorithms.again.kernels.growing import grow_columns, part_people
from kohort.algorithms.kernels.costs import costs_by_group
from kohort.algorithms.proofs.cuts import cut_prices
from kohort.algorithms.proofs.kernels.dual_prices import (
    PricedRecords,
    cap_prices,
    cheapest_over,
    least_slacks,
    repair_prices,
)
from kohort.algorithms.run import Run
from kohort.problem.encoding.coded import Coded
from kohort.problem.proof import OpeningCuts

_ROUNDS = 6  # of growing groups and pricing them
_RAISES, _SLOWER, _FIRST_STEP = 60, 0.93, 0.03  # of prices in a round; the first by this share of the cost
_AT_ONCE = 20_000  # people who are looked at together
_PAIRS = 20_000_000  # people that are looked at in a round; there are fewer seeds where people are many


def priced_groups(
    coded: Coded,
    people: np.ndarray,
    values: np.ndarray,
    shape: tuple[int, int],
    run: Run,
    seed: int,
    family: Collection[Signature] = (),
) -> tuple[list[np.ndarray], np.ndarray]:
    """Disjoint groups of people near each other, and the people who are in none.

    values  the value of each of the people
    shape   how many values m a group has, and how many people of each
    family  the signatures that groups may have; without any, all may be

    Many people are cut into parts, by the order of their quasi-identifiers, and who is left of all of them
    is looked at again.
    """
    if len(people) > _AT_ONCE:
        return _in_parts(coded, people, values, shape, run, seed, family)
    there, number = np.unique(values, return_inverse=True)
    number = number.astype(np.int64)
    if not len(people) or np.count_nonzero(np.bincount(number) >= shape[1]) < shape[0]:
        return [], people
    able = [np.isin(there, signature) for signature in family]
    allowed = np.array([part for part in able if part.sum() == shape[0]], dtype=bool)
    if family and not len(allowed):
        return [], people
    allowed = allowed.reshape(-1, len(there))
    leaves = coded.searched_leaves()[people]
    columns, price = _columns(coded, leaves, number, shape, run, seed, allowed)
    found = part_people(coded.cell_costs, leaves, number, price, columns, shape, allowed)
    left = np.ones(len(people), dtype=bool)
    left[found] = False
    return [people[group] for group in found], people[left]


def _in_parts(
    coded: Coded,
    people: np.ndarray,
    values: np.ndarray,
    shape: tuple[int, int],
    run: Run,
    seed: int,
    family: Collection[Signature],
) -> tuple[list[np.ndarray], np.ndarray]:
    """Groups of people who are too many to be looked at together; see `priced_groups`."""
    order = np.lexsort(coded.searched_leaves()[people].T[::-1])
    groups: list[np.ndarray] = []
    left = np.empty(0, dtype=np.int64)
    for part in np.array_split(order, -(-len(people) // _AT_ONCE)):
        found, rest = priced_groups(coded, people[part], values[part], shape, run, seed, family)
        groups += found
        left = np.append(left, rest)
    if len(left) > _AT_ONCE:
        return groups, left
    again = np.isin(people, left)
    found, left = priced_groups(coded, people[again], values[again], shape, run, seed, family)
    return [*groups, *found], left


def _columns(
    coded: Coded,
    leaves: np.ndarray,
    values: np.ndarray,
    shape: tuple[int, int],
    run: Run,
    seed: int,
    family: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Groups in the order in which they are best taken, then everybody as a seed; and everybody's price."""
    n_people, size = len(leaves), shape[0] * shape[1]
    rng = np.random.default_rng(seed)
    price, known = np.zeros(n_people), np.empty((0, size), dtype=np.int64)
    slack = np.empty(0)
    for _ in range(_ROUNDS):
        if run.out_of_time:
            break
        seeds = np.sort(rng.permutation(n_people)[: max(_PAIRS // n_people, 1)])
        grown = grow_columns(coded.cell_costs, leaves, values, price, seeds, shape, family)
        known = _united(known, grown[grown[:, -1] >= 0])
        if not len(known):
            break
        price, slack = _priced(coded, leaves, known, rng)
    alone = np.full((n_people, size), -1, dtype=np.int64)
    alone[:, 0] = np.argsort(-price, kind="stable")
    return np.concatenate([known[np.argsort(slack, kind="stable")], alone]), price


def _united(known: np.ndarray, grown: np.ndarray) -> np.ndarray:
    """All groups once, whoever was their seed."""
    both = np.concatenate([known, grown])
    _, first = np.unique(np.sort(both, axis=1), axis=0, return_index=True)
    return both[np.sort(first)]


def _priced(
    coded: Coded, leaves: np.ndarray, columns: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Prices that pay for no more than any of the columns costs, as high as they get; and what is missing.

    As `proofs` prices records, with the columns for closed records: raised together, lowered where they are
    too high, in smaller and smaller steps.
    """
    n_columns, size = columns.shape
    start = np.arange(n_columns + 1, dtype=np.int64) * size
    members = columns.ravel().astype(np.int32)
    cost = costs_by_group(coded.tables, leaves, columns.ravel(), start)
    priced = PricedRecords(start, members, cost, np.ones(len(leaves), dtype=np.int64), size)
    price = cheapest_over(priced)
    price[np.isinf(price)] = cost.max()  # of people in no column
    step = _FIRST_STEP * float(cost.max())
    level, lowered, slack = cost - step, np.zeros(n_columns), np.empty(n_columns)
    uncut = cut_prices(OpeningCuts.none(), n_columns, size)
    for _ in range(_RAISES):
        price += step
        repair_prices(priced, uncut, price, level, rng.permutation(n_columns), lowered)
        step *= _SLOWER
    cap_prices(priced, uncut, price, level)
    least_slacks(priced, uncut, price, level, np.arange(n_columns), float(cost.max()), slack)
    return price, slack
