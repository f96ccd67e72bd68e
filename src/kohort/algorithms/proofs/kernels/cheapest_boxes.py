"""The cheapest box around a row that holds k records: what a record costs at least, by branch and bound.

A box has an interval, a set or a node per column. It starts as the row itself. Candidates are the rows that
it may still grow to hold. In each column, the box must grow until k candidates fit into that column: columns
are charged apart, so the sum of what they must grow is a lower bound, and candidates that cost too much on
top of it are dropped, which raises the bound again. Then a value of a column is chosen: either the box gets
it, or all candidates that have it are dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.algorithms.kernels.costs import cell_cost
from kohort.kernels.compiled import kernel, lean
from kohort.kernels.sorting import stable_order
from kohort.problem.encoding.layout import ORDERED, SET, CellCosts

_PASSES = 4  # times that candidates are dropped and the bound is raised, in one node
_NEAR = 1e-12
_HALVINGS = 4


class BoxRows(NamedTuple):
    """Distinct rows, how many records each has, and what their cells cost."""

    cells: CellCosts
    leaves: np.ndarray  # rows by columns
    copies: np.ndarray
    k: int


class BoxSearch(NamedTuple):
    """Room for a search in depth: per level of the tree a box and its candidates."""

    lo: np.ndarray  # levels by columns: the least leaf of the box
    hi: np.ndarray
    width: np.ndarray  # how many values it has
    spent: np.ndarray  # levels by columns: what the box costs in each
    bound: np.ndarray  # per level: a lower bound on all boxes that are left there
    n: np.ndarray  # per level: how many candidates there are
    rows: np.ndarray  # levels by candidates
    more: np.ndarray  # levels by candidates by columns: what the box costs more if it holds them
    must: np.ndarray  # per column: what the box must grow by
    tally: np.ndarray  # per leaf of a column
    price: np.ndarray  # per leaf of a column: what the box costs more with it


def new_box_search(rows: BoxRows, levels: int) -> BoxSearch:
    """An empty search that is at most so many levels deep."""
    n, columns = rows.leaves.shape
    leaves = int(rows.leaves.max(initial=0)) + 1
    return BoxSearch(
        lo=np.empty((levels, columns), np.int64),
        hi=np.empty((levels, columns), np.int64),
        width=np.empty((levels, columns), np.int64),
        spent=np.empty((levels, columns)),
        bound=np.empty(levels),
        n=np.empty(levels, np.int64),
        rows=np.empty((levels, n), np.int32),
        more=np.empty((levels, n, columns)),
        must=np.empty(columns),
        tally=np.empty(leaves, np.int64),
        price=np.empty(leaves),
    )


@kernel
def least_box_costs(rows, search, some, above, nodes):
    """Lower bounds on the cost of a box around each of some rows that holds k records.

    above  per row the cost of some box of k records around it; lowered where a cheaper one is found
    nodes  how many nodes of the tree may be visited for a row: then a weaker bound is proven

    Exact if it is proven in time. Otherwise bounds between that of the first node and the cheapest box known
    are tried, by halves.
    """
    least = np.empty(len(some))
    for number in range(len(some)):
        row = some[number]
        proven, low = _proven(rows, search, row, above[row], above, nodes)
        high = above[row]
        least[number] = high if proven else low
        for _ in range(0 if proven or nodes == 1 else _HALVINGS):
            middle = (least[number] + high) / 2
            proven, _ = _proven(rows, search, row, middle, above, nodes // 2)
            if proven:
                least[number] = min(middle, above[row])
            high = min(above[row], high if proven else middle)
    return least


@kernel
def _proven(rows, search, row, limit, above, nodes):
    """Whether no box around a row that costs less than `limit` holds k records; and the first node's bound.

    A cheaper box that is found lowers above[row], and the limit with it, so that the answer is about it.
    """
    _start(rows, search, row, limit)
    level, left, first_bound = 0, nodes, 0.0
    while level >= 0:
        left -= 1
        is_open = _propagated(rows, search, level, limit)
        if left == nodes - 1:
            first_bound = min(search.bound[0], limit)
        if is_open and _holds_enough(rows, search, level):
            limit = search.spent[level].sum()
            for i in range(search.n[level]):
                if search.more[level, i].sum() <= 0.0:
                    above[search.rows[level, i]] = min(above[search.rows[level, i]], limit)
            is_open = False
        if not is_open:
            level -= 1
            continue
        if left <= 0 or level + 1 >= len(search.n):
            return False, first_bound
        column, leaf = chosen_value(rows, search, level)
        include_value(rows, search, level, column, leaf)
        exclude_value(rows, search, level, column, leaf)
        level += 1
    return True, first_bound


@kernel
def _start(rows, search, row, limit):
    """Begin with the row itself as the box, and every row that is near enough as a candidate."""
    cells, n_columns, n = rows.cells, rows.leaves.shape[1], 0
    total = 0.0
    for a in range(n_columns):
        leaf = rows.leaves[row, a]
        search.lo[0, a] = search.hi[0, a] = leaf
        search.width[0, a] = 1
        search.spent[0, a] = cell_cost(cells, a, leaf, leaf, 1)
        total += search.spent[0, a]
    for other in range(len(rows.leaves)):
        cost = total
        for a in range(n_columns):
            more = 0.0
            if rows.leaves[other, a] != rows.leaves[row, a]:
                more = growth_in(cells, search, 0, a, rows.leaves[other, a])
            search.more[0, n, a] = more
            cost += more
            if cost >= limit - _NEAR:
                break
        if cost < limit - _NEAR:
            search.rows[0, n] = other
            n += 1
    search.n[0] = n


@lean
def growth_in(cells, search, level, a, leaf):
    """What the box costs more in a column if it gets a value that it does not have."""
    lo, hi = min(search.lo[level, a], leaf), max(search.hi[level, a], leaf)
    return cell_cost(cells, a, lo, hi, search.width[level, a] + 1) - search.spent[level, a]


@kernel
def _propagated(rows, search, level, limit):
    """Drop candidates and raise the bound until that is all; whether a box below the limit may be left."""
    spent, more, n_columns = search.spent[level].sum(), search.more[level], rows.leaves.shape[1]
    must = search.must
    for _ in range(_PASSES):
        bound = spent
        for a in range(n_columns):
            must[a] = must_grow(rows, search, level, a)
            bound += must[a]
        search.bound[level] = bound
        if bound >= limit - _NEAR:
            return False
        n, records = 0, 0
        for i in range(search.n[level]):
            cost = spent
            for a in range(n_columns):
                cost += max(more[i, a], must[a])
            if cost < limit - _NEAR:
                row = search.rows[level, i]
                search.rows[level, n] = row
                for a in range(n_columns):
                    more[n, a] = more[i, a]
                records += rows.copies[row]
                n += 1
        dropped = search.n[level] - n
        search.n[level] = n
        if records < rows.k:
            return False
        if 20 * dropped < n:
            break
    return True


@kernel
def must_grow(rows, search, level, a):
    """The least that the box must cost more in a column so that k of the candidates fit in there."""
    attribute, k = rows.cells.attribute[a], rows.k
    inside = 0
    for i in range(search.n[level]):
        if search.more[level, i, a] <= 0.0:
            inside += rows.copies[search.rows[level, i]]
    if inside >= k:
        return 0.0
    tally, price = search.tally[: attribute.n_leaves], search.price[: attribute.n_leaves]
    tally[:] = 0
    price[:] = np.inf
    for i in range(search.n[level]):
        leaf = rows.leaves[search.rows[level, i], a]
        if search.more[level, i, a] > 0.0:
            tally[leaf] += rows.copies[search.rows[level, i]]
            price[leaf] = search.more[level, i, a]
    if attribute.kind == SET and search.hi[level, a] < attribute.loners_from:
        return _fewest_values(attribute, tally, price, k - inside)
    if attribute.kind == ORDERED and search.hi[level, a] < attribute.loners_from:
        return _narrowest(attribute, tally, price, search.lo[level, a], search.hi[level, a], k - inside)
    return _nearest_values(tally, price, k - inside)


@kernel
def _fewest_values(attribute, tally, price, missing):
    """The cost of the fewest values that have the missing records, or of the whole column if that is less."""
    least, whole = np.inf, 0.0
    for leaf in range(len(tally)):
        least = min(least, price[leaf])
        if tally[leaf] > 0:
            whole = max(whole, price[leaf])
    n_values = 0
    for leaf in stable_order(-tally):
        if missing <= 0 or tally[leaf] == 0:
            break
        missing -= tally[leaf]
        n_values += 1
    if missing > 0:
        return np.inf
    cost = least + attribute.line_slope * (n_values - 1)
    return min(cost, whole) if whole > least else cost


@kernel
def _narrowest(attribute, tally, price, lo, hi, missing):
    """The cost of the narrowest interval that has the missing records, or of one with a loner if less.

    The price of a value is that of an interval which ends there.
    """
    end = min(attribute.loners_from, len(tally))
    least = np.inf
    for leaf in range(end, len(tally)):
        least = min(least, price[leaf])
    above = 0
    for leaf in range(hi + 1, end):
        above += tally[leaf]
    last, below = end - 1, 0
    for first in range(lo, -1, -1):
        below += tally[first]
        while last > hi and above + below - tally[last] >= missing:
            above -= tally[last]
            last -= 1
        if above + below >= missing:
            steps = (lo - first) + (last - hi)
            base = attribute.line_base if lo == hi and steps > 0 else 0.0
            least = min(least, base + attribute.line_slope * steps)
    return least


@kernel
def _nearest_values(tally, price, missing):
    """The price at which there are the missing records, cheapest values first."""
    for leaf in stable_order(price):
        missing -= tally[leaf]
        if missing <= 0:
            return price[leaf]
    return np.inf


@kernel
def _holds_enough(rows, search, level):
    """Whether the box, as it is, holds k records."""
    records = 0
    for i in range(search.n[level]):
        inside = True
        for a in range(rows.leaves.shape[1]):
            inside &= search.more[level, i, a] <= 0.0
        if inside:
            records += rows.copies[search.rows[level, i]]
    return records >= rows.k


@kernel
def chosen_value(rows, search, level):
    """A column and a value that the box does not have: one that most candidates need, where it must grow.

    In an ordered column, candidates need a value if they lie at or beyond it.
    """
    best, column, value = -1, 0, 0
    for a in range(rows.leaves.shape[1]):
        tally = search.tally[: rows.cells.attribute[a].n_leaves]
        tally[:] = 0
        for i in range(search.n[level]):
            if search.more[level, i, a] > 0.0:
                tally[rows.leaves[search.rows[level, i], a]] += rows.copies[search.rows[level, i]]
        if rows.cells.attribute[a].kind == ORDERED:
            leaf, needed = _halving_value(tally, search.lo[level, a], search.hi[level, a])
        else:
            leaf = np.argmax(tally)
            needed = tally[leaf]
        needed *= 1_000_000 if search.must[a] > 0.0 else 1
        if needed > best:
            best, column, value = needed, a, leaf
    return column, value


@kernel
def _halving_value(tally, lo, hi):
    """A value with half of the records on the side of an interval that has more; and their number."""
    below, above = tally[:lo].sum(), tally[hi + 1 :].sum()
    step, leaf = (1, hi) if above >= below else (-1, lo)
    missing = (max(below, above) + 1) // 2
    needed = missing
    while missing > 0:
        leaf += step
        missing -= tally[leaf]
    return leaf, needed


@kernel
def include_value(rows, search, level, column, leaf):
    """Make the next level: the same candidates, and a box that has the value."""
    above, n_columns = level + 1, rows.leaves.shape[1]
    for a in range(n_columns):
        search.lo[above, a], search.hi[above, a] = search.lo[level, a], search.hi[level, a]
        search.width[above, a], search.spent[above, a] = search.width[level, a], search.spent[level, a]
    search.lo[above, column] = min(search.lo[level, column], leaf)
    search.hi[above, column] = max(search.hi[level, column], leaf)
    search.width[above, column] += 1
    search.spent[above, column] += growth_in(rows.cells, search, level, column, leaf)
    is_set = rows.cells.attribute[column].kind == SET
    for i in range(search.n[level]):
        row = search.rows[level, i]
        search.rows[above, i] = row
        for a in range(n_columns):
            search.more[above, i, a] = search.more[level, i, a]
        value = rows.leaves[row, column]
        if value == leaf:
            search.more[above, i, column] = 0.0
        elif search.more[level, i, column] > 0.0:
            covered = not is_set and search.lo[above, column] <= value <= search.hi[above, column]
            growth = 0.0 if covered else growth_in(rows.cells, search, above, column, value)
            search.more[above, i, column] = max(growth, 0.0)
    search.n[above] = search.n[level]


@kernel
def exclude_value(rows, search, level, column, leaf):
    """Drop the candidates of a level that have the value, or in an ordered column lie beyond it."""
    n = 0
    first, last = leaf, leaf
    if rows.cells.attribute[column].kind == ORDERED:
        first = 0 if leaf < search.lo[level, column] else leaf
        last = leaf if leaf < search.lo[level, column] else rows.cells.attribute[column].n_leaves - 1
    for i in range(search.n[level]):
        row = search.rows[level, i]
        if not first <= rows.leaves[row, column] <= last:
            search.rows[level, n] = row
            for a in range(rows.leaves.shape[1]):
                search.more[level, n, a] = search.more[level, i, a]
            n += 1
    search.n[level] = n
