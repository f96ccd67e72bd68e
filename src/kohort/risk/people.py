"""Risk of people who may have several records: by the people who look alike, not by records."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.errors import percent
from kohort.pipeline.before_after import BeforeAfter, Classes, classes_of
from kohort.risk.class_index import ClassIndex
from kohort.risk.class_tally import class_tally
from kohort.risk.lookup import Lookup


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
