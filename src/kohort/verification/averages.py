"""Columns that publish the mean or the median of each class, checked against their originals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.domain import STAR
from kohort.errors import counted
from kohort.problem.attribute import Attribute
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.verification.classes import PublishedClasses
from kohort.verification.demands import Demands, Original
from kohort.verification.verdict import Check

Read = tuple[Table, Original | None, tuple[Check, ...]]


def read_averages(published: Table, demands: Demands, original: Original | None) -> Read:
    """The published table with intervals in the place of means, so that all else can be read as always.

    An interval is that of the originals of a class. Where it is not known which records these are, there is
    nothing to compare the table with.
    """
    averaged = {name: how for name, how in demands.publish.items() if how != "interval"}
    if not averaged or original is None:
        return published, original, ()
    rows = _rows(published, demands, original)
    if rows is None:
        detail = (
            "Means or medians are published, and which records they are of is not known: give the order file."
        )
        return published, None, (Check("records", None, detail),)
    classes = PublishedClasses([published.column(a.name) for a in original.attributes], {})
    columns, checks = {}, []
    for attribute in original.attributes:
        if attribute.name in averaged:
            labels, check = _as_intervals(
                published.column(attribute.name), attribute, rows, classes, averaged[attribute.name]
            )
            columns[attribute.name] = labels
            checks.append(check)
    arrays = {name: columns.get(name, published.arrow(name)) for name in published.names}
    known = original if original.rows is not None else replace(original, rows=rows)
    return MemoryTable(pa.table(arrays)), known, tuple(checks)


def _rows(published: Table, demands: Demands, original: Original) -> np.ndarray | None:
    """Per published record its original, where that is known."""
    if original.rows is not None:
        everybody = np.arange(original.dataset.n_records)
        return everybody if isinstance(original.rows, slice) else original.rows
    if original.order is not None:
        return original.order
    if demands.shuffle is False and published.n_records == original.dataset.n_records:
        return np.arange(published.n_records)
    return None


def _as_intervals(
    labels: Column, attribute: Attribute, rows: np.ndarray, classes: PublishedClasses, how: str
) -> tuple[pa.Array, Check]:
    """A column of intervals in the place of one of means, and whether these are right."""
    codes, class_of = attribute.column.at(rows), classes.class_of_record
    starred = np.array([text == STAR for text in labels.texts], dtype=bool)[labels.codes]
    numbers = np.array([float(text) for text in attribute.column.texts if text is not None])[codes]
    order = np.lexsort((numbers, class_of))
    starts = np.flatnonzero(np.diff(class_of[order], prepend=-1))
    ends = np.append(starts[1:], len(order))
    expected = _averages(numbers[order], starts, ends, how)
    shown = np.array([np.nan if text in (STAR, None) else float(text) for text in labels.texts])[labels.codes]
    unit = 10.0 ** -_decimals(attribute.column)
    apart = np.abs(shown - expected[class_of])
    wrong = int((~starred & ~(apart <= 0.5001 * unit + 1e-9 * np.abs(shown))).sum())
    low, high = codes[order[starts]], codes[order[ends - 1]]
    texts = attribute.column.texts
    of_class = [texts[a] if a == b else f"[{texts[a]}, {texts[b]}]" for a, b in zip(low, high)]
    written = [STAR if star else of_class[number] for number, star in zip(class_of, starred)]
    return pa.array(written, pa.string()), _check(attribute.name, how, wrong)


def _averages(numbers: np.ndarray, starts: np.ndarray, ends: np.ndarray, how: str) -> np.ndarray:
    """The mean or the median of each run of sorted numbers."""
    sizes = ends - starts
    if how == "mean":
        return np.add.reduceat(numbers, starts) / sizes
    return (numbers[starts + (sizes - 1) // 2] + numbers[starts + sizes // 2]) / 2


def _decimals(column: Column) -> int:
    """How many decimals are published: two more than the originals have."""
    parts = [text.partition(".")[2] for text in column.texts if text is not None and "e" not in text.lower()]
    return 2 + max((len(part) for part in parts), default=0)


def _check(name: str, how: str, wrong: int) -> Check:
    title = f"{how} of {name!r}"
    if not wrong:
        return Check(title, True, f"Column {name!r} publishes the {how} of every class.")
    return Check(title, False, f"{counted(wrong, 'value')} of {name!r} differ from the {how} of their class.")


def lost_squares(
    attributes: Sequence[Attribute], rows: np.ndarray | slice, classes: PublishedClasses, n_records: int
) -> float | None:
    """SSE / SST of the numbers without a hierarchy; None where there are none.

    Records that are left out, or are `*` everywhere, are as far from what is published as from the mean.
    """
    chosen = [a for a in attributes if a.plain_numbers is not None and a.weight]
    if not chosen:
        return None
    everybody = np.arange(n_records) if isinstance(rows, slice) else rows
    shown = ~classes.all_star_records
    shares: Mapping[str, float] = {
        a.name: _lost(a, everybody[shown], classes.class_of_record[shown]) for a in chosen
    }
    total = sum(a.weight for a in chosen)
    return sum(a.weight * shares[a.name] for a in chosen) / total


def _lost(attribute: Attribute, rows: np.ndarray, class_of: np.ndarray) -> float:
    numbers = np.array([float(text) for text in attribute.column.texts if text is not None])
    everything = numbers[attribute.column.codes]
    squares = (everything - everything.mean()) ** 2
    if not squares.sum():
        return 0.0
    here = everything[rows]
    sizes = np.bincount(class_of)
    means = np.bincount(class_of, here) / np.maximum(sizes, 1)
    withheld = squares.sum() - squares[rows].sum()
    return float((((here - means[class_of]) ** 2).sum() + withheld) / squares.sum())
