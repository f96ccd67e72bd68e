"""FOREST and the withholding of outliers, literally."""

from __future__ import annotations

from by_definition.cluster_cells import cost_function


def forest(problem, k):
    """FOREST on distinct rows: the target of each row's outgoing edge, or -1.

    Of all trees that are too small, the one whose next edge is lightest goes first; ties by row number.
    """
    cost_of = cost_function(problem)
    counts = problem.rows.counts.tolist()
    n = len(counts)
    to = [-1] * n
    tree = list(range(n))  # a name per tree
    while True:
        edges = []
        for row in range(n):
            if to[row] < 0 and sum(counts[r] for r in range(n) if tree[r] == tree[row]) < k:
                outside = [other for other in range(n) if tree[other] != tree[row]]
                target = min(outside, key=lambda other: (cost_of([row, other]), other))
                edges.append((cost_of([row, target]), row, target))
        if not edges:
            return to
        _, row, target = min(edges)
        to[row] = target
        tree = [tree[target] if name == tree[row] else name for name in tree]


def withheld(problem, groups, star_cost, most):
    """The cost after records left groups of more than k, one by one, each time the one that gains most."""
    cost_of = cost_function(problem)
    rows = problem.rows.of_record.tolist()
    members = {}
    for record, group in enumerate(groups):
        members.setdefault(int(group), []).append(rows[record])
    paid = sum(len(group) * cost_of(group) for group in members.values())
    for _ in range(most):
        options = []
        for name, group in members.items():
            if len(group) > problem.k:
                for place in range(len(group)):
                    rest = group[:place] + group[place + 1 :]
                    gain = len(group) * cost_of(group) - len(rest) * cost_of(rest) - star_cost
                    options.append((gain, name, place))
        if not options or max(options)[0] <= 1e-12:
            return paid
        gain, name, place = max(options)
        del members[name][place]
        paid -= gain
    return paid
