"""Published values read as a stranger would: what a label covers, from the label and the hierarchy alone.

A label is an original value, a node of the hierarchy, an interval `[20, 30)` or `[20, 30]`, a set
`{a, b}` of values or nodes, or `*`. Where the labels of a hierarchy were made from the values, what is under
a node must also be what its label says: an interval, `< 20`, `>= 60`, a period, or a mask.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kohort.data.column import Column
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.problem.attribute import Attribute
from kohort.verification.scale import Position, Scale, Tree, period, spelled, tree_of

_NOBODY = (1, 0)  # an empty range


@dataclass(frozen=True, eq=False)
class Extent:
    """How much the labels of a column cover: all that costs of labels depend on.

    width      how many leaves each covers; values, where no hierarchy is published
    records    how many records of the original table have a value that it covers
    count_log  the sum of c * log2(c) over the numbers c of records that have each of these values
    level      at which share of the hierarchy's levels it lies, 0 to 1
    star       whether it is `*`
    n_leaves   how many leaves there are
    n_records  how many records the original table has
    height     how many levels the hierarchy has; 1 where there is none
    """

    width: np.ndarray
    records: np.ndarray
    count_log: np.ndarray
    level: np.ndarray
    star: np.ndarray
    n_leaves: int
    n_records: int
    height: int


@dataclass(frozen=True, eq=False)
class Reading:
    """What each label covers: leaves of the hierarchy, or values of the column (in natural order).

    `understood` is False for a label that is none of the things a published value can be.
    """

    attribute: Attribute
    place_of_code: np.ndarray  # per value its leaf, -1 if it has none; the value itself without a hierarchy
    leaves: np.ndarray  # per label: first and last leaf, empty if it is no node
    values: np.ndarray  # per label: first and last value of the column, empty if it is no interval
    sets: dict[int, np.ndarray]  # per label that is a set: values of the column
    spans: dict[int, np.ndarray]  # per label that is a set or interval beside a hierarchy: its leaves
    denied: dict[int, np.ndarray]  # per label that does not hold all that is under its node: these values
    stars: np.ndarray
    understood: np.ndarray

    def covers(self, label: np.ndarray, code: np.ndarray) -> np.ndarray:
        """For each pair of a label and an original value, whether the label covers the value."""
        leaf = self.place_of_code[code]
        by_node = (self.leaves[label, 0] <= leaf) & (leaf <= self.leaves[label, 1])
        by_value = (self.values[label, 0] <= code) & (code <= self.values[label, 1])
        covered = by_node | by_value | self._in_set(self.sets, label, code)
        return (covered & ~self._in_set(self.denied, label, code)) | self.stars[label]

    def covers_one(self, label: int, code: int) -> bool:
        """The same for one pair."""
        return bool(self.covers(np.array([label]), np.array([code]))[0])

    def _in_set(self, sets: dict[int, np.ndarray], label: np.ndarray, code: np.ndarray) -> np.ndarray:
        """Whether values are in their labels' sets, in one look-up: there may be thousands of sets."""
        if not sets:
            return np.zeros(len(label), dtype=bool)
        n_values = len(self.attribute.column.texts)
        members = np.concatenate([number * n_values + codes for number, codes in sets.items()])
        return np.isin(label.astype(np.int64) * n_values + code, members)

    @property
    def in_tree(self) -> bool:
        """Whether nodes of a hierarchy are published."""
        return _tree(self.attribute) is not None

    @cached_property
    def extent(self) -> Extent:
        """How much the labels cover, in the published domain: tight or hierarchy."""
        tree, counts = _tree(self.attribute), self.attribute.column.counts
        n_leaves = len(self.place_of_code if tree is None else tree.leaves)
        code_at = np.argsort(self.place_of_code, kind="stable")
        places = self.place_of_code[code_at]
        logs = counts * np.log2(np.maximum(counts, 1))
        rows = []
        for label in range(len(self.stars)):
            width, level, codes = self._covered(label, tree, n_leaves, code_at, places)
            rows.append((width, counts[codes].sum(), logs[codes].sum(), level))
        widths, records, count_logs, levels = (np.array(part) for part in zip(*rows))
        height, n_records = 1 if tree is None else tree.levels, int(counts.sum())
        return Extent(widths, records, count_logs, levels, self.stars, n_leaves, n_records, height)

    def _covered(
        self, label: int, tree: Tree | None, n_leaves: int, code_at: np.ndarray, places: np.ndarray
    ) -> tuple[int, float, np.ndarray]:
        """How many leaves a label covers, how high it lies, and the values of the column that it covers.

        code_at, places  the values sorted by their leaves, and these leaves
        """
        first, last = self.leaves[label]
        if self.stars[label]:
            return n_leaves, 1.0, np.arange(len(code_at))
        if tree is not None and first <= last:
            codes = code_at[np.searchsorted(places, first) : np.searchsorted(places, last, side="right")]
            return int(last - first + 1), tree.lowest_level(first, last), np.sort(codes)
        if tree is not None and label in self.spans:
            leaves = self.spans[label]
            level = tree.lowest_level(leaves[0], leaves[-1]) if len(leaves) > 1 else 0.0
            return len(leaves), level, np.flatnonzero(np.isin(self.place_of_code, leaves))
        low, high = self.values[label]
        codes = self.sets.get(label, np.arange(low, high + 1))
        width = max(len(codes), 1)
        return width, (width - 1) / max(n_leaves - 1, 1), codes


