"""Orders of records by definition: every possible sequence, every permutation, every assignment."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product


def possible_values(ranges, keys=None, *, falling=False):
    """Per record the values it has in some sorted sequence that the ranges allow.

    keys  per record what is known of it; sequences are sorted where neighbours have equal keys
    """
    keys = [0] * len(ranges) if keys is None else keys
    possible = [set() for _ in ranges]
    for values in product(*(range(first, last + 1) for first, last in ranges)):
        steps = [b - a for a, b, s, t in zip(values, values[1:], keys, keys[1:]) if s == t]
        if all(step <= 0 for step in steps) if falling else all(step >= 0 for step in steps):
            for found, value in zip(possible, values):
                found.add(value)
    return possible


def class_sizes(rows):
    """How many records look like each record."""
    count = Counter(rows)
    return [count[row] for row in rows]


def can_be_assigned(fits, n_published, n_original):
    """Whether published records can go to different originals that fit them."""
    return any(
        all(fits(record, row) for record, row in enumerate(rows))
        for rows in permutations(range(n_original), n_published)
    )
