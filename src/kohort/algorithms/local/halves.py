"""Ruin and recreate on two cores: slots in two halves, each searched on its own, then joined."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from kohort.algorithms.local.assigning import Pieces, Search
from kohort.algorithms.run import Run
from kohort.kernels.ruin import Near

__all__ = ["ruin_in_halves"]

_LEAST_SLOTS = 40  # fewer are not halved
_AT_A_TIME = 50  # rounds between two looks at the clock, at most


def ruin_in_halves(search: Search, near: Near, seed: int, rounds: int, run: Run) -> None:
    """So many rounds in all, or fewer when the time is up.

    A record stays in its half, and slots that both halves open are one slot in the end, so every promise that
    each half keeps is kept by both. The result does not depend on the number of cores.
    """
    slots = search.open_slots
    if len(slots) < _LEAST_SLOTS:
        _ruin(search, near, seed, rounds, run)
        return
    halves = _halves(search, slots, np.random.default_rng(seed))
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(_ruin, halves[1], near, seed + 1, rounds // 2, run)
        _ruin(halves[0], near, seed, rounds // 2, run)
        other.result()
    search.hold(Pieces(*(np.concatenate(both) for both in zip(*(half.pieces() for half in halves)))))


def _halves(search: Search, slots: np.ndarray, rng: np.random.Generator) -> tuple[Search, Search]:
    """Half of the records each: the slots in the order of their nodes, attributes in random order."""
    pieces = search.pieces()
    nodes = search.closed.nodes[slots][:, rng.permutation(search.closed.nodes.shape[1])]
    order = slots[np.lexsort(nodes.T)]
    sizes = np.bincount(pieces.slot, weights=pieces.copies)
    before = np.cumsum(sizes[order]) - sizes[order]
    is_first = np.zeros(search.nowhere + 2, dtype=bool)
    is_first[order[2 * before < sizes[order].sum()]] = True
    is_first[search.nowhere + 1] = True  # who is withheld may come back in the first half
    first = is_first[pieces.slot]
    return (
        search.with_only(pieces.some(first), search.problem.max_withheld),
        search.with_only(pieces.some(~first), 0),
    )


def _ruin(search: Search, near: Near, seed: int, rounds: int, run: Run) -> None:
    at_a_time = int(np.clip(len(search.open_slots), 10, _AT_A_TIME))
    for done in range(0, rounds, at_a_time):
        if run.out_of_time:
            return
        search.ruin_and_recreate(near, seed + 2 * done, min(at_a_time, rounds - done))
