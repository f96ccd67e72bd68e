"""Prove that no k records are priced above the cost of their box, or lower prices until that is so.

A branch and bound over all boxes at once. A node of the tree has a box, which has the values that were chosen
so far, and candidates: the rows that may be in it or that it may still grow to hold. A value is chosen that
many of the dearest candidates need: either the box gets it, or the candidates that have it are dropped. An
ordered column is first cut in two: the box lies on one side, or it has values on both.

A node is done if its k dearest candidates cost no more than its box, or by a flow (`box_flow`), which also
drops candidates.

If the k dearest candidates are all in the box and cost more, their prices are lowered. Prices never rise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.costs import cell_cost
from kohort.algorithms.proofs.kernels.box_flow import (
    BoxFlow,
    add_unpaid,
    drop_short,
    flow_short,
    new_box_flow,
)
from kohort.algorithms.proofs.kernels.cheapest_boxes import BoxRows
from kohort.kernels.compiled import kernel, lean
from kohort.kernels.sorting import stable_order
from kohort.problem.encoding.layout import ORDERED, SET, TREE, CellCosts

_NEAR = 1e-10
_FIRST = 1.5  # how much sooner a column gets its first value, which costs nothing
_FIRST_CUT = 40.0  # how much sooner an ordered column is cut in two
_PRICED = 0.1  # weight of a price, where an unpaid excess has 1
_FEW_INVERSIONS = 16  # candidates in nearly the right order are sorted by insertion


class BoxTree(NamedTuple):
    """Nodes of the tree that wait: the last one is looked at next."""

    n: np.ndarray  # per node: how many candidates it has
    rows: np.ndarray  # nodes by candidates
    lo: np.ndarray  # nodes by columns: the least leaf of the box
    hi: np.ndarray
    width: np.ndarray  # nodes by columns: how many values were chosen
    spent: np.ndarray  # nodes by columns: what the box costs
    need: np.ndarray  # nodes by leaves of all columns: what the box costs more with a leaf; 0 if it has it
    weight: np.ndarray  # room: per leaf of all columns, the prices of the dearest candidates that have it
    start: np.ndarray  # per column and one more: its first leaf
    slope: np.ndarray  # per column: what each further value costs at least; 0 if that is not known
    order: np.ndarray  # columns in which they pay: first those whose records have few values mostly
    by_column: np.ndarray  # columns by rows: leaves
    changes: np.ndarray  # how often prices were lowered; per node: as it was when candidates were sorted
    strain: np.ndarray  # per row: how much of the work of nodes that were branched is due to its price
    flow: BoxFlow


class FoundBoxes(NamedTuple):
    """Boxes whose k dearest records were priced above their cost, as far as there is room for them."""

    start: np.ndarray
    rows: np.ndarray
    cost: np.ndarray
    n: np.ndarray  # a single number: how many there are


def new_found_boxes(boxes: int, rows: int) -> FoundBoxes:
    """Room for so many boxes, with so many rows in all."""
    return FoundBoxes(
        np.zeros(boxes + 1, np.int64),
        np.empty(rows, np.int32),
        np.empty(boxes),
        np.zeros(1, np.int64),
    )


def without_room(found: FoundBoxes) -> FoundBoxes:
    """The boxes that were found, in no more memory than they need."""
    n = int(found.n[0])
    start = found.start[: n + 1].copy()
    return FoundBoxes(start, found.rows[: start[n]].copy(), found.cost[:n].copy(), found.n)


def new_box_tree(rows: BoxRows, levels: int) -> BoxTree:
    """A tree whose only node is the root: every row is a candidate, and no value is chosen yet."""
    (n, columns), about = rows.leaves.shape, rows.cells.attribute
    leaves = int(about.n_leaves.sum())
    linear = (about.kind != TREE) & (about.loners_from >= about.n_leaves)
    tree = BoxTree(
        n=np.zeros(levels, np.int64),
        rows=np.empty((levels, n), np.int32),
        lo=np.zeros((levels, columns), np.int64),
        hi=np.zeros((levels, columns), np.int64),
        width=np.zeros((levels, columns), np.int64),
        spent=np.zeros((levels, columns)),
        need=np.zeros((levels, leaves)),
        weight=np.zeros(leaves),
        start=np.append(about.leaf_start, leaves),
        slope=np.where(linear, about.line_slope, 0.0),
        order=np.argsort([_entropy(rows, a) for a in range(columns)], kind="stable"),
        by_column=rows.leaves.T.astype(np.int32, order="C"),
        changes=np.full(levels + 1, -1, np.int64),
        strain=np.zeros(n),
        flow=new_box_flow(n, columns, int(about.n_leaves.max()), leaves),
    )
    tree.n[0], tree.rows[0], tree.changes[0] = n, np.arange(n), 0
    whole = [a.whole if a.kind != TREE else _greatest_pair(rows.cells, a) for a in about]
    typical = np.array(whole) / np.maximum(about.n_leaves - 1, 1)
    tree.need[0] = np.repeat(_FIRST * typical, about.n_leaves)
    return tree


def _entropy(rows: BoxRows, a: int) -> float:
    """The entropy of a column: low where most records have one of few values."""
    records = np.bincount(rows.leaves[:, a], rows.copies)
    share = records[records > 0] / records.sum()
    return float(-(share * np.log(share)).sum())


def _greatest_pair(cells: CellCosts, attribute: np.record) -> float:
    """What the dearest node of a hierarchy costs."""
    return float(cells.pair[attribute.pair_start :][: attribute.n_leaves**2].max(initial=0.0))


@kernel
def lower_prices(rows, tree, depth, price, nodes, found):
    """Look at waiting nodes, lowering prices where that is needed; how many wait then.

    Also the work that it took, about one for each cell looked at: candidates are gone through once, the
    dearest column by column, and all leaves of a node are copied.

    depth  how many nodes wait
    nodes  how many may be looked at

    A node for which there is no room is done by lowering the prices of its candidates to what its box costs.
    """
    work = 0
    while depth > 0 and nodes > 0:
        level = depth - 1
        nodes -= 1
        work += tree.n[level] + len(tree.weight)
        _sort_candidates(tree, level, price)
        spent = tree.spent[level].sum()
        dearest, is_enough = _dearest(rows, tree, level, price)
        if not is_enough or dearest <= rows.k * spent + _NEAR:
            depth -= 1
            continue
        short = flow_short(rows, tree, level, price, spent)
        work += tree.flow.n[1]
        if short <= 0.0:
            depth -= 1
            continue
        if short < np.inf and drop_short(rows, tree, level, price) > 0:
            dearest, is_enough = _dearest(rows, tree, level, price)
            if not is_enough or dearest <= rows.k * spent + _NEAR:
                depth -= 1
                continue
        _weigh(rows, tree, level, price)
        if short < np.inf:
            add_unpaid(rows, tree, _PRICED)
        column, leaf = _chosen(rows, tree, level)
        if column < 0:
            _keep_box(tree, level, spent, rows, found)
            _lower_dearest(rows, tree, level, price, dearest / rows.k - spent)
            tree.changes[0] += 1
        elif depth + 2 > len(tree.n):
            for row in tree.rows[level, : tree.n[level]]:
                price[row] = min(price[row], spent)
            tree.changes[0] += 1
            depth -= 1
        else:
            depth = _branch(rows, tree, level, column, leaf)
    return depth, work


@kernel
def _sort_candidates(tree, level, price):
    """Put the dearest candidates first."""
    if tree.changes[level + 1] == tree.changes[0]:
        return
    tree.changes[level + 1] = tree.changes[0]
    some, inversions = tree.rows[level, : tree.n[level]], 0
    for i in range(1, len(some)):
        inversions += price[some[i]] > price[some[i - 1]]
    if inversions == 0:
        return
    if inversions > _FEW_INVERSIONS:
        order = stable_order(-price[some])
        some[:] = some[order]
        return
    for i in range(1, len(some)):
        row, j = some[i], i
        while j > 0 and price[some[j - 1]] < price[row]:
            some[j] = some[j - 1]
            j -= 1
        some[j] = row


@lean
def _dearest(rows, tree, level, price):
    """The prices of the k dearest candidates together, and whether there are k."""
    total, records = 0.0, 0
    for row in tree.rows[level, : tree.n[level]]:
        taken = min(rows.copies[row], rows.k - records)
        records += taken
        total += taken * price[row]
        if records >= rows.k:
            return total, True
    return total, False


@lean
def _weigh(rows, tree, level, price):
    """Add up the prices of the k dearest candidates by their leaves."""
    tree.weight[:] = 0.0
    records = 0
    for row in tree.rows[level, : tree.n[level]]:
        taken = min(rows.copies[row], rows.k - records)
        records += taken
        for a in range(rows.leaves.shape[1]):
            tree.weight[tree.start[a] + rows.leaves[row, a]] += taken * price[row]
        if records >= rows.k:
            break


@kernel
def _chosen(rows, tree, level):
    """The column and leaf to branch on; -1 if the dearest candidates are all in the box."""
    best, column, value = 0.0, -1, 0
    for a in range(rows.leaves.shape[1]):
        start, n = tree.start[a], rows.cells.attribute[a].n_leaves
        weight, need = tree.weight[start : start + n], tree.need[level, start : start + n]
        if rows.cells.attribute[a].kind == ORDERED:
            if tree.width[level, a] == 0:
                score, leaf = _best_cut(rows, tree, level, a, weight, need)
            else:
                score, leaf = _best_end(weight, need, tree.lo[level, a], tree.hi[level, a])
        else:
            score, leaf = 0.0, 0
            for one in range(n):
                if weight[one] * need[one] > score:
                    score, leaf = weight[one] * need[one], one
        if score > best:
            best, column, value = score, a, leaf
    if column < 0:
        column, value = _any_needed(rows, tree, level)
    return column, value


@lean
def _any_needed(rows, tree, level):
    """A leaf that one of the k dearest candidates needs, whatever its price; -1 if there is none."""
    records = 0
    for row in tree.rows[level, : tree.n[level]]:
        for a in range(rows.leaves.shape[1]):
            if tree.need[level, tree.start[a] + rows.leaves[row, a]] > 0.0:
                return a, rows.leaves[row, a]
        records += rows.copies[row]
        if records >= rows.k:
            break
    return -1, 0


@kernel
def _best_cut(rows, tree, level, a, weight, need):
    """Where to cut an ordered column in two: the leaf that begins the upper half of the dearest."""
    some = tree.rows[level, : tree.n[level]]
    least = most = rows.leaves[some[0], a]
    for row in some:
        least, most = min(least, rows.leaves[row, a]), max(most, rows.leaves[row, a])
    if least == most:
        return np.inf if need[least] > 0.0 else 0.0, least
    half, below, leaf = weight.sum() / 2, 0.0, 0
    while leaf < most and below + weight[leaf] < half:
        below += weight[leaf]
        leaf += 1
    if half - below > below + weight[leaf] - half:  # nearer to half with this leaf below
        leaf += 1
    return half * need[least] / _FIRST * _FIRST_CUT, min(max(leaf, least + 1), most)


@kernel
def _best_end(weight, need, lo, hi):
    """A leaf with half of the dearest on the side of an interval that has more, and its score."""
    below, above = weight[:lo].sum(), weight[hi + 1 :].sum()
    step, leaf = (1, hi) if above >= below else (-1, lo)
    half, reached = max(below, above) / 2, 0.0
    end = len(weight) - 1 if step > 0 else 0
    while leaf != end and reached < half:
        leaf += step
        reached += weight[leaf]
    if leaf == (hi if step > 0 else lo):
        return 0.0, leaf
    return reached * need[leaf], leaf


@kernel
def _keep_box(tree, level, spent, rows, found):
    """Note the box and its rows, where there is room."""
    number = found.n[0]
    if number >= len(found.cost):
        return
    place = found.start[number]
    for row in tree.rows[level, : tree.n[level]]:
        inside = True
        for a in range(rows.leaves.shape[1]):
            inside &= tree.need[level, tree.start[a] + rows.leaves[row, a]] <= 0.0
        if inside:
            if place >= len(found.rows):
                return
            found.rows[place] = row
            place += 1
    found.start[number + 1], found.cost[number] = place, spent
    found.n[0] += 1


@lean
def _lower_dearest(rows, tree, level, price, excess):
    """Lower the prices of the k dearest candidates by as much."""
    records = 0
    for row in tree.rows[level, : tree.n[level]]:
        price[row] -= excess
        records += rows.copies[row]
        if records >= rows.k:
            break


@kernel
def _branch(rows, tree, level, column, leaf):
    """Replace a node by those that it is branched into; how many wait then."""
    above = level + 1
    is_ordered = rows.cells.attribute[column].kind == ORDERED
    is_first = tree.width[level, column] == 0
    same = is_ordered and is_first and _is_all(tree, level, column, leaf)
    _copy_node(tree, level, above)
    if is_ordered and is_first and not same:
        _copy_node(tree, level, above + 1)
        _include(rows, tree, above + 1, column, leaf - 1)
        _include(rows, tree, above + 1, column, leaf)
        n_leaves = rows.cells.attribute[column].n_leaves
        _drop(tree, level, column, leaf, n_leaves - 1)
        _drop(tree, above, column, 0, leaf - 1)
        return above + 2
    _include(rows, tree, above, column, leaf)
    first, last = leaf, leaf
    if is_ordered and not is_first:
        first = 0 if leaf < tree.lo[level, column] else leaf
        last = leaf if leaf < tree.lo[level, column] else rows.cells.attribute[column].n_leaves - 1
    _drop(tree, level, column, first, last)
    return above + 1


@lean
def _is_all(tree, level, column, leaf):
    """Whether all candidates have the leaf."""
    same = True
    for row in tree.rows[level, : tree.n[level]]:
        same &= tree.by_column[column, row] == leaf
    return same


@kernel
def _copy_node(tree, level, above):
    n = tree.n[level]
    tree.n[above] = n
    tree.rows[above, :n] = tree.rows[level, :n]
    tree.lo[above], tree.hi[above] = tree.lo[level], tree.hi[level]
    tree.width[above], tree.spent[above] = tree.width[level], tree.spent[level]
    tree.need[above] = tree.need[level]
    tree.changes[above + 1] = tree.changes[level + 1]


@lean
def _include(rows, tree, level, a, leaf):
    """Let the box have a leaf, and say what every other leaf of the column would cost then."""
    cells, attribute = rows.cells, rows.cells.attribute[a]
    lo, hi, width = tree.lo[level, a], tree.hi[level, a], tree.width[level, a]
    lo, hi = (min(lo, leaf), max(hi, leaf)) if width > 0 else (leaf, leaf)
    width += 1
    tree.lo[level, a], tree.hi[level, a], tree.width[level, a] = lo, hi, width
    spent = cell_cost(cells, a, lo, hi, width)
    tree.spent[level, a] = spent
    need = tree.need[level, attribute.leaf_start : attribute.leaf_start + attribute.n_leaves]
    for one in range(attribute.n_leaves):
        if one == leaf or (attribute.kind != SET and lo <= one <= hi):
            need[one] = 0.0
        elif need[one] > 0.0 or width == 1:
            more = cell_cost(cells, a, min(lo, one), max(hi, one), width + 1)
            need[one] = max(more - spent, 0.0)


@lean
def _drop(tree, level, column, first, last):
    """Drop the candidates with a leaf from `first` to `last`."""
    n, some = 0, tree.rows[level]
    for i in range(tree.n[level]):
        leaf = tree.by_column[column, some[i]]
        some[n] = some[i]
        n += leaf < first or leaf > last
    tree.n[level] = n
