"""Where the values of an ordered column lie, read from their texts alone: exact numbers, days, true time.

The codes of a column come in an order that the coding of the table claims. What an interval covers must not
depend on that claim, so positions are computed here once more, by other means.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from math import ceil, floor
from weakref import WeakKeyDictionary

import numpy as np

from kohort.data.column import Column
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InternalError

Position = int | Decimal

_PARTS = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?)?",
    re.ASCII,
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_PERIOD = re.compile(r"(\d{4})(?:(s)|(-[QHW]?)(\d\d?))?", re.ASCII)
_DAY_ZERO = date(1970, 1, 1).toordinal()
_NANOSECONDS = 1_000_000_000
_DAY_LONG = 86_400 * _NANOSECONDS
_WHOLE_NUMBER = re.compile(r"-?[0-9]+")
_SIGNED_ZERO = re.compile(r"-[0.]*0[0.]*(?:[eE][+-]?\d+)?")


def spelled(text: str | None) -> str | None:
    """A text as it is compared with others: zero has no sign."""
    return text[1:] if text is not None and _SIGNED_ZERO.fullmatch(text) else text


@dataclass(frozen=True, eq=False)
class Scale:
    """The positions of one ordered column's values: numbers, places in a given order, or nanoseconds.

    Times with an offset are placed in universal time, others as they are written; the two do not compare.
    """

    column: Column
    leaves: tuple[str | None, ...] = ()  # the leaves of the column's hierarchy

    def position(self, text: str | None) -> Position | None:
        """Where a text lies on the scale; None if nowhere."""
        if text is None:
            return None
        if self.column.listed:
            return self._places.get(text)
        if self.column.kind in ("date", "datetime"):
            return self._moment(text)
        return exact_number(text)

    def between(self, low: Position, high: Position, *, closed: bool) -> np.ndarray:
        """The codes of the values from low to high; high itself only if the interval is closed."""
        return _within(*self._values, low, high, closed)

    def below(self, limit: str) -> np.ndarray:
        """The codes of the values below a text that lies on the scale, and of those that lie nowhere."""
        positions, codes = self._values
        place = self.position(limit)
        assert place is not None
        above = codes[_count_below(positions, place) :]
        return np.setdiff1d(np.arange(len(self.column.texts)), above)

    @cached_property
    def clocks(self) -> list[int | None]:
        """Per value of a column of dates or times what its own clock shows: see `moment_as_written`."""
        return [None if text is None else moment_as_written(text) for text in self.column.texts]

    def leaves_between(self, low: Position, high: Position, *, closed: bool) -> np.ndarray:
        """The leaves of the hierarchy from low to high, ascending; high itself only if it is closed."""
        return np.sort(_within(*self._leaves, low, high, closed))

    @property
    def positions(self) -> list[Position | None]:
        """Where each value of the column lies; None for a missing one."""
        return [self.position(text) for text in self.column.texts]

    @cached_property
    def _values(self) -> tuple[np.ndarray, np.ndarray]:
        return self._placed(self.column.texts)

    @cached_property
    def _leaves(self) -> tuple[np.ndarray, np.ndarray]:
        return self._placed(self.leaves)

    def _placed(self, texts: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
        """Positions by size, and the numbers of the texts that have them."""
        found = [(number, self.position(text)) for number, text in enumerate(texts)]
        numbers = np.array([number for number, position in found if position is not None], dtype=np.int64)
        positions = _array([position for _, position in found if position is not None])
        order = np.argsort(positions, kind="stable")
        return positions[order], numbers[order]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {text: place for place, text in enumerate(self.column.listed)}

    @cached_property
    def zoned(self) -> bool:
        """Whether the column's times say how far their clocks are from universal time."""
        return any(text is not None and _offset(text) is not None for text in self.column.texts)

    def _moment(self, text: str) -> int | None:
        moment, offset = moment_as_written(text), _offset(text)
        if moment is None or (offset is not None) != self.zoned:
            return None
        return moment - (offset or 0)


def exact_number(text: str) -> Position | None:
    """The exact number that a text spells: whole, decimal or infinite."""
    if _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    try:
        number = Decimal(text)
    except ArithmeticError:
        return None
    return None if number.is_nan() or "_" in text or text != text.strip() else number


