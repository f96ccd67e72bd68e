"""The order attack as facts: what the order of the published records gives away.

An attack on the order of published records: in a sorted table, neighbours narrow each other's labels.

If the records are sorted by age, nobody is younger than the youngest that any record before allows, and
nobody older than the oldest that any record after allows: running maxima and minima of the published
intervals. The attacker is given the true order (by which columns, up or down) and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kohort.data.arrow_values import value_codes
from kohort.data.column import Column
from kohort.data.counting import distinct_rows
from kohort.errors import counted
from kohort.job.sides import BeforeAfter
from kohort.tables.table import Table
from kohort.verification.reading import Covering

if TYPE_CHECKING:
    from kohort.release.release import Release


_MOST_CHAINS = 16  # columns that may come first where records are sorted by several


@dataclass(frozen=True, eq=False)
class Sighted:
    """A published column in the order of the release: what its labels cover, and what they hide.

    first, last  per record the range of values that its label covers, by rank; -1 for a missing value
    true         per record the rank of the original value; -1 where it is missing
    """

    name: str
    first: np.ndarray
    last: np.ndarray
    true: np.ndarray

    @property
    def exact(self) -> np.ndarray:
        """Per record whether its value is known."""
        return self.first == self.last


def sighted_column(labels: Column, covering: Covering, original: Column, rows: np.ndarray) -> Sighted:
    """A quasi-identifier as an attacker sees it; `rows[i]` is the original of published record i."""
    rank_of_code = np.arange(len(original.texts), dtype=np.float64)
    if original.has_null:
        rank_of_code[-1] = np.nan
    ends = (np.nan_to_num(end, nan=-1)[labels.codes] for end in covering.extremes(rank_of_code))
    first, last, true = (part.astype(np.int64) for part in (*ends, np.nan_to_num(rank_of_code, nan=-1)))
    return Sighted(original.name, first, last, true[original.at(rows)])


def attack_ranks(quasi: Sequence[Sighted], kept: Sequence[Sighted], k: int) -> dict[str, Any]:
    """What is gained by narrowing the labels by every order that the records have. O(n) per column and order.

    quasi  the quasi-identifiers
    kept   columns that are published as they are; the records may be sorted by them first

    The `orders` are the columns by which the records are sorted, in turn. Records `below_k` are in classes
    smaller than k once labels are narrowed, `unique` ones alone in their class, and `exact_values` known
    exactly, although their label covers several.
    """
    narrow, orders = narrowed_columns(quasi, kept)
    changed = [(new.first != old.first) | (new.last != old.last) for new, old in zip(narrow, quasi)]
    ends = np.column_stack([end + 1 for column in narrow for end in (column.first, column.last)])
    _, sizes, _ = distinct_rows(ends)
    return {
        "orders": [list(order) for order in orders],
        "k": k,
        "records": len(quasi[0].true),
        "narrowed_records": int(np.logical_or.reduce(changed).sum()),
        "records_below_k": int(sizes[sizes < k].sum()) if orders else 0,
        "unique_records": int((sizes == 1).sum()) if orders else 0,
        "exact_values": sum(int((new.exact & ~old.exact).sum()) for new, old in zip(narrow, quasi)),
    }


def narrowed_columns(
    quasi: Sequence[Sighted], kept: Sequence[Sighted]
) -> tuple[list[Sighted], tuple[tuple[str, ...], ...]]:
    """The quasi-identifiers with narrower ranges, and the orders that narrowed them."""
    narrow = {column.name: column for column in quasi}
    n = len(quasi[0].true)
    whole = np.zeros(n, dtype=np.int64)
    orders: list[tuple[str, ...]] = []
    starts: list[Sighted] = []
    for column in (*quasi, *kept):
        if way := _direction(column.true, whole):
            starts.append(column)
            if column.name in narrow and _narrow(narrow, column.name, whole, way):
                orders.append((column.name,))
        elif column.name not in narrow and int((np.bincount(column.true + 1) > 1).sum()) > 1:
            starts += [column] if stand_together(column.true) else []
    for column in starts[:_MOST_CHAINS]:
        orders += _narrow_within(column, narrow)
    return [narrow[column.name] for column in quasi], tuple(orders)


def _narrow_within(start: Sighted, narrow: dict[str, Sighted]) -> list[tuple[str, ...]]:
    """Narrow the columns that are sorted wherever `start` stays the same, then those sorted within these."""
    order: tuple[str, ...] = (start.name,)
    same, known = _runs([start.true]), _known_runs([narrow.get(start.name, start)])
    found: list[tuple[str, ...]] = []
    while True:
        ways = {n: _direction(c.true, same) for n, c in narrow.items() if n not in order}
        sorted_within = [name for name, way in ways.items() if way]
        if not sorted_within:
            return found
        for name in sorted_within:
            if _narrow(narrow, name, known, ways[name]):
                found.append((*order, name))
        order = (*order, *sorted_within)
        same = _runs([same, *(narrow[name].true for name in sorted_within)])
        known = _known_runs([narrow.get(name, start) for name in order])


def _narrow(narrow: dict[str, Sighted], name: str, stretch: np.ndarray, way: int) -> bool:
    """Narrow one column, and say whether that changed anything."""
    old, new = narrow[name], _narrowed(narrow[name], stretch, way)
    narrow[name] = new
    return bool((new.first != old.first).any() or (new.last != old.last).any())


def _direction(true: np.ndarray, stretch: np.ndarray) -> int:
    """1 or -1 where values rise or fall within every stretch, and change somewhere; else 0."""
    there = true >= 0
    value, stretch = true[there], stretch[there]
    steps = np.diff(value)[stretch[1:] == stretch[:-1]]
    if not steps.any():
        return 0
    return 1 if steps.min() >= 0 else -1 if steps.max() <= 0 else 0


def stand_together(true: np.ndarray) -> bool:
    """Whether equal values are neighbours wherever they occur, as they are in a sorted column."""
    return int(np.count_nonzero(np.diff(true))) + 1 == int((np.bincount(true + 1) > 0).sum())


def _runs(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Number of the stretch of each record: neighbours that are equal in every column."""
    differ = np.logical_or.reduce([np.diff(column) != 0 for column in columns])
    return np.concatenate([[0], np.cumsum(differ)])


