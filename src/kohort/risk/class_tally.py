"""What the classes of a table say, counted: figures of a size that does not grow with the records.

A table on a cluster is counted in parts that hold whole classes, and the counts of the parts are united.
Prosecutor, journalist and marketer risk follow from the sizes of classes (El Emam, 2013).

Attribute disclosure: how sure the best guess of a sensitive value is for those who know the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import Any, TypeVar

import numpy as np

from kohort.data.column import Column
from kohort.errors import percent
from kohort.job.sides import BeforeAfter, Classes, Side, SizeCounts

SIDES: tuple[Side, Side] = ("before", "after")
BINS = 10  # of how sure a guess is
_RISKIEST = 10
_NO_CLASS = 2**62  # values in the least varied class, where there is none
T = TypeVar("T")


def _united(parts: Sequence[T], how: dict[str, Any]) -> dict[str, Any]:
    """The fields of a tally from those of its parts: by `how`, or their sums."""
    found = {}
    for name in (field.name for field in fields(parts[0])):  # type: ignore[arg-type]
        value = how.get(name, np.sum)([getattr(part, name) for part in parts], axis=0)
        found[name] = value if value.ndim else value.item()
    return found


@dataclass(frozen=True, eq=False)
class GuessTally:
    """How well the value of a sensitive column is guessed from a class: by its most frequent value there.

    people           all people of the classes
    guessed          those of classes with a value
    right            for how many of them the guess is right
    surest           the largest share of a class for which it is
    over_half        people of classes where it is right for more than half
    certain_people   people of classes with one value alone, and how many these classes are
    fewest_values    the least number of different values of a class
    bins             people by how sure the guess is
    by_value         for each value how sure it is where it is surest
    """

    people: int
    guessed: int
    right: int
    surest: float
    over_half: int
    certain_people: int
    certain_classes: int
    fewest_values: int
    bins: np.ndarray
    by_value: np.ndarray

    @classmethod
    def united(cls, parts: Sequence[GuessTally]) -> GuessTally:
        return cls(**_united(parts, {"surest": np.max, "fewest_values": np.min, "by_value": np.max}))


@dataclass(frozen=True)
class RiskyClass:
    """A class that gives much away.

    codes   its label in each quasi-identifier
    number  its number among the classes of its part of the table
    guess   how sure the best guess of a sensitive value is; 0 without sensitive columns
    """

    codes: tuple[int, ...]
    size: int
    guess: float
    number: int

    @property
    def rank(self) -> tuple:
        """What riskier classes have less of."""
        return -max(self.guess, 1 / self.size), self.size, self.codes


@dataclass(frozen=True, eq=False)
class ClassTally:
    """What the classes of one side of a table say; withheld records are in none of them.

    sizes         of the classes, in people
    guesses       per sensitive column
    least_weight  of the class that stands for fewest people of the population; infinite without weights
    dominance     the largest share of a class's records that are of one person; 0 where all have one
    riskiest      the classes that give most away
    """

    sizes: SizeCounts
    guesses: tuple[GuessTally, ...]
    least_weight: float
    dominance: float
    riskiest: tuple[RiskyClass, ...]

    @classmethod
    def united(cls, parts: Sequence[ClassTally]) -> ClassTally:
        riskiest = sorted((found for part in parts for found in part.riskiest), key=lambda c: c.rank)
        return cls(
            SizeCounts.united([part.sizes for part in parts]),
            tuple(map(GuessTally.united, zip(*(part.guesses for part in parts)))),
            min(part.least_weight for part in parts),
            max(part.dominance for part in parts),
            tuple(riskiest[:_RISKIEST]),
        )


def class_tally(sides: BeforeAfter, by: Side) -> ClassTally:
    """What the classes of the original (before) or of the release (after) say."""
    return sides.tally(_before if by == "before" else _after, ClassTally.united, by=by)


def people_by_size(sides: BeforeAfter, by: Side) -> SizeCounts:
    """How many people (or records) are in classes of each size; the withheld are not counted.

    Where people have several records, everybody is counted by the smallest class that they are in.
    """
    if sides.counted == "people":
        return sides.people_by_size(by)
    sizes = class_tally(sides, by).sizes
    return SizeCounts(sizes.size, sizes.members)


def _before(sides: BeforeAfter) -> ClassTally:
    return _count(sides, "before", np.arange(sides.n_records))


def _after(sides: BeforeAfter) -> ClassTally:
    return _count(sides, "after", np.where(sides.withheld, -1, sides.rows))


def _count(sides: BeforeAfter, by: Side, records: np.ndarray) -> ClassTally:
    """The tally of one side; `records` are the originals of its records, -1 for those that do not count."""
    classes, sizes = (
        (sides.before, sides.sizes_before) if by == "before" else (sides.after, sides.sizes_after)
    )
    kept, surest = sides.kept(by), np.zeros(len(sizes))
    guesses = []
    for column in sides.sensitive:
        counts = sides.value_counts(column, classes, records)
        top = np.zeros(len(sizes), dtype=np.int64)  # how often the most frequent value of each class occurs
        np.maximum.at(top, counts[0], counts[2])
        surest = np.maximum(surest, top / sizes)
        guesses.append(_guesses(column, counts, top, sizes, kept))
    # classes that give most away: a sensitive value by a safe guess, then a person by a small class
    order = kept[np.lexsort((sizes[kept], -np.maximum(surest, 1 / sizes)[kept]))[:_RISKIEST]]
    riskiest = (
        RiskyClass(tuple(classes.codes[c].tolist()), int(sizes[c]), float(surest[c]), int(c)) for c in order
    )
    return ClassTally(
        SizeCounts.of(sizes[kept]),
        tuple(guesses),
        _least_weight(sides, classes, records, kept),
        _dominance(sides, classes, records),
        tuple(riskiest) if by == "after" else (),
    )


def _guesses(
    column: Column,
    counts: tuple[np.ndarray, np.ndarray, np.ndarray],
    top: np.ndarray,
    sizes: np.ndarray,
    kept: np.ndarray,
) -> GuessTally:
    class_of, value, count = counts
    by_value = np.zeros(len(column.texts))
    np.maximum.at(by_value, value, count / sizes[class_of])
    different = np.bincount(class_of, minlength=len(sizes))[kept]
    top, sizes = top[kept], sizes[kept]
    sure = top / sizes
    bins = np.zeros(BINS, dtype=np.int64)
    np.add.at(bins, np.minimum((sure * BINS).astype(np.int64), BINS - 1), sizes)
    certain = top == sizes
    return GuessTally(
        people=int(sizes.sum()),
        guessed=int(sizes[top > 0].sum()),
        right=int(top.sum()),
        surest=float(sure.max(initial=0.0)),
        over_half=int(sizes[2 * top > sizes].sum()),
        certain_people=int(sizes[certain].sum()),
        certain_classes=int(certain.sum()),
        fewest_values=int(different.min(initial=_NO_CLASS)),
        bins=bins,
        by_value=by_value,
    )


def _least_weight(sides: BeforeAfter, classes: Classes, records: np.ndarray, kept: np.ndarray) -> float:
    """The least sum of the weights of a class's people; one with several records counts by their mean."""
    if sides.weights.even or not len(kept):
        return inf
    there = records >= 0
    class_of, weights = classes.of_record[there], sides.weights.each[records[there]]
    if sides.units.several:
        n_people = sides.n_people
        keys = class_of * n_people + sides.units.of(records[there])
        pairs, place = np.unique(keys, return_inverse=True)
        class_of, weights = pairs // n_people, np.bincount(place, weights) / np.bincount(place)
    return float(np.bincount(class_of, weights, minlength=len(classes.sizes))[kept].min())


