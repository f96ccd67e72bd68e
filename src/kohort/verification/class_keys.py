"""Classes of a published table as sorted numbers: one per record, made of the codes of all its columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from kohort.data.column import Column
from kohort.data.counting import stretches_of

_LARGEST = 2**62
_AT_ONCE = 1 << 22  # records that are sorted at a time
_SAMPLED = 1 << 14
_SHORT = 2**15
_MOST_CUTS = 255  # the number of a part fits into a byte


@dataclass(frozen=True, eq=False)
class Cells:
    """The classes of a table in order, and how often each value of another column occurs in each.

    keys, sizes  of each class
    number, value, count  per cell that is not empty: its class, its value and how many records have it;
                          in as few bytes as they need, since there may be a cell for nearly every record
    """

    keys: np.ndarray
    sizes: np.ndarray
    number: np.ndarray
    value: np.ndarray
    count: np.ndarray


@dataclass(frozen=True, eq=False)
class ClassKeys:
    """Numbers for the classes of a table: equal for records that look alike, in the order of their codes."""

    columns: Sequence[Column]

    def fit(self, n_values: int) -> bool:
        """Whether a class and one of so many values fit into one number."""
        size = max(n_values, 1)
        for column in self.columns:
            size *= max(len(column.texts), 1)  # of any length, since these are Python's integers
        return size <= _LARGEST

    def cells(self, values: Column | None = None) -> Cells:
        """Count the records of each class, and of each value of another column in it. O(n log n)."""
        n_values = 1 if values is None else max(len(values.texts), 1)
        columns: list[list[np.ndarray]] = [[] for _ in fields(Cells)]
        n_classes = 0
        for keys in self._sorted_parts(values, n_values):
            part = _counted(keys, n_values, n_classes)
            n_classes += len(part.keys)
            for column, f in zip(columns, fields(Cells)):
                column.append(getattr(part, f.name))
        return Cells(*(_joined(column) for column in columns))

    def codes(self, keys: np.ndarray) -> list[np.ndarray]:
        """Per column the code of each class."""
        found = []
        for column in reversed(self.columns):
            keys, code = np.divmod(keys, max(len(column.texts), 1))
            found.append(code.astype(np.int32))
        return found[::-1]

    def _sorted_parts(self, values: Column | None, n_values: int) -> Iterator[np.ndarray]:
        """The numbers of all records, sorted: in parts of which each lies above the one before.

        They are made twice where there are several parts, so that those of one part are held at a time.
        """
        n_records = len(self.columns[0])
        limits = self._limits(values, n_values, n_records // _AT_ONCE)
        part = np.zeros(n_records if limits else 0, dtype=np.uint8)
        for rows in stretches_of(len(part)):
            part[rows] = np.searchsorted(limits, self._keys(rows, values, n_values), side="right")
        for number in range(len(limits) + 1):
            chosen = np.flatnonzero(part == number) if limits else slice(None)
            keys = self._keys(chosen, values, n_values)
            keys.sort()
            yield keys

    def _keys(self, rows: slice | np.ndarray, values: Column | None, n_values: int) -> np.ndarray:
        key = self.columns[0].at(rows).astype(np.int64)
        for column in self.columns[1:]:
            key *= max(len(column.texts), 1)
            key += column.at(rows)
        if values is not None:
            key *= n_values
            key += values.at(rows)
        return key

    def _limits(self, values: Column | None, n_values: int, n_cuts: int) -> list[int]:
        """Numbers that cut all records into parts of about the same size; they lie between classes."""
        if not n_cuts:
            return []
        sample = np.linspace(0, len(self.columns[0]) - 1, _SAMPLED).astype(np.int64)
        keys = np.sort(self._keys(sample, values, n_values)) // n_values * n_values
        places = np.linspace(0, len(keys) - 1, min(n_cuts, _MOST_CUTS) + 2)[1:-1].astype(np.int64)
        return sorted({int(key) for key in keys[places] if key > 0})


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """The parts one after the other; their memory is free afterwards."""
    joined = np.concatenate(parts)
    parts.clear()
    return joined


def _counted(keys: np.ndarray, n_values: int, first_class: int) -> Cells:
    """The classes and cells of sorted numbers; classes are counted from `first_class` on."""
    cell, count = _runs(keys)
    of_class = cell // n_values
    cell -= of_class * n_values
    first = np.flatnonzero(np.concatenate([[True], of_class[1:] != of_class[:-1]])) if len(cell) else cell
    number = np.repeat(
        np.arange(first_class, first_class + len(first), dtype=np.int32), np.diff(np.append(first, len(cell)))
    )
    sizes = np.add.reduceat(count, first) if len(cell) else count
    value = cell.astype(np.int16 if n_values < _SHORT else np.int32)
    return Cells(
        of_class[first], sizes, number, value, count.astype(np.int32 if len(keys) < 2**31 else np.int64)
    )


def _runs(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct numbers in a sorted list, and how often each occurs."""
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else keys
    return keys[starts], np.diff(np.append(starts, len(keys)))
