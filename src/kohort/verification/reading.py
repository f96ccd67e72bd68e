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
from kohort.errors import InputError, counted
from kohort.problem.attribute import Attribute
from kohort.verification.scale import NO_TREE, Position, Scale, Tree, period, spelled, tree_of

_NONE = np.zeros(0, dtype=np.int64)
_NOBODY = (0, -1)  # an empty range


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
class Covering:
    """Per label the values that it covers: a range of ranks or, where they are scattered, a list of them.

    Values are ranked in the order of the hierarchy's leaves, else in their natural order, so that nearly
    every label is a range. `scattered` holds pairs of a label and a rank for the others.
    """

    rank_of_code: np.ndarray
    first: np.ndarray
    last: np.ndarray
    scattered: np.ndarray

    @classmethod
    def exact(cls, n_values: int) -> Covering:
        """The covering of labels that are the values themselves."""
        every = np.arange(n_values)
        return cls(every, every, every, np.zeros((2, 0), dtype=np.int64))

    @property
    def n_labels(self) -> int:
        return len(self.first)

    @cached_property
    def widths(self) -> np.ndarray:
        """How many values each label covers."""
        return self.totals(np.ones(len(self.rank_of_code)))

    def totals(self, weight_of_code: np.ndarray) -> np.ndarray:
        """Per label the sum of the weights of the values it covers; weights may have several columns."""
        by_rank = np.zeros(weight_of_code.shape)
        by_rank[self.rank_of_code] = weight_of_code
        before = np.concatenate([np.zeros((1, *by_rank.shape[1:])), np.cumsum(by_rank, axis=0)])
        total = before[self.last + 1] - before[self.first]
        label, rank = self.scattered
        np.add.at(total, label, by_rank[rank])
        return total

    def shares(self, weight_of_code: np.ndarray) -> np.ndarray:
        """The mean weight of the values that each label covers: every one of them is as likely."""
        totals = self.totals(weight_of_code)
        widths = np.maximum(self.widths, 1)
        return totals / (widths if totals.ndim == 1 else widths[:, None])

    @cached_property
    def code_of_rank(self) -> np.ndarray:
        return np.argsort(self.rank_of_code, kind="stable")

    @cached_property
    def listed(self) -> tuple[np.ndarray, np.ndarray]:
        """The ranks of scattered values, label by label, and where those of each label begin and end."""
        label, rank = self.scattered
        order = np.argsort(label, kind="stable")
        return rank[order], np.searchsorted(label[order], np.arange(self.n_labels + 1))

    def codes_of(self, label: int) -> np.ndarray:
        """The values that a label covers."""
        ranks, starts = self.listed
        scattered = ranks[starts[label] : starts[label + 1]]
        return self.code_of_rank[np.append(np.arange(self.first[label], self.last[label] + 1), scattered)]

    def extremes(self, by_code: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Per label the least and the greatest number of the values it covers; NaN where none has one."""
        by_rank = np.append(by_code[self.code_of_rank], np.nan)
        order = np.argsort(self.first, kind="stable")
        ends = np.column_stack([self.first, self.last + 1])[order].ravel()
        label, rank = self.scattered
        found = np.empty((2, self.n_labels))
        for each, best in zip(found, (np.fmin, np.fmax)):
            each[order] = best.reduceat(by_rank, ends)[::2]
            each[self.first > self.last] = np.nan
            best.at(each, label, by_rank[rank])
        return found[0], found[1]

    def covers(self, codes: np.ndarray) -> np.ndarray:
        """For each of these distinct values and each label, whether the label covers the value."""
        ranks = self.rank_of_code[codes]
        covered = (self.first <= ranks[:, None]) & (ranks[:, None] <= self.last)
        row_of_rank = np.full(len(self.rank_of_code), -1)
        row_of_rank[ranks] = np.arange(len(ranks))
        label, rank = self.scattered
        asked = row_of_rank[rank] >= 0
        covered[row_of_rank[rank[asked]], label[asked]] = True
        return covered


class Meaning(NamedTuple):
    """What a label covers: values by their ranks, in a row or scattered, but for some that are denied.

    denied  the values under its node that the label, by what it says itself, does not hold
    leaves  of the hierarchy, where it is a node, or a set or interval beside one
    """

    ranks: range = range(0)
    scattered: np.ndarray = _NONE
    denied: np.ndarray = _NONE
    leaves: range | np.ndarray = range(0)
    understood: bool = True


@dataclass(frozen=True, eq=False)
class Reading:
    """What each label covers of the values of a column, ranked by the leaves of its hierarchy, if any.

    places      per value its leaf, -1 if it has none; the value itself without a hierarchy
    covering    what the labels cover by the places of their nodes, whatever their texts say
    denied      pairs of a label and a value under its node that it does not hold, by what it says itself
    leaves      per label that is a node: its first and last leaf; spans: those of a set or interval
    understood  per label whether it is one of the things that a published value can be
    """

    attribute: Attribute
    places: np.ndarray
    covering: Covering
    denied: np.ndarray
    leaves: np.ndarray
    spans: dict[int, np.ndarray]
    stars: np.ndarray
    understood: np.ndarray

    def covers(self, label: np.ndarray, code: np.ndarray) -> np.ndarray:
        """For each pair of a label and an original value, whether the label covers the value."""
        covering, n_values = self.covering, len(self.places)
        rank = covering.rank_of_code[code]
        in_row = (covering.first[label] <= rank) & (rank <= covering.last[label])
        covered = in_row | _among(covering.scattered, label, rank, n_values)
        return covered & ~_among(self.denied, label, code, n_values)

    def covers_one(self, label: int, code: int) -> bool:
        """The same for one pair."""
        return bool(self.covers(np.array([label]), np.array([code]))[0])

    @cached_property
    def extent(self) -> Extent:
        """How much the labels cover, in the published domain: tight or hierarchy."""
        tree, counts = _tree(self.attribute), self.attribute.column.counts
        n_leaves = len(tree.leaves if tree else self.places)
        logs, covering = counts * np.log2(np.maximum(counts, 1)), self.covering
        is_scattered = np.zeros(len(self.stars), dtype=bool)
        is_scattered[covering.scattered[0]] = True
        rows = []
        for label, (star, (first, last)) in enumerate(zip(self.stars.tolist(), self.leaves.tolist())):
            codes: slice | np.ndarray = slice(covering.first[label], covering.last[label] + 1)
            if label in self.spans:
                codes = np.flatnonzero(np.isin(self.places, self.spans[label]))
            elif tree or is_scattered[label]:
                codes = np.sort(covering.codes_of(label))
            if star:
                width, level = n_leaves, 1.0
            elif label in self.spans:
                span = self.spans[label]
                width, level = len(span), tree.lowest_level(span[0], span[-1])
            elif first <= last:
                width, level = last - first + 1, tree.lowest_level(first, last)
            else:
                width = max(len(codes) if isinstance(codes, np.ndarray) else codes.stop - codes.start, 1)
                level = (width - 1) / max(n_leaves - 1, 1)
            rows.append((width, counts[codes].sum(), logs[codes].sum(), level))
        widths, records, count_logs, levels = (np.array(part) for part in zip(*rows))
        height, n_records = tree.levels if tree else 1, int(counts.sum())
        return Extent(widths, records, count_logs, levels, self.stars, n_leaves, n_records, height)


def _pairs(lists: dict[int, np.ndarray]) -> np.ndarray:
    """Pairs of a label and each number in its list."""
    labels = [np.full(len(numbers), label) for label, numbers in lists.items()]
    return np.array([np.concatenate([_NONE, *labels]), np.concatenate([_NONE, *lists.values()])])


def _among(pairs: np.ndarray, label: np.ndarray, number: np.ndarray, n_values: int) -> np.ndarray:
    """Whether each label and number are a pair, in one look-up: there may be thousands of lists."""
    if not pairs.size:
        return np.zeros(len(label), dtype=bool)
    return np.isin(label.astype(np.int64) * n_values + number, pairs[0] * n_values + pairs[1])


def read_column(column: Column, attribute: Attribute) -> Reading:
    """Read the distinct labels of a published column, in the order of its codes, and then `*`.

    A record that was left out counts as published as `*`, which need not be among the labels.
    """
    return read_labels((*column.texts, STAR), attribute)


def read_labels(labels: Sequence[str | None], attribute: Attribute) -> Reading:
    """Read some labels of one published column."""
    reader = _Reader(attribute)
    ends, leaves = np.full((2, len(labels), 2), _NOBODY, dtype=np.int64)
    stars, understood = np.zeros((2, len(labels)), dtype=bool)
    spans: dict[int, np.ndarray] = {}
    scattered: dict[int, np.ndarray] = {}
    denied: dict[int, np.ndarray] = {}
    for number, label in enumerate(labels):
        found = reader.read(label)
        ends[number] = found.ranks.start, found.ranks.stop - 1
        stars[number], understood[number] = label == STAR, found.understood
        if isinstance(found.leaves, range):
            leaves[number] = found.leaves.start, found.leaves.stop - 1
        else:
            spans[number] = found.leaves
        scattered |= {number: found.scattered} if len(found.scattered) else {}
        denied |= {number: found.denied} if len(found.denied) else {}
    covering = Covering(reader.rank_of_code, ends[:, 0], ends[:, 1], _pairs(scattered))
    return Reading(attribute, reader.places, covering, _pairs(denied), leaves, spans, stars, understood)


def read_covering(labels: Sequence[str | None], attribute: Attribute) -> Covering:
    """Read the distinct labels of one published column; a label that means nothing is refused.

    O(values log values + labels), and what scattered labels cover.
    """
    return covering_of(read_labels(labels, attribute))


def covering_of(reading: Reading) -> Covering:
    """The covering of labels that were read; a label that means nothing is refused."""
    unread = int((~reading.understood).sum())
    if unread:
        labels = counted(unread, "published label is", "published labels are")
        raise InputError(
            f"Column {reading.attribute.name!r}: {labels} not a value, node, interval, set or *. Give the "
            "spec with which the release was made."
        )
    return reading.covering


def _tree(attribute: Attribute) -> Tree:
    """The hierarchy whose nodes are published; that without any where values, intervals and sets are."""
    domain = attribute.domain
    return tree_of(domain) if isinstance(domain, Hierarchy) and not attribute.tight else NO_TREE


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
    def tree(self) -> Tree:
        return _tree(self.attribute)

    @cached_property
    def scale(self) -> Scale:
        return Scale(self.attribute.column, self.tree.leaves)

    @cached_property
    def code_of(self) -> dict[str | None, int]:
        return {spelled(text): code for code, text in enumerate(self.attribute.column.texts)}

    @cached_property
    def leaf_of(self) -> dict[str | None, int]:
        return {text: leaf for leaf, text in enumerate(self.tree.leaves)}

    @cached_property
    def places(self) -> np.ndarray:
        """Per value its leaf; without a hierarchy, the value itself."""
        texts = self.attribute.column.texts
        if not self.tree:
            return np.arange(len(texts))
        return np.array([self.leaf_of.get(text, -1) for text in texts], dtype=np.int64)

    @cached_property
    def _text_at(self) -> dict[Position | None, str | None]:
        """Values and nodes of a column of numbers by their size."""
        known = (*self.tree.label, *self.attribute.column.texts)
        return {self.scale.position(text): text for text in known}

    def as_known(self, label: str | None) -> str | None:
        """A number as the column or its hierarchy spells it, 7.0 for 7; any other label as it is."""
        column = self.attribute.column
        known = spelled(label) in self.code_of or label in self.tree.nodes_called
        if known or column.kind not in ("integer", "float") or column.listed:
            return label
        position = self.scale.position(label)
        return label if position is None else self._text_at.get(position, label)

    def read(self, label: str | None) -> Meaning:
        """What a label covers."""
        if label == STAR:
            return Meaning(range(len(self.places)))
        label = self.as_known(label)
        if nodes := self.nodes(label):
            return self._of_nodes(label, nodes)
        own = self.code_of.get(spelled(label))
        codes, leaves = _NONE, _NONE
        if (members := _members(label)) is not None:
            codes, leaves = self.of_set(members)
        elif (ends := self.interval(label)) is not None:
            codes = ends.codes
            if self.tree:
                leaves = self.scale.leaves_between(ends.low, ends.high, closed=ends.closed)
        elif own is None:
            return Meaning(understood=False)
        if own is not None:  # a value may be spelled like a set or an interval
            codes = np.union1d(codes, [own])
        return Meaning(*self._placed(codes), leaves=leaves if len(leaves) else range(0))

    def _of_nodes(self, label: str | None, nodes: list[tuple[int, int]]) -> Meaning:
        """What the nodes with a label cover: leaves in a row or, where others lie between them, values."""
        denied = self.outside(label, nodes)
        first, last = min(lo for lo, _ in nodes), max(hi for _, hi in nodes)
        if len(nodes) > 1 and len({leaf for lo, hi in nodes for leaf in range(lo, hi + 1)}) <= last - first:
            return Meaning(*self._placed(np.unique(self.under(nodes))), denied)
        ranks = np.searchsorted(self._by_place[1], (first, last + 1)).tolist()
        return Meaning(range(*ranks), denied=denied, leaves=range(first, last + 1))

    def _placed(self, codes: np.ndarray) -> tuple[range, np.ndarray]:
        """Values as a range of ranks or, where others lie between them, as a list of ranks."""
        if not len(codes):
            return range(0), _NONE
        ranks = self.rank_of_code[codes]
        first, last = int(ranks.min()), int(ranks.max())
        in_row = last - first + 1 == len(ranks)
        return (range(first, last + 1), _NONE) if in_row else (range(0), ranks)

    def nodes(self, label: str | None) -> list[tuple[int, int]]:
        """First and last leaf of each node with this label."""
        first, width = self.tree.first, self.tree.width
        found = self.tree.nodes_called.get(label, ())
        return [(int(first[node]), int(first[node] + width[node] - 1)) for node in found]

    def under(self, nodes: list[tuple[int, int]]) -> np.ndarray:
        """The values under these nodes."""
        order, places = self._by_place
        ends = [np.searchsorted(places, (lo, hi + 1)) for lo, hi in nodes]
        return np.concatenate([order[a:b] for a, b in ends])

    @cached_property
    def _by_place(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.places, kind="stable")
        return order, self.places[order]

    @cached_property
    def rank_of_code(self) -> np.ndarray:
        return np.argsort(self._by_place[0], kind="stable")

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


def _members(label: str | None) -> list[str] | None:
    """The texts in a set `{a, b}`."""
    if label is None or not (label.startswith("{") and label.endswith("}")):
        return None
    try:
        return next(csv.reader([label[1:-1]], skipinitialspace=True, strict=True), [])
    except csv.Error:
        return None
