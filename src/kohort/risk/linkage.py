"""A linkage attack that is really carried out: look people up by what is known of them, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from kohort.algorithms import Run
from kohort.job.sides import BasketPair, BeforeAfter, Classes, classes_of
from kohort.kernels.threads import in_threads
from kohort.risk.kernels import count_fitting_baskets, count_fitting_people, fitting_classes, run_ends
from kohort.verification.covering import Covering
from kohort.verification.item_coverage import published_nodes


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


def look_up(
    sides: BeforeAfter, attributes: Sequence[int], targets: np.ndarray, known_items: np.ndarray | None
) -> tuple[Lookup, Lookup]:
    """Look targets (original records) up by some quasi-identifiers, before and after.

    A published record is a candidate if each of its labels covers what is known of the target.
    known_items[t] are items of target t, -1 where fewer are known. O(targets * classes * attributes), for
    items O(targets * published items).
    """
    if sides.baskets is None or known_items is None:
        return _look_up_records(sides, attributes, targets)
    known = [sides.attributes[a].column.codes[targets] for a in attributes]
    raw = classes_of([sides.attributes[a].column.codes for a in attributes], sides.n_records)
    shown = classes_of([sides.labels[a].codes for a in attributes], len(sides.rows))
    coverings = [sides.coverings[a] for a in attributes]
    published = sides.published_of[targets]
    pair = sides.baskets
    silent = np.zeros(sides.n_records, dtype=bool)
    before = _in_baskets(raw, _own_classes(raw, targets), _items(pair), silent, known_items, targets)
    index = ClassIndex(shown, coverings) if known else None
    fitting = _own_classes(shown, targets * 0) if index is None else index.fitting(known)
    ranges, missing = _label_ranges(pair), pair.published.missing
    still_known = _still_shown(known_items, ranges, np.where(missing[published], -1, published))
    return before, _in_baskets(shown, fitting, ranges, missing, still_known, published)


def _in_baskets(
    classes: Classes,
    blocks: Iterator[Block],
    baskets: tuple[np.ndarray, np.ndarray, np.ndarray],
    missing: np.ndarray,
    items: np.ndarray,
    own: np.ndarray,
) -> Lookup:
    """Look people up by their classes and by items of theirs."""
    candidates, place = np.zeros(len(own), dtype=np.int64), np.full(len(own), -1)
    for block, fits in blocks:

        def count(some: slice, block: slice = block, fits: np.ndarray = fits) -> None:
            people = slice(block.start + some.start, block.start + some.stop)
            found = count_fitting_baskets(
                fits[some], classes.of_record, baskets, missing, items[people], own[people]
            )
            candidates[people], place[people] = found

        in_threads(count, np.full(len(fits), len(missing)))
    return Lookup(candidates, place)


def _own_classes(classes: Classes, records: np.ndarray) -> Iterator[Block]:
    """Blocks of people whom no class but their own fits."""
    step = max(CELLS // max(len(classes.sizes), 1), 1)
    for begin in range(0, len(records), step):
        block = slice(begin, min(begin + step, len(records)))
        yield block, classes.of_record[records[block]][:, None] == np.arange(len(classes.sizes))


def _items(pair: BasketPair) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The items of each original record, each as a range of one leaf."""
    leaves = leaves_of(pair)
    return pair.original.offsets, leaves, leaves


def leaves_of(pair: BasketPair) -> np.ndarray:
    """The leaf of each item of the original baskets."""
    leaf = np.array([pair.hierarchy.leaf_of[text] for text in pair.original.items.texts], dtype=np.int64)
    return leaf[pair.original.items.codes]


def _label_ranges(pair: BasketPair) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ranges of items that the labels of each published record cover."""
    occurrence, node, _ = published_nodes(pair.published, pair.hierarchy)
    per_record = np.bincount(pair.published.record_of_item[occurrence], minlength=len(pair.published))
    offsets = np.concatenate([[0], np.cumsum(per_record)]).astype(np.int64)
    return offsets, pair.hierarchy.lo[node].astype(np.int64), pair.hierarchy.hi[node].astype(np.int64)


def _still_shown(
    known: np.ndarray, ranges: tuple[np.ndarray, np.ndarray, np.ndarray], own: np.ndarray
) -> np.ndarray:
    """The known items without those (-1) that were dropped from the own basket, which nobody can look up.

    Where there is no own basket (-1), all are kept.
    """
    offsets, first, last = ranges
    start, sizes = offsets[own], np.where(own < 0, 0, offsets[own + 1] - offsets[own])
    target = np.repeat(np.arange(len(own)), sizes)
    place = np.arange(len(target)) + np.repeat(start - np.cumsum(sizes) + sizes, sizes)
    shown = np.where(own[:, None] < 0, known, -1)
    for number, items in enumerate(known.T):
        covered = (first[place] <= items[target]) & (items[target] <= last[place])
        found = np.bincount(target, weights=covered, minlength=len(own)) > 0
        shown[found, number] = items[found]
    return shown


def _look_up_records(
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
