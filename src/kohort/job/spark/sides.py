"""A release on a cluster and its original, for risk, utility and reports: counted where the records are.

What comes to the driver are counts, and up to 20,000 records that are drawn to measure utility.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.compact_column import CountedColumn
from kohort.errors import UnsupportedError
from kohort.job.sides import BeforeAfter, Classes, RecordCodes, Side, SizeCounts, starred
from kohort.job.spark.publish import PublishedThere
from kohort.job.spark.records import ORIGINAL, PERSON, counted_values, numbers_batch
from kohort.problem.attribute import Attribute
from kohort.problem.units import People, Units
from kohort.tables.spark import (
    CELL,
    ROW,
    SparkParts,
    cell,
    counted_there,
    hash_of_values,
    one_thread,
    quoted,
    united,
)
from kohort.tables.spark_session import spark_failures

if TYPE_CHECKING:
    from kohort.release.release import Release

MOST_DRAWN = 20_000
"""Records that are drawn to measure utility."""

T = TypeVar("T")
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class Part:
    """Some records of a table before and after; `people` are the numbers that stand for their persons."""

    sides: BeforeAfter
    people: np.ndarray | None


@dataclass(frozen=True, eq=False)
class PartReader:
    """What workers need to know to read a part of a table, before and after, in the codes of the whole table.

    attributes  the quasi-identifiers, and `labels` as they are published
    sensitive   the sensitive columns, which are published as they are
    withheld    whether records with `*` everywhere are withheld ones
    """

    attributes: tuple[Attribute, ...]
    labels: tuple[CountedColumn, ...]
    sensitive: tuple[CountedColumn, ...]
    has_people: bool
    withheld: bool

    def part(self, table: pa.Table, *, published: bool = True) -> Part:
        """Published records, which have their originals beside them; or these alone."""
        attributes = tuple(
            replace(a, column=counted_values(a).part(table.column(f"{ORIGINAL}{number}")))
            for number, a in enumerate(self.attributes)
        )
        labels = tuple(column.part(table.column(column.name)) for column in self.labels if published)
        n, people, units = table.num_rows, None, Units()
        withheld = np.zeros(n, dtype=bool)
        if self.withheld and labels:
            withheld = starred(labels)
        if self.has_people:
            people, persons = np.unique(table.column(PERSON).to_numpy(), return_inverse=True)
            units = People(persons)
        sides = BeforeAfter(
            attributes=attributes,
            labels=labels,
            sensitive=tuple(column.part(table.column(column.name)) for column in self.sensitive),
            rows=np.arange(n),
            withheld=withheld,
            n_records=n,
            units=units,
            numbers=table.column(ROW).to_numpy() if published else None,
        )
        return Part(sides, people)


@dataclass(frozen=True, eq=False, kw_only=True)
class CountedSides(BeforeAfter):
    """Both sides of a release on a cluster: the values and labels of columns, counted.

    parts    the published records in parts of whole classes, as Spark holds them
    reader   reads them on workers
    n_hidden how many records are withheld as `*`
    """

    in_parts: ClassVar[bool] = True

    parts: SparkParts
    reader: PartReader
    n_hidden: int

    @property
    def n_published(self) -> int:
        return self.n_records  # a cluster leaves out none

    @cached_property
    def n_withheld(self) -> int:
        return self.n_hidden

    def _classes(self, columns: list[np.ndarray], n_records: int, rows: np.ndarray | None) -> Classes:
        raise UnsupportedError(
            "This figure needs all records in one place, and they are on a cluster. Use engine: local."
        )

    def classes_before(self, attributes: Sequence[int]) -> Classes:
        return self._classes([], 0, None)

    classes_after = classes_before

    def _tally(self, count: Callable[[BeforeAfter], T], unite: Callable[[Sequence[T]], T], by: Side) -> T:
        with spark_failures("count the classes"):
            found = self._over_parts(lambda part: cell(count(part.sides)), CELL, by)
            return united(found, len(self.parts.digests), unite)

    def _over_parts(self, work: Callable[[Part], pa.RecordBatch], schema: str, by: Side) -> Any:
        """A dataframe of what workers find in each part, which holds whole classes of a side."""
        reader = self.reader
        if by == "after":
            return self.parts.map(lambda table: iter([work(reader.part(table))]), schema)

        def original(batches: Batches) -> Batches:
            one_thread()
            if records := [batch for batch in batches if batch.num_rows]:
                yield work(reader.part(pa.Table.from_batches(records), published=False))

        return self._originals.mapInArrow(original, schema)

    @cached_property
    def _frame(self) -> Any:
        """The published records with what goes along with them."""
        return self.parts.frame(hidden=True)

    @cached_property
    def _originals(self) -> Any:
        """The original, in partitions that hold whole classes of it."""
        keys = [f"{ORIGINAL}{number}" for number in range(len(self.attributes))]
        names = [*keys, *(column.name for column in self.sensitive), *[PERSON] * self.reader.has_people]
        classes = hash_of_values(self._frame, keys)
        return self._frame.select(*map(quoted, names)).repartition(len(self.parts.digests), classes)

    def drawn(self) -> BeforeAfter:
        import pyspark.sql.functions as F

        with spark_failures("draw some records"):
            order = F.xxhash64(F.lit(0), F.col(ROW))
            found = self._frame.orderBy(order, ROW).limit(MOST_DRAWN).toArrow()
        return replace(self.reader.part(found.sort_by(ROW)).sides, numbers=None, drawn_of=self.n_records)

    def codes_of_records(self, numbers: np.ndarray) -> RecordCodes:
        import pyspark.sql.functions as F

        with spark_failures("look records up"):
            found = self._frame.filter(F.col(ROW).isin([int(n) for n in numbers])).toArrow().sort_by(ROW)
        sides = self.reader.part(found).sides
        assert sides.numbers is not None
        place = np.searchsorted(sides.numbers, numbers)
        return RecordCodes(
            tuple(attribute.column.codes[place] for attribute in sides.attributes),
            tuple(column.codes[place] for column in sides.labels),
            sides.withheld[place],
        )

    def least_sizes(self, by: Side) -> np.ndarray:
        raise UnsupportedError("People are on a cluster: they are counted there, and not listed here.")

    def people_by_size(self, by: Side) -> SizeCounts:
        import pyspark.sql.functions as F

        def least(part: Part) -> pa.RecordBatch:
            sizes = part.sides.least_sizes(by)
            assert part.people is not None
            return numbers_batch(person=part.people[sizes > 0], size=sizes[sizes > 0])

        with spark_failures("count the people of classes"):
            found = self._over_parts(least, "person long, size long", by).groupBy("person")
            counted = found.agg(F.min("size").alias("size")).groupBy("size").count().toArrow().sort_by("size")
        return SizeCounts(*(counted.column(name).to_numpy() for name in ("size", "count")))

    def most_frequent(self, column: Column, by: Side) -> float:
        some_withheld = by == "after" and self.n_hidden > 0
        if not self.units.several and not some_withheld:
            return float(column.counts.max() / self.n_records)
        import pyspark.sql.functions as F

        place = [known.name for known in self.sensitive].index(column.name)

        def values(part: Part) -> pa.RecordBatch:
            return _values(part, place, ~part.sides.withheld if some_withheld else slice(None))

        counted = F.count_distinct("person") if self.units.several else F.sum("n")
        with spark_failures("count the values of a column"):
            found = self._over_parts(values, "value long, person long, n long", "after")
            counts = found.groupBy("value").agg(counted.alias("n")).toArrow().column("n").to_numpy()
            everybody = found.agg(counted).collect()[0][0]
        return float(counts.max() / everybody)


def _values(part: Part, place: int, chosen: Any) -> pa.RecordBatch:
    """The values of a sensitive column in a part, the people who have them, and in how many records."""
    codes = part.sides.sensitive[place].codes[chosen]
    persons = np.zeros(len(codes), np.int64) if part.people is None else part.sides.units.persons[chosen]
    keys, times = np.unique(np.column_stack([codes, persons]), axis=0, return_counts=True)
    people = keys[:, 1] if part.people is None else part.people[keys[:, 1]]
    return numbers_batch(value=keys[:, 0], person=people, n=times)


def counted_sides(release: Release) -> CountedSides:
    """Both sides of a release on a cluster; the labels of each quasi-identifier are counted for it."""
    assert isinstance(release.published, PublishedThere)
    parts, attributes = release.published.parts, release.problem.attributes
    frame = parts.frame(hidden=True)
    sensitive = tuple(
        counted_values(release.dataset.sensitive_column(n)) for n in release.roles.having("sensitive")
    )
    too_many = "too many for a report. Write the release and its certificate without one."
    labels = tuple(counted_there(frame, a.name, too_many) for a in attributes)
    n_hidden = release.verdict.withheld
    return CountedSides(
        attributes=attributes,
        labels=labels,
        sensitive=sensitive,
        rows=np.zeros(0, dtype=np.int64),
        withheld=np.zeros(0, dtype=bool),
        n_records=release.dataset.n_records,
        reader=PartReader(attributes, labels, sensitive, PERSON in parts.hidden, n_hidden > 0),
        parts=parts,
        units=release.problem.units,
        n_hidden=n_hidden,
    )
