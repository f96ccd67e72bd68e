"""MDAV, V-MDAV and sums of squares by definition: points are tuples of numbers, nothing is remembered."""

from __future__ import annotations


def apart(left, right):
    return sum((a - b) ** 2 for a, b in zip(left, right))


def centre(points):
    return tuple(sum(column) / len(points) for column in zip(*points))


def sum_of_squares(groups):
    return sum(apart(point, centre(group)) for group in groups for point in group)


def farthest(points, other):
    return max(points, key=lambda point: apart(point, other))


def nearest(points, other, k):
    return sorted(points, key=lambda point: apart(point, other))[:k]


def without(points, taken):
    return [point for point in points if point not in taken]


def mdav(points, k):
    """Domingo-Ferrer and Torra (2005), the generic MDAV. The points are distinct, and so are distances."""
    left, groups = list(points), []
    while len(left) >= 3 * k:
        first = farthest(left, centre(left))
        second = farthest(left, first)
        for seed in (first, second):
            groups.append(nearest(left, seed, k))
            left = without(left, groups[-1])
    if len(left) >= 2 * k:
        groups.append(nearest(left, farthest(left, centre(left)), k))
        left = without(left, groups[-1])
    return [*groups, left] if left else groups


def v_mdav(points, k, gamma):
    """Solanas and Martinez-Balleste (2006)."""
    middle, left, groups = centre(points), list(points), []
    while len(left) >= k:
        group = nearest(left, farthest(left, middle), k)
        left = without(left, group)
        while len(group) < 2 * k - 1 and len(left) > 1:
            candidate = min(left, key=lambda point: min(apart(point, member) for member in group))
            inside = min(apart(candidate, member) for member in group) ** 0.5
            outside = min(apart(candidate, other) for other in left if other != candidate) ** 0.5
            if inside >= gamma * outside:
                break
            group.append(candidate)
            left = without(left, [candidate])
        groups.append(group)
    made = [list(group) for group in groups]
    for point in left:
        made[min(range(len(groups)), key=lambda g: apart(point, centre(groups[g])))].append(point)
    return made


def partitions(points, k):
    """All ways to deal points to groups of at least k."""
    if not points:
        yield []
        return
    first, *others = points
    for mask in range(1 << len(others)):
        group = [first, *(p for i, p in enumerate(others) if mask >> i & 1)]
        rest = [p for i, p in enumerate(others) if not mask >> i & 1]
        if len(group) >= k and (not rest or len(rest) >= k):
            for more in partitions(rest, k):
                yield [group, *more]
