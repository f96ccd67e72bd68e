"""The knowledge sweep: how likely people are found by every set of quasi-identifiers somebody may know.

Where all sets are too many, every set up to a size that fits is examined, and of the larger ones some, drawn
at random. On the way it finds who is unique by what, for the scores of special uniques.

Special uniques: who is unique by few columns, and which columns and values make them so.

A minimal sample unique is a set of columns by which a record is unique, while it is not by any part of the
set. SUDA2 (Elliot, Manning and Ford, 2002; Manning, Haglin and Keane, 2008) scores one of s columns with the
product of (A - i) for i from s to M, where A is the number of columns and M the largest size that is
searched, at most A - 1: the smaller the set, the higher. A record has the sum of its scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np

from kohort.data.counting import distinct_rows
from kohort.errors import counted, percent
from kohort.job.sides import BeforeAfter
from kohort.problem.units import Units
from kohort.risk.kernels import people_in_classes, refined

_MOST_VALUES = 20


@dataclass(frozen=True, eq=False)
class Uniques:
    """Which rows of a table are unique by each set of columns, as far as sets were examined.

    columns  the codes of each column, by row
    largest  the most columns of a set
    by       per set the numbers of the rows that are unique by it, which are mostly few
    """

    columns: Sequence[np.ndarray]
    largest: int
    by: dict[tuple[int, ...], np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of rows, and how much of them each column has a part in.

    of_row          the sum over the minimal sets of each row
    by_column       rows by columns: the sum over those sets that have the column
    minimal_sets    how many minimal sets there are of each size, from 1 on
    """

    of_row: np.ndarray
    by_column: np.ndarray
    minimal_sets: list[int]


def scores_of(uniques: Uniques) -> Scores:
    """The scores of every row, by definition: a set is minimal if no set with one column less is unique."""
    n_columns, n_rows = len(uniques.columns), len(uniques.columns[0])
    of_row, by_column = np.zeros(n_rows), np.zeros((n_rows, n_columns))
    minimal_sets = [0] * uniques.largest
    for chosen, rows in uniques.by.items():
        size = len(chosen)
        mask = np.zeros(n_rows, dtype=bool)
        mask[rows] = True
        for part in combinations(chosen, size - 1):
            if part:
                mask[uniques.by[part]] = False
        found = np.flatnonzero(mask)
        minimal_sets[size - 1] += len(found)
        # the product of (A - i) for i from the size of the set to the largest size, at most A - 1
        score = prod(n_columns - i for i in range(size, min(uniques.largest, n_columns - 1) + 1))
        of_row[found] += score
        by_column[np.ix_(found, np.array(chosen))] += score
    return Scores(of_row, by_column, minimal_sets)


def special_uniques(
    uniques: Uniques, after: Uniques, sides: BeforeAfter, *, show_values: bool
) -> dict[str, Any]:
    """What makes people of the original special: scores by column and, where they may be shown, by value.

    after  who is unique by what in the release
    """
    scores = scores_of(uniques)
    total = float(scores.of_row.sum())
    names = [attribute.name for attribute in sides.attributes]
    share = scores.by_column.sum(axis=0) / total if total else np.zeros(len(names))
    facts: dict[str, Any] = {
        "records": int((scores.of_row > 0).sum()),
        "records_after": int((scores_of(after).of_row > 0).sum()),
        "minimal_sets": scores.minimal_sets,
        "largest_set": uniques.largest,
        "highest_score": float(scores.of_row.max(initial=0.0)),
        "columns": [{"column": name, "share": float(part)} for name, part in zip(names, share)],
    }
    if show_values:
        facts["values"] = _by_value(scores, uniques, sides, total)
    return facts | {"sentence": _uniques_sentence(facts)}


def _by_value(scores: Scores, uniques: Uniques, sides: BeforeAfter, total: float) -> list[dict[str, Any]]:
    """The values with the largest shares of all scores."""
    found = []
    for place, attribute in enumerate(sides.attributes):
        texts = attribute.column.texts
        sums = np.bincount(uniques.columns[place], scores.by_column[:, place], minlength=len(texts))
        for code in np.argsort(-sums, kind="stable")[:_MOST_VALUES]:
            if sums[code] > 0:
                entry = {"column": attribute.name, "value": texts[code], "share": float(sums[code] / total)}
                found.append(entry | {"records": int(attribute.column.counts[code])})
    return sorted(found, key=lambda entry: -entry["share"])[:_MOST_VALUES]


def _uniques_sentence(facts: dict[str, Any]) -> str:
    if not facts["records"]:
        return f"Nobody in the original is unique by the columns examined, and {_of_release(facts)}."
    leading = sorted(facts["columns"], key=lambda entry: -entry["share"])[:2]
    parts = " and ".join(f"{entry['column']!r} ({percent(entry['share'])})" for entry in leading)
    least = next(size for size, n in enumerate(facts["minimal_sets"], 1) if n)
    return (
        f"{counted(facts['records'], 'record')} of the original {'is' if facts['records'] == 1 else 'are'} "
        f"unique, some by {counted(least, 'column')} alone. The columns with the largest part in that, by "
        f"their share of the scores of special uniques, are {parts}. In the release, {_of_release(facts)}."
    )


