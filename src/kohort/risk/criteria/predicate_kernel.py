"""How many original records a predicate fits: the inner loop of singling out."""

from __future__ import annotations

from kohort.kernels.compiled import kernel

__all__ = ["fitting_column", "matches_up_to_two"]


@kernel
def fitting_column(label, ranks, first, last, list_of, listed, fits):
    """Clear `fits` for each record whose value the label does not cover."""
    row = list_of[label]
    for record in range(len(ranks)):
        if fits[record]:
            rank = ranks[record]
            covered = listed[row, rank] if row >= 0 else first[label] <= rank <= last[label]
            fits[record] = covered


@kernel
def matches_up_to_two(fits):
    """How many records fit, counted up to 2: enough to know whether it is exactly one."""
    found = 0
    for record in range(len(fits)):
        if fits[record]:
            found += 1
            if found == 2:
                return 2
    return found