def moment_as_written(text: str) -> int | None:
    """Nanoseconds from 1970-01-01 00:00 to a date or time by its own clock; None for any other text."""
    found = _PARTS.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = [int(part or 0) for part in found.groups()[:6]]
    try:
        days = date(year, month, day).toordinal() - _DAY_ZERO
    except ValueError:  # no day of the calendar
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    seconds = days * 86_400 + hour * 3_600 + minute * 60 + second
    return seconds * _NANOSECONDS + (int(found[7].ljust(9, "0")) if found[7] else 0)


def period(label: str) -> tuple[int, int] | None:
    """The moments at which a period begins and is over, by the clock; None for any other text.

    A period is a day, `2024-03`, `2024-Q1`, `2024-H1`, the week `2024-W09`, `2024`, or `2020s`.
    """
    if _DAY.fullmatch(label):
        begin = moment_as_written(label)
        return None if begin is None else (begin, begin + _DAY_LONG)
    found = _PERIOD.fullmatch(label)
    if found is None:
        return None
    first, kind, number = 12 * (int(found[1]) - 1970), found[2] or found[3], int(found[4] or 1)
    if kind == "-W":
        fourth = _first_day(first) + 3  # of January, which is in the first week of its year
        monday = fourth - (fourth + 3) % 7 + 7 * (number - 1)  # 1970-01-01 was a Thursday
        return monday * _DAY_LONG, (monday + 7) * _DAY_LONG
    months = {"-": 1, "-Q": 3, "-H": 6, None: 12, "s": 120}[kind]
    first += (number - 1) * months
    return _first_day(first) * _DAY_LONG, _first_day(first + months) * _DAY_LONG


def _first_day(month: int) -> int:
    """The days from 1970-01-01 to the first of a month, which is counted from January 1970."""
    return int(np.datetime64(month, "M").astype("datetime64[D]").astype(np.int64))


