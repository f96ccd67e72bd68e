"""Search for cuts that a fractional choice of closed records violates: crowded unions and conflict cliques.

A fractional choice opens closed record Q by the amount z(Q) between 0 and 1. *Unions*: supports are united as
long as the union is small; the closed records inside it are opened by more in all than it has room for.
*Cliques*: closed records of which no two have room beside each other are opened by more than 1 in all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import stable_order

_MOST_IN_CLIQUE = 200


class SmallSupports(NamedTuple):
    """Closed records, and for each row those over it that have small supports."""

    start: np.ndarray  # per record and one more: its rows are rows[start[q]:start[q + 1]]
    rows: np.ndarray
    weight: np.ndarray  # per record: how many records of the table are under it
    over_start: np.ndarray  # per row and one more: the records over it
    over: np.ndarray
    copies: np.ndarray  # per row: how many records it has
    k: int


@kernel
def listed_over(start, rows, weight, below, n_rows):
    """For each row, the records over it that have fewer than `below` records of the table under them.

    Returns where the list of each row starts, and the lists. O(rows under these records).
    """
    over_start = np.zeros(n_rows + 1, np.int64)
    for q in range(len(weight)):
        if weight[q] < below:
            for row in rows[start[q] : start[q + 1]]:
                over_start[row + 1] += 1
    for row in range(n_rows):
        over_start[row + 1] += over_start[row]
    over, place = np.empty(over_start[n_rows], np.int32), over_start.copy()
    for q in range(len(weight)):
        if weight[q] < below:
            for row in rows[start[q] : start[q + 1]]:
                over[place[row]] = q
                place[row] += 1
    return over_start, over


@kernel
def listed_once(start, rows, weight, below, n_rows):
    """As `listed_over`, but each record is listed only for the row that has the fewest of them over it."""
    n_over = np.zeros(n_rows, np.int64)
    for q in range(len(weight)):
        if weight[q] < below:
            for row in rows[start[q] : start[q + 1]]:
                n_over[row] += 1
    home, home_start = np.empty(len(weight), np.int32), np.arange(len(weight) + 1)
    for q in range(len(weight)):
        home[q] = rows[start[q]]
        if weight[q] < below:
            for row in rows[start[q] : start[q + 1]]:
                if n_over[row] < n_over[home[q]]:
                    home[q] = row
    return listed_over(home_start, home, weight, below, n_rows)


@kernel
def crowded_unions(small, z, most, least_violation):
    """Unions of supports with fewer than `most` * k records that are opened by too much, one per record.

    Grown from each record by the one that is opened most per record of the table that it adds. Returns the
    rows of all unions, and where each ends. O(rows of a union * records over a row) each.
    """
    n_rows = len(small.copies)
    stamp, hits = np.full(n_rows, -1, np.int64), np.zeros(len(z), np.int64)
    union, touched = np.empty(n_rows, np.int64), np.empty(len(z), np.int64)
    found, ends = np.empty(1024, np.int64), np.empty(len(z), np.int64)
    n_found, n_unions = 0, 0
    for seed in range(len(z)):
        n, violation = _grown_union(small, z, most, seed, stamp, hits, union, touched)
        if violation < least_violation:
            continue
        found = _with_room(found, n_found, n)
        found[n_found : n_found + n] = union[:n]
        n_found += n
        ends[n_unions] = n_found
        n_unions += 1
    return found[:n_found], ends[:n_unions]


@kernel
def _with_room(array, n, n_more):
    """The array, or a longer one with the same first n numbers, that has room for more."""
    if n + n_more <= len(array):
        return array
    longer = np.empty(2 * (n + n_more), array.dtype)
    longer[:n] = array[:n]
    return longer


@kernel
def _grown_union(small, z, most, seed, stamp, hits, union, touched):
    """Grow a union from one record; return how many rows its most violated stage has, and the violation."""
    n, n_touched, size, opened = 0, 0, 0, 0.0
    best_n, best = 0, -np.inf
    coming = seed
    while coming >= 0:
        for row in small.rows[small.start[coming] : small.start[coming + 1]]:
            if stamp[row] == seed:
                continue
            stamp[row] = seed
            union[n] = row
            n += 1
            size += small.copies[row]
            for q in small.over[small.over_start[row] : small.over_start[row + 1]]:
                if hits[q] == 0:
                    touched[n_touched] = q
                    n_touched += 1
                hits[q] += small.copies[row]
                if hits[q] == small.weight[q]:
                    opened += z[q]
        if opened - size // small.k > best:
            best_n, best = n, opened - size // small.k
        coming = _best_to_add(small, z, most * small.k - size, hits, touched[:n_touched])
    for t in range(n_touched):
        hits[touched[t]] = 0
    return best_n, best


@kernel
def _best_to_add(small, z, room, hits, touched):
    """The record opened most per record of the table that it adds, which must be below `room`; -1 if none."""
    best, best_rate = -1, 0.0
    for q in touched:
        added = small.weight[q] - hits[q]
        if 0 < added < room and z[q] > best_rate * added:
            best, best_rate = q, z[q] / added
    return best


@kernel
def inside_union(small, union, stamp, number):
    """The records whose whole support lies in a union of rows.

    small   with each record listed for one of its rows alone
    stamp   per row: marks the union by `number`, which no other call may use
    """
    size = 0
    for row in union:
        stamp[row] = number
        size += small.copies[row]
    inside, n = np.empty(64, np.int64), 0
    for row in union:
        for q in small.over[small.over_start[row] : small.over_start[row + 1]]:
            if small.weight[q] <= size and _is_marked(small, q, stamp, number):
                inside = _with_room(inside, n, 1)
                inside[n] = q
                n += 1
    return inside[:n]


@kernel
def _is_marked(small, q, stamp, number):
    marked = True
    for row in small.rows[small.start[q] : small.start[q + 1]]:
        marked = marked and stamp[row] == number
    return marked


@kernel
def crowded_cliques(small, z, least_violation):
    """Sets of records, any two with fewer than 2k records in their union, that are opened by more than 1.

    Returns the members of all cliques, and where each ends. Members are added greedily, most opened first.
    """
    found, ends = np.empty(1024, np.int64), np.empty(len(z), np.int64)
    n_found, n_cliques = 0, 0
    hits, mark = np.zeros(len(z), np.int64), np.full(len(small.copies), -1, np.int64)
    clique = np.empty(_MOST_IN_CLIQUE, np.int64)
    for seed in range(len(z)):
        if small.weight[seed] >= 2 * small.k:
            continue
        beside = _in_conflict(small, seed, hits)
        order = stable_order(-z[beside])
        clique[0] = seed
        n, opened = 1, z[seed]
        for place in order:
            q = beside[place]
            if n < _MOST_IN_CLIQUE and _conflicts_with_all(small, q, clique[1:n], mark):
                clique[n] = q
                n += 1
                opened += z[q]
        if opened - 1.0 < least_violation:
            continue
        found = _with_room(found, n_found, n)
        found[n_found : n_found + n] = clique[:n]
        n_found += n
        ends[n_cliques] = n_found
        n_cliques += 1
    return found[:n_found], ends[:n_cliques]


@kernel
def _in_conflict(small, q, hits):
    """The records that have fewer than 2k records in the union with q. `hits` is 0 before and after."""
    touched = np.empty(64, np.int64)
    n = 0
    for row in small.rows[small.start[q] : small.start[q + 1]]:
        for other in small.over[small.over_start[row] : small.over_start[row + 1]]:
            if hits[other] == 0:
                touched = _with_room(touched, n, 1)
                touched[n] = other
                n += 1
            hits[other] += small.copies[row]
    n_kept = 0
    for t in range(n):
        other = touched[t]
        united = small.weight[q] + small.weight[other] - hits[other]
        hits[other] = 0
        if other != q and united < 2 * small.k:
            touched[n_kept] = other
            n_kept += 1
    return touched[:n_kept]


@kernel
def _conflicts_with_all(small, q, others, mark):
    """Whether q has fewer than 2k records in the union with each of the others."""
    for row in small.rows[small.start[q] : small.start[q + 1]]:
        mark[row] = q
    for other in others:
        united = small.weight[q]
        for row in small.rows[small.start[other] : small.start[other + 1]]:
            if mark[row] != q:
                united += small.copies[row]
        if united >= 2 * small.k:
            return False
    return True


@kernel
def extended_clique(small, clique, slack, hits, mark):
    """A clique with all records added that are in conflict with every member, least slack first.

    hits   per record 0, before and after
    mark   per row any number that no record has
    """
    beside = _in_conflict(small, clique[0], hits)
    longer = np.empty(len(clique) + len(beside), np.int64)
    longer[: len(clique)] = clique
    for q in clique:
        hits[q] = 1
    n = len(clique)
    for place in stable_order(slack[beside]):
        q = beside[place]
        if n < _MOST_IN_CLIQUE and hits[q] == 0 and _conflicts_with_all(small, q, longer[1:n], mark):
            longer[n] = q
            n += 1
    for q in clique:
        hits[q] = 0
    return longer[:n]
