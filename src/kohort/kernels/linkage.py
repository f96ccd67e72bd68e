"""Who fits what is known of a person: the inner loops of a linkage attack."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

__all__ = ["count_fitting_baskets", "fitting_classes"]


@njit(cache=True, nogil=True, parallel=True)
def fitting_classes(covered, start, width, known, labels):
    """For each person and each class whether every label of the class covers what is known of the person.

    Attribute a has width[a] labels; person p is told by known[p, a], a row of the attribute's table of
    labels, and covered[start[a] + known[p, a] * width[a] + label] says whether the label covers it.
    O(people * classes * attributes), mostly less: the first attribute that does not fit decides.
    """
    fits = np.empty((len(known), len(labels)), np.bool_)
    for p in prange(len(known)):
        for c in range(len(labels)):
            fit = True
            for a in range(len(width)):
                if not covered[start[a] + known[p, a] * width[a] + labels[c, a]]:
                    fit = False
                    break
            fits[p, c] = fit
    return fits


@njit(cache=True, nogil=True, parallel=True)
def count_fitting_baskets(fits, class_of_record, baskets, missing, known, own):
    """For each person how many records fit, by their class and by their baskets, and how many before the own.

    `baskets`: offsets, and the first and last item of each published label of each record; a record fits if
    each known item (known[p], -1 where fewer are known) is in one of its ranges. A missing basket says
    nothing, and fits. own[p] is the person's record; where it does not fit, -1 come before it.
    O(people * labels * known).
    """
    offsets, first, last = baskets
    candidates = np.zeros(len(known), np.int64)
    earlier = np.full(len(known), -1, np.int64)
    for p in prange(len(known)):
        for r in range(len(missing)):
            if not fits[p, class_of_record[r]]:
                continue
            if missing[r] or _has_all(known[p], first, last, offsets[r], offsets[r + 1]):
                if r == own[p]:
                    earlier[p] = candidates[p]
                candidates[p] += 1
    return candidates, earlier


@njit(cache=True, nogil=True)
def _has_all(known, first, last, start, end):
    for item in known:
        if item < 0:
            continue
        found = False
        for i in range(start, end):
            if first[i] <= item <= last[i]:
                found = True
                break
        if not found:
            return False
    return True
