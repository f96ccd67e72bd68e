"""Records of a table on a cluster in codes: blocks of consecutive records, a few bytes for each cell."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms.compact_rows import compact_leaves
from kohort.algorithms.mondrian.region_records import Block
from kohort.data.counted_column import CountedColumn
from kohort.engines.spark.source import ROW
from kohort.engines.spark.workers import one_thread
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem

__all__ = ["BLOCKS", "PERSON", "Coder", "blocks_in", "coded_blocks"]

PERSON = "_kohort_person"
BLOCKS = "first long, block binary"


@dataclass(frozen=True, eq=False)
class Coder:
    """Codes the records of a table whose values were counted.

    sensitive   the columns that models look at
    has_people  whether there is a column PERSON
    """

    attributes: tuple[Attribute, ...]
    sensitive: tuple[CountedColumn, ...] = ()
    has_people: bool = False

    @classmethod
    def of(cls, problem: Problem, *, has_people: bool) -> Coder:
        asked = {model.attribute for model in problem.models}
        known = [s.column for name, s in problem.sensitive.items() if name in asked]
        assert all(isinstance(column, CountedColumn) for column in known)
        return cls(problem.attributes, tuple(known), has_people)  # type: ignore[arg-type]

    @property
    def names(self) -> list[str]:
        """The columns that are needed."""
        found = [attribute.name for attribute in self.attributes]
        found += [column.name for column in self.sensitive if column.name not in found]
        return [*found, *([PERSON] if self.has_people else [])]

    def rows(self, table: pa.Table | pa.RecordBatch) -> np.ndarray:
        """Records by attributes, as `compact_rows` gives them."""
        codes = (_counted(a).codes_of(table.column(a.name)) for a in self.attributes)
        return compact_leaves(self.attributes, codes, table.num_rows)

    def block(self, table: pa.Table) -> Block:
        """The records of a table, which are consecutive."""
        sensitive = {column.name: column.codes_of(table.column(column.name)) for column in self.sensitive}
        persons = table.column(PERSON).to_numpy() if self.has_people else None
        return Block(table.column(ROW)[0].as_py(), self.rows(table), sensitive, persons)


def _counted(attribute: Attribute) -> CountedColumn:
    assert isinstance(attribute.column, CountedColumn)
    return attribute.column


def coded_blocks(coder: Coder, size: int) -> Any:
    """A function for `mapInArrow` that turns records into blocks of up to `size` consecutive ones."""

    def code(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _runs(batches, size):
            block = coder.block(table)
            packed = pickle.dumps(block, protocol=5)
            yield pa.RecordBatch.from_pydict(
                {"first": pa.array([block.first], pa.int64()), "block": pa.array([packed], pa.binary())}
            )

    return code


def _runs(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Tables of up to `size` records with consecutive numbers."""
    waiting: list[pa.RecordBatch] = []
    held, following = 0, -1
    for batch in batches:
        number = batch.column(ROW).to_numpy()
        breaks = np.flatnonzero(np.diff(number) != 1) + 1
        for start, end in zip([0, *breaks], [*breaks, len(number)]):
            if start == end:
                continue
            if waiting and (number[start] != following or held + end - start > size):
                yield pa.Table.from_batches(waiting)
                waiting, held = [], 0
            waiting.append(batch.slice(start, end - start))
            held, following = held + end - start, number[end - 1] + 1
    if waiting:
        yield pa.Table.from_batches(waiting)


def blocks_in(batches: Iterator[pa.RecordBatch]) -> Iterator[Block]:
    """The blocks that `coded_blocks` made."""
    one_thread()
    for batch in batches:
        for packed in batch.column("block"):
            yield pickle.loads(packed.as_py())
