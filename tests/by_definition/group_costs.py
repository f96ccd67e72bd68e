"""What a group of rows costs, from the sets of its values."""

from kohort.problem.encoding.layout import SET, TREE


def record_cost_by_definition(tables, rows):
    """The cost of one record of a group with these rows."""
    return sum(
        cell_by_definition(tables, a, sorted({int(row[a]) for row in rows})) for a in range(rows.shape[1])
    )


def joined_by_definition(tables, rows, inside, record):
    return record_cost_by_definition(tables, rows[[*inside, record]])


def cell_by_definition(tables, a, values):
    """The cost of a cell that stands for these values, in rising order."""
    first, last, start = values[0], values[-1], tables.leaf_start[a]
    if len(values) == 1:
        return tables.leaf_cost[start + first]
    if tables.kind[a] == TREE:
        above = [_ancestors(tables, tables.leaf_node[start + value]) for value in values]
        return tables.node_cost[next(n for n in above[0] if all(n in other for other in above))]
    if last >= tables.loners_from[a]:
        return tables.full[a]
    steps = len(values) - 1 if tables.kind[a] == SET else last - first
    return tables.base[a] + tables.slope[a] * steps


def _ancestors(tables, node):
    found = [node]
    while tables.parent[found[-1]] >= 0:
        found.append(tables.parent[found[-1]])
    return found
