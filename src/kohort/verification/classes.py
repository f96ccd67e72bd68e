"""The classes of a published table: records that look alike in every quasi-identifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.domain import STAR
from kohort.problem.models import NO_CONTEXT, ClassCounts, Measure, Model, ValueContext
from kohort.problem.sensitive import SensitiveAttribute

__all__ = ["PublishedClasses"]


@dataclass(frozen=True, eq=False)
class PublishedClasses:
    """Classes by group-by on the published values, and the models' rules asked of each.

    Classes are numbered in the order of their published values.
    """

    columns: Sequence[Column]
    sensitive: Mapping[str, SensitiveAttribute]

    @cached_property
    def _table(self) -> pl.DataFrame:
        """The quasi-identifiers' codes, folded into as few integer columns as hold them."""
        return pl.DataFrame({f"q{i}": _folded(run) for i, run in enumerate(self._runs)})

    @cached_property
    def _runs(self) -> list[list[Column]]:
        """Neighbouring columns whose combinations of values can be counted in 62 bits."""
        runs: list[list[Column]] = []
        size = 1
        for column in self.columns:
            size *= max(len(column.texts), 1)
            if not runs or size > 2**62:
                runs.append([])
                size = max(len(column.texts), 1)
            runs[-1].append(column)
        return runs

    @cached_property
    def _grouped(self) -> pl.DataFrame:
        keys = self._table.columns
        return self._table.group_by(keys).agg(pl.len().alias("size")).sort(keys)

    @cached_property
    def _codes(self) -> list[np.ndarray]:
        """Per column the code of each class."""
        codes: list[np.ndarray] = []
        for i, run in enumerate(self._runs):
            key = self._grouped[f"q{i}"].to_numpy()
            unfolded = []
            for column in reversed(run):
                key, code = np.divmod(key, max(len(column.texts), 1))
                unfolded.append(code)
            codes.extend(reversed(unfolded))
        return codes

    @cached_property
    def sizes(self) -> np.ndarray:
        return self._grouped["size"].to_numpy().astype(np.int64)

    @cached_property
    def all_star(self) -> np.ndarray:
        """Per class whether it is published as `*` everywhere (at most one is)."""
        star = np.ones(len(self.sizes), dtype=bool)
        for column, codes in zip(self.columns, self._codes):
            star &= _stars(column)[codes]
        return star

    @cached_property
    def all_star_records(self) -> np.ndarray:
        """Per record whether it is published as `*` everywhere."""
        star = np.ones(len(self.columns[0]), dtype=bool)
        for column in self.columns:
            star &= _stars(column)[column.codes]
        return star

    @cached_property
    def class_of_record(self) -> np.ndarray:
        """The number of each record's class."""
        keys = self._table.columns
        numbered = self._grouped.select(keys).with_row_index("class")
        return self._table.join(numbered, on=keys, how="left", maintain_order="left")["class"].to_numpy()

    def counts(self, model: Model) -> ClassCounts:
        """How often each sensitive value occurs in each class, by a second group-by."""
        if model.attribute is None:
            return ClassCounts.of_sizes(self.sizes)
        sensitive = self.sensitive[model.attribute]
        return self.counts_of(sensitive.column.codes, sensitive.n_values)

    def counts_of(self, values: np.ndarray, n_values: int) -> ClassCounts:
        """How often each value (a code per record) occurs in each class."""
        keys = self._table.columns
        cells = (
            self._table.with_columns(pl.Series("value", values))
            .group_by([*keys, "value"])
            .agg(pl.len().alias("count"))
            .sort([*keys, "value"])
        )
        first = np.ones(len(cells), dtype=bool)
        if len(cells) > 1:
            before, after = cells[:-1].select(keys), cells[1:].select(keys)
            first[1:] = np.any([before[key].to_numpy() != after[key].to_numpy() for key in keys], axis=0)
        return ClassCounts.from_cells(
            np.cumsum(first) - 1,
            cells["value"].to_numpy().astype(np.int64),
            cells["count"].to_numpy().astype(np.int64),
            len(self.sizes),
            n_values,
        )

    def holds(self, model: Model, counts: ClassCounts) -> np.ndarray:
        return model.holds(counts, self._context(model))

    def measure(self, model: Model, counts: ClassCounts) -> Measure | None:
        return model.measure(counts, self._context(model))

    def _context(self, model: Model) -> ValueContext:
        if model.attribute is None:
            return NO_CONTEXT
        return self.sensitive[model.attribute].context

    def labelled(self, chosen: np.ndarray, extra: Mapping[str, Sequence]) -> pa.Table:
        """These classes by their published values and sizes, with more columns."""
        table = {
            column.name: [column.texts[code] for code in codes[chosen]]
            for column, codes in zip(self.columns, self._codes)
        }
        arrays = {name: pa.array(texts, pa.string()) for name, texts in table.items()}
        for name, values in {"class_size": self.sizes[chosen], **extra}.items():
            while name in table:  # a quasi-identifier is called so
                name += "_"
            arrays[name] = pa.array(values)
        return pa.table(arrays)


def _folded(columns: Sequence[Column]) -> np.ndarray:
    """One integer for the codes of several columns."""
    key = columns[0].codes.astype(np.int64)
    for column in columns[1:]:
        key *= max(len(column.texts), 1)
        key += column.codes
    return key


def _stars(column: Column) -> np.ndarray:
    return np.array([text == STAR for text in column.texts], dtype=bool)
