"""The linkage attack: look people up by what is known of them, in the original and in the release.

It is carried out on records, on baskets, on people who have several records, and on linked records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kohort.errors import counted, percent
from kohort.job.sides import BasketPair, BeforeAfter, Classes, classes_of
from kohort.kernels.threads import in_threads
from kohort.risk.histories import look_up_histories
from kohort.risk.kernels import count_fitting_baskets
from kohort.risk.seen import CELLS, Block, ClassIndex, Grouped, Lookup
from kohort.verification.item_coverage import published_nodes

if TYPE_CHECKING:
    from kohort.risk.assess import Adversary


def linkage_attack(sides: BeforeAfter, adversary: Adversary, threshold: float) -> dict[str, Any]:
    """Look up people drawn at random by what is known of them, in the original and in the release."""
    rng, known, n_items = np.random.default_rng(adversary.seed), adversary.known, adversary.known_items
    names = [attribute.name for attribute in sides.attributes]
    chosen = [i for i, name in enumerate(names) if known is None or name in known]
    if sides.baskets is None:
        n_items = 0
    elif n_items is None:
        n_items = sides.baskets.m
    n_people, picked = _targets(sides, adversary.targets, rng, known_columns=bool(chosen))
    items = None if sides.baskets is None else _items_known(sides.baskets, picked, n_items, rng)
    how = "and picked a record that fits"
    if sides.units.linked:
        how = "in all records of theirs, and picked a pseudonym that fits"
        before, after = look_up_histories(sides, sides.units.histories, chosen, picked)
    elif sides.units.several:
        how = "from one record of theirs, and picked somebody with a record that fits"
        before, after = look_up_people(sides, sides.units.persons, chosen, picked, rng)
    else:
        before, after = look_up(sides, chosen, picked, items)
    by_record = not sides.units.linked and not sides.units.several
    withheld = sides.codes_of_records(picked).withheld if by_record and sides.n_withheld else np.zeros(0)
    found: dict[str, Any] = {
        "known": [names[i] for i in chosen],
        "known_items": n_items,
        "targets": len(picked),
        "sampled": len(picked) < n_people,
        "before": before.facts(rng, threshold),
        "after": after.facts(rng, threshold),
        "after_withheld": float(after.chance[withheld].max()) if withheld.any() else None,
    }
    return found | {"sentence": _sentence(found, how)}


def _targets(
    sides: BeforeAfter, targets: int, rng: np.random.Generator, *, known_columns: bool
) -> tuple[int, np.ndarray]:
    """How many people there are to look up, and the numbers of those who are."""
    if sides.baskets is None or known_columns:
        n, numbers = sides.n_people, None
    else:  # of people without items nothing is known
        numbers = np.flatnonzero(sides.baskets.original.sizes > 0)
        n = len(numbers)
    picked = np.arange(n) if n <= targets else np.sort(rng.choice(n, targets, replace=False))
    return n, picked if numbers is None else numbers[picked]


def _sentence(found: dict[str, Any], picked: str) -> str:
    what = [counted(len(found["known"]), "column")] if found["known"] else []
    what += [counted(found["known_items"], "item")] if found["known_items"] else []
    before, after, best = found["before"], found["after"], found["after_withheld"]
    low, high = after["interval"]
    sentence = (
        f"An adversary who knew {' and '.join(what)} of {found['targets']:,} people, {picked}, "
        f"found {percent(before['hit_rate'])} of them in the original and "
        f"{percent(after['hit_rate'])} in the release (95 % interval {percent(low)} to {percent(high)}), "
        f"and nobody there with a better chance than {percent(after['maximum'])}."
    )
    if best is None or best < after["maximum"]:
        return sentence
    # a withheld record is found: only `*` fits a person whom no class fits
    return (
        f"{sentence} That record is withheld as `*`, and few others fit the person. Set suppressed: drop to "
        "omit it."
    )


def _items_known(pair: BasketPair, targets: np.ndarray, n_items: int, rng: np.random.Generator) -> np.ndarray:
    """Some items of each target, drawn at random; -1 where there are fewer."""
    leaves, offsets = leaves_of(pair), pair.original.offsets
    known = np.full((len(targets), max(n_items, 1)), -1, dtype=np.int64)
    for row, target in enumerate(targets):
        drawn = rng.permutation(leaves[offsets[target] : offsets[target + 1]])[:n_items]
        known[row, : len(drawn)] = drawn
    return known


# -- records and baskets ----------------------------------------------------------------------------


def look_up(
    sides: BeforeAfter, attributes: Sequence[int], targets: np.ndarray, known_items: np.ndarray | None
) -> tuple[Lookup, Lookup]:
    """Look targets (original records) up by some quasi-identifiers, before and after.

    A published record is a candidate if each of its labels covers what is known of the target. Candidates are
    in the order of classes and, within a class, of the original records. known_items[t] are items of target
    t, -1 where fewer are known. O(targets * classes * attributes), for items O(targets * published items).
    """
    if sides.baskets is None or known_items is None:
        at = sides.codes_of_records(targets)
        values, labels = ([codes[a] for a in attributes] for codes in (at.codes, at.labels))
        found = sides.tally(_Search(attributes, targets, values, labels), _added)
        alike, alike_before, fitting_, fitting_before, among = found
        return Lookup(alike, alike_before), Lookup(fitting_, np.where(among > 0, fitting_before, -1))
    known = [sides.attributes[a].column.codes[targets] for a in attributes]
    raw = classes_of([sides.attributes[a].column.codes for a in attributes], sides.n_records)
    shown = classes_of([sides.labels[a].codes for a in attributes], len(sides.rows))
    coverings = [sides.coverings[a] for a in attributes]
    published = sides.published_of[targets]
    pair = sides.baskets
    silent = np.zeros(sides.n_records, dtype=bool)
    leaves = leaves_of(pair)
    items = pair.original.offsets, leaves, leaves  # each item as a range of one leaf
    before = _in_baskets(raw, _own_classes(raw, targets), items, silent, known_items, targets)
    index = ClassIndex(shown.codes, coverings) if known else None
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


def _added(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.sum(parts, axis=0)


@dataclass(frozen=True, eq=False)
class _Search:
    """Targets by the numbers of their records, their values, and the labels of their published records."""

    attributes: Sequence[int]
    targets: np.ndarray
    values: Sequence[np.ndarray]
    labels: Sequence[np.ndarray]

    def __call__(self, sides: BeforeAfter) -> np.ndarray:
        """Look the targets up in a table, or in a part of one.

        For each target: the original records with the same values, and how many of them come before its own;
        the published records that fit, and how many of them come before its own; and whether that fits.
        """
        numbers = np.arange(sides.n_records) if sides.numbers is None else sides.numbers
        raw = [sides.attributes[a].column.codes for a in self.attributes]
        alike = _with_targets(raw, self.values)
        own = alike.of_record[len(numbers) :]
        sizes, before = _sizes_and_ranks(alike, numbers, own, self.targets)
        return np.array([sizes[own], before, *self._fitting(sides, numbers[sides.rows])])

    def _fitting(self, sides: BeforeAfter, numbers: np.ndarray) -> np.ndarray:
        shown = _with_targets([sides.labels[a].codes for a in self.attributes], self.labels)
        own = shown.of_record[len(numbers) :]
        sizes, rank = _sizes_and_ranks(shown, numbers, own, self.targets)
        there = self.labels[0] >= 0
        found = np.zeros((3, len(self.targets)), dtype=np.int64)
        fitting, before, among = found
        published = np.flatnonzero(shown.codes[:, 0] >= 0)  # a target that was left out has no label
        index = ClassIndex(shown.codes[published], [sides.coverings[a] for a in self.attributes])
        place = np.searchsorted(published, own)
        for block, fits in index.fitting(self.values):
            fitting[block] = fits @ sizes[published]
            for t in np.flatnonzero(there[block]):
                target = block.start + t
                earlier = sizes[published[: place[target]]][fits[t, : place[target]]].sum()
                among[target], before[target] = fits[t, place[target]], earlier + rank[target]
        return found


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


# -- people who have several records ----------------------------------------------------------------


def look_up_people(
    sides: BeforeAfter,
    persons: np.ndarray,
    attributes: Sequence[int],
    people: np.ndarray,
    rng: np.random.Generator,
) -> tuple[Lookup, Lookup]:
    """Look people up by some quasi-identifiers of one record of theirs, drawn at random, before and after.

    Candidates are the different people with a record that fits. A person is among them if any record of
    theirs fits, also another one than the one that is known.
    """
    order = np.argsort(persons, kind="stable")
    first = np.searchsorted(persons[order], people)
    known_record = order[rng.integers(first, np.searchsorted(persons[order], people, side="right"))]
    raw, shown = sides.classes_before(attributes), sides.classes_after(attributes)
    before = _among(raw, persons, raw.of_record[known_record][:, None], people)
    known = [sides.attributes[a].column.codes[known_record] for a in attributes]
    blocks = ClassIndex(shown.codes, [sides.coverings[a] for a in attributes]).fitting(known)
    fitting = (np.flatnonzero(row) for _, fits in blocks for row in fits)
    return before, _among(shown, persons[sides.rows], fitting, people)


def _among(
    classes: Classes, persons: np.ndarray, fitting: Iterable[np.ndarray], people: np.ndarray
) -> Lookup:
    """The number of different people in the classes that fit each target, and the target's place among them.

    fitting  per target the numbers of the classes
    """
    records_of = Grouped(classes.of_record, len(classes.sizes))
    candidates, place = np.zeros(len(people), dtype=np.int64), np.full(len(people), -1)
    for target, (numbers, person) in enumerate(zip(fitting, people)):
        found = np.unique(persons[records_of.of(numbers)])
        candidates[target] = len(found)
        at = np.searchsorted(found, person)
        if at < len(found) and found[at] == person:
            place[target] = at
    return Lookup(candidates, place)
