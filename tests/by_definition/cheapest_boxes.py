"""What the cheapest box around a record costs that holds k records, over all groups that it may be in."""

from itertools import combinations

from by_definition.group_costs import record_cost_by_definition


def cheapest_box_by_definition(tables, rows, k, record):
    """The least cost of a record in a group of k of these rows, the given one among them."""
    others = [other for other in range(len(rows)) if other != record]
    groups = ([record, *mates] for mates in combinations(others, k - 1))
    return min(record_cost_by_definition(tables, rows[group]) for group in groups)


def dearest_box_by_definition(tables, rows, k, record, prices):
    """The greatest excess of the mean price of k rows over the cost of a box that holds the record, too."""
    greatest = float("-inf")
    for size in range(k, len(rows) + 1):
        for group in combinations(range(len(rows)), size):
            if record in group:
                dearest = sorted((prices[row] for row in group), reverse=True)[:k]
                excess = sum(dearest) / k - record_cost_by_definition(tables, rows[list(group)])
                greatest = max(greatest, excess)
    return greatest