def read_column(column: Column, attribute: Attribute) -> Reading:
    """Read the distinct labels of a published column, in the order of its codes, and then `*`.

    A record that was left out counts as published as `*`, which need not be among the labels.
    """
    return read_labels((*column.texts, STAR), attribute)


def read_labels(labels: Sequence[str | None], attribute: Attribute) -> Reading:
    """Read some labels of one published column."""
    reader = _Reader(attribute)
    leaves = np.full((len(labels), 2), _NOBODY, dtype=np.int64)
    values = np.full((len(labels), 2), _NOBODY, dtype=np.int64)
    sets: dict[int, np.ndarray] = {}
    spans: dict[int, np.ndarray] = {}
    denied: dict[int, np.ndarray] = {}
    stars = np.array([label == STAR for label in labels], dtype=bool)
    understood = stars.copy()
    for number, label in enumerate(labels):
        if stars[number]:
            continue
        label = reader.as_known(label)
        understood[number] = True
        if nodes := reader.nodes(label):
            leaves[number], apart = reader.joined(nodes)
            sets |= {} if apart is None else {number: apart}
            outside = reader.outside(label, nodes)
            denied |= {number: outside} if len(outside) else {}
        elif (members := _members(label)) is not None:
            sets[number], inside = reader.of_set(members)
            spans |= {number: inside} if len(inside) else {}
        elif (ends := reader.interval(label)) is not None:
            values[number], apart = _range(ends.codes)
            sets |= {} if apart is None else {number: apart}
            inside = reader.scale.leaves_between(ends.low, ends.high, closed=ends.closed)
            spans |= {number: inside} if len(inside) else {}
        elif spelled(label) not in reader.code_of:
            understood[number] = False
        if spelled(label) in reader.code_of and not nodes:  # a value may be spelled like a set or an interval
            _add_value(number, reader.code_of[spelled(label)], values, sets)
    return Reading(attribute, reader.places, leaves, values, sets, spans, denied, stars, understood)


def _tree(attribute: Attribute) -> Tree | None:
    """The hierarchy whose nodes are published; None where values, intervals and sets of values are."""
    in_tree = isinstance(attribute.domain, Hierarchy) and not attribute.tight
    return tree_of(attribute.domain) if in_tree else None  # type: ignore[arg-type]


class _Ends(NamedTuple):
    """An interval on the scale of a column, and the values of the column inside."""

    low: Position
    high: Position
    closed: bool
    codes: np.ndarray


