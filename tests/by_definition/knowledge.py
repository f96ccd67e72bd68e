"""Risk by every set of columns, and special uniques, by definition: record by record, set by set."""

from __future__ import annotations

from itertools import combinations
from math import prod


def sets_of(n_columns):
    return [chosen for size in range(1, n_columns + 1) for chosen in combinations(range(n_columns), size)]


def people_alike(rows, chosen, persons=None):
    """Per row how many people (records, where everybody has one) have the same values in the columns."""
    persons = range(len(rows)) if persons is None else persons
    look = [tuple(row[c] for c in chosen) for row in rows]
    return [len({who for other, who in zip(look, persons) if other == mine}) for mine in look]


def minimal_uniques(row, rows, n_columns):
    """The sets by which a row is unique, while it is not by any part of the set."""

    def unique(chosen):
        return sum(all(row[c] == other[c] for c in chosen) for other in rows) == 1

    return [
        chosen
        for chosen in sets_of(n_columns)
        if unique(chosen)
        and not any(unique(part) for size in range(1, len(chosen)) for part in combinations(chosen, size))
    ]


def suda_score(minimal, n_columns, largest):
    """The sum over minimal sets of the product of (A - i), i from their size to M = min(largest, A - 1)."""
    top = min(largest, n_columns - 1)
    return sum(
        prod(n_columns - i for i in range(len(chosen), top + 1))
        for chosen in minimal
        if len(chosen) <= largest
    )
