"""The linkage attack as facts: on records, on people who have several, and on linked records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kohort.errors import counted, percent
from kohort.job.sides import BeforeAfter, Classes, classes_of
from kohort.problem.histories import Histories
from kohort.risk.class_tally import class_tally
from kohort.risk.linkage import ClassIndex, Lookup, leaves_of, look_up
from kohort.verification.histories import history_of_record

if TYPE_CHECKING:
    from kohort.risk.assess import Adversary


def dominance(sides: BeforeAfter) -> dict[str, Any] | None:
    """The largest share of a class's records that are of one person; None where everybody has one record.

    No promise bounds it: somebody who knows that a person has many records may guess that a record of their
    class is theirs.
    """
    if sides.counted == "records":
        return None
    largest = class_tally(sides, "after").dominance or 0.0
    return {
        "after": largest,
        "sentence": (
            f"Up to {percent(largest)} of the records of a class are of one person, which no promise limits. "
            "Whoever knows that somebody has many records may take one of the class for theirs."
        ),
    }


def look_up_people(
    sides: BeforeAfter, attributes: list[int], people: np.ndarray, rng: np.random.Generator
) -> tuple[Lookup, Lookup]:
    """Look people up by some quasi-identifiers of one record of theirs, drawn at random, before and after.

    Candidates are the different people with a record that fits. A person is among them if any record of
    theirs fits, also another one than the one that is known.
    """
    assert sides.persons is not None
    known_record = _one_record_each(sides.persons, people, rng)
    raw = sides.classes_before(attributes)
    before = _among(raw, sides.persons, raw.of_record[known_record][:, None], people)
    shown, coverings = sides.classes_after(attributes), [sides.coverings[a] for a in attributes]
    known = [sides.attributes[a].column.codes[known_record] for a in attributes]
    parts = []
    for block, fits in ClassIndex(shown, coverings).fitting(known):
        fitting = [np.flatnonzero(row) for row in fits]
        parts.append(_among(shown, sides.persons[sides.rows], fitting, people[block]))
    return before, Lookup(
        np.concatenate([part.candidates for part in parts]), np.concatenate([part.place for part in parts])
    )


def _one_record_each(persons: np.ndarray, people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A record of each of these people, drawn at random."""
    order = np.argsort(persons, kind="stable")
    starts = np.searchsorted(persons[order], people)
    ends = np.searchsorted(persons[order], people, side="right")
    return order[rng.integers(starts, ends)]


def _among(classes: Classes, persons: np.ndarray, fitting: Any, people: np.ndarray) -> Lookup:
    """The number of different people in the classes that fit each target, and the target's place among them.

    fitting  per target the numbers of the classes
    """
    order = np.argsort(classes.of_record, kind="stable")
    starts = np.cumsum(classes.sizes) - classes.sizes
    candidates, place = np.zeros(len(people), dtype=np.int64), np.full(len(people), -1)
    for target, (numbers, person) in enumerate(zip(fitting, people)):
        runs = [order[starts[c] : starts[c] + classes.sizes[c]] for c in numbers]
        found = np.unique(persons[np.concatenate(runs)]) if runs else np.zeros(0, dtype=np.int64)
        candidates[target] = len(found)
        at = np.searchsorted(found, person)
        if at < len(found) and found[at] == person:
            place[target] = at
    return Lookup(candidates, place)


def household_risk(sides: BeforeAfter) -> dict[str, Any]:
    """The risk of members by their own records alone, and that of their households, before and after."""
    assert sides.histories is not None
    household = sides.histories.persons
    codes = [attribute.column.codes for attribute in sides.attributes]
    before = _risks(codes, household)
    after = _risks([column.codes for column in sides.labels], household[sides.rows])
    sentence = (
        "Somebody who knows one member by their quasi-identifiers, and not the household, finds the record "
        f"with a chance of at most {percent(after['individual']['maximum'])}; before it was "
        f"{percent(before['individual']['maximum'])}. Somebody who looks up each member so finds at least "
        f"one of a household with a chance of {percent(after['household']['average'])} on average, "
        f"{percent(after['household']['maximum'])} at most; before it was "
        f"{percent(before['household']['average'])} and {percent(before['household']['maximum'])}."
    )
    return {"before": before, "after": after, "sentence": sentence}


def _risks(columns: list[np.ndarray], household: np.ndarray) -> dict[str, dict[str, float]]:
    """Maximum and average risk of records that look alike in these columns, and of their households."""
    classes = classes_of(columns, len(household))
    risk = 1 / classes.sizes[classes.of_record]
    order = np.argsort(household, kind="stable")
    starts = np.flatnonzero(np.diff(household[order], prepend=-1))
    nobody = np.multiply.reduceat(1 - risk[order], starts)
    return {"individual": _summary(risk), "household": _summary(1 - nobody)}


def _summary(risk: np.ndarray) -> dict[str, float]:
    return {"maximum": float(risk.max()), "average": float(risk.mean())}