def _dominance(sides: BeforeAfter, classes: Classes, records: np.ndarray) -> float:
    """The largest share of a class's records that are of one person."""
    if not sides.units.several:
        return 0.0
    there = records >= 0
    persons, class_of = sides.units.of(records[there]), classes.of_record[there]
    n_people = int(persons.max(initial=0)) + 1
    pairs, times = np.unique(class_of * n_people + persons, return_counts=True)
    share = times / np.bincount(class_of, minlength=len(classes.sizes))[pairs // n_people]
    return float(share.max(initial=0.0))


def record_risks(risk: np.ndarray, records: np.ndarray, threshold: float) -> dict[str, Any]:
    """Maximum, average and share over a threshold of a risk that every record of a class has.

    risk, records  per class: the probability that one of its records is found, and how many they are
    """
    n = int(records.sum())
    if not n:
        return {"maximum": 0.0, "average": 0.0, "over_threshold": 0.0}
    over = risk > threshold * (1 + 1e-12)  # 1/10 is not over 0.1, whatever the last bit says
    return {
        "maximum": float(risk.max()),
        "average": float((risk * records).sum() / n),
        "over_threshold": float(records[over].sum() / n),
    }


def unique_share(people: SizeCounts) -> float:
    """The share of people who are alone in a class of theirs; `people` are counted by its size."""
    n = int(people.times.sum())
    return float(people.times[people.size == 1].sum() / n) if n else 0.0


def weighted_population(sides: BeforeAfter) -> dict[str, Any] | None:
    """The estimated people of the population in the class that has fewest; None without weights.

    A person with several records in a class counts once, with the mean of their weights.
    """
    before, least = (class_tally(sides, side).least_weight for side in SIDES)
    if before == inf:
        return None
    chance = None if least == inf else 1 / max(least, 1.0)
    sentence = (
        "By the sampling weights, the published class that stands for fewest people of the population stands "
        f"for an estimated {0 if chance is None else least:,.0f}; before it was {before:,.0f}. Somebody who "
        f"does not know who is in the table finds a person with a chance of about {percent(chance or 0.0)} "
        "at most."
    )
    after = None if chance is None else least
    return {"before": before, "after": after, "chance": chance, "sentence": sentence}


def dominance(sides: BeforeAfter) -> dict[str, Any] | None:
    """The largest share of a class's records that are of one person; None where everybody has one record.

    No promise bounds it: somebody who knows that a person has many records may guess that a record of their
    class is theirs.
    """
    if sides.counted == "records":
        return None
    largest = class_tally(sides, "after").dominance
    sentence = (
        f"Up to {percent(largest)} of the records of a class are of one person, which no promise limits. "
        "Whoever knows that somebody has many records may take one of the class for theirs."
    )
    return {"after": largest, "sentence": sentence}


_MOST_VALUES = 20


def attribute_disclosure(sides: BeforeAfter, *, show_values: bool) -> list[dict[str, Any]]:
    """For each sensitive column the confidence of the best guess, by what was known before and after.

    One group-by per sensitive column and side.
    """
    was, now = (class_tally(sides, side).guesses for side in SIDES)
    return [_disclosure(sides, *each, show_values) for each in zip(sides.sensitive, was, now)]


def _disclosure(
    sides: BeforeAfter, column: Column, before: GuessTally, after: GuessTally, show_values: bool
) -> dict[str, Any]:
    baseline, was, now = sides.most_frequent(column, "before"), _summary(before), _summary(after)
    sentence = (
        f"Anybody who knows the published class of a person guesses {column.name!r} right in "
        f"{percent(now['average'])} of cases on average, and is never more than {percent(now['maximum'])} "
        f"sure; with the original it was {percent(was['average'])}, and without either table it would be "
        f"{percent(baseline)}."
    )
    return {
        "attribute": column.name,
        "values": len(column.texts),
        "baseline": baseline,
        "before": was,
        "after": now,
        "by_value": _by_value(column, after, show_values),
        "sentence": sentence,
    }


def _summary(guesses: GuessTally) -> dict[str, Any]:
    n = guesses.guessed
    if not n:
        return {"maximum": 0.0, "average": 0.0, "over_half": 0.0}
    return {"maximum": guesses.surest, "average": guesses.right / n, "over_half": guesses.over_half / n}


def _by_value(column: Column, guesses: GuessTally, show_values: bool) -> list[dict[str, Any]]:
    """The values that are guessed with most confidence, at most 20; named only where that is asked for."""
    order = np.lexsort((column.counts, -guesses.by_value))[:_MOST_VALUES]
    return [
        ({"value": column.texts[code]} if show_values else {})
        | {"share": float(column.counts[code] / len(column)), "confidence": float(guesses.by_value[code])}
        for code in order
    ]
