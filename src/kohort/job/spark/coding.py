"""Records of a table on a cluster in codes: blocks of consecutive records, a few bytes for each cell.

People with several records are counted exactly: who has what is dealt out by person.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kohort.algorithms.compact_rows import compact_leaves
from kohort.algorithms.mondrian.region_records import (
    Block,
    PeopleView,
)
from kohort.data.column import Column
from kohort.data.compact_column import CountedColumn, smallest_type
from kohort.problem.attribute import Attribute
from kohort.problem.promises import PeopleTally, PersonCells
from kohort.problem.units import SensitiveAttribute
from kohort.tables.spark import ROW, one_thread, packed

if TYPE_CHECKING:
    from kohort.job.spark.prepare import SparkPrepared

PERSON = "_kohort_person"
ORIGINAL = "_kohort_original_"
BLOCKS = "first long, block binary, beside binary"
PERSON_CELLS = "view long, class long, person long, value long, n long"


@dataclass(frozen=True, eq=False)
class Coder:
    """Codes the records of a table whose values were counted.

    sensitive   the counted columns that are published as they are; models look at some of them
    asked       the names of those
    others      the other columns that are published as they are
    has_people  whether there is a column PERSON
    """

    attributes: tuple[Attribute, ...]
    sensitive: tuple[CountedColumn, ...] = ()
    asked: frozenset[str] = frozenset()
    others: tuple[str, ...] = ()
    has_people: bool = False

    @classmethod
    def of(cls, prepared: SparkPrepared) -> Coder:
        """The coder of a table that was prepared."""
        sensitive = tuple(map(counted_values, prepared.sensitive.values()))
        asked = frozenset(m.attribute for m in prepared.problem.models if m.attribute)
        kept = [name for name in prepared.published_names if name in prepared.carried]
        others = tuple(name for name in kept if name not in prepared.sensitive)
        return cls(prepared.attributes, sensitive, asked, others, prepared.person is not None)

    @property
    def looked_at(self) -> tuple[CountedColumn, ...]:
        """The sensitive columns that models look at."""
        return tuple(column for column in self.sensitive if column.name in self.asked)

    @property
    def names(self) -> list[str]:
        """The columns that are needed."""
        found = [attribute.name for attribute in self.attributes]
        found += [*(column.name for column in self.sensitive), *self.others]
        return [*found, *([PERSON] if self.has_people else [])]

    @property
    def originals(self) -> dict[str, CountedColumn]:
        """The columns of a table of `beside` that hold places of values, and what these are places in."""
        found = {f"{ORIGINAL}{n}": counted_values(a) for n, a in enumerate(self.attributes)}
        return found | {column.name: column for column in self.sensitive}

    def beside(self, table: pa.Table | pa.RecordBatch) -> pa.Table:
        """The records: places of the values that were counted, the other columns as they are, and numbers."""
        columns: dict[str, Any] = {}
        for name, column in self.originals.items():
            places = column.places_of(table.column(column.name))
            columns[name] = pa.array(places.astype(smallest_type(len(column.values))))
        columns |= {name: table.column(name) for name in (*self.others, ROW)}
        return pa.table(columns | ({PERSON: table.column(PERSON)} if self.has_people else {}))

    def block(self, first: int, beside: pa.Table) -> Block:
        """The consecutive records of such a table, in codes."""
        codes = (
            counted_values(a).codes[beside.column(f"{ORIGINAL}{n}").to_numpy()]
            for n, a in enumerate(self.attributes)
        )
        rows = compact_leaves(self.attributes, codes, beside.num_rows)
        sensitive = {c.name: c.codes[beside.column(c.name).to_numpy()] for c in self.looked_at}
        return Block(first, rows, sensitive, beside.column(PERSON).to_numpy() if self.has_people else None)


def counted_values(counted: Attribute | SensitiveAttribute | Column) -> CountedColumn:
    """The column of an attribute, or a column, whose values were counted."""
    column = counted if isinstance(counted, Column) else counted.column
    assert isinstance(column, CountedColumn)
    return column


def coded_blocks(coder: Coder, size: int) -> Any:
    """A function for `mapInArrow` that turns records into blocks of up to `size` consecutive ones."""

    def code(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in runs(batches, size):
            beside = coder.beside(table)
            block = coder.block(table.column(ROW)[0].as_py(), beside)
            cells = {
                "first": pa.array([block.first], pa.int64()),
                "block": pa.array([pickle.dumps(block, protocol=5)], pa.binary()),
                "beside": pa.array([packed(beside)], pa.binary()),
            }
            yield pa.RecordBatch.from_pydict(cells)

    return code


def runs(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
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
        for block in batch.column("block"):
            yield pickle.loads(block.as_buffer())


def numbers_batch(**columns: np.ndarray) -> pa.RecordBatch:
    """Whole numbers as Spark takes them."""
    return pa.RecordBatch.from_pydict({n: pa.array(found.astype(np.int64)) for n, found in columns.items()})


def cells_batch(view: int, cells: PersonCells, people: np.ndarray) -> pa.RecordBatch:
    """What people have in some records, as Spark takes it; `people` are those that the cells number."""
    found = {"view": np.full(len(cells.records), view), "class": cells.class_of}
    person, value = people[cells.person_of], cells.value_of
    return numbers_batch(**found, person=person, value=value, n=cells.records)


def tallied(cells: Any, views: Sequence[PeopleView], n_classes: int) -> list[PeopleTally]:
    """The people of all classes by value, for each view, given a dataframe of what they have.

    All that a person has is brought to one place. What comes to the driver is a row for each view, class,
    value and number of records that somebody has: it does not grow with the number of people.
    """
    import pyspark.sql.functions as F
    from pyspark.sql import Window

    whose = ["view", "class", "person"]
    of_values = cells.repartition(*whose).groupBy(*whose, "value").agg(F.sum("n").alias("n"))
    total = F.sum("n").over(Window.partitionBy(*whose)).alias("total")
    kinds = of_values.select("view", "class", "value", "n", total).groupBy("view", "class", "value", "total")
    found = kinds.agg(F.count("*").alias("people"), F.sum("n").alias("records")).toArrow()
    order = [(name, "ascending") for name in ("view", "class", "value", "total")]
    found = found.sort_by(order)
    view = found.column("view").to_numpy()
    names = ("class", "value", "total", "people", "records")
    columns = np.array([found.column(name).to_numpy() for name in names])
    tallies = []
    for place, asked in enumerate(views):
        class_of, value_of, of_person, people, records = columns[:, view == place]
        tallies.append(PeopleTally(class_of, value_of, of_person, people, records, n_classes, asked.n_values))
    return tallies
