"""Look people up by their quasi-identifiers, before and after: records that fit, counted part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kohort.pipeline.before_after import BeforeAfter, Classes, classes_of
from kohort.risk.class_index import ClassIndex
from kohort.risk.lookup import Lookup

__all__ = ["look_up_records"]


def look_up_records(
    sides: BeforeAfter, attributes: Sequence[int], targets: np.ndarray
) -> tuple[Lookup, Lookup]:
    """Look original records up by some quasi-identifiers, before and after.

    A published record is a candidate if each of its labels covers what is known of the target. Candidates
    are in the order of classes and, within a class, of the original records.
    O(targets * classes * attributes).
    """
    known = sides.codes_of_records(targets)
    search = _Search(
        tuple(attributes),
        targets,
        tuple(known.codes[a] for a in attributes),
        tuple(known.labels[a] for a in attributes),
    )
    found = sides.tally(search, _united)
    return Lookup(found.alike, found.alike_before), Lookup(
        found.fitting, np.where(found.among, found.fitting_before, -1)
    )


@dataclass(frozen=True, eq=False)
class _Found:
    """What was found for each target.

    alike           original records with the same values, and how many of them come before its own
    fitting         published records that fit, and how many of them come before its own
    among           whether its own record is one of these
    """

    alike: np.ndarray
    alike_before: np.ndarray
    fitting: np.ndarray
    fitting_before: np.ndarray
    among: np.ndarray


def _united(parts: Sequence[_Found]) -> _Found:
    names = ("alike", "alike_before", "fitting", "fitting_before")
    sums = {name: np.sum([getattr(part, name) for part in parts], axis=0) for name in names}
    return _Found(**sums, among=parts[0].among)


@dataclass(frozen=True, eq=False)
class _Search:
    """Targets by the numbers of their records, their values, and the labels of their published records."""

    attributes: tuple[int, ...]
    targets: np.ndarray
    values: tuple[np.ndarray, ...]
    labels: tuple[np.ndarray, ...]

    def __call__(self, sides: BeforeAfter) -> _Found:
        """Look the targets up in a table, or in a part of one."""
        numbers = np.arange(sides.n_records) if sides.numbers is None else sides.numbers
        raw = [sides.attributes[a].column.codes for a in self.attributes]
        alike = _with_targets(raw, self.values)
        own = alike.of_record[len(numbers) :]
        sizes, before = _sizes_and_ranks(alike, numbers, own, self.targets)
        return _Found(sizes[own], before, *self._fitting(sides, numbers[sides.rows]))

    def _fitting(self, sides: BeforeAfter, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Published records that fit, how many come before the target's own, and whether that fits."""
        shown = _with_targets([sides.labels[a].codes for a in self.attributes], self.labels)
        own = shown.of_record[len(numbers) :]
        sizes, rank = _sizes_and_ranks(shown, numbers, own, self.targets)
        there = self.labels[0] >= 0
        fitting, before = (np.zeros(len(self.targets), dtype=np.int64) for _ in range(2))
        among = np.zeros(len(self.targets), dtype=bool)
        published = np.flatnonzero(shown.codes[:, 0] >= 0)  # a target that was left out has no label
        index = ClassIndex(
            Classes(shown.codes[published], sizes[published], shown.of_record),
            [sides.coverings[a] for a in self.attributes],
        )
        place = np.searchsorted(published, own)
        for block, fits in index.fitting(self.values):
            fitting[block] = fits @ sizes[published]
            for t in np.flatnonzero(there[block]):
                target = block.start + t
                among[target] = fits[t, place[target]]
                earlier = sizes[published[: place[target]]][fits[t, : place[target]]].sum()
                before[target] = earlier + rank[target]
        return fitting, before, among


def _with_targets(columns: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> Classes:
    """The classes of records and, after them, of targets."""
    together = [np.concatenate(pair) for pair in zip(columns, targets)]
    least = min(int(column.min(initial=0)) for column in together)
    found = classes_of([column - least for column in together], len(together[0]))
    return Classes(found.codes + least, found.sizes, found.of_record)


def _sizes_and_ranks(
    classes: Classes, numbers: np.ndarray, own: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The size of each class, and how many records of its own class come before each target.

    numbers  of the records; the targets are not counted
    """
    of_record = classes.of_record[: len(numbers)]
    sizes = np.bincount(of_record, minlength=len(classes.sizes))
    span = int(max(numbers.max(initial=0), targets.max(initial=0))) + 1
    keys = np.sort(of_record.astype(np.int64) * span + numbers)
    starts = np.searchsorted(keys, own * span)
    return sizes, np.searchsorted(keys, own * span + targets) - starts
