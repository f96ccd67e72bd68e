"""Clusters of distinct rows by definition: what they cost, and groups of records as such clusters."""

from __future__ import annotations

from collections import Counter

from by_definition.group_costs import cell_by_definition


def cost_function(problem):
    """A function of some distinct rows: what one record pays when all of them look alike.

    It adds up in the order of the attributes, so that it is equal to the kernels' cost to the last bit: ties
    are then broken alike.
    """
    tables = problem.coded.closure_tables
    rows = problem.rows.leaves.tolist()

    def cost_of(some):
        total = 0.0
        for attribute, leaves in enumerate(zip(*(rows[row] for row in some))):
            total += cell_by_definition(tables, attribute, sorted(set(leaves)))
        return total

    return cost_of


def as_clusters(problem, group_of_record):
    """Groups of records as a multiset of clusters: pairs of a row and how many of its copies are there."""
    groups = {}
    for record, group in enumerate(group_of_record):
        groups.setdefault(int(group), Counter())[int(problem.rows.of_record[record])] += 1
    return Counter(frozenset(group.items()) for group in groups.values())


def total_cost(problem, group_of_record):
    """What all records pay together."""
    cost_of = cost_function(problem)
    clusters = as_clusters(problem, group_of_record)
    return sum(
        times * sum(copies for _, copies in cluster) * cost_of([row for row, _ in cluster])
        for cluster, times in clusters.items()
    )
