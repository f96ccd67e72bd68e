"""Cells in blocks: where somebody has left a large cell, only a block of its places has to rest.

The places of a cell are dealt out by their sensitive values, one to each block in turn, so that every block
has at least k places and about the values of the whole. Who has left has no influence on that: a block that
rests tells that somebody of it has left, and within it everybody may be anywhere.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kohort.algorithms.again.standing import Standing
from kohort.problem.problem import Problem

__all__ = ["with_blocks"]


def with_blocks(problem: Problem, standing: Standing) -> Standing:
    """The same with every cell that has a vacancy in blocks, as many as keep the models in all releases."""
    cell = standing.cell_of_place
    n_cells = int(cell.max()) + 1
    vacant = np.bincount(cell[standing.seated() < 0], minlength=n_cells) > 0
    size = np.bincount(cell, minlength=n_cells)
    holder = _holders(standing)
    lost = np.bincount(cell[~_known(standing, holder)], minlength=n_cells) > 0
    n_blocks = np.where(vacant & ~lost, size // problem.k, 1)
    turn = _turns(standing)
    while True:
        block = turn % np.maximum(n_blocks[cell], 1)
        _, number = np.unique(cell * (int(block.max()) + 1) + block, return_inverse=True)
        parted = n_blocks[cell] > 1
        if not parted.any():
            return replace(standing, cell_of_place=number.astype(np.int64))
        wrong = _breaking(problem, standing, number, parted, holder)
        if not wrong.any():
            return replace(standing, cell_of_place=number.astype(np.int64))
        n_blocks[np.unique(cell[wrong])] -= 1


def _turns(standing: Standing) -> np.ndarray:
    """The turn of each place in its cell: those with the same values come one after the other."""
    order = np.lexsort((standing.kind_of_place, standing.cell_of_place))
    turn = np.empty(len(order), dtype=np.int64)
    first = np.searchsorted(standing.cell_of_place[order], standing.cell_of_place[order])
    turn[order] = np.arange(len(order)) - first
    return turn


def _holders(standing: Standing) -> np.ndarray:
    """Per kind of values a record of the table that has it, -1 where there is none."""
    n_kinds = 1 + max(
        int(kinds.max(initial=0)) for kinds in (standing.kind_of_record, *standing.kinds_before)
    )
    holder = np.full(n_kinds, -1, dtype=np.int64)
    holder[standing.kind_of_record[::-1]] = np.arange(len(standing.kind_of_record))[::-1]
    return holder


def _known(standing: Standing, holder: np.ndarray) -> np.ndarray:
    """Whether somebody in the table has each of the values that a place was published with: else it cannot
    be judged by the models."""
    known = np.ones(standing.n_places, dtype=bool)
    for kinds in standing.kinds_before:
        known &= (kinds < 0) | (holder[kinds] >= 0)
    return known


def _breaking(
    problem: Problem, standing: Standing, number: np.ndarray, parted: np.ndarray, holder: np.ndarray
) -> np.ndarray:
    """Whether each place is in a block that would have broken a model in an earlier release."""
    wrong = np.zeros(standing.n_places, dtype=bool)
    for kinds in standing.kinds_before:
        shown = np.flatnonzero(parted & (kinds >= 0))
        if len(shown):
            blocks, of_place = np.unique(number[shown], return_inverse=True)
            holds = problem.satisfied(of_place, holder[kinds[shown]], len(blocks))
            wrong[shown] |= ~holds[of_place]
    return wrong
