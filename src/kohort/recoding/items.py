"""Recoding of set-valued data: every item of every record as a node of the hierarchy, beside a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kohort.data.counting import count_nearly_sorted
from kohort.problem.attribute import Attribute
from kohort.problem.items import ItemsProblem
from kohort.recoding.recoding import PublishedColumn, Recoding

WITHHELD = -1  # the whole basket is missing
DROPPED = -2  # the item is left out of its basket


@dataclass(frozen=True, eq=False)
class ItemNodes:
    """The node that each occurrence of an item is published as, or WITHHELD, or DROPPED.

    bound  a lower bound on the least possible NCP, or None
    notes  sentences that the user should read
    gone   whether each occurrence of a sensitive item is left out of its basket; None: all are published
    """

    node_of_occurrence: np.ndarray
    withheld: np.ndarray
    bound: float | None = None
    notes: tuple[str, ...] = ()
    gone: np.ndarray | None = None

    def nodes_used(self) -> np.ndarray:
        """The nodes that items are published as."""
        return np.flatnonzero(np.bincount(self.node_of_occurrence[self.node_of_occurrence >= 0]))

    @property
    def dropped(self) -> int:
        """How many items were left out of their baskets."""
        return int((self.node_of_occurrence == DROPPED).sum())

    @property
    def dropped_sensitive(self) -> int:
        """How many sensitive items were left out of their baskets."""
        return 0 if self.gone is None else int(self.gone.sum())

    def apply(self, problem: ItemsProblem) -> pa.ListArray:
        """The published lists: labels in alphabetical order, each once; a withheld basket is missing.

        Sensitive items are published as they are.
        """
        published = problem.hierarchy.published
        used = self.nodes_used()
        secret = self._sensitive_shown(problem)
        texts = () if problem.sensitive is None else problem.sensitive.items.texts
        untouched = {int(code) for code in np.unique(secret[1])}
        labels = sorted({str(published[node]) for node in used} | {str(texts[code]) for code in untouched})
        number = {label: code for code, label in enumerate(labels)}
        code_of_node = np.zeros(len(published), dtype=np.int64)
        code_of_node[used] = [number[str(published[node])] for node in used]
        kept = self.node_of_occurrence >= 0
        records = problem.baskets.record_of_item[kept]
        codes = code_of_node[self.node_of_occurrence[kept]]
        as_they_are = np.array([number.get(str(text), -1) for text in texts], dtype=np.int64)
        records = np.append(records, secret[0])
        codes = np.append(codes, as_they_are[secret[1]])
        n_labels = max(len(labels), 1)
        pairs, _ = count_nearly_sorted(records * n_labels + codes)
        record, label = pairs // n_labels, pairs % n_labels
        sizes = np.bincount(record, minlength=len(problem.baskets))
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        values = pa.DictionaryArray.from_arrays(
            pa.array(label.astype(np.int32)), pa.array(labels, pa.string())
        ).cast(pa.string())
        hidden = self.withheld | problem.baskets.missing
        return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(hidden))

    def _sensitive_shown(self, problem: ItemsProblem) -> tuple[np.ndarray, np.ndarray]:
        """The records and the codes of the sensitive items that are published."""
        if problem.sensitive is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        shown = slice(None) if self.gone is None else ~self.gone
        return problem.sensitive.record_of_item[shown], problem.sensitive.items.codes[shown]


@dataclass(frozen=True, eq=False, kw_only=True)
class TableAndItems(Recoding):
    """How the quasi-identifiers are published, if there are any, and the items within each class.

    table        the recoding of the quasi-identifiers; None where no column is one
    trade_notes  what other weights of the items would have given
    """

    table: Recoding | None
    items: ItemNodes
    withheld: np.ndarray
    trade_notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        of_table = () if self.table is None else self.table.notes
        object.__setattr__(self, "notes", (*of_table, *self.items.notes, *self.trade_notes))
        object.__setattr__(self, "in_domain", self.table is None or self.table.in_domain)

    def apply(self, attribute: Attribute) -> PublishedColumn:
        assert self.table is not None
        return self.table.apply(attribute)
