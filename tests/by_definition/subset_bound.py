"""What a record costs at least, over all sets of columns and of values; and the least cost there is."""

from itertools import chain, combinations

import numpy as np

from by_definition.group_costs import cell_by_definition, record_cost_by_definition


def least_by_definition(tables, rows, k):
    """Per record the least sum over the columns that its group may agree in."""
    columns = range(rows.shape[1])
    return [min(_in(tables, rows, k, row, set(equal)) for equal in _subsets(columns)) for row in rows]


def _in(tables, rows, k, row, equal):
    near = rows[[all(other[a] == row[a] for a in equal) for other in rows]]
    total = 0.0
    for a in range(rows.shape[1]):
        others = sorted({int(x) for x in near[:, a]} - {int(row[a])})
        sets = [[]] if a in equal else [values for values in _subsets(others) if values]
        held = [[int(row[a]), *values] for values in sets]
        enough = [values for values in held if np.isin(near[:, a], values).sum() >= k]
        total += min((cell_by_definition(tables, a, sorted(values)) for values in enough), default=np.inf)
    return total


def least_cost_by_definition(tables, rows, k):
    """Of all partitions into groups of k or more."""
    return min(
        sum(len(group) * record_cost_by_definition(tables, rows[group]) for group in partition)
        for partition in _partitions(list(range(len(rows))), k)
    )


def _partitions(records, k):
    if not records:
        yield []
        return
    first, *others = records
    for mates in chain.from_iterable(combinations(others, n) for n in range(k - 1, len(others) + 1)):
        for rest in _partitions([r for r in others if r not in mates], k):
            yield [[first, *mates], *rest]


def _subsets(things):
    things = list(things)
    return list(chain.from_iterable(combinations(things, n) for n in range(len(things) + 1)))
