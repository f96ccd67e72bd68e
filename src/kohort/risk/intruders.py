"""The intruder protocol: automatic attempts to find people.

In each attempt somebody who knows some columns of a person looks for the records of the release that fit. If
they are one person's alone, that is a suspicion; it is confirmed if it is the right person.

Numbers that are published as they are: how many records are nearest to their own original.

Record linkage by distance (Pagliuca and Seri, 1999): somebody who knows such numbers of a person, exactly or
roughly, takes the published record that is nearest. Columns are scaled to a standard deviation of 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kohort.data.column import Column
from kohort.errors import counted, percent
from kohort.kernels.threads import in_threads
from kohort.risk.kernels import nearest_records
from kohort.risk.seen import drawn_targets, of_release, other_columns, wilson

if TYPE_CHECKING:
    from kohort.release.release import Release


ROUGHLY = 0.05
"""How far off rough knowledge is: the standard deviation of its error, over that of the column."""


def near_numbers(release: Release, *, targets: int = 500, seed: int = 0) -> dict[str, Any] | None:
    """Link people to published records by the numbers that are published as they are; None without any."""
    sides = release.sides
    columns = [  # distances between values mean something: numbers and times with more than two values
        column
        for column in other_columns(release)
        if column.ordered and not column.listed and len(column.texts) - int(column.has_null) > 2
    ]
    if not columns or not sides.attributes:
        return None
    rng = np.random.default_rng(seed)
    original = _scaled(columns)
    records = original[sides.rows]
    own = np.flatnonzero(~sides.withheld)
    own = own if len(own) <= targets else np.sort(rng.choice(own, targets, replace=False))
    points = original[sides.rows[own]]
    blurred = points + rng.normal(0.0, ROUGHLY, points.shape)
    of_class = sides.after.of_record.astype(np.int64)
    names = [column.name for column in columns]
    facts: dict[str, Any] = {"columns": names, "targets": len(own), "of": len(sides.rows)}
    for where, of_record in (("", np.zeros_like(of_class)), ("_in_class", of_class)):
        facts[f"exactly{where}"] = nearest_facts(points, records, own, of_record)
        facts[f"roughly{where}"] = nearest_facts(blurred, records, own, of_record)
    return facts | {"sentence": _sentence(facts)}


def _scaled(columns: Sequence[Column]) -> np.ndarray:
    """Original records by columns, each with mean 0 and standard deviation 1; a missing value is the mean."""
    scaled = []
    for column in columns:
        assert column.numbers is not None
        values = np.append(column.numbers.astype(np.float64), [np.nan] * column.has_null)
        numbers = np.where(np.isfinite(values), values, np.nan)[column.codes]
        numbers = numbers - np.nanmean(numbers)
        spread = np.nanstd(numbers)
        scaled.append(np.nan_to_num(numbers / spread if spread > 0 else numbers))
    return np.column_stack(scaled)


def nearest_facts(
    points: np.ndarray, records: np.ndarray, own: np.ndarray, group_of: np.ndarray
) -> dict[str, Any]:
    """How many points have their own record as the nearest one, alone or among several equally near.

    group_of  per record its group: only records of the own group are compared
    """
    ties, is_own = np.zeros(len(own), dtype=np.int64), np.zeros(len(own), dtype=bool)

    def look(some: slice) -> None:
        found = nearest_records(points[some], records, own[some], group_of, group_of[own[some]])
        ties[some], is_own[some] = found

    in_threads(look, np.full(len(own), len(records)))
    alone = int((is_own & (ties == 1)).sum())
    expected = float((is_own / np.maximum(ties, 1)).sum())
    return {
        "nearest_alone": alone,
        "nearest": int(is_own.sum()),
        "expected_hits": expected,
        "rate": alone / len(own),
        "interval": list(wilson(alone, len(own))),
    }


def _sentence(facts: dict[str, Any]) -> str:
    exactly, roughly = facts["exactly"], facts["roughly"]
    within, rough_within = facts["exactly_in_class"], facts["roughly_in_class"]
    names = ", ".join(map(repr, facts["columns"]))
    one = len(facts["columns"]) == 1
    return (
        f"{counted(len(facts['columns']), 'column')} of numbers {'is' if one else 'are'} published as "
        f"{'it is' if one else 'they are'} ({names}). Of {facts['targets']:,} people drawn at random, "
        f"somebody who knows these numbers exactly finds {percent(exactly['rate'])} as the one nearest "
        f"record, and {percent(within['rate'])} within their class; somebody who knows them roughly "
        f"(with an error of {percent(ROUGHLY)} of a standard deviation) {percent(roughly['rate'])} and "
        f"{percent(rough_within['rate'])}."
    )


@dataclass(frozen=True)
class Attempt:
    """One attempt: who was looked for by what, how many people have records that fit, and what came of it.

    original  the number of the person's original record, counted from 1
    """

    original: int
    method: str
    known: tuple[str, ...]
    candidates: int
    confirmed: bool

    @property
    def suspected(self) -> bool:
        return self.candidates == 1


def automatic_attempts(release: Release, *, targets: int = 500, seed: int = 0) -> list[Attempt] | None:
    """Look for people drawn at random, in three ways by turns; None where records are linked.

    By all quasi-identifiers; by some of them, drawn at random; and by all of them together with the other
    columns that are published as they are, which an acquaintance may know.
    """
    sides = release.sides
    if not sides.attributes or sides.units.linked:
        return None
    rng, others = np.random.default_rng(seed), other_columns(release)
    people, table = drawn_targets(sides, targets, rng), of_release(sides).beside(others)
    ways = ["all quasi-identifiers", "some quasi-identifiers"]
    ways += ["all quasi-identifiers and other columns"] if others else []
    attempts = []
    for number, person in enumerate(people.tolist()):
        way, n = ways[number % len(ways)], len(sides.attributes)
        known = np.arange(len(table.names) if way.endswith("other columns") else n)
        if way.startswith("some"):
            known = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
        fits = np.ones(len(table.rows), dtype=bool)
        for c in known.tolist():
            fits &= table.coverings[c].covers(table.known[c][[person]])[0][table.labels[c]]
        found = np.unique(table.persons[table.rows[fits]])
        confirmed = len(found) == 1 and bool(found[0] == table.persons[person])
        names = tuple(table.names[c] for c in known.tolist())
        attempts.append(Attempt(person + 1, way, names, len(found), confirmed))
    return attempts


def intruder_facts(attempts: Sequence[Attempt], seed: int) -> dict[str, Any]:
    """How many were looked for, suspected and confirmed, in all and by the way they were looked for."""
    ways = list(dict.fromkeys(attempt.method for attempt in attempts))
    by_way = [{"method": way} | _counts([a for a in attempts if a.method == way]) for way in ways]
    facts: dict[str, Any] = _counts(attempts) | {"seed": seed, "by_method": by_way}
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
