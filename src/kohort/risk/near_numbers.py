"""Numbers that are published as they are: how many records are nearest to their own original.

Record linkage by distance (Pagliuca and Seri, 1999): somebody who knows such numbers of a person, exactly or
roughly, takes the published record that is nearest. Columns are scaled to a standard deviation of 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kohort.data.column import Column
from kohort.errors import counted, percent
from kohort.kernels.threads import in_threads
from kohort.risk.criteria.seen_columns import other_columns
from kohort.risk.lookup import wilson
from kohort.risk.near_numbers_kernel import nearest_records

if TYPE_CHECKING:
    from kohort.release.release import Release

ROUGHLY = 0.05
"""How far off rough knowledge is: the standard deviation of its error, over that of the column."""


def near_numbers(release: Release, *, targets: int = 500, seed: int = 0) -> dict[str, Any] | None:
    """Link people to published records by the numbers that are published as they are; None without any."""
    sides = release.sides
    columns = [column for column in other_columns(release) if _is_number(column)]
    if not columns or not sides.attributes:
        return None
    rng = np.random.default_rng(seed)
    original = _scaled(columns)
    records = original[sides.rows]
    own = np.flatnonzero(~sides.withheld)
    own = own if len(own) <= targets else np.sort(rng.choice(own, targets, replace=False))
    points = original[sides.rows[own]]
    blurred = points + rng.normal(0.0, ROUGHLY, points.shape)
    of_class = np.asarray(sides.after.of_record, dtype=np.int64)
    facts: dict[str, Any] = {
        "columns": [column.name for column in columns],
        "targets": len(own),
        "of": len(sides.rows),
        "exactly": nearest_facts(points, records, own, None),
        "roughly": nearest_facts(blurred, records, own, None),
        "exactly_in_class": nearest_facts(points, records, own, of_class),
        "roughly_in_class": nearest_facts(blurred, records, own, of_class),
    }
    return facts | {"sentence": _sentence(facts)}


def _is_number(column: Column) -> bool:
    """Whether distances between the values mean something: numbers and times with more than two values."""
    return column.ordered and not column.listed and len(column.texts) - int(column.has_null) > 2


def _scaled(columns: Sequence[Column]) -> np.ndarray:
    """Original records by columns, each with mean 0 and standard deviation 1; a missing value is the mean."""
    scaled = []
    for column in columns:
        assert column.numbers is not None
        values = np.full(len(column.texts), np.nan)
        values[: len(column.numbers)] = column.numbers
        numbers = values[column.codes].astype(np.float64)
        numbers = np.where(np.isfinite(numbers), numbers, np.nan)
        numbers = numbers - np.nanmean(numbers)
        spread = np.nanstd(numbers)
        scaled.append(np.nan_to_num(numbers / spread if spread > 0 else numbers))
    return np.column_stack(scaled)


def nearest_facts(
    points: np.ndarray, records: np.ndarray, own: np.ndarray, of_class: np.ndarray | None
) -> dict[str, Any]:
    """How many points have their own record as the nearest one, alone or among several equally near.

    of_class  per record its class, if only records of the own class are compared
    """
    group_of = np.zeros(len(records), dtype=np.int64) if of_class is None else of_class
    group = np.full(len(own), -1, dtype=np.int64) if of_class is None else of_class[own]
    ties, is_own = np.zeros(len(own), dtype=np.int64), np.zeros(len(own), dtype=bool)

    def look(some: slice) -> None:
        ties[some], is_own[some] = nearest_records(points[some], records, own[some], group_of, group[some])

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
