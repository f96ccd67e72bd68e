"""Special uniques: who is unique by few columns, and which columns and values make them so.

A minimal sample unique is a set of columns by which a record is unique, while it is not by any part of the
set. SUDA2 (Elliot, Manning and Ford, 2002; Manning, Haglin and Keane, 2008) scores one of s columns with the
product of (A - i) for i from s to M, where A is the number of columns and M the largest size that is
searched, at most A - 1: the smaller the set, the higher. A record has the sum of its scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from kohort.errors import counted, percent
from kohort.pipeline.before_after import BeforeAfter

_MOST_VALUES = 20


@dataclass(frozen=True, eq=False)
class Uniques:
    """Which rows of a table are unique by each set of columns, as far as sets were examined.

    columns  the codes of each column, by row
    largest  the most columns of a set
    by       per set the rows that are unique by it
    """

    columns: Sequence[np.ndarray]
    largest: int
    by: dict[tuple[int, ...], np.ndarray] = field(default_factory=dict)

    def add(self, chosen: tuple[int, ...], unique: np.ndarray) -> None:
        """Keep which rows are unique by this set: their numbers, which are mostly few."""
        self.by[chosen] = np.flatnonzero(unique).astype(np.int32)


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
        score = _score(size, n_columns, uniques.largest)
        of_row[found] += score
        by_column[np.ix_(found, np.array(chosen))] += score
    return Scores(of_row, by_column, minimal_sets)


def _score(size: int, n_columns: int, largest: int) -> int:
    """The product of (A - i) for i from the size of the set to the largest size, at most A - 1."""
    return prod(n_columns - i for i in range(size, min(largest, n_columns - 1) + 1))


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
    return facts | {"sentence": _sentence(facts)}


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


def _sentence(facts: dict[str, Any]) -> str:
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
