"""Records on a worker, before and after, in the codes of the whole table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.compact_column import CountedColumn, PartColumn
from kohort.data.domain import STAR
from kohort.engines.spark.coding import ORIGINAL, PERSON
from kohort.engines.spark.source import ROW
from kohort.pipeline.before_after import BeforeAfter
from kohort.problem.attribute import Attribute


@dataclass(frozen=True, eq=False)
class Part:
    """Some records of a table before and after; `people` are the numbers that stand for their persons."""

    sides: BeforeAfter
    people: np.ndarray | None


@dataclass(frozen=True, eq=False)
class PartReader:
    """What workers need to know to read a part of a table.

    attributes  the quasi-identifiers, and `labels` as they are published
    sensitive   the sensitive columns, which are published as they are
    withheld    whether records with `*` everywhere are withheld ones
    """

    attributes: tuple[Attribute, ...]
    labels: tuple[CountedColumn, ...]
    sensitive: tuple[CountedColumn, ...]
    has_people: bool
    withheld: bool

    def part(self, table: pa.Table) -> Part:
        """Published records, which have their originals beside them."""
        attributes = tuple(
            replace(a, column=_counted(a.column).part(table.column(f"{ORIGINAL}{number}")))
            for number, a in enumerate(self.attributes)
        )
        labels = tuple(column.part(table.column(column.name)) for column in self.labels)
        sensitive = tuple(column.part(table.column(column.name)) for column in self.sensitive)
        people, persons = self._people(table)
        return Part(
            BeforeAfter(
                attributes=attributes,
                labels=labels,
                sensitive=sensitive,
                rows=np.arange(table.num_rows),
                withheld=self._withheld(labels, table.num_rows),
                n_records=table.num_rows,
                persons=persons,
                numbers=table.column(ROW).to_numpy(),
            ),
            people,
        )

    def _withheld(self, labels: Sequence[Column], n: int) -> np.ndarray:
        if not self.withheld:
            return np.zeros(n, dtype=bool)
        starred = [np.array([text == STAR for text in column.texts])[column.codes] for column in labels]
        return np.logical_and.reduce(starred)

    def _people(self, table: pa.Table) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The numbers that stand for people, and per record the place of its person among them."""
        if not self.has_people:
            return None, None
        people, persons = np.unique(table.column(PERSON).to_numpy(), return_inverse=True)
        return people, persons

    # -- the original alone, in codes: so that it can be dealt out by its own classes --------------------

    @property
    def keys(self) -> list[str]:
        """The names of the columns of codes of quasi-identifiers."""
        return [f"key{number}" for number in range(len(self.attributes))]

    @property
    def coded_schema(self) -> str:
        """The columns of originals in codes, as Spark takes them."""
        codes = [*self.keys, *(f"sensitive{number}" for number in range(len(self.sensitive)))]
        return ", ".join([*(f"{name} int" for name in codes), *([f"{PERSON} long"] * self.has_people)])

    def coded(self, table: pa.Table | pa.RecordBatch) -> pa.RecordBatch:
        """The originals of published records in codes."""
        codes: list[Any] = [
            _counted(a.column).codes_of(table.column(f"{ORIGINAL}{number}"))
            for number, a in enumerate(self.attributes)
        ]
        codes += [column.codes_of(table.column(column.name)) for column in self.sensitive]
        names = [*self.keys, *(f"sensitive{number}" for number in range(len(self.sensitive)))]
        columns = [pa.array(code, pa.int32()) for code in codes]
        people = [pa.array(table.column(PERSON).to_numpy())] if self.has_people else []
        return pa.RecordBatch.from_arrays([*columns, *people], names=[*names, *([PERSON] * self.has_people)])

    def original_part(self, table: pa.Table) -> Part:
        """Originals in codes; nothing is known of what is published of them."""
        attributes = tuple(
            replace(a, column=_of_codes(_counted(a.column), table.column(name)))
            for a, name in zip(self.attributes, self.keys)
        )
        sensitive = tuple(
            _of_codes(column, table.column(f"sensitive{number}"))
            for number, column in enumerate(self.sensitive)
        )
        people, persons = self._people(table)
        n = table.num_rows
        nobody = np.zeros(n, dtype=bool)
        sides = BeforeAfter(attributes, (), sensitive, np.arange(n), nobody, n, persons=persons)
        return Part(sides, people)


def _counted(column: Column) -> CountedColumn:
    assert isinstance(column, CountedColumn)
    return column


def _of_codes(column: CountedColumn, codes: pa.ChunkedArray) -> PartColumn:
    shared = column.texts, column.numbers, column.listed, column.apart
    return PartColumn(column.name, column.kind, codes.to_numpy(), *shared, column.counts)
