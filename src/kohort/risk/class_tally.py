"""What the classes of a table say, counted: figures of a size that does not grow with the records.

A table on a cluster is counted in parts that hold whole classes, and the counts of the parts are united.
Prosecutor, journalist and marketer risk follow from the sizes of classes (El Emam, 2013).

Attribute disclosure: how sure the best guess of a sensitive value is for those who know the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kohort.data.column import Column
from kohort.errors import percent
from kohort.job.sides import BeforeAfter, Classes, Side, SizeCounts

BINS = 10  # of how sure a guess is
_RISKIEST = 10


@dataclass(frozen=True, eq=False)
class GuessTally:
    """How well the value of a sensitive column is guessed from a class: by its most frequent value there.

    people           all people of the classes
    guessed          those of classes with a value
    right            for how many of them the guess is right
    surest           the largest share of a class for which it is
    over_half        people of classes where it is right for more than half
    certain_people   people of classes with one value alone, and how many these classes are
    fewest_values    the least number of different values of a class; None without classes
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
    fewest_values: int | None
    bins: np.ndarray
    by_value: np.ndarray

    @classmethod
    def united(cls, parts: Sequence[GuessTally]) -> GuessTally:
        fewest = [part.fewest_values for part in parts if part.fewest_values is not None]
        return cls(
            people=sum(part.people for part in parts),
            guessed=sum(part.guessed for part in parts),
            right=sum(part.right for part in parts),
            surest=max(part.surest for part in parts),
            over_half=sum(part.over_half for part in parts),
            certain_people=sum(part.certain_people for part in parts),
            certain_classes=sum(part.certain_classes for part in parts),
            fewest_values=min(fewest, default=None),
            bins=np.sum([part.bins for part in parts], axis=0),
            by_value=np.max([part.by_value for part in parts], axis=0),
        )


@dataclass(frozen=True)
class RiskyClass:
    """A class that gives much away.

    codes   its label in each quasi-identifier
    number  its number among the classes; None where they have none
    guess   how sure the best guess of a sensitive value is; 0 without sensitive columns
    """

    codes: tuple[int, ...]
    size: int
    guess: float
    number: int | None

    @property
    def rank(self) -> tuple:
        """What riskier classes have less of."""
        return -max(self.guess, 1 / self.size), self.size, self.codes


@dataclass(frozen=True, eq=False)
class ClassTally:
    """What the classes of one side of a table say; withheld records are in none of them.

    sizes         of the classes, in people
    guesses       per sensitive column
    least_weight  of the class that stands for fewest people of the population; None without weights
    dominance     the largest share of a class's records that are of one person; None where all have one
    riskiest      the classes that give most away
    """

    sizes: SizeCounts
    guesses: tuple[GuessTally, ...]
    least_weight: float | None
    dominance: float | None
    riskiest: tuple[RiskyClass, ...]

    @classmethod
    def united(cls, parts: Sequence[ClassTally]) -> ClassTally:
        weights = [part.least_weight for part in parts if part.least_weight is not None]
        shares = [part.dominance for part in parts if part.dominance is not None]
        riskiest = sorted((found for part in parts for found in part.riskiest), key=lambda c: c.rank)
        numbered = len(parts) == 1
        return cls(
            SizeCounts.united([part.sizes for part in parts]),
            tuple(map(GuessTally.united, zip(*(part.guesses for part in parts)))),
            min(weights, default=None),
            max(shares, default=None),
            tuple(found if numbered else _unnumbered(found) for found in riskiest[:_RISKIEST]),
        )


def _unnumbered(found: RiskyClass) -> RiskyClass:
    return RiskyClass(found.codes, found.size, found.guess, None)


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
    return _count(sides, "before", sides.before, sides.sizes_before, np.arange(sides.n_records))


def _after(sides: BeforeAfter) -> ClassTally:
    records = np.where(sides.withheld, -1, sides.rows)
    return _count(sides, "after", sides.after, sides.sizes_after, records)


def _count(
    sides: BeforeAfter, by: Side, classes: Classes, sizes: np.ndarray, records: np.ndarray
) -> ClassTally:
    """The tally of one side; `records` are the originals of its records, -1 for those that do not count."""
    kept = sides.kept(by)
    counts = [sides.value_counts(column, classes, records) for column in sides.sensitive]
    tops = [_most_frequent(found, len(sizes)) for found in counts]
    guesses = tuple(
        _guesses(column, found, top, sizes, kept) for column, found, top in zip(sides.sensitive, counts, tops)
    )
    surest = np.max([top / sizes for top in tops], axis=0) if tops else np.zeros(len(sizes))
    return ClassTally(
        SizeCounts.of(sizes[kept]),
        guesses,
        _least_weight(sides, classes, records, kept),
        _dominance(sides, classes, records),
        _riskiest(classes, sizes, surest, kept) if by == "after" else (),
    )


