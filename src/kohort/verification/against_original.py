"""Checks of a published table against its original: every value covers its own, nothing else changed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
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
from kohort.verification.reading import Reading
from kohort.verification.scale import Scale
from kohort.verification.verdict import Check
from kohort.verification.written import AsWritten, compare_codes

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
    good = "The columns are those of the spec; no identifier is published."
    return Check.of("columns", problems, good, f"The columns differ: {'; '.join(problems)}.")


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
    shown = None if isinstance(rows, slice) else rows
    columns = [(published.column(r.attribute.name), r.attribute.column) for r in readings]
    return [count_pairs(new, old, len(new.texts), len(old.texts), rows=shown) for new, old in columns]


def check_coverage(readings: Sequence[Reading], pairs: Sequence[Pairs]) -> list[Check]:
    """Check that every published value covers the original value of its record; see `label_pairs`."""
    checks = []
    for reading, (label, code, uses) in zip(readings, pairs):
        name = reading.attribute.name
        wrong = int(uses[~reading.covers(label, code)].sum())
        fails = "does not cover its original" if wrong == 1 else "do not cover their originals"
        bad = f"{counted(wrong, 'value')} of {name!r} {fails}."
        if unread := int((~reading.understood).sum()):
            labels = counted(unread, "published label is", "published labels are")
            bad += f" {labels} not a value, node, interval, set or *."
        good = f"Every value of {name!r} covers its original."
        checks.append(Check.of(f"coverage of {name!r}", wrong, good, bad))
    return checks


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
        bad = f"Column {name!r} was changed in {counted(wrong, 'record')}."
        checks.append(Check.of(f"column {name!r} conserved", wrong, f"Column {name!r} is as it was.", bad))
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
        good = (
            f"Taken together, the values of {name!r} are those of the original; which record has which was "
            "not compared."
        )
        bad = f"{counted(extra, 'value is', 'values are')} in {name!r} that the original has not so often."
        checks.append(Check.of(f"values of {name!r}", extra, good, bad))
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
    elif alike:
        in_order = isinstance(rows, slice) or np.array_equal(rows, np.arange(len(before)))
        if after.equals(before if in_order else take_records(before, rows)):
            return 0
    if not (_has_codes(after) and _has_codes(before)):
        numbers_after, numbers_before = common_numbers(published, original, name)
        return int((numbers_after != numbers_before[rows]).sum())
    shown, own = published.column(name), original.column(name)
    number_after, number_before = _numbers_of(*_keys(shown, own))
    wrong = 0
    for part in stretches_of(len(shown), _IN_CACHE):
        originals = own.at(part if isinstance(rows, slice) else rows[part])
        wrong += int(np.count_nonzero(number_after[shown.at(part)] != number_before[originals]))
    return wrong


def common_numbers(published: Table, original: Table, name: str) -> tuple[np.ndarray, np.ndarray]:
    """A number per published and per original record, equal wherever their values are equal.

    Numbers and times are compared as such: 1.0 is 1.
    """
    tables = [table.arrow(name) for table in (published, original)]
    if all(map(_has_codes, tables)):
        after, before = published.column(name), original.column(name)
        number_after, number_before = _numbers_of(*_keys(after, before))
        return number_after[after.codes], number_before[before.codes]
    return _numbers_of(*([_hashable(value) for value in array.to_pylist()] for array in tables))


def _numbers_of(left: Sequence[Any], right: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """A number for each key, the same for equal ones."""
    number_of: dict[Any, int] = {}
    numbers = [[number_of.setdefault(key, len(number_of)) for key in keys] for keys in (left, right)]
    return np.array(numbers[0], dtype=np.int64), np.array(numbers[1], dtype=np.int64)


def _has_codes(array: pa.ChunkedArray) -> bool:
    return not pa.types.is_nested(array.type) and not isinstance(array.type, pa.BaseExtensionType)


def _keys(after: Column, before: Column) -> tuple[Sequence[Any], Sequence[Any]]:
    """The keys by which two columns are compared: positions of numbers and times, else texts."""
    are_times = [column.kind in ("date", "datetime") for column in (after, before)]
    have_given_orders = bool(after.listed or before.listed)  # places in two orders say nothing
    if have_given_orders or not (after.ordered and before.ordered and are_times[0] == are_times[1]):
        return _spelled(after, before), _spelled(before, after)
    scales = Scale(after), Scale(before)
    if are_times[0] and scales[0].zoned != scales[1].zoned:  # some formats cannot keep a time zone
        return scales[0].clocks, scales[1].clocks
    return scales[0].positions, scales[1].positions


def _spelled(column: Column, other: Column) -> list[str | None]:
    """The texts of a column as formats without its type give them back, to compare it with another.

    Booleans are 1 and 0 where the other column holds numbers, and times of the day have no zeros at the end.
    """
    if column.kind == "boolean" and other.kind in ("integer", "float"):
        return [None if text is None else str(int(text == "true")) for text in column.texts]
    return [None if text is None else _CLOCK.sub(r"\1", text) for text in column.texts]


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
    labels = [published.column(reading.attribute.name).codes for reading in readings]
    fits = [cache(reading.covers_one) for reading in readings]
    originals = [reading.attribute.column.codes for reading in readings]
    same = [common_numbers(published, original, name) for name in conserved if name in published.names]
    rows = np.empty(published.n_records, dtype=np.int64)
    row = 0
    for record in range(published.n_records):
        while row < original.n_records and not (
            all(after[record] == before[row] for after, before in same)
            and all(fit(shown[record], codes[row]) for fit, shown, codes in zip(fits, labels, originals))
        ):
            row += 1
        if row == original.n_records:
            return None
        rows[record] = row
        row += 1
    return rows
