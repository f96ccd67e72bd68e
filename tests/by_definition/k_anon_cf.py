"""k-ANON-CF by definition: closed records by brute force and by the printed algorithms, the least cost."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product


def support(problem, nodes):
    """Distinct rows under every node."""
    trees = [attribute.domain for attribute in problem.attributes]
    return frozenset(
        row
        for row, leaves in enumerate(problem.rows.leaves)
        if all(tree.lo[node] <= leaf <= tree.hi[node] for tree, node, leaf in zip(trees, nodes, leaves))
    )


def weight(problem, rows):
    return sum(int(problem.rows.counts[row]) for row in rows)


def narrower(problem, one, other):
    """Whether the first record lies below the second and is another."""
    trees = [attribute.domain for attribute in problem.attributes]
    inside = all(t.lo[b] <= t.lo[a] and t.hi[a] <= t.hi[b] for t, a, b in zip(trees, one, other))
    return inside and any(a > b for a, b in zip(one, other))  # below means a greater number


def closed_by_brute_force(problem, k):
    """Frequent records of which no narrower record has the same support (of equal leaf sets the lowest)."""
    records = list(product(*(range(len(a.domain.label)) for a in problem.attributes)))
    supports = {record: support(problem, record) for record in records}
    frequent = [record for record in records if supports[record] and weight(problem, supports[record]) >= k]
    return {
        record
        for record in frequent
        if not any(
            supports[other] == supports[record] and narrower(problem, other, record) for other in frequent
        )
    }


def closed_by_algorithm_7(problem, k):
    """Algorithms 6 and 7 as printed, with a table of processed records."""
    processed, closed = set(), set()
    trees = [attribute.domain for attribute in problem.attributes]

    def visit(record):
        rows = support(problem, record)
        if record in processed or weight(problem, rows) < k:
            return
        processed.add(record)
        for j, tree in enumerate(trees):
            for child in tree.children(record[j]):
                narrowed = (*record[:j], int(child), *record[j + 1 :])
                new_support = support(problem, narrowed)
                if weight(problem, new_support) >= k:
                    visit(narrowed)
                    if new_support == rows:
                        return  # not closed, and everything below was met through the narrowed record
        closed.add(record)

    visit(tuple(0 for _ in trees))
    return closed


def closure_cost(problem, rows):
    """Cost of one record published as the closure of these distinct rows."""
    total = 0.0
    for j, (attribute, weight_of) in enumerate(zip(problem.attributes, problem.weights)):
        leaves = [int(problem.rows.leaves[row, j]) for row in rows]
        tree = attribute.domain
        node = max(
            n for n in range(len(tree.label)) if tree.lo[n] <= min(leaves) and max(leaves) <= tree.hi[n]
        )
        total += weight_of * float(problem.cost.cell(attribute.nodes())[node])
    return total


def least_cost(problem, k):
    """The least total cost of any partition of the records into groups of at least k, by subsets."""
    row_of = [int(row) for row in problem.rows.of_record]
    n = len(row_of)

    @cache
    def best(left):
        if not left:
            return 0.0
        first, *others = sorted(left)
        found = float("inf")
        for size in range(k - 1, min(2 * k - 2, len(others)) + 1):
            for more in combinations(others, size):
                rest = best(left - {first, *more})
                if rest < found:
                    group = (first, *more)
                    cost = len(group) * closure_cost(problem, {row_of[record] for record in group})
                    found = min(found, cost + rest)
        return found

    return best(frozenset(range(n)))


def total_cost(problem, group_of_record):
    """The total cost of a grouping."""
    total = 0.0
    for group in set(group_of_record.tolist()):
        records = [i for i, g in enumerate(group_of_record) if g == group]
        total += len(records) * closure_cost(problem, {int(problem.rows.of_record[i]) for i in records})
    return total


def ratios(problem, closed_supports, uncovered, k):
    """d(S) / min(uncovered records in S, 2k-1) for each set that has any."""
    found = {}
    for number, (rows, cost) in enumerate(closed_supports):
        new = sum(uncovered[row] for row in rows)
        if new:
            found[number] = cost / min(new, 2 * k - 1)
    return found