def _known_runs(columns: Sequence[Sighted]) -> np.ndarray:
    """Number of the stretch of each record: neighbours that an attacker knows to be equal in every column."""
    known = np.logical_and.reduce([column.exact for column in columns])
    return _runs([*(column.first for column in columns), np.where(known, -1, np.arange(len(known)))])


def _narrowed(column: Sighted, stretch: np.ndarray, way: int) -> Sighted:
    """The column's ranges, narrowed by running maxima and minima within every stretch."""
    spoken = column.first >= 0  # a value that is published as missing has no place in the order
    first, last = way * column.first[spoken], way * column.last[spoken]
    low, high = (first, last) if way > 0 else (last, first)
    step = stretch[spoken] * (2 * int(column.last.max()) + 2)  # later stretches lie above earlier ones
    low = np.maximum.accumulate(low + step) - step
    high = np.minimum.accumulate((high + step)[::-1])[::-1] - step
    ends = (low, high) if way > 0 else (-high, -low)
    new_first, new_last = column.first.copy(), column.last.copy()
    new_first[spoken], new_last[spoken] = ends
    return replace(column, first=new_first, last=new_last)


_A_FEW = 1_000
_NOTHING = (
    "The published records are not sorted by any quasi-identifier, so no label can be narrowed down by its "
    "position."
)


def order_attack(release: Release, sides: BeforeAfter, k: int) -> dict[str, Any] | None:
    """Attack a release by every order that its records really have; None without quasi-identifiers.

    k  records in classes smaller than this, once labels are narrowed, are counted

    `by_column` has the same for each published column that puts the records in such an order.
    """
    if not sides.attributes:
        return None
    quasi = [
        sighted_column(labels, covering, attribute.column, sides.rows)
        for labels, covering, attribute in zip(sides.labels, sides.coverings, sides.attributes)
    ]
    untouched, rows = release.roles.untouched(release.request.treatments), np.asarray(sides.rows)
    found = attack_ranks(quasi, _kept_columns(release.dataset, untouched, rows), k)
    sentences = [f"An attacker who knows that they are {_gain(found)}" if found["orders"] else _NOTHING]
    by_column = {}
    for sorter in release.order.sorters:
        place = np.argsort(value_codes(release.dataset.taken(sorter.column, rows)), kind="stable")
        kept = _kept_columns(release.dataset, untouched, rows[place])
        moved = [replace(c, first=c.first[place], last=c.last[place], true=c.true[place]) for c in quasi]
        gained = by_column[sorter.column] = attack_ranks(moved, kept, k)
        if gained["orders"]:
            sentences.append(
                f"Anybody who sorts the records by {sorter.column!r}, which is published as it is, gets them "
                f"{_gain(gained)}"
            )
    return {**found, "by_column": by_column, "sentence": " ".join(sentences)}


def _kept_columns(original: Table, names: Sequence[str], rows: np.ndarray) -> list[Sighted]:
    """The columns that are published as they are and may be sorted, in the order of these records."""
    found = []
    for name in names:
        if not stand_together(value_codes(original.taken(name, rows[:_A_FEW]))):
            continue  # most are not sorted, as the first records show
        codes = value_codes(original.taken(name, rows))
        found.append(Sighted(name, codes, codes, codes))
    return found


def _gain(found: dict[str, Any]) -> str:
    orders = " and ".join(f"by {', then '.join(map(repr, order))}" for order in found["orders"])
    exact = found["exact_values"]
    return (
        f"sorted {orders} narrows the labels of {counted(found['narrowed_records'], 'record')}: "
        f"{found['records_below_k']:,} of {found['records']:,} then look like fewer than {found['k']:,}, "
        f"{found['unique_records']:,} like no other, and {counted(exact, 'value')} "
        f"{'is' if exact == 1 else 'are'} known exactly."
    )
