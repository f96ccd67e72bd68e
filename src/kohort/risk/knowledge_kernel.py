"""Classes by one more column, and the people in them: the inner loops of a knowledge sweep."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel


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
