"""Published values read as a stranger would: what a label covers, from the label and the hierarchy alone.

A label is an original value, a node of the hierarchy, an interval `[20, 30)` or `[20, 30]`, a set
`{a, b}` of values or nodes, or `*`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kohort.data.column import Column
from kohort.data.domain import STAR, GeneralizedValues
from kohort.data.hierarchy import Hierarchy
from kohort.problem.attribute import Attribute
from kohort.verification.scale import Position, Scale, spelled

__all__ = ["Reading", "read_column", "read_labels"]

_NOBODY = (1, 0)  # an empty range
_WHOLE = re.compile(r"-?\d+\.0+")


@dataclass(frozen=True, eq=False)
class Reading:
    """What each label covers: leaves of the hierarchy, or values of the column (in natural order).

    `understood` is False for a label that is none of the things a published value can be.
    """

    attribute: Attribute
    leaves: np.ndarray  # per label: first and last leaf, empty if it is no node
    values: np.ndarray  # per label: first and last value of the column, empty if it is no interval
    sets: dict[int, np.ndarray]  # per label that is a set: values of the column
    spans: dict[int, np.ndarray]  # per label that is a set or interval beside a hierarchy: its leaves
    stars: np.ndarray
    understood: np.ndarray

    def covers(self, label: np.ndarray, code: np.ndarray) -> np.ndarray:
        """For each pair of a label and an original value, whether the label covers the value."""
        leaf = self.attribute.leaf_of_code[code]
        by_node = (self.leaves[label, 0] <= leaf) & (leaf <= self.leaves[label, 1])
        by_value = (self.values[label, 0] <= code) & (code <= self.values[label, 1])
        covered = by_node | by_value | self.stars[label]
        return covered | self._in_set(label, code)

    def _in_set(self, label: np.ndarray, code: np.ndarray) -> np.ndarray:
        """Whether values are in their labels' sets, in one look-up: there may be thousands of sets."""
        if not self.sets:
            return np.zeros(len(label), dtype=bool)
        n_values = len(self.attribute.column.texts)
        members = np.concatenate([number * n_values + codes for number, codes in self.sets.items()])
        return np.isin(label.astype(np.int64) * n_values + code, members)

    def generalized(self) -> GeneralizedValues:
        """The labels as generalized values, for costs, in the published domain: tight or hierarchy."""
        whole_domain = isinstance(self.attribute.domain, Hierarchy) and not self.attribute.tight
        n = self.attribute.n_leaves if whole_domain else len(self.attribute.column.texts)
        rows = [self._describe(label, n) for label in range(len(self.stars))]
        width, mass, mass_log, level = (np.array(part) for part in zip(*rows))
        return GeneralizedValues(
            width,
            mass,
            mass_log,
            level,
            self.stars,
            n_leaves=n,
            n_records=int(self.attribute.column.counts.sum()),
            height=self.attribute.domain.height if whole_domain else 1,
        )

    def _describe(self, label: int, n: int) -> tuple[int, int, float, float]:
        lo, hi = self.leaves[label]
        if self.stars[label]:
            codes, width, level = np.arange(len(self.attribute.column.texts)), n, 1.0
        elif lo <= hi:
            leaf = self.attribute.leaf_of_code
            codes, width = np.flatnonzero((lo <= leaf) & (leaf <= hi)), hi - lo + 1
            level = float(self.attribute.domain.levels(np.array([lo]), np.array([hi]))[0])
        elif label in self.spans:
            leaves = self.spans[label]
            codes, width = np.flatnonzero(np.isin(self.attribute.leaf_of_code, leaves)), len(leaves)
            level = float(self.attribute.domain.levels(leaves[:1], leaves[-1:])[0]) if width > 1 else 0.0
        else:
            first, last = self.values[label]
            codes = self.sets.get(label, np.arange(first, last + 1))
            width = max(len(codes), 1)
            level = (width - 1) / max(n - 1, 1)
        counts = self.attribute.column.counts[codes]
        logs = counts * np.log2(np.maximum(counts, 1))
        return int(width), int(counts.sum()), float(logs.sum()), level


def read_column(column: Column, attribute: Attribute) -> Reading:
    """Read the distinct labels of a published column, in the order of its codes, and then `*`.

    A record that was left out counts as published as `*`, which need not be among the labels.
    """
    return read_labels((*column.texts, STAR), attribute)


def read_labels(labels: Sequence[str | None], attribute: Attribute) -> Reading:
    """Read some labels of one published column."""
    leaves = np.full((len(labels), 2), _NOBODY, dtype=np.int64)
    values = np.full((len(labels), 2), _NOBODY, dtype=np.int64)
    sets: dict[int, np.ndarray] = {}
    spans: dict[int, np.ndarray] = {}
    stars = np.array([label == STAR for label in labels], dtype=bool)
    understood = stars.copy()
    code_of = {spelled(text): code for code, text in enumerate(attribute.column.texts)}
    scale = _scale(attribute)
    with_point = _with_point(attribute, code_of)
    for number, label in enumerate(labels):
        if stars[number]:
            continue
        label = with_point.get(label, label)
        understood[number] = True
        if nodes := _nodes(label, attribute):
            leaves[number], apart = _joined(nodes, attribute)
            if apart is not None:
                sets[number] = apart
        elif (members := _members(label)) is not None:
            sets[number], inside = _of_set(members, attribute, code_of)
            spans |= {number: inside} if len(inside) else {}
        elif (ends := _interval(label, scale)) is not None:
            values[number], apart = _range(ends.codes)
            sets |= {} if apart is None else {number: apart}
            inside = scale.leaves_between(ends.low, ends.high, closed=ends.closed)
            spans |= {number: inside} if len(inside) else {}
        elif spelled(label) not in code_of:
            understood[number] = False
        if spelled(label) in code_of and not nodes:  # also where a value is spelled like a set or an interval
            _add_value(number, code_of[spelled(label)], values, sets)
    return Reading(attribute, leaves, values, sets, spans, stars, understood)