def _most_frequent(counts: tuple[np.ndarray, np.ndarray, np.ndarray], n_classes: int) -> np.ndarray:
    """Per class how often its most frequent value occurs."""
    class_of, _, count = counts
    top = np.zeros(n_classes, dtype=np.int64)
    np.maximum.at(top, class_of, count)
    return top


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
    bin_of = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    bins = np.zeros(BINS, dtype=np.int64)
    np.add.at(bins, bin_of, sizes)
    certain = top == sizes
    return GuessTally(
        people=int(sizes.sum()),
        guessed=int(sizes[top > 0].sum()),
        right=int(top.sum()),
        surest=float(sure.max(initial=0.0)),
        over_half=int(sizes[2 * top > sizes].sum()),
        certain_people=int(sizes[certain].sum()),
        certain_classes=int(certain.sum()),
        fewest_values=int(different.min()) if len(different) else None,
        bins=bins,
        by_value=by_value,
    )


def _least_weight(
    sides: BeforeAfter, classes: Classes, records: np.ndarray, kept: np.ndarray
) -> float | None:
    """The least sum of the weights of a class's people; one with several records counts by their mean."""
    if sides.weights is None or not len(kept):
        return None
    there = records >= 0
    class_of, weights = classes.of_record[there], sides.weights[records[there]]
    if sides.persons is not None:
        n_people = int(sides.persons.max()) + 1
        keys = class_of * n_people + sides.persons[records[there]]
        pairs, place = np.unique(keys, return_inverse=True)
        class_of, weights = pairs // n_people, np.bincount(place, weights) / np.bincount(place)
    return float(np.bincount(class_of, weights, minlength=len(classes.sizes))[kept].min())


def _dominance(sides: BeforeAfter, classes: Classes, records: np.ndarray) -> float | None:
    """The largest share of a class's records that are of one person."""
    if sides.persons is None:
        return None
    there = records >= 0
    persons, class_of = sides.persons[records[there]], classes.of_record[there]
    n_people = int(persons.max(initial=0)) + 1
    pairs, times = np.unique(class_of * n_people + persons, return_counts=True)
    share = times / np.bincount(class_of, minlength=len(classes.sizes))[pairs // n_people]
    return float(share.max(initial=0.0))


def _riskiest(
    classes: Classes, sizes: np.ndarray, surest: np.ndarray, kept: np.ndarray
) -> tuple[RiskyClass, ...]:
    """The classes that give most away: a sensitive value by a safe guess, then a person by a small class."""
    risk = np.maximum(surest, 1 / sizes)[kept]
    order = kept[np.lexsort((sizes[kept], -risk))[:_RISKIEST]]
    return tuple(
        RiskyClass(tuple(classes.codes[c].tolist()), int(sizes[c]), float(surest[c]), int(c)) for c in order
    )


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
    before = class_tally(sides, "before").least_weight
    if before is None:
        return None
    least = class_tally(sides, "after").least_weight
    chance = None if least is None else 1 / max(least, 1.0)
    return {
        "before": before,
        "after": least,
        "chance": chance,
        "sentence": (
            "By the sampling weights, the published class that stands for fewest people of the population "
            f"stands for an estimated {least or 0:,.0f}; before it was {before:,.0f}. Somebody who does not "
            "know who is in the table finds a person with a chance of about "
            f"{percent(chance or 0.0)} at most."
        ),
    }


_MOST_VALUES = 20


def attribute_disclosure(sides: BeforeAfter, *, show_values: bool) -> list[dict[str, Any]]:
    """For each sensitive column the confidence of the best guess, by what was known before and after.

    One group-by per sensitive column and side.
    """
    before, after = class_tally(sides, "before").guesses, class_tally(sides, "after").guesses
    return [
        _disclosure(sides, column, was, now, show_values)
        for column, was, now in zip(sides.sensitive, before, after)
    ]


def _disclosure(
    sides: BeforeAfter, column: Column, before: GuessTally, after: GuessTally, show_values: bool
) -> dict[str, Any]:
    baseline = sides.most_frequent(column, "before")
    found: dict[str, Any] = {
        "attribute": column.name,
        "values": len(column.texts),
        "baseline": baseline,
        "before": _summary(before),
        "after": _summary(after),
        "by_value": _by_value(column, after, show_values),
    }
    found["sentence"] = (
        f"Anybody who knows the published class of a person guesses {column.name!r} right in "
        f"{percent(found['after']['average'])} of cases on average, and is never more than "
        f"{percent(found['after']['maximum'])} sure; with the original it was "
        f"{percent(found['before']['average'])}, and without either table it would be {percent(baseline)}."
    )
    return found


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
