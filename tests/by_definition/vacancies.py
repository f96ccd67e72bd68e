"""Vacant places and swaps by definition: every candidate is tried, and every label widened, one by one."""

from __future__ import annotations

import numpy as np


def group_cost(problem, records) -> float:
    """The cost of one record of a group, from the labels that it would have."""
    total = 0.0
    for weight, attribute in zip(problem.weights, problem.attributes):
        leaves = attribute.leaves[list(records)]
        lo, hi = attribute.domain.closure(np.array([leaves.min()]), np.array([leaves.max()]))
        total += weight * float(problem.cost.cell(attribute.generalized(lo, hi))[0])
    return total


def filled(problem, cells, vacancies, newcomers) -> list:
    """The newcomer for each vacancy (cell, kind), None where the cell cannot be filled.

    cells      the records of each cell
    newcomers  per kind the records, in the order in which ties are broken
    """
    cells = [list(cell) for cell in cells]
    newcomers = {kind: list(records) for kind, records in newcomers.items()}
    found = [None] * len(vacancies)
    for cell in dict.fromkeys(cell for cell, _ in vacancies):
        mine = [place for place, (other, _) in enumerate(vacancies) if other == cell]
        needed = [vacancies[place][1] for place in mine]
        if any(needed.count(kind) > len(newcomers.get(kind, ())) for kind in needed):
            continue
        for place in mine:
            pool = newcomers[vacancies[place][1]]
            costs = [group_cost(problem, [*cells[cell], record]) for record in pool]
            best = min(range(len(pool)), key=lambda number: (round(costs[number], 12), number))
            found[place] = pool[best]
            pool[best] = pool[-1]
            pool.pop()
            cells[cell].append(found[place])
    return found