@dataclass(frozen=True, eq=False)
class _Reader:
    """What the labels of a column may be made of: its values, and the nodes of its hierarchy."""

    attribute: Attribute

    @cached_property
    def tree(self) -> Tree | None:
        return _tree(self.attribute)

    @cached_property
    def scale(self) -> Scale:
        return Scale(self.attribute.column, () if self.tree is None else self.tree.leaves)

    @cached_property
    def code_of(self) -> dict[str | None, int]:
        return {spelled(text): code for code, text in enumerate(self.attribute.column.texts)}

    @cached_property
    def leaf_of(self) -> dict[str | None, int]:
        return {} if self.tree is None else {text: leaf for leaf, text in enumerate(self.tree.leaves)}

    @cached_property
    def places(self) -> np.ndarray:
        """Per value its leaf; without a hierarchy, the value itself."""
        texts = self.attribute.column.texts
        if self.tree is None:
            return np.arange(len(texts))
        return np.array([self.leaf_of.get(text, -1) for text in texts], dtype=np.int64)

    @cached_property
    def _text_at(self) -> dict[Position | None, str | None]:
        """Values and nodes of a column of numbers by their size."""
        nodes = () if self.tree is None else self.tree.label
        return {self.scale.position(text): text for text in (*nodes, *self.attribute.column.texts)}

    def as_known(self, label: str | None) -> str | None:
        """A number as the column or its hierarchy spells it, 7.0 for 7; any other label as it is."""
        column = self.attribute.column
        known = spelled(label) in self.code_of or (self.tree is not None and label in self.tree.nodes_called)
        if known or column.kind not in ("integer", "float") or column.listed:
            return label
        position = self.scale.position(label)
        return label if position is None else self._text_at.get(position, label)

    def nodes(self, label: str | None) -> list[tuple[int, int]]:
        """First and last leaf of each node with this label."""
        if self.tree is None:
            return []
        first, width = self.tree.first, self.tree.width
        found = self.tree.nodes_called.get(label, ())
        return [(int(first[node]), int(first[node] + width[node] - 1)) for node in found]

    def joined(self, nodes: list[tuple[int, int]]) -> tuple[tuple[int, int], np.ndarray | None]:
        """All leaves of several nodes as a range or, where others lie between them, as values."""
        if len(nodes) == 1:
            return nodes[0], None
        leaves = np.unique(np.concatenate([np.arange(lo, hi + 1) for lo, hi in nodes]))
        if leaves[-1] - leaves[0] + 1 == len(leaves):
            return (int(leaves[0]), int(leaves[-1])), None
        return _NOBODY, np.flatnonzero(np.isin(self.places, leaves))

    def under(self, nodes: list[tuple[int, int]]) -> np.ndarray:
        """The values under these nodes."""
        order, places = self._by_place
        ends = [np.searchsorted(places, (lo, hi + 1)) for lo, hi in nodes]
        return np.concatenate([order[a:b] for a, b in ends])

    @cached_property
    def _by_place(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.places, kind="stable")
        return order, self.places[order]

    def outside(self, label: str | None, nodes: list[tuple[int, int]]) -> np.ndarray:
        """The values under these nodes that their label, by what it says itself, does not hold."""
        literal = self.attribute.literal and not self.attribute.column.listed  # in which order, nobody says
        if not literal or label is None or label in self.leaf_of or not nodes:
            return np.zeros(0, dtype=np.int64)
        under = self.under(nodes)
        return under[~self._fitting(label, under)]

    def _fitting(self, label: str, codes: np.ndarray) -> np.ndarray:
        """Which of these values a label holds by what it says; all, where it is nothing but a name."""
        column, scale = self.attribute.column, self.scale
        if (ends := self.interval(label)) is not None:
            day = period(label[:-1].rpartition(", ")[2]) if ends.closed else None
            if column.kind == "datetime" and day is not None:  # which belongs to the interval as a whole
                return np.isin(codes, scale.between(ends.low, day[1], closed=False))
            return np.isin(codes, ends.codes)
        sign, blank, limit = label.partition(" ")
        if column.ordered and blank and sign in ("<", ">=") and scale.position(limit) is not None:
            below = np.isin(codes, scale.below(limit))
            return below if sign == "<" else ~below
        if column.kind in ("date", "datetime") and (days := period(label)) is not None:
            clocks = [scale.clocks[code] for code in codes]
            return np.array([clock is not None and days[0] <= clock < days[1] for clock in clocks])
        return self._masked(label, [column.texts[code] or "" for code in codes])

    def _masked(self, label: str, texts: list[str]) -> np.ndarray:
        """Which texts a mask such as `43**` stands for; all, where the label is no mask."""
        left = label.startswith(STAR)
        shown = label.lstrip(STAR) if left else label.rstrip(STAR)
        if shown in ("", label):
            return np.ones(len(texts), dtype=bool)
        if self.attribute.column.kind == "integer":  # which are filled with zeros
            texts = [text.zfill(len(label)) for text in texts]
        fits = [(t.endswith if left else t.startswith)(shown) and len(t) <= len(label) for t in texts]
        return np.array(fits, dtype=bool)

    def interval(self, label: str | None) -> _Ends | None:
        """The interval that a label of an ordered column stands for; None if it is no interval."""
        scale = self.scale
        if not scale.column.ordered or not (label and label.startswith("[") and label.endswith(("]", ")"))):
            return None
        closed = label.endswith("]")
        parts = label[1:-1].split(", ")
        for cut in range(1, len(parts)):  # values of a given order may have commas themselves
            low, high = scale.position(", ".join(parts[:cut])), scale.position(", ".join(parts[cut:]))
            if low is not None and high is not None:
                return _Ends(low, high, closed, scale.between(low, high, closed=closed))
        return None

    def of_set(self, members: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Values of the column in a set, and leaves of the hierarchy; other texts cover nothing."""
        codes = {self.code_of[spelled(text)] for text in members if spelled(text) in self.code_of}
        leaves: set[int] = set()
        for text in members:
            own = [(self.leaf_of[text],) * 2] if text in self.leaf_of else self.nodes(text)
            leaves.update(leaf for lo, hi in own for leaf in range(lo, hi + 1))
            if own:
                codes.update(np.setdiff1d(self.under(own), self.outside(text, own)).tolist())
        return np.array(sorted(codes), dtype=np.int64), np.array(sorted(leaves), dtype=np.int64)


def _add_value(number: int, code: int, values: np.ndarray, sets: dict[int, np.ndarray]) -> None:
    if number in sets:
        sets[number] = np.union1d(sets[number], [code])
    elif values[number, 0] > values[number, 1]:
        values[number] = code
    elif not values[number, 0] <= code <= values[number, 1]:
        sets[number] = np.append(np.arange(values[number, 0], values[number, 1] + 1), code)


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
