"""The least cost of a tiny table by brute force: all partitions, all that may be withheld."""

from __future__ import annotations

from functools import cache
from math import inf


def least_total(n, group_cost, valid, *, withheld_cost=lambda record: 0.0, most_withheld=0):
    """The least sum over the groups of a partition of n records; infinite where there is no valid one.

    group_cost  of a tuple of records, all of them together
    valid       whether a tuple of records may be a group
    Up to `most_withheld` records may be in no group, at the `withheld_cost` of each.
    """
    groups = {}  # by the first record in them, as bits
    for bits in range(1, 2**n):
        records = tuple(record for record in range(n) if bits >> record & 1)
        if valid(records):
            groups.setdefault(records[0], []).append((bits, group_cost(records)))

    @cache
    def least(left, may_withhold):
        if not left:
            return 0.0
        first = (left & -left).bit_length() - 1
        found = inf
        for bits, cost in groups.get(first, ()):
            if bits & ~left == 0:
                found = min(found, cost + least(left & ~bits, may_withhold))
        if may_withhold:
            found = min(found, withheld_cost(first) + least(left & ~(1 << first), may_withhold - 1))
        return found

    return least(2**n - 1, most_withheld)
