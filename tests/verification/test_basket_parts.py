"""Supports of itemsets that are counted in parts, against the definition."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kohort.problem.models import KmAnonymity
from kohort.verification.basket_parts import Supports, Tails, count_supports


def supports_by_definition(baskets: list[set[int]], times: list[int], m: int) -> dict[tuple[int, ...], int]:
    found: dict[tuple[int, ...], int] = {}
    for basket, n in zip(baskets, times):
        for size in range(1, m + 1):
            for itemset in combinations(sorted(basket), size):
                found[itemset] = found.get(itemset, 0) + n
    return found


def tails_of(baskets: list[set[int]], times: list[int], heads: set[int]) -> Tails:
    rows = [
        (item, [other for other in sorted(basket) if other > item], n)
        for basket, n in zip(baskets, times)
        for item in sorted(basket)
        if item in heads
    ]
    sizes = [len(tail) for _, tail, _ in rows]
    return Tails(
        np.array([head for head, _, _ in rows], dtype=np.int64),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([item for _, tail, _ in rows for item in tail], dtype=np.int64),
        np.array([n for _, _, n in rows], dtype=np.int64),
    )


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("most", [3, 500])  # with many equal baskets, they are not listed one by one
@pytest.mark.parametrize("seed", range(5))
def test_supports_of_parts_are_those_of_the_definition(seed, most, m):
    rng = np.random.default_rng(seed)
    baskets = [set(rng.choice(7, rng.integers(0, 6), replace=False).tolist()) for _ in range(12)]
    times = rng.integers(1, most, len(baskets)).tolist()
    model, known = KmAnonymity(5, m), supports_by_definition(baskets, times, m)
    parts = [count_supports(tails_of(baskets, times, heads), model) for heads in ({0, 3, 5}, {1, 2, 4, 6})]
    found = Supports.united(parts)
    assert found.least == min(known.values())
    assert found.rare == sum(support < 5 for support in known.values())


def test_without_items_there_is_no_support():
    nothing = np.zeros(0, dtype=np.int64)
    found = count_supports(Tails(nothing, np.zeros(1, dtype=np.int64), nothing, nothing), KmAnonymity(5, 2))
    assert found == Supports(None, 0)
