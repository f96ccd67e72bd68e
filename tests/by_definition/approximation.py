"""The guarantees of Aggarwal et al. by definition: distances, charges, trees, the least by brute force."""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations

from by_definition.cluster_cells import cost_function


def records_by_distance(problem, row):
    """The distances of all other records from one record of a row, near ones first."""
    cost_of = cost_function(problem)
    rows = problem.rows.of_record.tolist()
    rows.remove(row)
    return sorted(cost_of([row, other]) for other in rows)


def charges(problem, k):
    """Section 4.1: per record the distance of its (k-1)-st nearest record."""
    if k == 1:
        cost_of = cost_function(problem)
        return [cost_of([row]) for row in problem.rows.of_record.tolist()]
    return [records_by_distance(problem, row)[k - 2] for row in problem.rows.of_record.tolist()]


def least_cost(problem, k):
    """The least total cost of any partition of the records into groups of k to 2k - 1.

    For monotone costs larger groups are never needed.
    """
    cost_of = cache(cost_function(problem))

    def weigh(rows):
        return len(rows) * cost_of(frozenset(rows)) if k <= len(rows) <= 2 * k - 1 else None

    return least_by_parts(problem, weigh)


def least_by_parts(problem, weigh):
    """The least sum of `weigh(rows of a part)` over partitions of the records; None forbids a part. Subsets
    are bits of a number."""
    row_of = problem.rows.of_record.tolist()
    n = len(row_of)
    parts = {}  # by the first record in them
    for bits in range(1, 2**n):
        members = [record for record in range(n) if bits >> record & 1]
        weight = weigh([row_of[record] for record in members])
        if weight is not None:
            parts.setdefault(members[0], []).append((bits, weight))

    @cache
    def best(left):
        if not left:
            return 0.0
        first = (left & -left).bit_length() - 1
        return min(
            (weight + best(left & ~bits) for bits, weight in parts.get(first, ()) if bits & ~left == 0),
            default=float("inf"),
        )

    return best(2**n - 1)


def trees(to):
    """The trees of a forest as sets; raises where an edge closes a cycle."""
    tree_of = {record: {record} for record in range(len(to))}
    for record, target in enumerate(to):
        if target >= 0:
            assert tree_of[record] is not tree_of[target], "a cycle"
            tree_of[record] |= tree_of[target]
            for member in tree_of[target]:
                tree_of[member] = tree_of[record]
    return {frozenset(tree) for tree in tree_of.values()}


def steiner_weight(edges, part):
    """The number of edges of the smallest subtree that holds a part, among the edges of a tree."""
    edges = set(edges)
    while True:
        degree = {}
        for one, other in edges:
            degree[one], degree[other] = degree.get(one, 0) + 1, degree.get(other, 0) + 1
        bare = {edge for edge in edges if any(degree[end] == 1 and end not in part for end in edge)}
        if not bare:
            return len(edges)
        edges -= bare


def least_one_two_factor(problem):
    """Section 5: every record has one or two edges. Only pairs and paths of three are needed: from a longer
    path or a cycle edges can be left out."""
    cost_of = cache(cost_function(problem))

    def weigh(rows):
        if len(rows) == 2:
            return cost_of(tuple(sorted(rows)))
        if len(rows) == 3:
            return sum(sorted(cost_of(tuple(sorted(pair))) for pair in combinations(rows, 2))[:2])
        return None

    return least_by_parts(problem, weigh)


def least_two_factor(problem):
    """Section 6: cycles through all records, the lightest through each part."""
    cost_of = cache(cost_function(problem))

    def weigh(rows):
        if len(rows) < 3:
            return None
        first, *others = rows
        return min(
            sum(cost_of(tuple(sorted(edge))) for edge in zip((first, *order), (*order, first)))
            for order in permutations(others)
        )

    return least_by_parts(problem, weigh)
