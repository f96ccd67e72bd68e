"""What the cheapest box around a record costs that holds k records, over all groups that it may be in."""

from itertools import combinations, product

import numpy as np

from by_definition.group_costs import record_cost_by_definition


def cheapest_box_by_definition(tables, rows, k, record):
    """The least cost of a record in a group of k of these rows, the given one among them."""
    others = [other for other in range(len(rows)) if other != record]
    groups = ([record, *mates] for mates in combinations(others, k - 1))
    return min(record_cost_by_definition(tables, rows[group]) for group in groups)


def dearest_box_by_definition(tables, rows, k, record, prices):
    """The greatest excess of the mean price of k rows, the record among them, over the cost of their box."""
    others = [row for row in range(len(rows)) if row != record]
    greatest = float("-inf")
    for chosen in combinations(others, k - 1):
        group = [record, *chosen]
        mean = sum(prices[row] for row in group) / k
        greatest = max(greatest, mean - record_cost_by_definition(tables, rows[group]))
    return greatest


def greatest_excess_of_boxes(columns, k, prices):
    """The greatest excess of the mean price of the k dearest records in a box over its cost, over all boxes.

    columns  the values of each column: numbers have intervals, texts have sets; a box costs the mean over
             columns of (values covered - 1) / (values - 1)
    """
    greatest, prices = float("-inf"), np.asarray(prices)
    for cells in product(*map(_cells, columns)):
        inside = np.logical_and.reduce([is_in for is_in, _ in cells])
        if inside.sum() >= k:
            dearest = np.sort(prices[inside])[::-1][:k]
            greatest = max(greatest, dearest.mean() - sum(cost for _, cost in cells) / len(cells))
    return greatest


def _cells(column):
    """Per interval or set of values: which records have one of them, and what it costs."""
    domain, values = sorted(set(column)), np.array(column)
    if isinstance(column[0], str):
        covered = [some for size in range(1, len(domain) + 1) for some in combinations(domain, size)]
    else:
        covered = [domain[i:j] for i, j in combinations(range(len(domain) + 1), 2)]
    return [(np.isin(values, some), (len(some) - 1) / max(len(domain) - 1, 1)) for some in covered]
