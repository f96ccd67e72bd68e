"""The knowledge sweep: how likely people are found by every set of quasi-identifiers somebody may know.

Where all sets are too many, every set up to a size that fits is examined, and of the larger ones some, drawn
at random. On the way it finds who is unique by what, for the scores of special uniques.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from kohort.data.dataset import distinct_rows
from kohort.errors import counted, percent
from kohort.pipeline.before_after import BeforeAfter
from kohort.risk.knowledge_kernel import people_in_classes, refined
from kohort.risk.special_uniques import Uniques, special_uniques

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

    counts   records per row
    persons  per row the number of its person; None where every record is another person's
    """

    columns: Sequence[np.ndarray]
    counts: np.ndarray
    persons: np.ndarray | None = None

    @classmethod
    def of(cls, columns: Sequence[np.ndarray], persons: np.ndarray | None) -> KnownTable:
        """Records that look alike are one row, unless they are of people who have several."""
        if persons is not None:
            return cls(columns, np.ones(len(persons), dtype=np.int64), persons)
        rows, counts, _ = distinct_rows(np.column_stack(columns))
        return cls(list(np.ascontiguousarray(rows.T)), counts)


def sweep(table: KnownTable, sets: Sets, see: Callable[[tuple[int, ...], np.ndarray], None]) -> None:
    """Show for every set of columns how many people look like each row. O(rows) for each set.

    Sets that begin alike share the work for what they have in common.
    """
    orders = [np.argsort(column, kind="stable") for column in table.columns]
    of_people = None if table.persons is None else np.argsort(table.persons, kind="stable")
    codes = [np.asarray(column, dtype=np.int64) for column in table.columns]
    start = np.zeros(len(table.counts), dtype=np.int64), 1

    def sizes(classes: tuple[np.ndarray, int]) -> np.ndarray:
        class_of, n_classes = classes
        if of_people is not None:
            return people_in_classes(class_of, n_classes, table.persons, of_people)[class_of]
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
    if not sides.attributes or sides.histories is not None:
        return None
    names = [attribute.name for attribute in sides.attributes]
    kept = ~sides.withheld
    rows = sides.rows[kept]
    before = KnownTable.of([a.column.codes for a in sides.attributes], sides.persons)
    after = KnownTable.of(
        [column.codes[kept] for column in sides.labels],
        None if sides.persons is None else sides.persons[rows],
    )
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
    return facts | {"sentence": _sentence(facts)}


def _examined(table: KnownTable, sets: Sets, threshold: float) -> tuple[list[dict[str, Any]], Uniques]:
    """The figures of every set of columns, and who is unique by what."""
    found: list[dict[str, Any]] = []
    n = int(table.counts.sum())
    uniques = Uniques(table.columns, _largest_kept(sets, len(table.counts)))

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
            uniques.add(chosen, sizes == 1)

    sweep(table, sets, see)
    return found, uniques


def _largest_kept(sets: Sets, n_rows: int) -> int:
    """The most columns of a set for which it is kept who is unique by it, so that all fit in memory."""
    largest, total = 0, 0
    while largest < sets.complete and total + comb(sets.n_columns, largest + 1) * n_rows <= MOST_KEPT:
        largest += 1
        total += comb(sets.n_columns, largest) * n_rows
    return max(largest, min(sets.complete, 1))


def _summary(found: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
    """The figures by the number of known columns and by column, and the smallest knowledge that is enough."""
    sizes = range(1, len(names) + 1)
    by_size = [_of_size(found, size) for size in sizes]
    grid = [
        [
            _mean([f["average"] for f in found if len(f["columns"]) == size and place in f["columns"]])
            for size in sizes
        ]
        for place in range(len(names))
    ]
    alone = [f for f in found if f["unique"]]
    least = min((len(f["columns"]) for f in alone), default=None)
    best = max((f for f in alone if len(f["columns"]) == least), key=lambda f: f["unique"], default=None)
    return {
        "by_size": by_size,
        "average_by_column": grid,
        "sets": [{**f, "columns": [names[c] for c in f["columns"]]} for f in found],
        "smallest_class": min((f["smallest"] for f in found), default=None),
        "singled_out_by": None
        if best is None
        else {"columns": [names[c] for c in best["columns"]], "unique": best["unique"]},
    }


def _of_size(found: list[dict[str, Any]], size: int) -> dict[str, Any]:
    some = [f for f in found if len(f["columns"]) == size]
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


def _sentence(facts: dict[str, Any]) -> str:
    whom = "person" if facts["counted"] == "people" else "record"
    return " ".join([_how_many(facts), _in_original(facts, whom), _in_release(facts)])


def _how_many(facts: dict[str, Any]) -> str:
    if facts["examined"] == facts["sets"]:
        return f"All {facts['sets']:,} sets of quasi-identifiers that somebody may know were examined."
    return (
        f"Of {facts['sets']:,} sets of quasi-identifiers, {facts['examined']:,} were examined: all of up to "
        f"{counted(facts['complete_up_to'], 'column')}, and some larger ones, drawn at random."
    )


def _in_original(facts: dict[str, Any], whom: str) -> str:
    found = facts["before"]["singled_out_by"]
    if found is None:
        return f"In the original, none of them singles out a {whom}."
    n = len(found["columns"])
    known = " and ".join(repr(name) for name in found["columns"])
    return (
        f"In the original, {counted(n, 'known column')} may be enough to single somebody out: {known} "
        f"{'does' if n == 1 else 'do'} so for {counted(found['unique'], 'record')}."
    )


def _in_release(facts: dict[str, Any]) -> str:
    found, least = facts["after"]["singled_out_by"], facts["after"]["smallest_class"]
    if found is None:
        chance = percent(1 / least) if least else percent(0.0)
        return (
            f"In the release, none of them does: whatever is known, at least {least:,} look alike, a chance "
            f"of {chance} at most."
        )
    known = " and ".join(repr(name) for name in found["columns"])
    return f"In the release, {known} still singles out {counted(found['unique'], 'record')}."
