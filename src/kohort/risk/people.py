"""Risk of people who may have several records: by the people who look alike, not by records."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.errors import percent
from kohort.pipeline.before_after import BeforeAfter, Classes
from kohort.risk.class_index import ClassIndex
from kohort.risk.class_tally import class_tally
from kohort.risk.lookup import Lookup

__all__ = ["dominance", "look_up_people"]


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
