"""The intruder protocol: automatic attempts to find people.

In each attempt somebody who knows some columns of a person looks for the records of the release that fit. If
they are one person's alone, that is a suspicion; it is confirmed if it is the right person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kohort.data.column import Column
from kohort.errors import counted
from kohort.pipeline.before_after import BeforeAfter
from kohort.risk.criteria.seen_columns import drawn_targets, other_columns
from kohort.risk.lookup import wilson

if TYPE_CHECKING:
    from kohort.release.release import Release


@dataclass(frozen=True)
class Attempt:
    """One attempt: who was looked for by what, how many people have records that fit, and what came of it.

    original  the number of the person's original record, counted from 1
    """

    original: int
    method: str
    known: tuple[str, ...]
    candidates: int
    suspected: bool
    confirmed: bool


def automatic_attempts(release: Release, *, targets: int = 500, seed: int = 0) -> list[Attempt] | None:
    """Look for people drawn at random, in three ways by turns; None where records are linked.

    By all quasi-identifiers; by some of them, drawn at random; and by all of them together with the other
    columns that are published as they are, which an acquaintance may know.
    """
    sides = release.sides
    if not sides.attributes or sides.histories is not None:
        return None
    rng = np.random.default_rng(seed)
    people = drawn_targets(sides, targets, rng)
    others = other_columns(release)
    ways = ["all quasi-identifiers", "some quasi-identifiers"]
    ways += ["all quasi-identifiers and other columns"] if others else []
    return [
        _attempt(sides, int(person), ways[number % len(ways)], others, rng)
        for number, person in enumerate(people)
    ]


def _attempt(
    sides: BeforeAfter,
    person: int,
    way: str,
    others: Sequence[Column],
    rng: np.random.Generator,
) -> Attempt:
    names = [attribute.name for attribute in sides.attributes]
    chosen = np.arange(len(names))
    if way.startswith("some"):
        chosen = np.sort(rng.choice(len(names), int(rng.integers(1, len(names) + 1)), replace=False))
    fitting = _records_that_fit(sides, chosen, person)
    known = [names[c] for c in chosen]
    if way.endswith("other columns"):
        for column in others:
            codes = column.codes[sides.rows[fitting]]
            fitting = fitting[codes == column.codes[person]]
        known += [column.name for column in others]
    whose = np.arange(sides.n_records) if sides.persons is None else sides.persons
    people = np.unique(whose[sides.rows[fitting]])
    alone = len(people) == 1
    confirmed = bool(alone and people[0] == whose[person])
    return Attempt(person + 1, way, tuple(known), len(people), alone, confirmed)


def _records_that_fit(sides: BeforeAfter, chosen: np.ndarray, person: int) -> np.ndarray:
    """The published records whose labels cover what is known of a person in some columns."""
    fits = np.ones(len(sides.rows), dtype=bool)
    for c in chosen:
        code = sides.attributes[c].column.codes[person]
        fits &= sides.coverings[c].covers(np.array([code]))[0][sides.labels[c].codes]
    return np.flatnonzero(fits)


def intruder_facts(attempts: Sequence[Attempt], seed: int) -> dict[str, Any]:
    """How many were looked for, suspected and confirmed, in all and by the way they were looked for."""
    ways = list(dict.fromkeys(attempt.method for attempt in attempts))
    facts: dict[str, Any] = _counts(attempts) | {
        "seed": seed,
        "by_method": [
            {"method": way} | _counts([attempt for attempt in attempts if attempt.method == way])
            for way in ways
        ],
    }
    sentence = intruder_sentence(facts, "Automatic attempts")
    if any(way.endswith("other columns") for way in ways):
        alone = _counts([a for a in attempts if not a.method.endswith("other columns")])
        sentence += (
            f" By quasi-identifiers alone, {alone['confirmed']:,} of {alone['looked_for']:,} were found."
        )
    return facts | {"sentence": sentence}


def _counts(attempts: Sequence[Attempt]) -> dict[str, Any]:
    confirmed = sum(attempt.confirmed for attempt in attempts)
    return {
        "looked_for": len(attempts),
        "suspected": sum(attempt.suspected for attempt in attempts),
        "confirmed": confirmed,
        "interval": list(wilson(confirmed, len(attempts))),
        "fewest_candidates": min((attempt.candidates for attempt in attempts), default=None),
    }


def intruder_sentence(facts: dict[str, Any], who: str) -> str:
    """The line that boards ask for.

    >>> intruder_sentence({"looked_for": 500, "suspected": 6, "confirmed": 0}, "Automatic attempts")
    'Automatic attempts: 500 people looked for, 6 suspected, 0 confirmed.'
    """
    looked = counted(facts["looked_for"], "person", "people")
    return f"{who}: {looked} looked for, {facts['suspected']:,} suspected, {facts['confirmed']:,} confirmed."
