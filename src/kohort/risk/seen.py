"""What an adversary sees: a table whose labels cover values, to look people up in.

An original is such a table, too: its labels are values, and each covers itself alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from kohort.algorithms import Run
from kohort.data.column import Column
from kohort.job.sides import BeforeAfter, Classes, classes_of
from kohort.kernels.threads import in_threads
from kohort.risk.kernels import count_fitting_people, fitting_classes, run_ends
from kohort.verification.reading import Covering

if TYPE_CHECKING:
    from kohort.release.release import Release

Block = tuple[slice, np.ndarray]

CELLS = 2**24  # people times classes that are compared at once


class ClassIndex:
    """Published classes sorted by their labels, the most selective column first, to look people up in.

    order  the class at each place of the sorted ones
    """

    def __init__(self, codes: np.ndarray, coverings: Sequence[Covering]) -> None:
        share = [covering.widths.mean() / len(covering.rank_of_code) for covering in coverings]
        self.columns = np.argsort(share, kind="stable")
        self.coverings = [coverings[a] for a in self.columns]
        labels = codes[:, self.columns].astype(np.int32)
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


class Grouped:
    """The records of each group, found without looking at the others; records in group -1 are in none."""

    def __init__(self, group_of_record: np.ndarray, n_groups: int) -> None:
        self.order = np.argsort(group_of_record, kind="stable")
        self.starts = np.searchsorted(group_of_record[self.order], np.arange(n_groups + 1))

    def of(self, groups: Iterable[int]) -> np.ndarray:
        """The records of these groups, one group after the other."""
        runs = [self.order[self.starts[g] : self.starts[g + 1]] for g in groups]
        return np.concatenate(runs) if runs else self.order[:0]


@dataclass(frozen=True, eq=False)
class Seen:
    """A table as an adversary sees it, and what is known of everybody.

    names      of the columns
    labels     per column and record of the table its label
    coverings  per column what its labels cover
    known      per column and original record its value
    rows       per record of the table its original
    persons    per original record whose it is
    """

    names: Sequence[str]
    labels: Sequence[np.ndarray]
    coverings: Sequence[Covering]
    known: Sequence[np.ndarray]
    rows: np.ndarray
    persons: np.ndarray

    def beside(self, columns: Sequence[Column]) -> Seen:
        """The same table with more columns, which are published as they are."""
        return Seen(
            [*self.names, *(column.name for column in columns)],
            [*self.labels, *(column.codes[self.rows] for column in columns)],
            [*self.coverings, *(Covering.exact(len(column.texts)) for column in columns)],
            [*self.known, *(column.codes for column in columns)],
            self.rows,
            self.persons,
        )

    @cached_property
    def classes(self) -> Classes:
        """The records of the table that look alike."""
        return classes_of(list(self.labels), len(self.labels[0]))

    @cached_property
    def records_of_class(self) -> Grouped:
        return Grouped(self.classes.of_record, len(self.classes.sizes))

    @cached_property
    def records_of_person(self) -> Grouped:
        return Grouped(self.persons[self.rows], int(self.persons.max()) + 1)

    def own_classes(self, person: int) -> np.ndarray:
        """The classes of the published records of somebody, given by an original record of theirs."""
        return self.classes.of_record[self.records_of_person.of([self.persons[person]])]

    def fitting(self, columns: Sequence[int], people: np.ndarray) -> Iterator[Block]:
        """Blocks of people, and for each of them the classes that fit what is known in these columns."""
        index = ClassIndex(self.classes.codes[:, columns], [self.coverings[c] for c in columns])
        return index.fitting([self.known[c][people] for c in columns])

    def records_that_fit(self, people: np.ndarray) -> list[np.ndarray]:
        """For each of these people the originals of the records that fit all that is known of them."""
        every = range(len(self.labels))
        fitting = (row for _, fits in self.fitting(every, people) for row in fits)
        return [self.rows[self.records_of_class.of(np.flatnonzero(row))] for row in fitting]


def of_original(sides: BeforeAfter) -> Seen:
    """The quasi-identifiers of the original as if it were published."""
    columns = [attribute.column for attribute in sides.attributes]
    exact = [Covering.exact(len(column.texts)) for column in columns]
    return _seen(sides, columns, exact, np.arange(sides.n_records))


def of_release(sides: BeforeAfter) -> Seen:
    return _seen(sides, sides.labels, sides.coverings, sides.rows)


def _seen(
    sides: BeforeAfter, shown: Sequence[Column], coverings: Sequence[Covering], rows: np.ndarray
) -> Seen:
    names = [attribute.name for attribute in sides.attributes]
    known = [attribute.column.codes for attribute in sides.attributes]
    return Seen(names, [column.codes for column in shown], coverings, known, rows, whose(sides))


def whose(sides: BeforeAfter) -> np.ndarray:
    """Per original record the number of its person: its own where everybody has one record."""
    return sides.units.of(np.arange(sides.n_records))


def drawn_targets(sides: BeforeAfter, most: int, rng: np.random.Generator) -> np.ndarray:
    """Original records that are published and not withheld, drawn at random."""
    published = np.sort(sides.rows[~sides.withheld])
    if len(published) <= most:
        return published
    return np.sort(rng.choice(published, most, replace=False))


def other_columns(release: Release) -> list[Column]:
    """The columns that are published as they are: sensitive and insensitive ones, without items."""
    untouched = release.roles.untouched(release.request.treatments)
    names = [name for name in untouched if release.roles.of[name] in ("sensitive", "insensitive")]
    return [release.dataset.column(name) for name in names]


@dataclass(frozen=True, eq=False)
class Lookup:
    """The candidates that an adversary finds for each target, and the place of its own record among them.

    `place` is -1 where the target's record is not among the candidates, or not published at all.
    """

    candidates: np.ndarray
    place: np.ndarray

    @property
    def chance(self) -> np.ndarray:
        """The probability, for each target, that a candidate picked at random is the right one."""
        return np.where(self.place >= 0, 1.0 / np.maximum(self.candidates, 1), 0.0)

    def facts(self, rng: np.random.Generator, threshold: float) -> dict[str, Any]:
        """Success rates over the targets, also that of really picking one candidate for each."""
        n = len(self.candidates)
        picked = rng.integers(0, np.maximum(self.candidates, 1))
        hits = int((picked == self.place).sum())
        chance = self.chance
        return {
            "maximum": float(chance.max()),
            "average": float(chance.mean()),
            "over_threshold": float((chance > threshold * (1 + 1e-12)).mean()),
            "found_for_sure": float(((self.candidates == 1) & (self.place == 0)).mean()),
            "median_candidates": float(np.median(self.candidates)),
            "picks": n,
            "hits": hits,
            "hit_rate": hits / n,
            "interval": list(wilson(hits, n)),
        }


def wilson(hits: int, trials: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's score interval of a rate, 95 % by default.

    >>> [round(end, 4) for end in wilson(0, 100)]
    [0.0, 0.037]
    """
    if not trials:
        return 0.0, 1.0
    rate, square = hits / trials, z * z / trials
    middle, reach = rate + square / 2, z * sqrt(rate * (1 - rate) / trials + square / (4 * trials))
    low, high = (middle - reach) / (1 + square), (middle + reach) / (1 + square)
    return (0.0 if hits == 0 else low), (1.0 if hits == trials else high)
