"""The six schemes and their costs, by definition: all partitions of a domain, all recodings of a table."""

from __future__ import annotations

from collections import Counter
from itertools import product

from kohort.data.hierarchy import Hierarchy


def set_partitions(values):
    """All partitions of a list."""
    if not values:
        yield []
        return
    first, *others = values
    for partition in set_partitions(others):
        yield [[first], *partition]
        for place, block in enumerate(partition):
            yield [*partition[:place], [first, *block], *partition[place + 1 :]]


def spans_of(hierarchy):
    """The first and last leaf of every node."""
    return sorted(set(zip(hierarchy.lo.tolist(), hierarchy.hi.tolist())))


def lowest(spans, leaves):
    """The smallest node above some leaves."""
    above = [span for span in spans if span[0] <= min(leaves) and max(leaves) <= span[1]]
    return min(above, key=lambda span: span[1] - span[0])


def valid_partitions(scheme, domain):
    """All partitions of a domain's leaves that a scheme allows, as lists of blocks."""
    leaves = list(range(len(domain.leaves)))
    if scheme == "bhs":
        return levels(domain)
    missing = [leaf for leaf in leaves if domain.leaves[leaf] is None]
    if scheme == "ghs" or not missing:
        return [p for p in set_partitions(leaves) if all(allowed(scheme, domain, b, leaves) for b in p)]
    others = [leaf for leaf in leaves if leaf not in missing]
    apart = [p for p in set_partitions(others) if all(allowed(scheme, domain, b, others) for b in p)]
    return [*([*p, missing] for p in apart), *([[leaves]] if others else [])]


def allowed(scheme, domain, block, leaves):
    if len(block) == 1:
        return True
    in_a_row = sum(min(block) <= leaf <= max(block) for leaf in leaves) == len(block)
    if scheme == "sps":
        return True
    if scheme == "ops":
        return in_a_row
    spans = spans_of(domain)
    if scheme == "ghs":
        return in_a_row and (min(block), max(block)) in spans
    if scheme == "gops" and not in_a_row:
        return False
    for x, y in product(block, block):  # whatever is nearer to x than y is must be there, too
        for z in leaves:
            near, far = lowest(spans, [x, z]), lowest(spans, [x, y])
            if z not in block and near[1] - near[0] < far[1] - far[0]:
                return False
    return True


def levels(hierarchy):
    """At level h every leaf is under its highest ancestor that is at most h above its own deepest leaf."""
    found = []
    for height in range(hierarchy.height + 1):
        blocks = {}
        for leaf, node in enumerate(hierarchy.leaf_node.tolist()):
            while hierarchy.parent[node] >= 0 and hierarchy.level[hierarchy.parent[node]] <= height:
                node = int(hierarchy.parent[node])
            blocks.setdefault((int(hierarchy.lo[node]), int(hierarchy.hi[node])), []).append(leaf)
        found.append(list(blocks.values()))
    return found


def cell(cost, domain, block, leaf, leaf_counts):
    """What one cell costs."""
    n, n_records = len(domain.leaves), sum(leaf_counts)
    if cost == "hierarchical-discernibility":
        together, alone = sum(leaf_counts[v] for v in block), leaf_counts[leaf]
        return (together - alone) / (n_records - alone) if alone < n_records else 0.0
    if cost == "loss":
        return (len(block) - 1) / max(n - 1, 1)
    if cost == "ncp":
        return len(block) / n if len(block) > 1 else 0.0
    if not isinstance(domain, Hierarchy):
        return (len(block) - 1) / max(n - 1, 1)
    if len(block) == 1:
        return 0.0
    span = lowest(spans_of(domain), block)
    nodes = [i for i in range(len(domain.label)) if (domain.lo[i], domain.hi[i]) == span]
    return min(int(domain.level[node]) for node in nodes) / domain.height


def recoding_cost(cost, attributes, weights, records, recoding, k):
    """The cost of a recoding and how many records it withholds; `records` are tuples of leaves."""
    block_of = [{leaf: tuple(b) for b in blocks for leaf in b} for blocks in recoding]
    counts = [
        [sum(r[j] == leaf for r in records) for leaf in range(a)] for j, a in enumerate(map(len, block_of))
    ]
    look = [tuple(of[leaf] for of, leaf in zip(block_of, record)) for record in records]
    total, withheld = 0.0, 0
    everything = [list(of) for of in block_of]
    sizes = Counter(look)
    for record, blocks in zip(records, look):
        size = sizes[blocks]
        hidden = size < k
        withheld += hidden
        if cost == "discernibility":
            total += len(records) if hidden else size
        elif cost == "hierarchical-discernibility" and hidden:
            total += 1.0
        else:
            shown = everything if hidden else blocks
            parts = zip(attributes, weights, shown, record, counts)
            total += sum(w * cell(cost, d, block, leaf, c) for d, w, block, leaf, c in parts)
    return total, withheld


def best_recoding(cost, attributes, weights, schemes, records, k, most_withheld):
    """The least cost of all recodings that withhold no more than allowed."""
    spaces = [valid_partitions(scheme, domain) for scheme, domain in zip(schemes, attributes)]
    costs = []
    for recoding in product(*spaces):
        total, withheld = recoding_cost(cost, attributes, weights, records, recoding, k)
        if withheld <= most_withheld:
            costs.append(total)
    return min(costs)


def listed(space):
    """All partitions of a PartitionSpace, from the finest on, by its own lists of children."""
    waiting = [space.levels[0] if space.levels else space.finest]
    while waiting:
        partition = waiting.pop()
        yield partition
        waiting += space.coarser(partition)