def _of_release(facts: dict[str, Any]) -> str:
    """How many records of the release are unique by the columns examined, in words."""
    return f"{counted(facts['records_after'], 'record is', 'records are')} unique"


MOST_CELLS = 300_000_000
"""Rows times sets of columns that are examined for one table."""
MOST_SETS = 4_096
MOST_KEPT = 60_000_000
"""Rows times sets of columns for which it is kept who is unique by what."""
DRAWN = 25
"""Sets that are drawn of each size that is too large for all of them."""


@dataclass(frozen=True)
class Sets:
    """Sets of columns: all of up to `complete` columns, and some larger ones, drawn at random."""

    n_columns: int
    complete: int
    drawn: tuple[tuple[int, ...], ...]

    @property
    def examined(self) -> int:
        return sum(comb(self.n_columns, size) for size in range(1, self.complete + 1)) + len(self.drawn)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        for size in range(1, self.complete + 1):
            yield from combinations(range(self.n_columns), size)
        yield from self.drawn


def sets_of_columns(n_columns: int, n_rows: int, rng: np.random.Generator) -> Sets:
    """The sets of columns to examine: all, or as many as fit, the whole one always among them."""
    room = min(MOST_SETS, MOST_CELLS // max(n_rows, 1))
    complete, total = 0, 0
    while complete < n_columns and total + comb(n_columns, complete + 1) <= max(room, n_columns):
        complete += 1
        total += comb(n_columns, complete)
    drawn: dict[tuple[int, ...], None] = {}
    for size in range(complete + 1, n_columns):
        for _ in range(DRAWN):
            chosen = rng.choice(n_columns, size, replace=False)
            drawn[tuple(sorted(chosen.tolist()))] = None
    if complete < n_columns:
        drawn[tuple(range(n_columns))] = None
    return Sets(n_columns, complete, tuple(drawn))


@dataclass(frozen=True, eq=False)
class KnownTable:
    """A table to look people up in: codes by column, and how many records, or whose record, each row is.

    counts  records per row
    units   whose each row is, where people have several records
    """

    columns: Sequence[np.ndarray]
    counts: np.ndarray
    units: Units = field(default_factory=Units)

    @classmethod
    def of(cls, columns: Sequence[np.ndarray], units: Units) -> KnownTable:
        """Records that look alike are one row, unless they are of people who have several."""
        if units.several:
            return cls(columns, np.ones(len(columns[0]), dtype=np.int64), units)
        rows, counts, _ = distinct_rows(np.column_stack(columns))
        return cls(list(np.ascontiguousarray(rows.T)), counts)


def sweep(table: KnownTable, sets: Sets, see: Callable[[tuple[int, ...], np.ndarray], None]) -> None:
    """Show for every set of columns how many people look like each row. O(rows) for each set.

    Sets that begin alike share the work for what they have in common.
    """
    orders = [np.argsort(column, kind="stable") for column in table.columns]
    persons = table.units.persons
    of_people = np.argsort(persons, kind="stable")
    codes = [np.asarray(column, dtype=np.int64) for column in table.columns]
    start = np.zeros(len(table.counts), dtype=np.int64), 1

    def sizes(classes: tuple[np.ndarray, int]) -> np.ndarray:
        class_of, n_classes = classes
        if table.units.several:
            return people_in_classes(class_of, n_classes, persons, of_people)[class_of]
        return np.bincount(class_of, table.counts, minlength=n_classes).astype(np.int64)[class_of]

    def descend(chosen: tuple[int, ...], classes: tuple[np.ndarray, int]) -> None:
        for column in range(chosen[-1] + 1 if chosen else 0, sets.n_columns):
            finer = refined(*classes, codes[column], orders[column])
            see((*chosen, column), sizes(finer))
            if len(chosen) + 1 < sets.complete:
                descend((*chosen, column), finer)

    if sets.complete:
        descend((), start)
    for chosen in sets.drawn:
        classes = start
        for column in chosen:
            classes = refined(*classes, codes[column], orders[column])
        see(chosen, sizes(classes))


def knowledge_sweep(
    sides: BeforeAfter, *, threshold: float, seed: int, show_values: bool = False
) -> dict[str, Any] | None:
    """The risk by every set of quasi-identifiers, before and after; None where it does not apply.

    After, records look alike by what is published of the columns: an adversary can do no better than pick one
    of those, so the chances are upper bounds.
    """
    if not sides.attributes or sides.units.linked:
        return None
    names = [attribute.name for attribute in sides.attributes]
    kept = ~sides.withheld
    rows = sides.rows[kept]
    before = KnownTable.of([a.column.codes for a in sides.attributes], sides.units)
    after = KnownTable.of([column.codes[kept] for column in sides.labels], sides.units.part(rows))
    sets = sets_of_columns(len(names), len(before.counts), np.random.default_rng(seed))
    found_before, uniques = _examined(before, sets, threshold)
    found_after, still_unique = _examined(after, sets, threshold)
    facts: dict[str, Any] = {
        "columns": names,
        "sets": 2 ** len(names) - 1,
        "examined": sets.examined,
        "complete_up_to": sets.complete,
        "threshold": threshold,
        "counted": sides.counted,
        "before": _summary(found_before, names),
        "after": _summary(found_after, names),
        "special_uniques": special_uniques(uniques, still_unique, sides, show_values=show_values),
    }
    whom = "person" if sides.counted == "people" else "record"
    return facts | {"sentence": _sentence(facts, whom)}


def _examined(table: KnownTable, sets: Sets, threshold: float) -> tuple[list[dict[str, Any]], Uniques]:
    """The figures of every set of columns, and who is unique by what."""
    found: list[dict[str, Any]] = []
    n = int(table.counts.sum())
    largest, room = 0, MOST_KEPT // max(len(table.counts), 1)  # sets for which all who are unique by it fit
    while largest < sets.complete and comb(sets.n_columns, largest + 1) <= room:
        largest += 1
        room -= comb(sets.n_columns, largest)
    uniques = Uniques(table.columns, max(largest, min(sets.complete, 1)))

    def see(chosen: tuple[int, ...], sizes: np.ndarray) -> None:
        risk = 1 / np.maximum(sizes, 1)
        over = risk > threshold * (1 + 1e-12)
        found.append(
            {
                "columns": chosen,
                "maximum": float(risk.max(initial=0.0)),
                "average": float((risk * table.counts).sum() / max(n, 1)),
                "unique": int(table.counts[sizes == 1].sum()),
                "over_threshold": float(table.counts[over].sum() / max(n, 1)),
                "smallest": int(sizes.min()) if len(sizes) else 0,
            }
        )
        if len(chosen) <= uniques.largest:
            uniques.by[chosen] = np.flatnonzero(sizes == 1).astype(np.int32)

    sweep(table, sets, see)
    return found, uniques


def _summary(found: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
    """The figures by the number of known columns and by column, and the smallest knowledge that is enough."""
    sizes = range(1, len(names) + 1)
    of_size = {size: [f for f in found if len(f["columns"]) == size] for size in sizes}
    grid = [
        [_mean([f["average"] for f in of_size[size] if place in f["columns"]]) for size in sizes]
        for place in range(len(names))
    ]
    alone = [f for f in found if f["unique"]]
    least = min((len(f["columns"]) for f in alone), default=None)
    best = max((f for f in alone if len(f["columns"]) == least), key=lambda f: f["unique"], default=None)
    return {
        "by_size": [_of_size(size, some) for size, some in of_size.items()],
        "average_by_column": grid,
        "sets": [{**f, "columns": [names[c] for c in f["columns"]]} for f in found],
        "smallest_class": min((f["smallest"] for f in found), default=None),
        "singled_out_by": None
        if best is None
        else {"columns": [names[c] for c in best["columns"]], "unique": best["unique"]},
    }


def _of_size(size: int, some: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "size": size,
        "sets": len(some),
        "maximum": max((f["maximum"] for f in some), default=None),
        "average": _mean([f["average"] for f in some]),
        "most_unique": max((f["unique"] for f in some), default=None),
        "sets_with_unique": sum(f["unique"] > 0 for f in some),
    }


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _sentence(facts: dict[str, Any], whom: str) -> str:
    """How many sets were examined, and by which somebody is singled out, in the original and the release."""
    how_many = f"All {facts['sets']:,} sets of quasi-identifiers that somebody may know were examined."
    if facts["examined"] != facts["sets"]:
        how_many = (
            f"Of {facts['sets']:,} sets of quasi-identifiers, {facts['examined']:,} were examined: all of up "
            f"to {counted(facts['complete_up_to'], 'column')}, and some larger ones, drawn at random."
        )
    before, after = (facts[side]["singled_out_by"] for side in ("before", "after"))
    known = [" and ".join(map(repr, found["columns"])) if found else "" for found in (before, after)]
    original = f"In the original, none of them singles out a {whom}."
    if before is not None:
        n = len(before["columns"])
        original = (
            f"In the original, {counted(n, 'known column')} may be enough to single somebody out: {known[0]} "
            f"{'does' if n == 1 else 'do'} so for {counted(before['unique'], 'record')}."
        )
    least = facts["after"]["smallest_class"]
    release = (
        f"In the release, none of them does: whatever is known, at least {least:,} look alike, a chance of "
        f"{percent(1 / least if least else 0.0)} at most."
    )
    if after is not None:
        release = f"In the release, {known[1]} still singles out {counted(after['unique'], 'record')}."
    return f"{how_many} {original} {release}"
