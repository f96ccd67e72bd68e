"""Published classes in an order in which people are quickly looked up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kohort.algorithms import Run
from kohort.kernels.threads import in_threads
from kohort.pipeline.before_after import Classes
from kohort.risk.linkage_kernel import count_fitting_people, fitting_classes, run_ends
from kohort.verification.covering import Covering

Block = tuple[slice, np.ndarray]

CELLS = 2**24  # people times classes that are compared at once


class ClassIndex:
    """Published classes sorted by their labels, the most selective column first, to look people up in.

    order  the class at each place of the sorted ones
    """

    def __init__(self, classes: Classes, coverings: Sequence[Covering]) -> None:
        share = [covering.widths.mean() / len(covering.rank_of_code) for covering in coverings]
        self.columns = np.argsort(share, kind="stable")
        self.coverings = [coverings[a] for a in self.columns]
        labels = classes.codes[:, self.columns].astype(np.int32)
        self.order = np.lexsort(labels.T[::-1])
        self.labels = np.ascontiguousarray(labels[self.order])
        self.ends = run_ends(self.labels)

    def blocks(self, known: Sequence[np.ndarray], step: int) -> Iterator[tuple[slice, tuple]]:
        """Blocks of people, and what the kernels need to look them up."""
        n = len(known[0])
        for begin in range(0, n, step):
            block = slice(begin, min(begin + step, n))
            found = [np.unique(known[a][block], return_inverse=True) for a in self.columns]
            tables = [c.covers(values) for c, (values, _) in zip(self.coverings, found)]
            start = np.cumsum([0, *(table.size for table in tables)])[:-1]
            width = np.array([table.shape[1] for table in tables])
            covered = np.concatenate([table.ravel() for table in tables])
            rows = np.column_stack([row for _, row in found])
            yield block, (rows, covered, start, width, self.labels, self.ends)

    def fitting(self, known: Sequence[np.ndarray]) -> Iterator[Block]:
        """Blocks of people, and for each of a block's people the classes that fit what is known of them."""
        for block, lookup in self.blocks(known, max(CELLS // len(self.labels), 1)):
            fits = np.empty((len(lookup[0]), len(self.labels)), dtype=bool)

            def fit(some: slice, fits: np.ndarray = fits, lookup: tuple = lookup) -> None:
                known, *rest = lookup
                fits[some, self.order] = fitting_classes(known[some], *rest)

            in_threads(fit, np.full(len(fits), len(self.labels)))
            yield block, fits

    def count_people(self, known: Sequence[np.ndarray], people: np.ndarray, run: Run) -> np.ndarray:
        """How many people each class fits; people[p] of them are like person p."""
        fitting = np.zeros(len(self.labels), dtype=np.int64)
        for block, lookup in self.blocks(known, 2**12):
            run.report("counting the population", 0.4 + 0.6 * block.start / len(people))
            alike = people[block]

            def count(some: slice, alike: np.ndarray = alike, lookup: tuple = lookup) -> np.ndarray:
                known, *rest = lookup
                return count_fitting_people(alike[some], known[some], *rest)

            fitting[self.order] += sum(in_threads(count, np.full(len(alike), len(self.labels))))
        return fitting