def look_up_histories(
    sides: BeforeAfter, histories: Histories, attributes: Sequence[int], people: np.ndarray
) -> tuple[Lookup, Lookup]:
    """Look people up by some quasi-identifiers of all their records, before and after.

    A published history is a candidate if each of its records covers another one of the records that are known
    of the person and, with slots, one in the same slot; records of the person may have been withheld.
    O(people * published records that differ * attributes).
    """
    codes = [sides.attributes[a].column.codes for a in attributes]
    known = history_of_record(histories.persons, histories.slots, [*codes, *histories.marks])
    before = _Seen.of(histories.persons, known)
    own = before.place_of_person[people]
    sizes = before.sizes[before.history_of_person[people]]
    return Lookup(sizes, own), _after(sides, histories, attributes, people)


@dataclass(frozen=True, eq=False)
class _Seen:
    """Histories as they are seen: how many people have each, and whose they are.

    history_of_person  -1 where no record of the person is published
    place_of_person    the place of a person among those with the same history; -1 likewise
    """

    sizes: np.ndarray
    history_of_person: np.ndarray
    place_of_person: np.ndarray

    @classmethod
    def of(cls, persons: np.ndarray, history: np.ndarray, n_people: int | None = None) -> _Seen:
        n = int(persons.max()) + 1 if n_people is None else n_people
        of_person = np.full(n, -1, dtype=np.int64)
        of_person[persons] = history
        place = np.full(n, -1, dtype=np.int64)
        shown = np.flatnonzero(of_person >= 0)
        order = shown[np.argsort(of_person[shown], kind="stable")]
        sizes = np.bincount(of_person[order])
        place[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return cls(sizes, of_person, place)


def _after(sides: BeforeAfter, histories: Histories, attributes: Sequence[int], people: np.ndarray) -> Lookup:
    persons = histories.persons[sides.rows]
    slots = None if histories.slots is None else histories.slots[sides.rows]
    labels = [sides.labels[a].codes for a in attributes]
    marks = [mark[sides.rows] for mark in histories.marks]
    history = history_of_record(persons, slots, [*labels, *marks])
    seen = _Seen.of(persons, history, histories.n_people)
    shown = _one_of_each(persons, history)
    table = _Shown(
        [codes[shown] for codes in labels],
        None if slots is None else slots[shown],
        np.flatnonzero(np.diff(history[shown], prepend=-1)),
    )
    records = np.argsort(histories.persons, kind="stable")
    first = np.cumsum(histories.sizes) - histories.sizes
    covers = [sides.coverings[a].covers(np.arange(len(sides.attributes[a].column.texts))) for a in attributes]
    candidates, place = np.zeros(len(people), dtype=np.int64), np.full(len(people), -1)
    for target, person in enumerate(people.tolist()):
        own = records[first[person] : first[person] + histories.sizes[person]]
        known = [sides.attributes[a].column.codes[own] for a in attributes]
        fits = table.fitting(known, None if histories.slots is None else histories.slots[own], covers)
        candidates[target] = seen.sizes[fits].sum()
        mine = seen.history_of_person[person]
        if mine >= 0 and fits[mine]:
            place[target] = seen.sizes[:mine][fits[:mine]].sum() + seen.place_of_person[person]
    return Lookup(candidates, place)


def _one_of_each(persons: np.ndarray, history: np.ndarray) -> np.ndarray:
    """The published records of one person for each history, history by history."""
    owner = np.empty(int(history.max()) + 1, dtype=np.int64)
    owner[history] = persons
    chosen = np.flatnonzero(owner[history] == persons)
    return chosen[np.argsort(history[chosen], kind="stable")]


@dataclass(frozen=True, eq=False)
class _Shown:
    """The different published histories, one after the other: labels, slots, and the first record of each."""

    labels: list[np.ndarray]
    slots: np.ndarray | None
    starts: np.ndarray

    def fitting(
        self, known: list[np.ndarray], slots: np.ndarray | None, covers: list[np.ndarray]
    ) -> np.ndarray:
        """For each published history whether it fits a person whose records are known."""
        fits = np.ones((len(known[0]), len(self.labels[0])), dtype=bool)
        for values, labels, table in zip(known, self.labels, covers):
            fits &= table[values][:, labels]
        if self.slots is not None:
            assert slots is not None
            fits &= slots[:, None] == self.slots
            return np.logical_and.reduceat(fits.any(axis=0), self.starts)
        fitting = np.logical_and.reduceat(fits.any(axis=0), self.starts)
        ends = np.append(self.starts[1:], fits.shape[1])
        for history in np.flatnonzero(fitting).tolist():
            fitting[history] = _all_matched(fits[:, self.starts[history] : ends[history]])
        return fitting


def _all_matched(fits: np.ndarray) -> bool:
    """Whether every column can have a row of its own that fits: augmenting paths, O(rows * columns ** 2)."""
    column_of_row = np.full(fits.shape[0], -1)
    return all(_matched(column, fits, column_of_row) for column in range(fits.shape[1]))


def _matched(column: int, fits: np.ndarray, column_of_row: np.ndarray) -> bool:
    """Give a column a row of its own, moving others to other rows if need be; False if that is impossible."""
    via = np.full(len(column_of_row), -1)  # the column from which each row was reached
    waiting = [column]
    while waiting:
        current = waiting.pop()
        for row in np.flatnonzero(fits[:, current] & (via < 0)).tolist():
            via[row] = current
            if column_of_row[row] < 0:
                _shift(row, column, via, column_of_row)
                return True
            waiting.append(int(column_of_row[row]))
    return False


def _shift(row: int, column: int, via: np.ndarray, column_of_row: np.ndarray) -> None:
    """Move the columns along the path that ends in a free row, each to the row that it was reached by."""
    while True:
        mover = int(via[row])
        freed = np.flatnonzero(column_of_row == mover)
        column_of_row[row] = mover
        if mover == column:
            return
        row = int(freed[0])


def linkage_attack(sides: BeforeAfter, adversary: Adversary, threshold: float) -> dict[str, Any]:
    """Look up people drawn at random by what is known of them, in the original and in the release."""
    rng, known, n_items = np.random.default_rng(adversary.seed), adversary.known, adversary.known_items
    names = [attribute.name for attribute in sides.attributes]
    chosen = [i for i, name in enumerate(names) if known is None or name in known]
    n_items = (
        0
        if sides.baskets is None
        else sides.baskets.m
        if adversary.known_items is None
        else adversary.known_items
    )
    n_people, picked = _targets(sides, adversary.targets, rng, known_columns=bool(chosen))
    items = None if sides.baskets is None else _items_known(sides, picked, n_items, rng)
    if sides.histories is not None:
        before, after = look_up_histories(sides, sides.histories, chosen, picked)
    elif sides.persons is not None:
        before, after = look_up_people(sides, chosen, picked, rng)
    else:
        before, after = look_up(sides, chosen, picked, items)
    by_record = sides.histories is None and sides.persons is None
    found: dict[str, Any] = {
        "known": [names[i] for i in chosen],
        "known_items": n_items,
        "targets": len(picked),
        "sampled": len(picked) < n_people,
        "before": before.facts(rng, threshold),
        "after": after.facts(rng, threshold),
        "after_withheld": _withheld_maximum(sides, picked, after) if by_record else None,
    }
    return found | {"sentence": _sentence(found, _way(sides))}


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


def _withheld_maximum(sides: BeforeAfter, targets: np.ndarray, after: Lookup) -> float | None:
    """The highest chance among targets whose record is withheld as `*`; None if there are none."""
    if not sides.n_withheld:
        return None
    withheld = sides.codes_of_records(targets).withheld
    return float(after.chance[withheld].max()) if withheld.any() else None


def _way(sides: BeforeAfter) -> str:
    """How the adversary goes about it, in words."""
    if sides.histories is not None:
        return "in all records of theirs, and picked a pseudonym that fits"
    if sides.persons is not None:
        return "from one record of theirs, and picked somebody with a record that fits"
    return "and picked a record that fits"


def _sentence(found: dict[str, Any], picked: str) -> str:
    what = [counted(len(found["known"]), "column")] if found["known"] else []
    what += [counted(found["known_items"], "item")] if found["known_items"] else []
    before, after = found["before"], found["after"]
    low, high = after["interval"]
    return (
        f"An adversary who knew {' and '.join(what)} of {found['targets']:,} people, {picked}, "
        f"found {percent(before['hit_rate'])} of them in the original and "
        f"{percent(after['hit_rate'])} in the release (95 % interval {percent(low)} to {percent(high)}), "
        f"and nobody there with a better chance than {percent(after['maximum'])}." + _warning(found)
    )


def _warning(found: dict[str, Any]) -> str:
    """A sentence about a withheld record that is found: only `*` fits a person whom no class fits."""
    best = found["after_withheld"]
    if best is None or best < found["after"]["maximum"]:
        return ""
    return " That record is withheld as `*`, and few others fit the person. Set suppressed: drop to omit it."


def _items_known(
    sides: BeforeAfter, targets: np.ndarray, n_items: int, rng: np.random.Generator
) -> np.ndarray:
    """Some items of each target, drawn at random; -1 where there are fewer."""
    assert sides.baskets is not None
    leaves, offsets = leaves_of(sides.baskets), sides.baskets.original.offsets
    known = np.full((len(targets), max(n_items, 1)), -1, dtype=np.int64)
    for row, target in enumerate(targets):
        drawn = rng.permutation(leaves[offsets[target] : offsets[target + 1]])[:n_items]
        known[row, : len(drawn)] = drawn
    return known
