"""Checks of a published table against its original: every value covers its own, nothing else changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.dataset import Dataset
from kohort.problem.attribute import Attribute
from kohort.verification.reading import Reading, read_labels
from kohort.verification.verdict import Check

__all__ = ["check_columns", "check_conserved", "check_coverage", "matching_rows"]


def check_columns(
    published: Dataset, kept: Sequence[str], hidden: Sequence[str], replaced: Sequence[str]
) -> Check:
    """The published table has the columns it should have, and no identifier."""
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
    return Check("columns", True, "The columns are as they should be; no identifier is published.")


def check_coverage(published: Dataset, attributes: Sequence[Attribute], rows: np.ndarray) -> list[Check]:
    """Every published value covers the original value of its record. `rows[i]`: the original of record i.

    Looks at distinct pairs of values only: O(n) per attribute for finding them.
    """
    return [_coverage(published.column(a.name), a, rows) for a in attributes]


def _coverage(labels: Column, attribute: Attribute, rows: np.ndarray) -> Check:
    reading = read_labels(labels.texts, attribute)
    pairs, uses = _distinct_pairs(labels, attribute, rows)
    covered = reading.covers(pairs // len(attribute.column.texts), pairs % len(attribute.column.texts))
    name = f"coverage of {attribute.name!r}"
    if covered.all():
        return Check(name, True, f"Every value of {attribute.name!r} covers its original.")
    unread = int((~reading.understood).sum())
    hint = f" {unread} published values are no value, node, interval, set or *." if unread else ""
    wrong = int(uses[~covered].sum())
    return Check(name, False, f"{wrong} values of {attribute.name!r} do not cover their original.{hint}")


def _distinct_pairs(labels: Column, attribute: Attribute, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n_values = len(attribute.column.texts)
    key = labels.codes.astype(np.int64) * n_values + attribute.column.codes[rows]
    size = len(labels.texts) * n_values
    if size <= 4 * len(key) + 1024:
        uses = np.bincount(key, minlength=size)
        pairs = np.flatnonzero(uses)
        return pairs, uses[pairs]
    return np.unique(key, return_counts=True)


def check_conserved(
    published: Dataset, original: Dataset, names: Sequence[str], rows: np.ndarray
) -> list[Check]:
    """Columns that nobody should have touched are the same, record by record."""
    checks = []
    for name in names:
        if name not in published.names:
            continue
        same = _same_values(published, original, name, rows)
        wrong = int((~same).sum())
        detail = (
            f"Column {name!r} is as it was."
            if not wrong
            else f"Column {name!r} was changed in {wrong} records."
        )
        checks.append(Check(f"column {name!r} conserved", not wrong, detail))
    return checks


def _same_values(published: Dataset, original: Dataset, name: str, rows: np.ndarray) -> np.ndarray:
    after, before = published.arrow(name), original.arrow(name)
    if _nested(after) or _nested(before):
        left, right = after.to_pylist(), before.to_pylist()
        return np.array([a == right[row] for a, row in zip(left, rows)], dtype=bool)
    return _same_coded(published.column(name), original.column(name), rows)


def _nested(array: pa.ChunkedArray) -> bool:
    return pa.types.is_nested(array.type)


def _same_coded(after: Column, before: Column, rows: np.ndarray) -> np.ndarray:
    """Compare dictionaries once, then codes. Numbers are compared as numbers: 1.0 is 1."""
    if after.numbers is not None and before.numbers is not None:
        keys_after, keys_before = list(after.numbers.tolist()), list(before.numbers.tolist())
    else:
        keys_after = [t for t in after.texts if t is not None]
        keys_before = [t for t in before.texts if t is not None]
    code_before = {key: code for code, key in enumerate(keys_before)}
    as_before = np.full(len(after.texts), -1, dtype=np.int64)
    for code, key in enumerate(keys_after):
        as_before[code] = code_before.get(key, -1)
    if after.has_null and before.has_null:
        as_before[-1] = len(before.texts) - 1
    first_code = np.array([code_before[key] for key in keys_before], dtype=np.int64)
    same_code = np.append(first_code, len(before.texts) - 1) if before.has_null else first_code
    return as_before[after.codes] == same_code[before.codes[rows]]


def matching_rows(
    published: Dataset, original: Dataset, attributes: Sequence[Attribute], conserved: Sequence[str]
) -> np.ndarray | None:
    """For each published record the original it may come from, records left out but order kept; else None.

    Takes the first original that fits, which is right whenever anything is. O(n * columns).
    """
    readings = [
        (published.column(a.name), read_labels(published.column(a.name).texts, a)) for a in attributes
    ]
    fits = [_pair_fits(labels, reading) for labels, reading in readings]
    originals = [a.column.codes for a in attributes]
    same = {name: (published.arrow(name).to_pylist(), original.arrow(name).to_pylist()) for name in conserved}
    rows = np.empty(published.n_records, dtype=np.int64)
    row = 0
    for record in range(published.n_records):
        while row < original.n_records and not (
            all(after[record] == before[row] for after, before in same.values())
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
