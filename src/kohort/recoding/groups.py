"""Local recoding: groups of records, each published as the smallest generalized record that covers it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kohort.data.domain import STAR, Domain
from kohort.data.hierarchy import Hierarchy
from kohort.kernels.grouping import ranges_by_group
from kohort.problem.attribute import Attribute, tight_domain
from kohort.recoding.recoding import PublishedColumn, Recoding

if TYPE_CHECKING:
    from kohort.problem.problem import Problem

_MANY = 1 << 20  # records from which on the numbers of labels are looked up in as few bytes as they need


@dataclass(frozen=True, eq=False)
class Groups(Recoding):
    """A recoding by groups: each group publishes one generalized value per attribute.

    `group_of_record` numbers the groups from 0; -1 marks a withheld record. `proof` is evidence for `bound`.
    """

    group_of_record: np.ndarray

    @cached_property
    def withheld(self) -> np.ndarray:  # type: ignore[override]
        return self.group_of_record < 0

    @cached_property
    def n_groups(self) -> int:
        return int(self.group_of_record.max(initial=-1)) + 1

    def apply(self, attribute: Attribute) -> PublishedColumn:
        """The closure of each group's values, or with tight labels exactly the values it has.

        Either way a group with a hidden value (one that its hierarchy lacks) is published as `*`.
        """
        if attribute.tight and not attribute.column.ordered:
            labels, label_of_group, widths = self._sets(attribute)
        elif attribute.tight:
            domain = tight_domain(attribute.column)
            labels, label_of_group, widths = self._ranges(attribute.column.codes, domain)
        else:
            labels, label_of_group, widths = self._ranges(attribute.leaves, attribute.domain)
        if attribute.tight and isinstance(attribute.domain, Hierarchy) and attribute.domain.hidden.any():
            hidden = attribute.domain.hidden[attribute.leaves] & ~self.withheld
            label_of_group[self.group_of_record[hidden]] = len(labels)
            labels, widths = [*labels, STAR], np.append(widths, len(attribute.column.texts))
        if len(self.group_of_record) >= _MANY and len(labels) <= 1 << 16:
            label_of_group = label_of_group.astype(np.uint8 if len(labels) <= 1 << 8 else np.uint16)
        return PublishedColumn(labels, label_of_group[self.group_of_record], widths)

    def _ranges(self, leaves: np.ndarray, domain: Domain) -> tuple[list[str | None], np.ndarray, np.ndarray]:
        """Labels of closures, the label of each group, and how many leaves each label covers."""
        if not self.n_groups:
            return [STAR], np.zeros(1, dtype=np.int32), np.array([len(domain.leaves)])
        lo, hi = domain.closure(*ranges_by_group(leaves, self.group_of_record, self.n_groups))
        n_leaves = len(domain.leaves)
        keys, label_of_group = _numbered(lo.astype(np.int64) * n_leaves + hi, n_leaves * n_leaves)
        first, last = keys // n_leaves, keys % n_leaves
        return domain.labels(first, last), label_of_group.astype(np.int32), last - first + 1

    def _sets(self, attribute: Attribute) -> tuple[list[str | None], np.ndarray, np.ndarray]:
        """Labels of sets of values, the label of each group, and how many values each label covers."""
        kept = ~self.withheld
        texts = attribute.column.texts
        n_values, taken = len(texts), frozenset(texts)
        cells = np.unique(
            self.group_of_record[kept].astype(np.int64) * n_values + attribute.column.codes[kept]
        )
        group, code = cells // n_values, cells % n_values
        number_of_set: dict[bytes, int] = {}
        label_of_group = np.zeros(max(self.n_groups, 1), dtype=np.int32)
        labels: list[str | None] = []
        widths: list[int] = []
        for g, codes in enumerate(np.split(code, np.flatnonzero(np.diff(group)) + 1)):
            number = number_of_set.setdefault(codes.tobytes(), len(labels))
            if number == len(labels):
                labels.append(set_label([texts[c] for c in codes], n_values, taken))
                widths.append(n_values if labels[-1] == STAR else len(codes))
            label_of_group[g] = number
        return labels, label_of_group, np.array(widths, dtype=np.int64)


def _numbered(keys: np.ndarray, n_keys: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys in order, and the place of each among them; keys lie below `n_keys`."""
    if n_keys > 4 * len(keys) + 1024:
        return np.unique(keys, return_inverse=True)
    there = np.zeros(n_keys, dtype=bool)
    there[keys] = True
    return np.flatnonzero(there), (np.cumsum(there, dtype=np.int32) - 1)[keys]


