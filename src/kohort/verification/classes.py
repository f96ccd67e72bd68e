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
from kohort.errors import UnsupportedError
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
        return pl.DataFrame({f"q{i}": column.codes for i, column in enumerate(self.columns)})

    @cached_property
    def _grouped(self) -> pl.DataFrame:
        keys = self._table.columns
        return self._table.group_by(keys).agg(pl.len().alias("size")).sort(keys)

    @cached_property
    def sizes(self) -> np.ndarray:
        return self._grouped["size"].to_numpy().astype(np.int64)

    @cached_property
    def all_star(self) -> np.ndarray:
        """Per class whether it is published as `*` everywhere (at most one is)."""
        star = np.ones(len(self.sizes), dtype=bool)
        for i, column in enumerate(self.columns):
            is_star = np.array([text == STAR for text in column.texts], dtype=bool)
            star &= is_star[self._grouped[f"q{i}"].to_numpy()]
        return star

    @cached_property
    def all_star_records(self) -> np.ndarray:
        """Per record whether it is published as `*` everywhere."""
        star = np.ones(len(self.columns[0]), dtype=bool)
        for column in self.columns:
            is_star = np.array([text == STAR for text in column.texts], dtype=bool)
            star &= is_star[column.codes]
        return star

    def counts(self, model: Model) -> ClassCounts:
        """How often each sensitive value occurs in each class, by a second group-by."""
        if model.attribute is None:
            return ClassCounts.of_sizes(self.sizes)
        sensitive = self.sensitive[model.attribute]
        keys = self._table.columns
        cells = (
            self._table.with_columns(pl.Series("value", sensitive.column.codes))
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
            sensitive.n_values,
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
            column.name: [column.texts[code] for code in self._grouped[f"q{i}"].to_numpy()[chosen]]
            for i, column in enumerate(self.columns)
        }
        clash = [name for name in ("class_size", *extra) if name in table]
        if clash:
            raise UnsupportedError(
                f"A quasi-identifier is called {clash[0]!r}: rename it to list violations."
            )
        arrays = {name: pa.array(texts, pa.string()) for name, texts in table.items()}
        arrays["class_size"] = pa.array(self.sizes[chosen])
        return pa.table(arrays | {name: pa.array(values) for name, values in extra.items()})
