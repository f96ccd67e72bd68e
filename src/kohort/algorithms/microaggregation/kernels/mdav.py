"""MDAV and V-MDAV: groups of near points, from the outside in (Domingo-Ferrer, Mateo-Sanz; Solanas)."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel
from kohort.kernels.sorting import sorted_copy


@kernel
def mdav_groups(points, k):
    """The group of each point, at least k in each: around the farthest point from the centre, then around the
    farthest from that one, and so on. O(n^2 * columns / k)."""
    n = len(points)
    group_of = np.full(n, -1, dtype=np.int64)
    rest, number = points.copy(), np.arange(n)
    total = _sum(rest, n)
    left, groups = n, 0
    while left >= 3 * k:
        first = rest[_farthest(rest, left, total / left)].copy()
        second = rest[_farthest(rest, left, first)].copy()
        left = _take_nearest(rest, number, left, first, k, group_of, groups, total)
        left = _take_nearest(rest, number, left, second, k, group_of, groups + 1, total)
        groups += 2
    if left >= 2 * k:
        first = rest[_farthest(rest, left, total / left)].copy()
        left = _take_nearest(rest, number, left, first, k, group_of, groups, total)
        groups += 1
    for place in range(left):
        group_of[number[place]] = groups
    return group_of


@kernel
def v_mdav_groups(points, k, gamma):
    """The group of each point, k to 2k - 1 in each: a group takes in its nearest point while that is nearer
    to it than gamma times its nearest other point. O(n^2 * columns)."""
    n = len(points)
    group_of = np.full(n, -1, dtype=np.int64)
    rest, number = points.copy(), np.arange(n)
    total = _sum(rest, n)
    centre = total / n
    left, groups = n, 0
    while left >= k:
        first = rest[_farthest(rest, left, centre)].copy()
        left = _take_nearest(rest, number, left, first, k, group_of, groups, total)
        size = k
        while size < 2 * k - 1 and left > 1:
            place, inside = _nearest_to_group(points, group_of, groups, rest, left)
            if inside >= gamma * gamma * _nearest_other(rest, left, place):
                break
            group_of[number[place]] = groups
            left = _remove(rest, number, left, place)
            size += 1
        groups += 1
    _join_nearest(points, group_of, groups, number, left)
    return group_of


@kernel
def _sum(points, n):
    total = np.zeros(points.shape[1])
    for place in range(n):
        for column in range(points.shape[1]):
            total[column] += points[place, column]
    return total


@kernel
def squared(points, place, other):
    """The squared distance from the point at a place to another point."""
    found = 0.0
    for column in range(points.shape[1]):
        step = points[place, column] - other[column]
        found += step * step
    return found


@kernel
def insert_near(near, found, apart, number):
    """Insert a distance below the last of `near`, and whose it is; of equal ones the first stays ahead."""
    at = len(near) - 1
    while at > 0 and near[at - 1] > apart:
        near[at], found[at] = near[at - 1], found[at - 1]
        at -= 1
    near[at], found[at] = apart, number


@kernel
def _farthest(rest, left, other):
    """The place of the first point that is farthest from another one."""
    best, most = 0, -1.0
    for place in range(left):
        apart = squared(rest, place, other)
        if apart > most:
            best, most = place, apart
    return best


@kernel
def _take_nearest(rest, number, left, other, k, group_of, group, total):
    """Make the k points nearest to another one a group, and remove them; returns how many points are left."""
    near, places = np.full(k, np.inf), np.full(k, -1)
    for place in range(left):
        apart = squared(rest, place, other)
        if apart < near[k - 1]:
            insert_near(near, places, apart, place)
    taken = sorted_copy(places)[::-1]  # the last first, so that a removal moves none of the others
    for place in taken:
        group_of[number[place]] = group
        for column in range(rest.shape[1]):
            total[column] -= rest[place, column]
        left = _remove(rest, number, left, place)
    return left


@kernel
def _remove(rest, number, left, place):
    """Put the last point in the place of one that is removed."""
    last = left - 1
    number[place] = number[last]
    for column in range(rest.shape[1]):
        rest[place, column] = rest[last, column]
    return last


@kernel
def _nearest_to_group(points, group_of, group, rest, left):
    """The place of the point that is nearest to a member of a group, and its squared distance."""
    members = np.flatnonzero(group_of == group)
    best, least = 0, np.inf
    for place in range(left):
        for member in members:
            apart = squared(rest, place, points[member])
            if apart < least:
                best, least = place, apart
    return best, least


@kernel
def _nearest_other(rest, left, place):
    """The squared distance of a point to its nearest other one."""
    least = np.inf
    for other in range(left):
        if other != place:
            least = min(least, squared(rest, other, rest[place]))
    return least


@kernel
def _join_nearest(points, group_of, groups, number, left):
    """Let points that are too few for a group join the one with the nearest centre."""
    centres, sizes = np.zeros((max(groups, 1), points.shape[1])), np.zeros(max(groups, 1))
    for point in range(len(points)):
        if group_of[point] >= 0:
            centres[group_of[point]] += points[point]
            sizes[group_of[point]] += 1
    for group in range(groups):
        centres[group] /= sizes[group]
    for place in range(left):
        best, least = 0, np.inf
        for group in range(groups):
            apart = squared(centres, group, points[number[place]])
            if apart < least:
                best, least = group, apart
        group_of[number[place]] = best
