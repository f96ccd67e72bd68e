"""How a region is cut, decided from counts of its records: the same rule as where records are at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kohort.algorithms.mondrian.kernels.cut_table import BY_CHILD, BY_FREQUENCY, Children
from kohort.algorithms.mondrian.region_records import Borrowing, NodeCut, Question
from kohort.problem.encoding.layout import Tables
from kohort.problem.problem import Problem
from kohort.problem.promises import ClassCounts


@dataclass(frozen=True, eq=False)
class BinCounts:
    """The records of a region by bin, and by bin and sensitive value.

    sizes   the records of each bin
    cells   per sensitive column: bins, values, and how many records (not 0) have them
    people  the different people of each bin; None where records are counted
    """

    sizes: np.ndarray
    cells: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]
    people: np.ndarray | None = None

    @property
    def heads(self) -> np.ndarray:
        """The people of each bin: its records, where records are counted."""
        return self.sizes if self.people is None else self.people

    def with_lent(self, lender: int, lent: Mapping[str, np.ndarray], n_lent: int) -> BinCounts:
        """The counts after some records of one bin were moved to a new bin, the last one.

        lent  the values of these records by sensitive column
        """

        def moved(of_bins: np.ndarray, gained: int) -> np.ndarray:
            of_bins = np.append(of_bins, gained)
            of_bins[lender] -= n_lent
            return of_bins

        cells, new = {}, len(self.sizes)
        for name, (bins, values, count) in self.cells.items():
            lent_values, times = np.unique(lent[name], return_counts=True)
            count = count.copy()
            for value, n in zip(lent_values, times):
                count[(bins == lender) & (values == value)] -= n
            new_bins = np.append(bins, np.full(len(times), new))
            cells[name] = new_bins, np.append(values, lent_values), np.append(count, times)
        # of people at least as many are left: a record takes away one person at most
        people = None if self.people is None else moved(self.people, 0)
        return BinCounts(moved(self.sizes, n_lent), cells, people)


def question_of(node: int, cut: np.record, tables: Tables, children: Children) -> Question:
    """What has to be counted to know whether a region can be cut like that: sides, or children of a node."""
    attribute = int(cut.attribute)
    start = int(tables.leaf_start[attribute])
    end = int(np.append(tables.leaf_start, len(tables.leaf_cost))[attribute + 1])
    if cut.way == BY_CHILD:
        first = children.start[attribute] + children.depth[cut.where] * (end - start)
        places = children.place[first : first + end - start].astype(np.int64)
        n_children = int(tables.n_children[cut.where])
        return Question(node, attribute, np.minimum(places, n_children - 1), n_children)
    values = tables.frequency_rank[start:end] if cut.way == BY_FREQUENCY else np.arange(end - start)
    return Question(node, attribute, (values >= cut.where).astype(np.int64), 2)


@dataclass(frozen=True, eq=False)
class Trial:
    """A cut of a region that is tried, and how its bins become parts.

    part_of_bin  per bin; in a cut into children, part 0 is the pool, which may be empty
    by_child     whether it is a cut into children
    pool_people  the different people in the pool, or its records
    lender       the child whose first `n_lent` records go to the pool, which is too small; -1: none
    last_lent    the number of the last of these records in the table
    """

    question: Question
    counts: BinCounts
    part_of_bin: np.ndarray
    n_parts: int
    by_child: bool = False
    pool_people: int = 0
    lender: int = -1
    n_lent: int = 0
    last_lent: int = -1

    @classmethod
    def of(cls, question: Question, counts: BinCounts, by_child: bool, k: int) -> Trial:
        """The trial of a cut, where children with fewer than k people are pooled.

        Where people are counted, who is in the pool has to be counted next: see `pool_question`.
        """
        if not by_child:
            return cls(question, counts, np.arange(2), 2)
        apart = counts.heads >= k
        return cls(question, counts, *_parts(apart), True, int(counts.sizes[~apart].sum()))

    @property
    def lending_leaves(self) -> np.ndarray:
        """Per leaf of the attribute, whether it belongs to the child that lends records."""
        return self.question.bin_of_leaf == self.lender

    def lent(self, numbers: np.ndarray, values: Mapping[str, np.ndarray]) -> Trial:
        """The trial with the records that are lent known: their numbers, and their sensitive values."""
        return replace(
            self,
            counts=self.counts.with_lent(self.lender, values, len(numbers)),
            part_of_bin=np.append(self.part_of_bin, 0),
            last_lent=int(numbers.max()),
        )

    @property
    def pool_question(self) -> Question:
        """What has to be counted to know how many people are in the pool: bin 1."""
        pooled = (self.part_of_bin == 0).astype(np.int64)
        return replace(self.question, bin_of_leaf=pooled[self.question.bin_of_leaf], n_bins=2)

    def borrowing(self, k: int, strict: bool) -> Borrowing | None:
        """Whose records the pool may borrow, where it has too few people; None where nobody can lend any."""
        apart = np.flatnonzero(self.part_of_bin)
        if strict or not 0 < self.pool_people < k or not len(apart):
            return None
        donor = apart[np.argmax(self.counts.heads[apart])]
        if self.counts.heads[donor] - (k - self.pool_people) < k:
            return None
        bins, question = self.question.bin_of_leaf, self.question
        return Borrowing(question.node, question.attribute, bins == donor, (self.part_of_bin == 0)[bins], k)

    def completed(self, k: int, n_borrowed: int | None) -> Trial:
        """The trial where the pool has k people or none: it borrows records, or a child joins it.

        n_borrowed  how many records of the child with the most people would have to be lent; None: it
                    cannot lend any

        The child that joins is the one with the fewest people.
        """
        apart = np.flatnonzero(self.part_of_bin)
        if not self.by_child or not 0 < self.pool_people < k or not len(apart):
            return self
        people = self.counts.heads
        donor = int(apart[np.argmax(people[apart])])
        if n_borrowed is not None and people[donor] - n_borrowed >= k:
            return replace(self, lender=donor, n_lent=n_borrowed, pool_people=k)
        is_apart = self.part_of_bin > 0
        is_apart[apart[np.argmin(people[apart])]] = False
        part_of_bin, n_parts = _parts(is_apart)
        return replace(self, part_of_bin=part_of_bin, n_parts=n_parts)

    def settled(self, problem: Problem) -> dict[int, int] | None:
        """The records of each part if all parts keep every model, else None. Fills `part_of_bin`.

        In a cut into more than two parts, those that fail a model are first moved into the pool.
        """
        holds = self._holds(problem)
        if self.pool_failing(holds):
            holds = self._holds(problem)
        return self.parts_if(holds)

    def pool_failing(self, holds: np.ndarray) -> bool:
        """Move the parts that fail a model into the pool, if there are more than two; whether some moved.

        holds  per part, whether it keeps every model
        """
        moving = ~holds[self.part_of_bin] & (self.part_of_bin > 0) & (self.n_parts > 2)
        self.part_of_bin[moving] = 0
        return bool(moving.any())

    def parts_if(self, holds: np.ndarray) -> dict[int, int] | None:
        """The records of each part if there are several, and all keep every model; else None."""
        sizes = self.sizes()
        used = np.flatnonzero(sizes)
        if len(used) < 2 or not holds[used].all():
            return None
        return {int(part): int(sizes[part]) for part in used}

    def cut(self) -> NodeCut:
        """The cut as a tree holds it."""
        question = self.question
        part_of_leaf = self.part_of_bin[question.bin_of_leaf]
        lends = self.lending_leaves if self.last_lent >= 0 else None
        return NodeCut(question.attribute, part_of_leaf, lends, self.last_lent)

    def sizes(self) -> np.ndarray:
        """The records of each part."""
        return np.bincount(self.part_of_bin, self.counts.sizes, self.n_parts).astype(np.int64)

    def _people(self) -> np.ndarray:
        """The people of each part, or records; of united parts the most that one has: enough to compare."""
        if self.counts.people is None:
            return self.sizes()
        people = np.zeros(self.n_parts, dtype=np.int64)
        np.maximum.at(people, self.part_of_bin, self.counts.people)
        people[0] = max(people[0], self.pool_people)
        return people

    def _holds(self, problem: Problem) -> np.ndarray:
        """Whether each part keeps every model; a part without records does."""
        sizes, people = self.sizes(), self._people()
        present = sizes > 0
        number, n_present = np.cumsum(present) - 1, int(present.sum())
        holds = np.ones(self.n_parts, dtype=bool)
        for model in problem.models:
            counts = ClassCounts.of_sizes(people[present])
            if model.attribute:
                bins, values, count = self.counts.cells[model.attribute]
                n_values = problem.sensitive[model.attribute].n_values
                of_part = number[self.part_of_bin[bins]]
                counts = ClassCounts.from_cells(of_part, values, count, n_present, n_values)
            holds[present] &= model.holds(counts, problem.context(model))
        return holds


def _parts(apart: np.ndarray) -> tuple[np.ndarray, int]:
    """The part of each child, given which are parts of their own, and the number of parts: 0 is the pool."""
    return np.where(apart, np.cumsum(apart), 0), int(apart.sum()) + 1
