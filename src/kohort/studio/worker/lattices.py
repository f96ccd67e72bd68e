"""The lattice of levels that a full-domain search has searched, as plain data for a page."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np

from kohort.algorithms.levels import level_nodes
from kohort.recoding.lattice import STATES, Lattice
from kohort.release.release import Release

MOST_NODES = 150  # nodes that are drawn; of a larger lattice those that are nearest to the chosen one
_WIDEST = 16  # nodes in a row, where not all are drawn


def lattice_of(release: Release) -> dict[str, Any] | None:
    """The levels of each column, the nodes to draw and how many nodes are in each state; None without one.

    A larger lattice is drawn around the chosen node, as far as the limit allows.
    """
    lattice = release.recoding.lattice
    if lattice is None:
        return None
    counts = np.bincount(lattice.states.ravel(), minlength=len(STATES))
    return {
        "columns": _columns(release, lattice),
        "nodes": [_node(lattice, levels) for levels in _drawn(lattice)],
        "of": int(lattice.states.size),
        "most": MOST_NODES,
        "counts": {name: int(count) for name, count in zip(STATES, counts)},
    }


def _columns(release: Release, lattice: Lattice) -> list[dict[str, Any]]:
    """For each column how many different labels each of its levels has, and the level that is published."""
    problem = release.problem
    return [
        {
            "name": attribute.name,
            "chosen": int(chosen),
            "labels": [len(np.unique(nodes)) for nodes in level_nodes(hierarchy)],
        }
        for attribute, hierarchy, chosen in zip(problem.attributes, problem.coded.hierarchies, lattice.chosen)
    ]


def _drawn(lattice: Lattice) -> list[tuple[int, ...]]:
    """All nodes, or as many steps around the chosen one as the limit allows."""
    if lattice.states.size <= MOST_NODES:
        return list(np.ndindex(lattice.states.shape))
    found, steps = [lattice.chosen], 1
    while len(wider := _around(lattice, steps)) <= MOST_NODES and (steps == 1 or _widest(wider) <= _WIDEST):
        found, steps = wider, steps + 1
    return found


def _widest(nodes: list[tuple[int, ...]]) -> int:
    """The most nodes with the same sum of levels, which stand in a row."""
    return max(Counter(map(sum, nodes)).values())


def _around(lattice: Lattice, steps: int) -> list[tuple[int, ...]]:
    """The nodes that are at most so many steps up or down from the chosen one."""
    ranges = [
        range(max(level - steps, 0), min(level + steps, n - 1) + 1)
        for level, n in zip(lattice.chosen, lattice.states.shape)
    ]
    near = (
        levels
        for levels in product(*ranges)
        if sum(abs(a - b) for a, b in zip(levels, lattice.chosen)) <= steps
    )
    return sorted(near)


def _node(lattice: Lattice, levels: tuple[int, ...]) -> dict[str, Any]:
    state = STATES[int(lattice.states[levels])]
    return {"levels": list(levels), "state": state, "chosen": levels == lattice.chosen}
