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
from kohort.problem.promises import ClassCounts, ValueContext

_STEP = 16  # where blocks break a model, there are by a sixteenth fewer, at least by one


def with_blocks(problem: Problem, standing: Standing) -> Standing:
    """The same with every cell that has a vacancy in blocks, as many as keep the models in all releases."""
    cell = standing.cell_of_place
    n_cells = int(cell.max()) + 1
    vacant = np.bincount(cell[standing.seated() < 0], minlength=n_cells) > 0
    n_blocks = np.where(vacant, np.maximum(np.bincount(cell, minlength=n_cells) // problem.k, 1), 1)
    turn = _turns(standing)
    judged, most = n_blocks[cell] > 1, int(n_blocks.max())
    while judged.any():
        block = np.where(judged, cell * most + turn % n_blocks[cell], -1)
        wrong = np.unique(cell[_breaking(problem, standing, block)])
        n_blocks[wrong] -= np.maximum(n_blocks[wrong] // _STEP, 1)
        judged = np.isin(cell, wrong) & (n_blocks[cell] > 1)
    _, number = np.unique(cell * most + turn % n_blocks[cell], return_inverse=True)
    return replace(standing, cell_of_place=number.astype(np.int64))


def _turns(standing: Standing) -> np.ndarray:
    """The turn of each place in its cell: those with the same values come one after the other."""
    order = np.lexsort((standing.kind_of_place, standing.cell_of_place))
    turn = np.empty(len(order), dtype=np.int64)
    first = np.searchsorted(standing.cell_of_place[order], standing.cell_of_place[order])
    turn[order] = np.arange(len(order)) - first
    return turn


def _breaking(problem: Problem, standing: Standing, block_of_place: np.ndarray) -> np.ndarray:
    """The places in blocks that break a model in an earlier release; -1: a place in no block."""
    wrong: list[np.ndarray] = []
    for earlier in standing.earlier:
        chosen = block_of_place[earlier.place] >= 0
        place, value = earlier.place[chosen], earlier.value[chosen]
        if not len(place):
            continue
        blocks, number = np.unique(block_of_place[place], return_inverse=True)
        counts = ClassCounts.from_records(number, value, len(blocks), len(earlier.labels))
        for model in problem.models:
            if model.attribute == earlier.attribute:
                wrong.append(place[~model.holds(counts, ValueContext(labels=earlier.labels))[number]])
    return np.concatenate([np.empty(0, dtype=np.int64), *wrong])