def _with_point(attribute: Attribute, code_of: Mapping[str | None, int]) -> dict[str | None, str]:
    """Values and nodes such as 7.0 of a column that also has other decimals, by the whole number.

    Where only whole numbers of such a column are published, they are read as whole numbers: 7.
    """
    if attribute.column.kind != "float":
        return {}
    nodes = attribute.domain.label if isinstance(attribute.domain, Hierarchy) else ()
    known = {*code_of, *nodes}
    found = {text.partition(".")[0]: text for text in known if text is not None and _WHOLE.fullmatch(text)}
    return {whole: text for whole, text in found.items() if whole not in known}


def _nodes(label: str | None, attribute: Attribute) -> list[tuple[int, int]]:
    """First and last leaf of each node with this label."""
    if attribute.tight or not isinstance(attribute.domain, Hierarchy):
        return []
    nodes = attribute.domain.nodes_of_label.get(label, [])
    return [(int(attribute.domain.lo[node]), int(attribute.domain.hi[node])) for node in nodes]


def _joined(nodes: list[tuple[int, int]], attribute: Attribute) -> tuple[tuple[int, int], np.ndarray | None]:
    """All leaves of several nodes as a range or, where others lie between them, as values of the column."""
    if len(nodes) == 1:
        return nodes[0], None
    leaves = np.unique(np.concatenate([np.arange(lo, hi + 1) for lo, hi in nodes]))
    if leaves[-1] - leaves[0] + 1 == len(leaves):
        return (int(leaves[0]), int(leaves[-1])), None
    return _NOBODY, np.flatnonzero(np.isin(attribute.leaf_of_code, leaves))


def _add_value(number: int, code: int, values: np.ndarray, sets: dict[int, np.ndarray]) -> None:
    if number in sets:
        sets[number] = np.union1d(sets[number], [code])
    elif values[number, 0] > values[number, 1]:
        values[number] = code
    elif not values[number, 0] <= code <= values[number, 1]:
        sets[number] = np.append(np.arange(values[number, 0], values[number, 1] + 1), code)


class _Ends(NamedTuple):
    """An interval on the scale of a column, and the values of the column inside."""

    low: Position
    high: Position
    closed: bool
    codes: np.ndarray


def _interval(label: str | None, scale: Scale) -> _Ends | None:
    """The interval that a label of an ordered column stands for; None if it is no interval."""
    if not scale.column.ordered or not (label and label.startswith("[") and label.endswith(("]", ")"))):
        return None
    closed = label.endswith("]")
    parts = label[1:-1].split(", ")
    for cut in range(1, len(parts)):  # values of a given order may have commas themselves
        low, high = scale.position(", ".join(parts[:cut])), scale.position(", ".join(parts[cut:]))
        if low is not None and high is not None:
            return _Ends(low, high, closed, scale.between(low, high, closed=closed))
    return None


def _scale(attribute: Attribute) -> Scale:
    """The scale of a column and, where nodes are published, of the leaves of its hierarchy."""
    in_tree = isinstance(attribute.domain, Hierarchy) and not attribute.tight
    return Scale(attribute.column, attribute.domain.leaves if in_tree else ())


def _range(codes: np.ndarray) -> tuple[tuple[int, int], np.ndarray | None]:
    """Codes as a range or, where others lie between them, as they are."""
    if not len(codes):
        return _NOBODY, None
    first, last = int(codes.min()), int(codes.max())
    return ((first, last), None) if last - first + 1 == len(codes) else (_NOBODY, np.sort(codes))


def _members(label: str | None) -> list[str] | None:
    """The texts in a set `{a, b}`."""
    if label is None or not (label.startswith("{") and label.endswith("}")):
        return None
    try:
        return next(csv.reader([label[1:-1]], skipinitialspace=True, strict=True), [])
    except csv.Error:
        return None


def _of_set(
    members: list[str], attribute: Attribute, code_of: dict[str | None, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Values of the column in a set, and leaves of the hierarchy; other texts cover nothing."""
    codes = {code_of[spelled(text)] for text in members if spelled(text) in code_of}
    if attribute.tight or not isinstance(attribute.domain, Hierarchy):
        return np.array(sorted(codes), dtype=np.int64), np.zeros(0, dtype=np.int64)
    leaves: set[int] = set()
    for text in members:
        if text in attribute.domain.leaf_of:
            leaves.add(attribute.domain.leaf_of[text])
        else:
            leaves.update(leaf for lo, hi in _nodes(text, attribute) for leaf in range(lo, hi + 1))
    inside = np.array(sorted(leaves), dtype=np.int64)
    codes.update(np.flatnonzero(np.isin(attribute.leaf_of_code, inside)).tolist())
    return np.array(sorted(codes), dtype=np.int64), inside
