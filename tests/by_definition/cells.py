"""The cells of a table, and groups that cannot pay their prices, by definition."""

from itertools import combinations


def cells_by_definition(problem, columns):
    """Record numbers by the child of the root that they are under in each of the columns.

    Records that have a value which is only ever published as the root are in no cell.
    """
    cells = {}
    for record in range(problem.n_records):
        key = tuple(_child_of_root(problem.attributes[j], record) for j in columns)
        if None not in key:
            cells.setdefault(key, []).append(record)
    return sorted(cells.values())


def _child_of_root(attribute, record):
    tree, leaf = attribute.domain, attribute.leaves[record]
    node = tree.leaf_node[leaf]
    if node == 0 or tree.hidden[leaf]:
        return None
    while tree.parent[node] != 0:
        node = tree.parent[node]
    return int(node)


def groups_that_pay(problem, prices, cost_of_group):
    """All groups of k records or more whose prices exceed what they cost."""
    records = range(problem.n_records)
    groups = (g for size in range(problem.k, problem.n_records + 1) for g in combinations(records, size))
    return [g for g in groups if sum(prices[r] for r in g) > len(g) * cost_of_group(g) + 1e-9]
