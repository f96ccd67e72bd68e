"""What the cheapest box around a record costs that holds k records, over all groups that it may be in."""

from itertools import combinations

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
