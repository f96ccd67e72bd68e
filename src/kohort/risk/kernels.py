"""The inner loops of attacks: who fits what is known, classes by one more column, nearest records."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel


@kernel
def run_ends(labels):
    """For each row of sorted rows and each column the first row after it that differs up to that column."""
    n = len(labels)
    ends = np.empty(labels.shape, np.int32)
    for row in range(n - 1, -1, -1):
        same = row + 1 < n
        for a in range(labels.shape[1]):
            same = same and labels[row, a] == labels[row + 1, a]
            ends[row, a] = ends[row + 1, a] if same else row + 1
    return ends


@kernel
def _next_fit(row, known, covered, start, width, labels, ends):
    """The first class from `row` on that fits; where a label does not, all that share it are passed over."""
    while row < len(labels):
        failing = -1
        for a in range(len(width)):
            if not covered[start[a] + known[a] * width[a] + labels[row, a]]:
                failing = a
                break
        if failing < 0:
            return row
        row = ends[row, failing]
    return row


@kernel
def fitting_classes(known, covered, start, width, labels, ends):
    """For each person and each class whether every label of the class covers what is known of the person.

    Attribute a has width[a] labels. What is known of person p is known[p, a], a row of the attribute's table
    of labels; covered[start[a] + known[p, a] * width[a] + label] says whether the label covers it. Classes
    are sorted by their labels. O(people * classes * attributes), mostly far less: classes that begin with the
    same labels are passed over together.
    """
    fits = np.zeros((len(known), len(labels)), np.bool_)
    for p in range(len(known)):
        row = _next_fit(0, known[p], covered, start, width, labels, ends)
        while row < len(labels):
            fits[p, row] = True
            row = _next_fit(row + 1, known[p], covered, start, width, labels, ends)
    return fits


@kernel
def count_fitting_people(people, known, covered, start, width, labels, ends):
    """How many people each class fits, where people[p] are like person p; see `fitting_classes`."""
    count = np.zeros(len(labels), np.int64)
    for p in range(len(known)):
        row = _next_fit(0, known[p], covered, start, width, labels, ends)
        while row < len(labels):
            count[row] += people[p]
            row = _next_fit(row + 1, known[p], covered, start, width, labels, ends)
    return count


@kernel
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
    for p in range(len(known)):
        for r in range(len(missing)):
            if not fits[p, class_of_record[r]]:
                continue
            if missing[r] or _has_all(known[p], first, last, offsets[r], offsets[r + 1]):
                if r == own[p]:
                    earlier[p] = candidates[p]
                candidates[p] += 1
    return candidates, earlier


@kernel
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


@kernel
def refined(class_of, n_classes, codes, order):
    """The classes of rows after a column is added: equal before, and equal in the column. O(rows).

    order  the rows by their code in the column: all rows of a class with the same code follow each other
           among those of the class, so that a new class begins wherever the code changes
    """
    last_code = np.full(n_classes, -1, np.int64)
    current = np.zeros(n_classes, np.int64)
    fine = np.empty(len(class_of), np.int64)
    n_fine = 0
    for place in range(len(order)):
        row = order[place]
        coarse, code = class_of[row], codes[row]
        if last_code[coarse] != code:
            last_code[coarse] = code
            current[coarse] = n_fine
            n_fine += 1
        fine[row] = current[coarse]
    return fine, n_fine


@kernel
def people_in_classes(class_of, n_classes, persons, order):
    """How many different people each class has; `order` are the rows by their person. O(rows)."""
    last = np.full(n_classes, -1, np.int64)
    people = np.zeros(n_classes, np.int64)
    for place in range(len(order)):
        row = order[place]
        group = class_of[row]
        if last[group] != persons[row]:
            last[group] = persons[row]
            people[group] += 1
    return people


@kernel
def nearest_records(points, records, own, group_of, group):
    """For each point how many records are nearest to it, equally, and whether its own is among them.

    points, records  points and records by columns
    own              per point its own record
    group_of, group  the group of each record, and that of each point: only records of it count

    O(points * records * columns).
    """
    n_nearest = np.zeros(len(points), np.int64)
    is_own = np.zeros(len(points), np.bool_)
    for p in range(len(points)):
        least = np.inf
        for r in range(len(records)):
            if group_of[r] != group[p]:
                continue
            square = 0.0
            for c in range(records.shape[1]):
                step = points[p, c] - records[r, c]
                square += step * step
                if square > least:
                    break
            if square < least:
                least = square
                n_nearest[p] = 1
                is_own[p] = r == own[p]
            elif square == least:
                n_nearest[p] += 1
                is_own[p] = is_own[p] or r == own[p]
    return n_nearest, is_own
