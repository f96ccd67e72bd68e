"""What blocks of one attribute's parts cost, and the best way to make them, by definition."""

from __future__ import annotations

from by_definition.schemes import set_partitions


def block_cost(block, groups, price, k, withheld_cost, discernible):
    """`groups`: per group of cells {part: (size, rest, own)}, and {part: records} of its widest."""
    total = 0.0
    for cells, outer in groups:
        inside = [cells[part] for part in block if part in cells]
        if not inside:
            continue
        size, rest, own = map(sum, zip(*inside))
        if size >= k:
            total += size**2 if discernible else rest + own * price
        elif sum(outer.get(part, 0) for part in block) < k:
            total += withheld_cost * size
        else:
            published = k * size if discernible else rest + own * price
            total += min(withheld_cost * size, published)
    return total


def best_partition(n_parts, cost_of, allowed):
    """The least cost of all partitions into allowed blocks, and with each pair together and apart."""
    best, together, apart = float("inf"), {}, {}
    for partition in set_partitions(list(range(n_parts))):
        if not all(allowed(block) for block in partition):
            continue
        cost = sum(cost_of(tuple(sorted(block))) for block in partition)
        best = min(best, cost)
        block_of = {part: number for number, block in enumerate(partition) for part in block}
        for a in range(n_parts):
            for b in range(a + 1, n_parts):
                table = together if block_of[a] == block_of[b] else apart
                table[a, b] = min(table.get((a, b), float("inf")), cost)
    return best, together, apart
