"""Checks of a published table against its original: every value covers its own, nothing else changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kohort.data.arrow_values import take_records
from kohort.data.column import Column
from kohort.data.counting import Pairs, count_pairs, stretches_of
from kohort.errors import counted
from kohort.problem.attribute import Attribute
from kohort.problem.roles import Roles
from kohort.tables.table import Table
from kohort.verification.as_written import AsWritten, compare_codes
from kohort.verification.reading import Reading
from kohort.verification.scale import Scale, moment_as_written
from kohort.verification.verdict import Check

if TYPE_CHECKING:
    from kohort.problem.items import ItemsProblem

_IN_CACHE = 1 << 16  # records at a time
_CLOCK = re.compile(r"^([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*[1-9])?)\.?0*$")


@dataclass(frozen=True, eq=False)
class Original:
    """The original of a published table, in codes.

    roles       of its columns, every one of them
    attributes  its quasi-identifiers, with the hierarchies that say what a published label means
    items       its baskets and their hierarchy; None where no column holds items
    rows        per published record the number of its original, where the publisher states it; a slice
                where all records are published in their order; -1 for a counterfeit
    order       the same from an order file, which is checked first
    treatments  of columns that may be dropped, where another one was chosen
    counterfeits  how many were announced; None: nobody says
    """

    dataset: Table
    roles: Roles
    attributes: tuple[Attribute, ...]
    items: ItemsProblem | None = None
    rows: np.ndarray | slice | None = None
    order: np.ndarray | None = None
    treatments: Mapping[str, str] = field(default_factory=dict)
    counterfeits: int | None = None

    @property
    def untouched(self) -> list[str]:
        """The columns that must be published as they are."""
        return self.roles.untouched(self.treatments)


def check_columns(
    published: Table, kept: Sequence[str], hidden: Sequence[str], replaced: Sequence[str]
) -> Check:
    """Check that the published table has the columns it should have, and no identifier."""
    problems = []
    shown = [name for name in hidden if name in published.names]
    if shown:
        problems.append(f"identifiers are published: {', '.join(map(repr, shown))}")
    expected = {*kept, *replaced}
    missing = [name for name in expected if name not in published.names]
    if missing:
        problems.append(f"columns are missing: {', '.join(map(repr, sorted(missing)))}")
    extra = [name for name in published.names if name not in expected and name not in hidden]
    if extra:
        problems.append(f"columns were not in the original: {', '.join(map(repr, extra))}")
    if problems:
        return Check("columns", False, f"The columns differ: {'; '.join(problems)}.")
    return Check("columns", True, "The columns are those of the spec; no identifier is published.")


def check_columns_alone(published: Table, roles: Roles, treatments: Mapping[str, str]) -> Check:
    """Check, without the original, that no dropped identifier and no column without a role is published."""
    shown = [name for name in roles.dropped(treatments) if name in published.names]
    if shown:
        return Check("columns", False, f"Identifiers are published: {', '.join(map(repr, shown))}.")
    unnamed = [name for name in published.names if name not in roles.of]
    if unnamed and roles.others != "keep":
        names = ", ".join(map(repr, unnamed))
        return Check("columns", False, f"Columns are published that the spec does not name: {names}.")
    return Check("columns", True, "No identifier is published, and no column that the spec does not name.")


def label_pairs(published: Table, readings: Sequence[Reading], rows: np.ndarray | slice) -> list[Pairs]:
    """Per attribute the distinct pairs of a label and an original value, and how often each occurs.

    rows  per published record the number of its original; a slice where all are in their order

    O(n) per attribute.
    """
    found = []
    for reading in readings:
        labels, originals = published.column(reading.attribute.name), reading.attribute.column
        shown = None if isinstance(rows, slice) else rows
        found.append(count_pairs(labels, originals, len(labels.texts), len(originals.texts), rows=shown))
    return found


def check_coverage(readings: Sequence[Reading], pairs: Sequence[Pairs]) -> list[Check]:
    """Check that every published value covers the original value of its record; see `label_pairs`."""
    return [_coverage(reading, counted) for reading, counted in zip(readings, pairs)]


def _coverage(reading: Reading, pairs: Pairs) -> Check:
    attribute = reading.attribute
    label, code, uses = pairs
    covered = reading.covers(label, code)
    name = f"coverage of {attribute.name!r}"
    if covered.all():
        return Check(name, True, f"Every value of {attribute.name!r} covers its original.")
    unread = int((~reading.understood).sum())
    labels_unread = counted(unread, "published label is", "published labels are")
    hint = f" {labels_unread} not a value, node, interval, set or *." if unread else ""
    wrong = int(uses[~covered].sum())
    fails = "does not cover its original" if wrong == 1 else "do not cover their originals"
    return Check(name, False, f"{counted(wrong, 'value')} of {attribute.name!r} {fails}.{hint}")


def check_conserved(
    published: Table, original: Table, names: Sequence[str], rows: np.ndarray | slice
) -> list[Check]:
    """Check that columns which must stay as they are do so, record by record."""
    checks = []
    for name in names:
        if name not in published.names:
            continue
        wrong = 0
        if not published.hands_on(name, original):  # then batches are compared: see `SliceCheck`
            wrong = _changed_values(published, original, name, rows)
        detail = (
            f"Column {name!r} is as it was."
            if not wrong
            else f"Column {name!r} was changed in {counted(wrong, 'record')}."
        )
        checks.append(Check(f"column {name!r} conserved", not wrong, detail))
    return checks


def check_together(published: Table, original: Table, names: Sequence[str]) -> list[Check]:
    """Check that columns which must stay as they are have the values of the original, in whatever order."""
    checks = []
    for name in names:
        if name not in published.names:
            continue
        after, before = map(np.bincount, common_numbers(published, original, name))
        after[: len(before)] -= before[: len(after)]
        extra = int(after.clip(min=0).sum())
        detail = (
            f"Taken together, the values of {name!r} are those of the original; which record has which was "
            "not compared."
            if not extra
            else f"{counted(extra, 'value is', 'values are')} in {name!r} that the original has not so often."
        )
        checks.append(Check(f"values of {name!r}", not extra, detail))
    return checks


def _changed_values(published: Table, original: Table, name: str, rows: np.ndarray | slice) -> int:
    """The number of records with another value than in the original."""
    after, before = published.arrow(name), original.arrow(name)
    alike = after.type == before.type
    if not isinstance(rows, slice) and original.is_coded(name):  # codes are taken sooner than values
        own = original.column(name)
        compare_codes(own, before)
        if alike and isinstance(published, AsWritten) and published.has_codes_of(own, rows):
            return 0
    elif alike and after.equals(_taken(before, rows)):
        return 0
    if not (_has_codes(after) and _has_codes(before)):
        numbers_after, numbers_before = common_numbers(published, original, name)
        return int((numbers_after != numbers_before[rows]).sum())
    shown, own = published.column(name), original.column(name)
    number_after, number_before = _common_numbers_of_codes(shown, own)
    wrong = 0
    for part in stretches_of(len(shown), _IN_CACHE):
        originals = own.at(part if isinstance(rows, slice) else rows[part])
        wrong += int(np.count_nonzero(number_after[shown.at(part)] != number_before[originals]))
    return wrong


def _taken(array: pa.ChunkedArray, rows: np.ndarray | slice) -> pa.ChunkedArray:
    if isinstance(rows, slice):
        return array
    all_in_order = len(rows) == len(array) and bool((rows == np.arange(len(rows))).all())
    return array if all_in_order else take_records(array, rows)


def common_numbers(published: Table, original: Table, name: str) -> tuple[np.ndarray, np.ndarray]:
    """A number per published and per original record, equal wherever their values are equal.

    Numbers and times are compared as such: 1.0 is 1.
    """
    if _has_codes(published.arrow(name)) and _has_codes(original.arrow(name)):
        after, before = published.column(name), original.column(name)
        number_after, number_before = _common_numbers_of_codes(after, before)
        return number_after[after.codes], number_before[before.codes]
    known: dict[Any, int] = {}
    tables = [table.arrow(name).to_pylist() for table in (published, original)]
    lists = [[known.setdefault(_hashable(v), len(known)) for v in values] for values in tables]
    return np.array(lists[0]), np.array(lists[1])


def _common_numbers_of_codes(after: Column, before: Column) -> tuple[np.ndarray, np.ndarray]:
    """The same per code."""
    number_of: dict[Any, int] = {}
    left, right = (
        np.array([number_of.setdefault(key, len(number_of)) for key in keys], dtype=np.int64)
        for keys in _keys(after, before)
    )
    return left, right


def _has_codes(array: pa.ChunkedArray) -> bool:
    return not pa.types.is_nested(array.type) and not isinstance(array.type, pa.BaseExtensionType)


def _keys(after: Column, before: Column) -> tuple[list[Any], list[Any]]:
    """The keys by which two columns are compared: positions of numbers and times, else texts."""
    have_given_orders = bool(after.listed or before.listed)  # places in two orders say nothing
    if have_given_orders or not (
        after.ordered and before.ordered and _are_times(after) == _are_times(before)
    ):
        return _spelled(after, before), _spelled(before, after)
    scales = Scale(after), Scale(before)
    if _are_times(after) and scales[0].zoned != scales[1].zoned:  # some formats cannot keep a time zone
        by_clock = [[None if t is None else moment_as_written(t) for t in c.texts] for c in (after, before)]
        return by_clock[0], by_clock[1]
    return scales[0].positions, scales[1].positions


def _spelled(column: Column, other: Column) -> list[str | None]:
    """The texts of a column as formats without its type give them back, to compare it with another.

    Booleans are 1 and 0 where the other column holds numbers, and times of the day have no zeros at the end.
    """
    if column.kind == "boolean" and other.kind in ("integer", "float"):
        return [None if text is None else str(int(text == "true")) for text in column.texts]
    return [None if text is None else _CLOCK.sub(r"\1", text) for text in column.texts]


def _are_times(column: Column) -> bool:
    return column.kind in ("date", "datetime")


def _hashable(value: Any) -> Any:
    """Turn lists and structures into tuples, and NaN into a missing value, as everywhere."""
    if isinstance(value, dict):
        return tuple((key, _hashable(inner)) for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(inner) for inner in value)
    return value if value == value else None


def matching_rows(
    published: Table, original: Table, readings: Sequence[Reading], conserved: Sequence[str]
) -> np.ndarray | None:
    """Match published records to originals in the same order, some left out; None if that is impossible.

    Takes the first original that fits, which is right whenever anything is. O(n * columns).
    """
    fits = [_pair_fits(published.column(reading.attribute.name), reading) for reading in readings]
    originals = [reading.attribute.column.codes for reading in readings]
    same = [common_numbers(published, original, name) for name in conserved if name in published.names]
    rows = np.empty(published.n_records, dtype=np.int64)
    row = 0
    for record in range(published.n_records):
        while row < original.n_records and not (
            all(after[record] == before[row] for after, before in same)
            and all(fit(record, codes[row]) for fit, codes in zip(fits, originals))
        ):
            row += 1
        if row == original.n_records:
            return None
        rows[record] = row
        row += 1
    return rows


def _pair_fits(labels: Column, reading: Reading) -> Callable[[int, int], bool]:
    known: dict[tuple[int, int], bool] = {}

    def fits(record: int, code: int) -> bool:
        pair = (int(labels.codes[record]), int(code))
        if pair not in known:
            known[pair] = bool(reading.covers(np.array([pair[0]]), np.array([pair[1]]))[0])
        return known[pair]

    return fits
