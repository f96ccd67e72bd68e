"""The privacy models as their papers define them: slow, in fractions, one class at a time.

A class is a list with the number of records of each value, zeros included.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from math import ceil, inf, log, prod


def k_anonymous(cells, k):
    return sum(cells) >= k


def frequency(cells):
    """Kenig and Tassa, Definition 8."""
    return Fraction(sum(cells), max(cells))


def distinct(cells):
    return sum(count > 0 for count in cells)


def entropy_reaches(cells, l):  # noqa: E741
    """- sum of p log p >= log l, with both sides times n and without the logarithm."""
    n = sum(cells)
    return Fraction(n) ** n >= Fraction(l) ** n * prod(count**count for count in cells)


def recursive(cells, l):  # noqa: E741
    """Machanavajjhala et al., Definition 4.3: r1 < c (rl + ... + rm). The smallest c is not attained."""
    r = sorted(cells, reverse=True)
    tail = sum(r[l - 1 :])
    return Fraction(r[0], tail) if tail else inf


def deassociated(cells, groups, alpha, rounding):
    """Wong et al., Definitions 4 and 5, for every group of values that counts as one sensitive value."""
    bound = alpha * sum(cells)
    bound = bound if rounding == "none" else ceil(bound)
    return all(sum(cells[value] for value in group) <= bound for group in groups)


@cache
def most_sensitive(n, k, alpha):
    """The most sensitive records in any cut of n records into classes of at least k, under the ceiling."""
    whole = [ceil(alpha * n)] if n >= k else []
    return max(
        whole + [ceil(alpha * p) + most_sensitive(n - p, k, alpha) for p in range(k, n - k + 1)], default=0
    )


def earth_movers_distance(cells, overall, ground):
    """The least cost of turning one distribution into the other, by augmenting along cheapest paths."""
    n, total = sum(cells), sum(overall)
    surplus = [count * total - expected * n for count, expected in zip(cells, overall)]
    flow = [[0] * len(cells) for _ in cells]
    cost = Fraction(0)
    while any(surplus):
        path = _cheapest_path(surplus, flow, ground)
        steps = list(pairwise(path))
        undone = [flow[b][a] for a, b in steps if flow[b][a] > 0]
        moved = min([surplus[path[0]], -surplus[path[-1]], *undone])
        for a, b in steps:
            cost += moved * _step(a, b, flow, ground)
            if flow[b][a] > 0:
                flow[b][a] -= moved
            else:
                flow[a][b] += moved
        surplus[path[0]] -= moved
        surplus[path[-1]] += moved
    return cost / (n * total)


def _step(a, b, flow, ground):
    return -ground[b][a] if flow[b][a] > 0 else ground[a][b]


def _cheapest_path(surplus, flow, ground):
    """Bellman-Ford from all values with a surplus to the nearest with a deficit."""
    values = range(len(surplus))
    far = {value: (Fraction(0), [value]) for value in values if surplus[value] > 0}
    for _ in values:
        for a in list(far):
            for b in values:
                cost = far[a][0] + _step(a, b, flow, ground)
                if a != b and (b not in far or cost < far[b][0]):
                    far[b] = cost, [*far[a][1], b]
    return min((far[value] for value in values if surplus[value] < 0), key=lambda found: found[0])[1]


def equal_ground(m):
    return [[Fraction(a != b) for b in range(m)] for a in range(m)]


def ordered_ground(ranks):
    steps = max(len(set(ranks)) - 1, 1)
    place = {rank: i for i, rank in enumerate(sorted(set(ranks)))}
    return [[Fraction(abs(place[a] - place[b]), steps) for b in ranks] for a in ranks]


def hierarchical_ground(parent, leaf_node, height):
    """The height of the lowest common ancestor over the height of the root."""
    root = max(max(height), 1)
    return [[Fraction(height[_common_ancestor(a, b, parent)], root) for b in leaf_node] for a in leaf_node]


def _common_ancestor(a, b, parent):
    above = _up_to_root(a, parent)
    return next(node for node in _up_to_root(b, parent) if node in above)


def _up_to_root(node, parent):
    path = [node]
    while parent[path[-1]] >= 0:
        path.append(parent[path[-1]])
    return path


def variational_distance(cells, overall):
    """The earth mover's distance where every move costs 1 (Li et al., section 4.1)."""
    n, total = sum(cells), sum(overall)
    return sum(abs(Fraction(c, n) - Fraction(q, total)) for c, q in zip(cells, overall)) / 2


def ordered_distance(cells, overall):
    """The same for values in their order: the sum of all running differences, over m - 1 (section 4.1)."""
    n, total, running, moved = sum(cells), sum(overall), Fraction(0), Fraction(0)
    for c, q in zip(cells, overall):
        running += Fraction(c, n) - Fraction(q, total)
        moved += abs(running)
    return moved / max(len(cells) - 1, 1)


def disclosure_within(cells, overall, delta):
    """Brickell and Shmatikov, Definition 1, base 2: 2**-delta < share ratio < 2**delta for all values."""
    n, total = sum(cells), sum(overall)
    a, b = Fraction(delta).numerator, Fraction(delta).denominator
    ratios = [Fraction(c * total, q * n) for c, q in zip(cells, overall) if q]
    return all(r > 0 and r**b < 2**a and r**b * 2**a > 1 for r in ratios)


def likeness_gains(cells, overall):
    """Cao and Karras, Definition 2: for each value of the table, how much its share rises in the class."""
    n, total = sum(cells), sum(overall)
    return [(Fraction(c, n) - Fraction(q, total)) / Fraction(q, total) for c, q in zip(cells, overall) if q]


def likeness_within(cells, overall, beta, kind):
    """Definition 3: the gain of each value is at most beta; enhanced, at most min(beta, -ln share)."""
    total = sum(overall)
    limits = [beta for q in overall if q]
    if kind == "enhanced":
        limits = [min(beta, -log(q / total)) for q in overall if q]
    return all(gain <= limit for gain, limit in zip(likeness_gains(cells, overall), limits))


def records_alike(rows, known):
    """LKC: per record, the fewest records that share its labels in any set of at most `known` columns."""
    columns = range(len(rows[0]))
    sets = [chosen for size in range(1, known + 1) for chosen in combinations(columns, size)]
    return [
        min(sum(all(other[c] == row[c] for c in chosen) for other in rows) for chosen in sets) for row in rows
    ]


def people_fitting(row, everybody, covers):
    """k-map: the people of a population whom a published row fits; covers(column, label, value)."""
    return [
        person
        for person in everybody
        if all(covers(c, label, value) for c, (label, value) in enumerate(zip(row, person)))
    ]


def chances_of_presence(rows, everybody, covers):
    """delta-presence, Nergiz et al., Definition 2: per person the chance to be in the table."""
    chances = []
    for person in everybody:
        looks = {row for row in rows if people_fitting(row, [person], covers)}
        assert len(looks) <= 1, "classes overlap"
        alike = [(rows.count(row), len(people_fitting(row, everybody, covers))) for row in looks]
        chances.append(Fraction(*alike[0]) if alike else Fraction(0))
    return chances
