"""Quasi-identifiers of a release: their published values, how far they were generalized, and as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from kohort.data.column import Column
from kohort.data.domain import STAR
from kohort.data.hierarchies.label_ranges import Range, Scale, label_ranges
from kohort.data.hierarchy import Hierarchy
from kohort.data.numeric_labels import How, Star, numbers_of_labels
from kohort.errors import InputError, did_you_mean
from kohort.job.columns import ItemsPart
from kohort.job.sides import BeforeAfter
from kohort.problem.attribute import Attribute
from kohort.verification.measure import loss_of_labels
from kohort.verification.reading import Covering, Reading, covering_of, read_labels

if TYPE_CHECKING:
    from kohort.release.release import Release


@dataclass(frozen=True, eq=False)
class PublishedValues:
    """A quasi-identifier before and after. Records that were left out of the file count as `*`.

    labels  the different labels that are published
    uses    how many records have each of them
    """

    attribute: Attribute
    labels: Sequence[str | None]
    uses: np.ndarray
    reading: Reading
    covering: Covering

    def spread(self) -> np.ndarray:
        """The number of records per original value, as a reader of the release would guess it.

        Every published value is spread evenly over the original values that it covers, as nobody knows
        better. O(labels + values), and what scattered labels cover.
        """
        covering = self.covering
        each = self.uses / np.maximum(covering.widths, 1)
        steps = np.zeros(len(covering.rank_of_code) + 1)
        np.add.at(steps, covering.first, each)
        np.add.at(steps, covering.last + 1, -each)
        by_rank = np.cumsum(steps)
        label, rank = covering.scattered
        np.add.at(by_rank, rank, each[label])
        return by_rank[covering.rank_of_code]


def published_values(sides: BeforeAfter) -> list[PublishedValues]:
    """Every quasi-identifier of a release, with its published labels."""
    left_out = sides.n_records - sides.n_published
    return [_published(sides, place, left_out) for place in range(len(sides.attributes))]


def _published(sides: BeforeAfter, place: int, left_out: int) -> PublishedValues:
    attribute, column, reading = sides.attributes[place], sides.labels[place], sides.readings[place]
    if not left_out:
        return PublishedValues(attribute, column.texts, column.counts, reading, sides.coverings[place])
    labels = [*column.texts, STAR]
    reading = read_labels(labels, attribute)
    uses = np.append(column.counts, left_out)
    return PublishedValues(attribute, labels, uses, reading, covering_of(reading))


STEPS = ("unchanged", "up to 25 %", "up to 50 %", "up to 75 %", "more", "*")
_BARS = 12  # values that a distribution names one by one
_BINS = 15  # of numbers and dates


def attribute_facts(values: PublishedValues) -> dict[str, Any]:
    """The loss, levels and numbers of values of each quasi-identifier; no value is shown."""
    extent = values.reading.extent
    uses = values.uses
    n = int(uses.sum())
    loss = float(np.dot(uses, loss_of_labels(extent)) / n)
    return {
        "name": values.attribute.name,
        "kind": values.attribute.column.kind,
        "binned": _is_binned(values.attribute.column),
        "weight": values.attribute.weight,
        "values": len(values.attribute.column.texts),
        "published_values": len(set(values.labels)),
        "loss": loss,
        "unchanged": float(uses[extent.width == 1].sum() / n),
        "starred": float(uses[extent.star].sum() / n),
        "steps": _shares(extent.level, extent.star, uses),
        "levels": _levels(values, extent.level, extent.star, uses),
    }


def _shares(level: np.ndarray, star: np.ndarray, uses: np.ndarray) -> dict[str, float]:
    """The share of cells at each step of the way from the value itself to `*`."""
    step = np.select([star, level <= 0, level <= 0.25, level <= 0.5, level <= 0.75], [5, 0, 1, 2, 3], 4)
    counts = np.bincount(step, weights=uses, minlength=len(STEPS))
    return dict(zip(STEPS, (counts / max(counts.sum(), 1)).tolist()))


def _levels(
    values: PublishedValues, level: np.ndarray, star: np.ndarray, uses: np.ndarray
) -> list[dict[str, Any]] | None:
    """The share of cells at each level of the hierarchy; None without a hierarchy."""
    domain = values.attribute.domain
    if not isinstance(domain, Hierarchy) or values.attribute.tight:
        return None
    height = domain.height
    at = np.where(star, height, np.rint(level * height)).astype(np.int64)
    counts = np.bincount(at, weights=uses, minlength=height + 1)
    return [{"level": i, "share": float(count / counts.sum())} for i, count in enumerate(counts)]


def item_levels(part: ItemsPart) -> dict[str, float]:
    """The share of items in baskets at each step of the way from the item itself to `*`."""
    hierarchy = part.problem.hierarchy
    nodes = part.recoding.node_of_occurrence
    level = np.where(nodes < 0, 1.0, hierarchy.level[nodes] / max(hierarchy.height, 1))
    star = (nodes <= 0) & (hierarchy.height > 0)
    return _shares(level, star, np.ones(len(nodes)))


def distribution(values: PublishedValues) -> list[dict[str, Any]]:
    """Records per value, in the original and as guessed from the release. Shows values: keep it private."""
    column = values.attribute.column
    return (_binned if _is_binned(column) else _listed)(column, column.counts, values.spread())


def _is_binned(column: Column) -> bool:
    """Whether a column's distribution is one of bins: it has many numbers or dates."""
    return column.ordered and not column.listed and len(column.texts) > _BINS


