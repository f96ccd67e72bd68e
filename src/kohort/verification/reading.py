"""Published values read as a stranger would: what a label covers, from the label and the hierarchy alone.

A label is an original value, a node of the hierarchy, an interval `[20, 30)` or `[20, 30]`, a set
`{a, b}`, or `*`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

import numpy as np

from kohort.data.column import Column
from kohort.data.domain import STAR, GeneralizedValues
from kohort.data.hierarchy import Hierarchy
from kohort.problem.attribute import Attribute

__all__ = ["Reading", "read_labels"]

_INTERVAL = re.compile(r"\[(?P<low>.+), (?P<high>.+)(?P<end>[\])])", re.DOTALL)
_NOBODY = (1, 0)  # an empty range


@dataclass(frozen=True, eq=False)
class Reading:
    """What each label covers: leaves of the hierarchy, or values of the column (in natural order).

    `understood` is False for a label that is none of the things a published value can be.
    """

    attribute: Attribute
    leaves: np.ndarray  # per label: first and last leaf, empty if it is no node
    values: np.ndarray  # per label: first and last value of the column, empty if it is no interval
    sets: dict[int, np.ndarray]  # label -> values of the column
    stars: np.ndarray
    understood: np.ndarray

    def covers(self, label: np.ndarray, code: np.ndarray) -> np.ndarray:
        """For each pair of a label and an original value whether the one covers the other."""
        leaf = self.attribute.leaf_of_code[code]
        by_node = (self.leaves[label, 0] <= leaf) & (leaf <= self.leaves[label, 1])
        by_value = (self.values[label, 0] <= code) & (code <= self.values[label, 1])
        covered = by_node | by_value | self.stars[label]
        for number, codes in self.sets.items():
            here = label == number
            covered[here] |= np.isin(code[here], codes)
        return covered

    def generalized(self) -> GeneralizedValues:
        """The labels as costs want them, in the domain that is published: tight or hierarchy."""
        whole_domain = isinstance(self.attribute.domain, Hierarchy) and not self.attribute.tight
        n = self.attribute.n_leaves if whole_domain else len(self.attribute.column.texts)
        rows = [self._describe(label, n) for label in range(len(self.stars))]
        width, mass, mass_log, level = (np.array(part) for part in zip(*rows))
        return GeneralizedValues(
            width, mass, mass_log, level, self.stars, n_leaves=n, n_records=len(self.attribute.column)
        )

    def _describe(self, label: int, n: int) -> tuple[int, int, float, float]:
        lo, hi = self.leaves[label]
        if self.stars[label]:
            codes, width, level = np.arange(len(self.attribute.column.texts)), n, 1.0
        elif lo <= hi:
            leaf = self.attribute.leaf_of_code
            codes, width = np.flatnonzero((lo <= leaf) & (leaf <= hi)), hi - lo + 1
            level = float(self.attribute.domain.levels(np.array([lo]), np.array([hi]))[0])
        else:
            first, last = self.values[label]
            codes = self.sets.get(label, np.arange(first, last + 1))
            width = max(len(codes), 1)
            level = (width - 1) / max(n - 1, 1)
        counts = self.attribute.column.counts[codes]
        logs = counts * np.log2(np.maximum(counts, 1))
        return int(width), int(counts.sum()), float(logs.sum()), level


def read_labels(labels: Sequence[str | None], attribute: Attribute) -> Reading:
    """Read the distinct labels of one published column."""
    leaves = np.full((len(labels), 2), _NOBODY, dtype=np.int64)
    values = np.full((len(labels), 2), _NOBODY, dtype=np.int64)
    sets: dict[int, np.ndarray] = {}
    stars = np.array([label == STAR for label in labels], dtype=bool)
    understood = stars.copy()
    code_of = {text: code for code, text in enumerate(attribute.column.texts)}
    for number, label in enumerate(labels):
        if stars[number]:
            continue
        understood[number] = True
        if (node := _node(label, attribute)) is not None:
            leaves[number] = node
        elif label in code_of:
            values[number] = code_of[label]
        elif (span := _interval(label, attribute.column)) is not None:
            values[number] = span
        elif (members := _members(label, code_of)) is not None:
            sets[number] = members
        else:
            understood[number] = False
    return Reading(attribute, leaves, values, sets, stars, understood)


def _node(label: str | None, attribute: Attribute) -> tuple[int, int] | None:
    """First and last leaf of the node with this label; of several nodes, all that lies between them."""
    if attribute.tight or not isinstance(attribute.domain, Hierarchy):
        return None
    nodes = attribute.domain.nodes_of_label.get(label)
    if not nodes:
        return None
    return int(attribute.domain.lo[nodes].min()), int(attribute.domain.hi[nodes].max())


def _interval(label: str | None, column: Column) -> tuple[int, int] | None:
    """First and last value of an ordered column inside an interval."""
    match = _INTERVAL.fullmatch(label or "")
    if match is None or column.numbers is None:
        return None
    low, high = _number(match["low"], column), _number(match["high"], column)
    if low is None or high is None:
        return None
    first = int(np.searchsorted(column.numbers, low, side="left"))
    after = int(np.searchsorted(column.numbers, high, side="right" if match["end"] == "]" else "left"))
    return (first, after - 1) if first < after else _NOBODY


def _number(text: str, column: Column) -> float | None:
    """The end of an interval on the scale of the column's numbers."""
    if column.listed:
        return float(column.listed.index(text)) if text in column.listed else None
    try:
        if column.kind == "date":
            return float((date.fromisoformat(text) - date(1970, 1, 1)).days)
        if column.kind == "datetime":
            return (datetime.fromisoformat(text).replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()
        return float(text)
    except ValueError:
        return None


def _members(label: str | None, code_of: dict[str | None, int]) -> np.ndarray | None:
    """Values of a set `{a, b}`; those that the column does not have cover nobody."""
    if label is None or not (label.startswith("{") and label.endswith("}")):
        return None
    texts = next(csv.reader([label[1:-1]], skipinitialspace=True), [])
    return np.array(sorted(code_of[text] for text in texts if text in code_of), dtype=np.int64)
