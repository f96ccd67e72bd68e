"""Earth mover's distances between the values of a class and of the whole table, exactly.

Each returns numerators and denominators per class. A class has c of its n records at a value that q of all N
records have. Its surplus there is c N - q n, in units of 1 / (n N); only cells that occur have one.
"""

from __future__ import annotations

import numpy as np

from kohort.verification.promises.counts import Counts, Values
from kohort.verification.promises.exact import wide

__all__ = ["equal_distance", "hierarchical_distance", "ordered_distance"]

Ratios = tuple[np.ndarray, np.ndarray]


def equal_distance(counts: Counts, values: Values) -> Ratios:
    """Every move costs 1: all that is surplus is moved."""
    total = int(values.overall.sum())
    return _surplus(counts, values.overall, total, 1), _whole(counts, total, 1)


def hierarchical_distance(counts: Counts, values: Values) -> Ratios:
    """A move costs the height of the lowest common ancestor over that of the root.

    At a node of height h, what its children have too much goes to those that have too little; what is left
    is its own surplus. So h times (the surplus of its children less its own) is paid, and added up a surplus
    costs the climb to its parent.
    """
    tree = values.hierarchy
    assert tree is not None
    total, height = int(values.overall.sum()), max(int(tree.level[0]), 1)
    leaf = np.array([tree.leaf_of[text] for text in values.texts], dtype=np.int64)
    node_of = tree.leaf_node[leaf].astype(np.int64)
    moved = _whole(counts, total, height) * 0
    # nodes are numbered with parents first: below is complete once all higher numbers are added
    below = np.zeros(len(tree.parent), dtype=values.overall.dtype)
    np.add.at(below, node_of, values.overall)
    for node in range(len(below) - 1, 0, -1):
        below[tree.parent[node]] += below[node]
    depth = np.zeros(len(below), dtype=np.int64)
    for node in range(1, len(below)):
        depth[node] = depth[tree.parent[node]] + 1
    at = _by_node(counts, node_of, len(below))
    for level in range(int(depth.max()), 0, -1):
        climb = np.where(depth == level, tree.level[tree.parent] - tree.level, 0)
        moved = moved + _surplus(at, below, total, height, climb)
        at = _by_node(at, np.where(depth == level, tree.parent, np.arange(len(below))), len(below))
    return moved, _whole(counts, total, height)


def ordered_distance(counts: Counts, values: Values) -> Ratios:
    """A move costs the steps between two values over the most steps possible.

    Past each value, as much is moved as the class has more or less up to there than the table. Up to the
    next cell that occurs the class has the same, F; the table has Q[v] up to value v, which never falls.
    """
    steps, total = max(len(values.overall) - 1, 1), int(values.overall.sum())
    greatest = 4 * len(values.overall) * total * int(counts.sizes.max(initial=1))
    upto = np.cumsum(values.overall)
    table, sum_of_table = (wide(a, greatest) for a in (upto, np.append(0, np.cumsum(wide(upto, greatest)))))
    sizes, count = wide(counts.sizes, greatest), wide(counts.count, greatest)
    n = sizes[counts.class_of]
    running = np.cumsum(count)
    before = np.append(0, running)[counts.starts]
    have = (running - np.repeat(before, counts.distinct)) * total  # F N n
    begin = counts.value_of.astype(np.int64)
    end = np.append(begin[1:], 0)
    end[counts.starts + counts.distinct - 1] = len(table)
    ahead = np.clip(np.searchsorted(table, have // n, side="right"), begin, end)  # Q <= F up to here

    def apart(first: np.ndarray, last: np.ndarray) -> np.ndarray:
        return (last - first) * have - n * (sum_of_table[last] - sum_of_table[first])

    moved = counts.total(apart(begin, ahead) - apart(ahead, end))
    first = sum_of_table[begin[counts.starts]] * sizes  # before its first cell a class has nothing
    return moved + first, _whole(counts, total, steps)


def _whole(counts: Counts, total: int, steps: int) -> np.ndarray:
    """The denominators: n N, times how many steps the longest move has."""
    return wide(counts.sizes, 4 * total * steps * int(counts.sizes.max(initial=1))) * (total * steps)


def _surplus(
    counts: Counts, overall: np.ndarray, total: int, steps: int, weight: np.ndarray | None = None
) -> np.ndarray:
    """Per class the sum of what its cells have too much, each times the weight of its value."""
    greatest = 4 * total * steps * int(counts.sizes.max(initial=1))
    count, sizes, fair = (wide(a, greatest) for a in (counts.count, counts.sizes, overall))
    more = np.maximum(count * total - fair[counts.value_of] * sizes[counts.class_of], 0)
    return counts.total(more if weight is None else more * wide(weight, greatest)[counts.value_of])


def _by_node(counts: Counts, node_of: np.ndarray, n_nodes: int) -> Counts:
    """The counts with each value replaced by a node."""
    keys = counts.class_of * np.int64(n_nodes) + node_of[counts.value_of]
    order = np.argsort(keys, kind="stable")  # fast, as classes are in order
    keys = keys[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    count = np.add.reduceat(counts.count[order].astype(counts.sizes.dtype), first)
    class_of, node = np.divmod(keys[first], n_nodes)
    return Counts(counts.sizes, class_of, node, count, n_nodes)
