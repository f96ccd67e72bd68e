"""(alpha, k)-anonymity by definition (Wong et al., 2009): all full-domain generalizations, and the two local
methods record by record.

Records are numbers in the order in which the algorithms take them. A demand is a pair of alpha and, per
record, the sensitive value it has, or None.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import ceil, log2


def node_at_level(domain, leaf, height):
    """The highest node over a leaf of a TreeDomain that is at most so high; of a unary chain the lowest."""
    over = [node for node in domain.nodes() if leaf in domain.leaves_under(node)]
    highest = max((node for node in over if domain.height(node) <= height), key=domain.height)
    same = [node for node in over if domain.leaves_under(node) == domain.leaves_under(highest)]
    return min(same, key=domain.height)


def full_domain_generalizations(domains, texts):
    """Per choice of levels what each record looks like. `texts[j]`: the values of attribute j."""
    for levels in product(*(range(domain.height(domain.root) + 1) for domain in domains)):
        columns = [
            [node_at_level(domain, text, level) for text in column]
            for domain, column, level in zip(domains, texts, levels)
        ]
        yield levels, list(zip(*columns))


def is_valid(records, k, demands):
    return len(records) >= k and all(
        count <= alpha * len(records)
        for alpha, values in demands
        for count in Counter(values[r] for r in records if values[r] is not None).values()
    )


# -- progressive -----------------------------------------------------------------------------------


def progressive(leaves, nodes, k, demands, cost_of):
    """Algorithm 1: groups of records. nodes[j][level][leaf]; cost_of(records): of one record of a group."""
    stay, levels, groups = list(range(len(leaves))), [0] * len(nodes), []

    def classes():
        found = {}
        for record in stay:
            look = tuple(nodes[j][levels[j]][leaf] for j, leaf in enumerate(leaves[record]))
            found.setdefault(look, []).append(record)
        return list(found.values())

    def leave(records):
        groups.append(records)
        for record in records:
            stay.remove(record)

    while stay:
        if all(is_valid(records, k, demands) for records in classes()):
            groups += classes()
            break
        one_value = len(demands) == 1 and set(demands[0][1]) <= {0, None}  # 0: the only value, or all as one
        for records in classes() if one_value else []:
            if is_valid(records, k, demands) and (found := trunk(records, k, *demands[0])):
                leave(found)
        most = most_removable(stay, demands)
        for records in classes():
            if not is_valid(records, k, demands):
                continue
            if len(records) > most:
                records = part(records, most, *demands[0]) if one_value else []
                if is_valid(records, k, demands):
                    leave(records)
                break
            most -= len(records)
            leave(records)
        evenness = [
            round(entropy([nodes[j][levels[j]][leaves[r][j]] for r in stay]), 9) for j in range(len(nodes))
        ]
        if stay and max(evenness) == 0:
            settle(stay, k, groups, cost_of)
            break
        if stay:
            levels[evenness.index(max(evenness))] += 1
    return groups


def trunk(records, k, alpha, values):
    """Definition 8, alpha not rounded up: the most records of which exactly the share alpha is sensitive."""
    sensitive = [r for r in records if values[r] is not None]
    others = [r for r in records if values[r] is None]
    for size in range(len(records), k - 1, -1):
        wanted = alpha * size
        if wanted.denominator == 1 and wanted <= len(sensitive) and size - wanted <= len(others):
            return sensitive[: int(wanted)] + others[: int(size - wanted)]
    return []


def most_removable(records, demands):
    """Lemma 5, for all sensitive values."""
    bounds = [
        len(records) - ceil(count / alpha)
        for alpha, values in demands
        for count in Counter(values[r] for r in records if values[r] is not None).values()
    ]
    return min([len(records), *bounds])


def part(records, most, alpha, values):
    sensitive = [r for r in records if values[r] is not None][: int(alpha * most)]
    return sensitive + [r for r in records if values[r] is None][: most - len(sensitive)]


def entropy(column):
    shares = [count / len(column) for count in Counter(column).values()]
    return -sum(share * log2(share) for share in shares)


def settle(stay, k, groups, cost_of):
    """All that stay look alike: they are a group, or join the one that this costs least."""
    if len(stay) >= k:
        groups.append(stay)
        return
    added = [len(g + stay) * cost_of(g + stay) - len(g) * cost_of(g) for g in groups]
    cheapest = min(range(len(groups)), key=lambda g: round(added[g], 9))
    groups[cheapest] = groups[cheapest] + stay


# -- top-down --------------------------------------------------------------------------------------


def top_down(leaves, hierarchies, k, demands):
    """Algorithm 2 for many attributes: groups of records."""
    waiting, finished = [list(range(len(leaves)))], []
    while waiting:
        group = waiting.pop()
        split = best_split(group, leaves, hierarchies, k, demands, moving=True)
        if split is None:
            finished.append(group)
            continue
        rest, children, attribute, need = split
        if need:
            moved = to_move(rest, children, need, leaves, hierarchies, k, demands)
            if moved is None:
                rest, children, _ = split_by(group, attribute, leaves, hierarchies, k, demands, moving=False)
            else:
                children = [[r for r in child if r not in moved] for child in children]
                rest = sorted(rest + moved)
        if not children:
            finished.append(group)
            continue
        waiting += ([rest] if rest else []) + children
    return finished


def best_split(group, leaves, hierarchies, k, demands, moving):
    """Greatest number of records specialized, then fewest branches, then the first attribute."""
    found = []
    for attribute in range(len(hierarchies)):
        if len({leaves[r][attribute] for r in group}) == 1 or len(group) < 2 * k:
            continue
        rest, children, need = split_by(group, attribute, leaves, hierarchies, k, demands, moving)
        specialized = sum(map(len, children)) - need
        if specialized:
            found.append((-specialized, len(children), attribute, rest, children, need))
    if not found:
        return None
    _, _, attribute, rest, children, need = min(found, key=lambda split: split[:3])
    return rest, children, attribute, need


def split_by(group, attribute, leaves, hierarchies, k, demands, moving):
    """Those left behind, the children that become groups, and how many records these have to give."""
    hierarchy = hierarchies[attribute]
    values = [leaves[r][attribute] for r in group]
    node = int(hierarchy.node(min(values), max(values)))
    below, rest = {}, []
    for record in group:
        leaf = leaves[record][attribute]
        if hierarchy.hidden[leaf]:
            rest.append(record)
            continue
        child = next(c for c in hierarchy.children(node) if hierarchy.lo[c] <= leaf <= hierarchy.hi[c])
        below.setdefault(int(child), []).append(record)
    children = [child for child in below.values() if is_valid(child, k, demands)]
    rest += [r for child in below.values() if child not in children for r in child]
    if not rest or is_valid(rest, k, demands):
        return sorted(rest), children, 0
    if (
        moving
        and taken(sorted(rest), children, sorted(r for c in children for r in c), k, demands) is not None
    ):
        return sorted(rest), children, least_size(rest, k, demands) - len(rest)
    while children and not is_valid(rest, k, demands):
        smallest = min(children, key=len)
        children = [child for child in children if child is not smallest]
        rest = rest + smallest
    return sorted(rest), children, 0


def least_size(records, k, demands):
    """How many records there must be at least for these to be among them, if no others are like them."""
    counts = [
        Fraction(count) / alpha
        for alpha, values in demands
        for count in Counter(values[r] for r in records if values[r] is not None).values()
    ]
    return max([k, len(records), *map(ceil, counts)])


def taken(rest, children, order, k, demands):
    """Records, in this order, that make those left behind valid and leave the children so; None: too few."""
    target = least_size(rest, k, demands)
    spare = [len(child) - max(k, least_size_of_most(child, k, demands)) for child in children]
    moved = []
    for record in order:
        if len(rest) + len(moved) == target:
            break
        child = next((c for c, records in enumerate(children) if record in records), None)
        if child is None or not spare[child]:
            continue
        fits = all(
            sum(values[r] == values[record] for r in rest + moved) + 1 <= alpha * target
            for alpha, values in demands
            if values[record] is not None
        )
        if fits:
            moved.append(record)
            spare[child] -= 1
    return moved if len(rest) + len(moved) == target else None


def least_size_of_most(records, k, demands):
    counts = [
        ceil(count / alpha)
        for alpha, values in demands
        for count in Counter(values[r] for r in records if values[r] is not None).values()
    ]
    return max([k, *counts])


def to_move(rest, children, need, leaves, hierarchies, k, demands):
    """Those that come least deep on trial, not sensitive ones first; in tiny tables all are tried."""
    depth = {}
    for child in children:
        if len(child) > least_size_of_most(child, k, demands):
            depth |= depths(child, leaves, hierarchies, k, demands)
    sensitive = {r for _, values in demands for r, value in enumerate(values) if value is not None}
    order = sorted(
        (r for child in children for r in child), key=lambda r: (depth.get(r, 10**9), r in sensitive, r)
    )
    return taken(rest, children, order, k, demands)


def depths(group, leaves, hierarchies, k, demands):
    """How many levels down each record comes when its group is specialized as far as may be."""
    split = best_split(group, leaves, hierarchies, k, demands, moving=False)
    if split is None:
        return dict.fromkeys(group, sum(_depth(group, j, leaves, h) for j, h in enumerate(hierarchies)))
    rest, children, _, _ = split
    found = {}
    for part_of_group in ([rest] if rest else []) + children:
        found |= depths(part_of_group, leaves, hierarchies, k, demands)
    return found


def _depth(group, attribute, leaves, hierarchy):
    values = [leaves[r][attribute] for r in group]
    return len(hierarchy.path(int(hierarchy.node(min(values), max(values))))) - 1