def _offset(text: str) -> int | None:
    """By how many nanoseconds the clock of a time is ahead of universal time; None if it does not say."""
    found = _PARTS.fullmatch(text)
    if found is None or found[8] is None:
        return None
    digits = found[8][1:].replace(":", "").ljust(6, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60 + int(digits[4:])
    return (-seconds if found[8][0] == "-" else seconds) * _NANOSECONDS


def _array(positions: list[Position]) -> np.ndarray:
    """Positions as int64, or as the floats that are written like them, or else as Python's exact numbers."""
    if all(isinstance(position, int) and -(2**63) <= position < 2**63 for position in positions):
        return np.array(positions, dtype=np.int64)
    floats = [float(Decimal(position)) for position in positions]
    same = all(_written(number) == position for number, position in zip(floats, positions))
    return np.array(floats) if same else np.array(positions, dtype=object)


def _written(number: float) -> Decimal:
    """The decimal number that is written for a float: 0.1 and not what its bits are."""
    return Decimal(repr(number))


def _within(
    positions: np.ndarray, numbers: np.ndarray, low: Position, high: Position, closed: bool
) -> np.ndarray:
    return numbers[_count_below(positions, low) : _count_below(positions, high, or_at=closed)]


def _count_below(positions: np.ndarray, limit: Position, *, or_at: bool = False) -> int:
    """How many of these sorted positions are below a limit, or at it."""
    if positions.dtype.kind == "i":
        if not -(2**63) <= limit < 2**63:
            return len(positions) if limit > 0 else 0
        limit = floor(limit) if or_at else ceil(limit)
    elif positions.dtype.kind == "f":
        nearest = float(Decimal(limit))
        or_at = or_at if _written(nearest) == limit else _written(nearest) < limit
        return int((bisect_right if or_at else bisect_left)(positions, nearest))
    return int((bisect_right if or_at else bisect_left)(positions, limit))


_COUNTED: WeakKeyDictionary[Hierarchy, Tree] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of labels.

    label   per node, as it is written in the hierarchy
    parent  per node; -1 for the root
    first   per node the place of its first leaf, where the leaves of every node stand together
    width   per node how many leaves it has
    height  per node how many levels lie between it and its deepest leaf
    """

    label: tuple[str | None, ...]
    parent: np.ndarray
    first: np.ndarray
    width: np.ndarray
    height: np.ndarray

    @cached_property
    def leaf_nodes(self) -> np.ndarray:
        """The leaves in their places."""
        nodes = np.flatnonzero(_childless(self.parent))
        return nodes[np.argsort(self.first[nodes])]

    @cached_property
    def leaves(self) -> tuple[str | None, ...]:
        """The labels of the leaves in their places."""
        return tuple(self.label[node] for node in self.leaf_nodes)

    @cached_property
    def levels(self) -> int:
        """How many levels the tree has above its deepest leaf."""
        return int(self.height.max())

    def __bool__(self) -> bool:
        return bool(self.label)

    @cached_property
    def nodes_called(self) -> dict[str | None, list[int]]:
        """The nodes that a published label may mean.

        First of all those that have this label. A label that occurs several times is published with that of
        the node above it, `other (A)`, and with a number where that is still not unique.
        """
        found: dict[str | None, list[int]] = {}
        for node, label in enumerate(self.label):
            found.setdefault(label, []).append(node)
        if not self:
            return found
        root = int(np.flatnonzero(self.parent < 0)[0])
        if len(found[self.label[root]]) > 1:
            found.setdefault(STAR, [root])
        uses, taken = Counter(self.label), {*found}
        for node in np.flatnonzero(~_childless(self.parent)).tolist():
            label = self.label[node]
            if uses[label] == 1 or node == root:
                continue
            name = f"{label} ({self.label[self.parent[node]]})"
            numbered = (f"{name} #{number}" for number in range(2, len(self.label) + 2))
            name = name if name not in taken else next(other for other in numbered if other not in taken)
            taken.add(name)
            found.setdefault(name, [node])
        return found

    def lowest_level(self, first: int, last: int) -> float:
        """The share of all levels at which the lowest node lies that has all leaves from first to last."""
        node = int(self.leaf_nodes[first])
        while self.first[node] + self.width[node] <= last:
            node = int(self.parent[node])
        return float(self.height[node] / max(self.levels, 1))


NO_TREE = Tree((), *np.zeros((4, 0), dtype=np.int64))
"""That of a column whose values, intervals and sets are published."""


def tree_of(hierarchy: Hierarchy) -> Tree:
    """The tree of a hierarchy, counted once."""
    if hierarchy not in _COUNTED:
        _COUNTED[hierarchy] = _counted(hierarchy)
    return _COUNTED[hierarchy]


def compare_tree(hierarchy: Hierarchy) -> None:
    """Raise InternalError where a hierarchy states other leaves, levels or labels than are counted here.

    Items, proofs and distances between sensitive values are looked up in what it states.
    """
    tree = tree_of(hierarchy)
    counted = (tree.first, tree.first + tree.width - 1, tree.height, tree.leaf_nodes)
    stated = (hierarchy.lo, hierarchy.hi, hierarchy.level, hierarchy.leaf_node)
    same = all(np.array_equal(ours, theirs) for ours, theirs in zip(counted, stated))
    if not same or tree.nodes_called != hierarchy.nodes_of_label:
        raise InternalError(
            "A hierarchy does not have the leaves, levels or labels that it states. Please report this."
        )


def _counted(hierarchy: Hierarchy) -> Tree:
    """Count the leaves of a hierarchy from its parents alone. O(nodes * height)."""
    parent = np.asarray(hierarchy.parent, dtype=np.int64)
    n = len(parent)
    width, height = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    climbing, steps = np.flatnonzero(_childless(parent)), 0
    while len(climbing):
        width += np.bincount(climbing, minlength=n)
        height[climbing] = steps  # whoever arrives last comes from the deepest leaf
        climbing, steps = parent[climbing], steps + 1
        climbing = climbing[climbing >= 0]
    siblings = np.argsort(parent, kind="stable")
    before = np.cumsum(width[siblings]) - width[siblings]
    eldest = np.searchsorted(parent[siblings], parent[siblings])
    beside = np.empty(n, dtype=np.int64)  # leaves of the siblings that come before
    beside[siblings] = before - before[eldest]
    first, above = beside.copy(), parent.copy()
    while (above >= 0).any():
        first += np.where(above >= 0, beside[above], 0)
        above = np.where(above >= 0, parent[above], -1)
    return Tree(tuple(hierarchy.label), parent, first, width, height)


def _childless(parent: np.ndarray) -> np.ndarray:
    """Per node whether it is a leaf: no node's parent."""
    leaf = np.ones(len(parent), dtype=bool)
    leaf[parent[parent >= 0]] = False
    return leaf
