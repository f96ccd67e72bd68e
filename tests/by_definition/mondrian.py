"""Mondrian's cuts, by definition: every allowed cut of a group, and what the records cost afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import NamedTuple

BY_VALUE, BY_FREQUENCY, BY_CHILD = 0, 1, 2


class Cut(NamedTuple):
    """A way to cut a group: into which parts, how much the cost changes, how uneven two parts are."""

    way: int
    attribute: int
    where: int
    extra: int
    score: float
    unevenness: int


@dataclass
class CutAttribute:
    """A quasi-identifier: leaf number, text and frequency rank per record, and the cost of a set of texts."""

    leaves: list[int]
    texts: list
    cost_of: object
    kind: str  # tree, interval or set
    domain: object
    rank: list[int]


def record_cost(attributes, records):
    """What one of these records costs when they are generalized to look alike."""
    return sum(a.cost_of([a.texts[record] for record in records]) for a in attributes)


def value_cuts(attributes, group, number, way, k, strict, masses=None):
    """All cuts of a group between two values of an attribute or, if not strict, inside one.

    Inside a value both sides are priced with all its records: who goes where does not matter to the price,
    and of the value's mass every record is taken to have the same part.
    """

    def mass(records):
        return len(records) if masses is None else sum(masses[record] for record in records)

    values = attributes[number].rank if way == BY_FREQUENCY else attributes[number].leaves
    m, before = len(group), record_cost(attributes, group) * mass(group)
    found = []
    for value in sorted({values[record] for record in group}):
        lower = [record for record in group if values[record] < value]
        upto = [record for record in group if values[record] <= value]
        rest = [record for record in group if values[record] >= value]
        sizes = [len(upto)]
        if not strict:
            sizes += [s for s in (k, m - k, m // 2) if len(lower) < s < len(upto)]
        for place, size in enumerate(sizes):
            if size < k or m - size < k:
                continue
            inside = place > 0
            right = rest if inside else [record for record in rest if values[record] > value]
            own = [record for record in upto if values[record] == value]
            left_mass = mass(lower) + mass(own) * (size - len(lower)) / len(own)
            after = record_cost(attributes, upto) * left_mass
            after += record_cost(attributes, right) * (mass(group) - left_mass)
            where, extra = (value, size - len(lower)) if inside else (value + 1, 0)
            found.append(Cut(way, number, where, extra, after - before, _unevenness(m, size, inside)))
    return found


def _unevenness(m, size, inside):
    """How far from the middle; a cut inside a value is worse than any between two."""
    return abs(m - 2 * size) + (m if inside else 0)


def child_parts(attribute, group, k, strict):
    """The pool and the children that stay apart, as lists of records; None if no child can stand alone.

    Children with fewer than k records are pooled. A pool that is too small takes records from the largest
    child, if that can spare them and equal values may be separated, else the smallest child altogether.
    """
    node = attribute.domain.lowest_node([attribute.texts[record] for record in group])
    children = {}
    for record in sorted(group, key=lambda record: attribute.leaves[record]):
        child = attribute.domain.child_with(node, attribute.texts[record])
        children.setdefault(child, []).append(record)
    children = {child: sorted(records, key=group.index) for child, records in children.items()}
    apart = [records for records in children.values() if len(records) >= k]
    pool = [record for records in children.values() if len(records) < k for record in records]
    lender = None
    while 0 < len(pool) < k and apart:
        largest = max(apart, key=len)
        if not strict and len(largest) - (k - len(pool)) >= k:
            lender = largest
            break
        smallest = min(apart, key=len)
        pool += smallest
        apart = [records for records in apart if records is not smallest]
    return (pool, apart, lender) if apart else None


def child_cut_score(attributes, group, number, k, strict):
    """What the cut into children saves per bit of the split; None if there is no such cut."""
    parts = child_parts(attributes[number], group, k, strict)
    if parts is None:
        return None
    pool, apart, lender = parts
    m, borrowed = len(group), k - len(pool) if lender else 0
    sized = [(records, len(records) - (borrowed if records is lender else 0)) for records in apart]
    if pool:
        sized.append((pool + (lender or []), len(pool) + borrowed))
    change = sum(record_cost(attributes, records) * size for records, size in sized)
    change -= record_cost(attributes, group) * m
    bits = sum(size * log2(m / size) for _, size in sized)
    return change / max(0.5, bits / m)


def median_groups(ranks, n_values, k, strict):
    """Mondrian as in the paper on ordered attributes: cut the widest range in the middle. Sets of records.

    ranks[record][attribute]: the place of the value among the n_values[attribute] values of the attribute.
    """
    groups, done = [list(range(len(ranks)))], []
    while groups:
        group = groups.pop()
        cut = _median_cut(ranks, n_values, group, k, strict)
        if cut is None:
            done.append(frozenset(group))
        else:
            groups.extend(cut)
    return set(done)


def _median_cut(ranks, n_values, group, k, strict):
    def span(attribute):
        values = [ranks[record][attribute] for record in group]
        return (max(values) - min(values)) / max(n_values[attribute] - 1, 1)

    for attribute in sorted(range(len(n_values)), key=lambda j: -span(j)):
        sizes = _left_sizes([ranks[record][attribute] for record in group], k, strict)
        if span(attribute) > 0 and sizes:
            size, _ = min(sizes, key=lambda found: _unevenness(len(group), *found))
            in_order = sorted(group, key=lambda record: ranks[record][attribute])  # stable
            left = set(in_order[:size])
            return [record for record in group if record in left], [r for r in group if r not in left]
    return None


def _left_sizes(values, k, strict):
    """How many records may go left, in the order of the values, and whether that is inside a value."""
    m, sizes = len(values), []
    for value in sorted(set(values)):
        below, upto = sum(v < value for v in values), sum(v <= value for v in values)
        inside = [] if strict else [(s, True) for s in (k, m - k, m // 2) if below < s < upto]
        sizes += [(s, within) for s, within in ((upto, False), *inside) if s >= k and m - s >= k]
    return sizes