def set_label(texts: list[str | None], n_values: int, taken: Collection[str | None] = ()) -> str | None:
    """A value, a set `{a, b}` (quoted as in CSV where that is needed), or `*` for everything.

    A missing value mixes with nothing: together with others it is `*`. A set is never spelled like one of the
    `taken` texts, the values and nodes of the column: it would be read as that one.

    >>> set_label(["a", "b, c"], 9)
    '{a, "b, c"}'
    >>> set_label(["a", "b"], 9, taken=["a", "b", "{a, b}"])
    '{"a", "b"}'
    """
    if len(texts) == 1:
        return texts[0]
    if len(texts) == n_values or None in texts:
        return STAR
    members = [text for text in texts if text is not None]
    label = "{" + ", ".join(map(_quoted_where_needed, members)) + "}"
    if label in taken:
        label = "{" + ", ".join(map(_quoted, members)) + "}"
    while label in taken:  # spaces before a member mean nothing
        label = "{ " + label[1:]
    return label


def _quoted_where_needed(text: str) -> str:
    plain = text and text == text.strip() and not any(char in text for char in ',"\r\n')
    return text if plain else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


# -- of linked records, and of people in a ledger -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class SolvedPart:
    """The people who are published with the same slots: their problem, one record each, and its solution.

    share  the share of all records that are theirs
    """

    problem: Problem
    recoding: Recoding
    share: float


@dataclass(frozen=True, eq=False)
class HistoryGroups(Groups):
    """Groups of linked records: those that the people of a group have in the same slot.

    parts  the solved problems over people, where their bounds together are one for all records; else empty
    """

    parts: tuple[SolvedPart, ...] = field(default=(), kw_only=True)


def _nothing() -> np.ndarray:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Counterfeits:
    """Records that are nobody's, published so that a group has each of its sensitive values equally often.

    group  the group of each
    like   a record of the same group: the counterfeit has its quasi-identifiers, so that no label is widened
    value  a record of the table that has the counterfeit's sensitive value
    """

    group: np.ndarray = field(default_factory=_nothing)
    like: np.ndarray = field(default_factory=_nothing)
    value: np.ndarray = field(default_factory=_nothing)

    def __len__(self) -> int:
        return len(self.group)


@dataclass(frozen=True, eq=False)
class PlacedGroups(Groups):
    """A recoding by groups, and the place of every record: see `kohort.data.ledger`.

    place_of_record  -1 for a withheld record; places of earlier releases have their numbers, new ones follow
    told             how many places were passed on, people wait, cells rest: counts for the certificate
    counterfeits     records beside those of the table
    """

    place_of_record: np.ndarray = field(default_factory=_nothing)
    told: dict[str, int] = field(default_factory=dict)
    counterfeits: Counterfeits = field(default_factory=Counterfeits, kw_only=True)

    def with_counterfeits(self) -> PlacedGroups:
        """The same recoding of a table that has the counterfeits after its records."""
        group = self.counterfeits.group.astype(self.group_of_record.dtype)
        return replace(
            self,
            group_of_record=np.concatenate([self.group_of_record, group]),
            place_of_record=np.concatenate([self.place_of_record, self.counterfeits.group]),
            counterfeits=Counterfeits(),
        )
