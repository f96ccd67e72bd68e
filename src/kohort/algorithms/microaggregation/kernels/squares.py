"""Groups of points with a low sum of squares: a local search, the best runs of one column, a lower bound."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.microaggregation.kernels.mdav import insert_near, squared
from kohort.kernels.compiled import kernel

_EPSILON = 1e-12


@kernel
def sum_of_squares(points, group_of, n_groups):
    """The squared distances of all points to the centres of their groups, added up."""
    centres, _ = _centres(points, group_of, n_groups)
    total = 0.0
    for point in range(len(points)):
        total += squared(points, point, centres[group_of[point]])
    return total


@kernel
def nearest_centres(points, group_of, n_groups, wanted):
    """Per group the `wanted` groups with the nearest centres, nearest first. O(groups^2 * columns)."""
    centres, _ = _centres(points, group_of, n_groups)
    wanted = min(wanted, n_groups - 1)
    found = np.full((n_groups, max(wanted, 1)), -1, dtype=np.int64)
    near = np.empty(max(wanted, 1))
    for group in range(n_groups):
        near[:] = np.inf
        for other in range(n_groups):
            if other != group:
                apart = squared(centres, group, centres[other])
                if apart < near[-1]:
                    insert_near(near, found[group], apart, other)
    return found


@kernel
def lower_squares(points, group_of, n_groups, k, neighbours, rounds):
    """Change groups while that lowers the sum of squares; returns by how much it fell.

    Every group keeps k to 2k - 1 points. Groups that dissolve stay empty. Each of the rounds takes
    O(groups * neighbours * k^2 * columns).
    """
    most = 2 * k - 1
    members, sizes, sums = _members(points, group_of, n_groups, most)
    fallen = 0.0
    for _ in range(rounds):
        before = fallen
        for group in range(n_groups):
            for other in neighbours[group]:
                while other >= 0 and sizes[group] and sizes[other]:
                    gain = _best_change(points, members, sizes, sums, (group, other), k, group_of)
                    if gain <= _EPSILON:
                        break
                    fallen += gain
            fallen += _dissolve(points, members, sizes, sums, group, neighbours[group], most, group_of)
        if fallen - before <= _EPSILON:
            break
    return fallen


@kernel
def _centres(points, group_of, n_groups):
    centres, sizes = np.zeros((n_groups, points.shape[1])), np.zeros(n_groups, dtype=np.int64)
    for point in range(len(points)):
        sizes[group_of[point]] += 1
        for column in range(points.shape[1]):
            centres[group_of[point], column] += points[point, column]
    for group in range(n_groups):
        if sizes[group]:
            centres[group] /= sizes[group]
        else:
            centres[group] = np.inf
    return centres, sizes


@kernel
def _members(points, group_of, n_groups, most):
    sizes = np.zeros(n_groups, dtype=np.int64)
    for group in group_of:
        sizes[group] += 1
    members = np.full((n_groups, max(most, sizes.max()) + 1), -1, dtype=np.int64)
    sums = np.zeros((n_groups, points.shape[1]))
    sizes[:] = 0
    for point in range(len(points)):
        group = group_of[point]
        members[group, sizes[group]] = point
        sizes[group] += 1
        sums[group] += points[point]
    return members, sizes, sums


@kernel
def _best_change(points, members, sizes, sums, pair, k, group_of):
    """Make the best move or exchange between two groups, if one lowers the sum; returns by how much."""
    group, other = pair
    best, mine, theirs = _EPSILON, -1, -1
    if sizes[group] > k and sizes[other] < 2 * k - 1:
        for place in range(sizes[group]):
            gain = _gain_of_move(points[members[group, place]], sums, sizes, group, other)
            if gain > best:
                best, mine, theirs = gain, place, -1
    for place in range(sizes[group]):
        point = points[members[group, place]]
        for at in range(sizes[other]):
            gain = _gain_of_exchange(point, points[members[other, at]], sums, sizes, group, other)
            if gain > best:
                best, mine, theirs = gain, place, at
    if mine < 0:
        return 0.0
    point = members[group, mine]
    if theirs < 0:
        _leave(points, members, sizes, sums, group, mine)
        _enter(points, members, sizes, sums, other, point, group_of)
        return best
    back = members[other, theirs]
    _leave(points, members, sizes, sums, group, mine)
    _leave(points, members, sizes, sums, other, theirs)
    _enter(points, members, sizes, sums, other, point, group_of)
    _enter(points, members, sizes, sums, group, back, group_of)
    return best


@kernel
def _gain_of_move(point, sums, sizes, group, other):
    """By how much the sum falls if a point moves: what its group loses less what the other gains."""
    a, b = sizes[group], sizes[other]
    here, there = 0.0, 0.0
    for column in range(len(point)):
        step = point[column] - sums[group, column] / a
        here += step * step
        step = point[column] - sums[other, column] / b
        there += step * step
    return here * a / (a - 1) - there * b / (b + 1)


@kernel
def _gain_of_exchange(point, back, sums, sizes, group, other):
    """By how much the sum falls if two points change places: with u = back - point and centres c,
    2 u (c_group - c_other) + |u|^2 (1 / a + 1 / b)."""
    a, b = sizes[group], sizes[other]
    along, squared = 0.0, 0.0
    for column in range(len(point)):
        step = back[column] - point[column]
        along += step * (sums[group, column] / a - sums[other, column] / b)
        squared += step * step
    return 2 * along + squared * (1 / a + 1 / b)


@kernel
def _leave(points, members, sizes, sums, group, place):
    point = members[group, place]
    sizes[group] -= 1
    members[group, place] = members[group, sizes[group]]
    for column in range(points.shape[1]):
        sums[group, column] -= points[point, column]


@kernel
def _enter(points, members, sizes, sums, group, point, group_of):
    members[group, sizes[group]] = point
    sizes[group] += 1
    group_of[point] = group
    for column in range(points.shape[1]):
        sums[group, column] += points[point, column]


@kernel
def _dissolve(points, members, sizes, sums, group, neighbours, most, group_of):
    """Let every point of a group join its best neighbour, if that lowers the sum; returns by how much."""
    size = sizes[group]
    if size == 0:
        return 0.0
    gain = 0.0
    for place in range(size):
        gain += squared(points, members[group, place], sums[group] / size)
    joined = np.full(size, -1, dtype=np.int64)
    for place in range(size):
        point = members[group, place]
        best, least = -1, np.inf
        for other in neighbours:
            if other < 0 or other == group or sizes[other] == 0 or sizes[other] >= most:
                continue
            b = sizes[other]
            more = squared(points, point, sums[other] / b) * b / (b + 1)
            if more < least:
                best, least = other, more
        joined[place] = best
        if best < 0 or gain - least <= _EPSILON:
            joined[place] = -1
            _undo(points, members, sizes, sums, group, joined, group_of)
            return 0.0
        gain -= least
        _enter(points, members, sizes, sums, best, point, group_of)
    sizes[group] = 0
    sums[group] = 0.0
    return gain


@kernel
def _undo(points, members, sizes, sums, group, joined, group_of):
    """Take back the points that have joined other groups, the last first."""
    for place in range(len(joined) - 1, -1, -1):
        if joined[place] >= 0:
            _leave(points, members, sizes, sums, joined[place], sizes[joined[place]] - 1)
            group_of[members[group, place]] = group


@kernel
def squares_bound(points, k):
    """The sum over points of the squared distances to their k - 1 nearest, over 2k. O(n^2 * columns).

    The squares of a group of m add up to the squared distances of all its ordered pairs over 2m. Those of a
    point are at least the m - 1 nearest ones, and (their sum) / m is least for m = k, since their mean and
    (m - 1) / m both grow with m.
    """
    n, wanted = len(points), k - 1
    total = 0.0
    if wanted == 0:
        return total
    near, others = np.empty(wanted), np.empty(wanted, np.int64)
    for point in range(n):
        near[:] = np.inf
        for other in range(n):
            if other != point:
                apart = squared(points, point, points[other])
                if apart < near[-1]:
                    insert_near(near, others, apart, other)
        total += near.sum()
    return total / (2 * k)


@kernel
def optimal_runs(values, k):
    """The run of each of these sorted numbers, in the cut into runs of at least k with the least squares.

    Some best groups of one column are runs of the sorted numbers, of k to 2k - 1 each: a longer one is cut
    in two, which never adds squares. O(n * k).
    """
    n = len(values)
    sums, squares = np.zeros(n + 1), np.zeros(n + 1)
    middle = values.mean()  # sums of numbers near 0 lose fewer digits
    for place in range(n):
        number = values[place] - middle
        sums[place + 1] = sums[place] + number
        squares[place + 1] = squares[place] + number * number
    best, start = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
    best[0] = 0.0
    for end in range(k, n + 1):
        for begin in range(max(end - 2 * k + 1, 0), end - k + 1):
            total = sums[end] - sums[begin]
            cost = best[begin] + squares[end] - squares[begin] - total * total / (end - begin)
            if cost < best[end]:
                best[end], start[end] = cost, begin
    run_of = np.zeros(n, dtype=np.int64)
    end, run = n, 0
    while end > 0:
        run_of[start[end] : end] = run
        end, run = start[end], run + 1
    return run_of