def _binned(column: Column, before: np.ndarray, after: np.ndarray) -> list[dict[str, Any]]:
    assert column.numbers is not None
    numbers = column.numbers.astype(np.float64)
    edges = _edges(numbers, whole=column.kind == "integer")
    bin_of = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    rows = []
    for i in range(len(edges) - 1):
        there = np.flatnonzero(bin_of == i)
        rows.append(_row(_written(edges[i], column.kind), before, after, there))
    if column.has_null:
        rows.append(_row("(missing)", before, after, [-1]))
    return rows


def _row(value: str, before: np.ndarray, after: np.ndarray, chosen: Any) -> dict[str, Any]:
    """The records of the chosen values, before and after."""
    return {"value": value, "before": float(before[chosen].sum()), "after": float(after[chosen].sum())}


def _edges(numbers: np.ndarray, *, whole: bool) -> np.ndarray:
    """Equal bins with round ends: steps of 1, 2 or 5 times a power of ten."""
    span = float(numbers[-1] - numbers[0]) or 1.0
    power = 10.0 ** np.floor(np.log10(span / _BINS))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power * _BINS >= span)
    if whole:
        step = max(step, 1.0)
    start = np.floor(numbers[0] / step) * step
    return start + step * np.arange(int((numbers[-1] - start) // step) + 2)


def _written(number: float, kind: str) -> str:
    if kind in ("date", "datetime"):
        moment = timedelta(days=number) if kind == "date" else timedelta(seconds=number)
        return (datetime(1970, 1, 1) + moment).strftime("%Y-%m-%d")
    return f"{number:g}" if abs(number) < 1e6 else f"{number:.0f}"


def _listed(column: Column, before: np.ndarray, after: np.ndarray) -> list[dict[str, Any]]:
    """A bar per value; of many values, one per frequent value and one for all others together."""
    shown = np.arange(len(column.texts))
    if len(shown) > _BARS:
        shown = np.sort(np.argsort(-before, kind="stable")[: _BARS - 1])
    texts = ["(missing)" if text is None else text for text in column.texts]
    rows = [_row(texts[code], before, after, code) for code in shown]
    if len(shown) < len(texts):
        others = np.setdiff1d(np.arange(len(texts)), shown)
        rows.append(_row(f"({len(others):,} others)", before, after, others))
    return rows


_SCALES: dict[str, Scale] = {"integer": "integer", "float": "float", "date": "date", "datetime": "datetime"}


def published_numbers(release: Release, name: str, how: How, *, star: Star, seed: int) -> Any:
    """A published column as numbers or times, of the kind of dataframe that the release is."""
    if name not in release.published.names:
        raise InputError(
            f"The release has no column {name!r}. {did_you_mean(str(name), release.published.names)}"
        )
    of_events = name in release.files.columns_of_events
    table = nw.from_native(release.events if of_events else release.table, eager_only=True)
    column = table[name].to_native()
    attribute = next((a for a in release.problem.attributes if a.name == name), None)
    if attribute is None:
        return numbers_of_labels(column, how, star=star, seed=seed)
    scale = _SCALES.get(attribute.column.kind)
    known = {} if scale is None else _nodes(attribute, scale)
    return numbers_of_labels(column, how, star=star, seed=seed, scale=scale, known=known)


def _nodes(attribute: Attribute, scale: Scale) -> dict[str, Range]:
    """The least and the greatest value under each node of a hierarchy, by its label."""
    tree = attribute.domain
    if not isinstance(tree, Hierarchy):
        return {}
    leaves = label_ranges(tree.leaves, scale)
    found: dict[str, Range] = {}
    for label, first, last in zip(tree.published, tree.lo, tree.hi):
        low, high = leaves.low[first : last + 1], leaves.high[first : last + 1]
        if label is not None and np.isfinite(low).any() and np.isfinite(high).any():
            found[label] = (float(np.nanmin(low)), float(np.nanmax(high)))
    return found
