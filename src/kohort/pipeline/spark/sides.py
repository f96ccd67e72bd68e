"""A release on a cluster and its original, for risk, utility and reports: counted where the records are.

What comes to the driver are counts, and up to 20,000 records that are drawn to measure utility.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.compact_column import CountedColumn, counted_column
from kohort.engines.spark.coding import PERSON
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.source import ROW
from kohort.engines.spark.values import MOST_VALUES, quoted
from kohort.engines.spark.workers import one_thread
from kohort.errors import UnsupportedError
from kohort.job.size_counts import SizeCounts
from kohort.pipeline.before_after import BeforeAfter, Classes, RecordCodes, Side
from kohort.pipeline.spark.arranging import verified_tables
from kohort.pipeline.spark.parts import Part, PartReader

if TYPE_CHECKING:
    from kohort.release.on_spark import SparkRelease

MOST_DRAWN = 20_000
"""Records that are drawn to measure utility."""

_UNITED_AT_ONCE = 16  # counts of parts that are united by one worker
T = TypeVar("T")
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class CountedSides(BeforeAfter):
    """Both sides of a release on a cluster: the values and labels of columns, counted.

    frame    the published records with what goes along with them
    parts    the same in parts of whole classes, as Spark holds them, and their `digests`
    reader   reads them on workers
    people   how many people the records are of; None where every record is that of another person
    n_hidden how many records are withheld as `*`
    """

    in_parts: ClassVar[bool] = True

    frame: Any = None
    parts: Any = None
    digests: Mapping[int, bytes] = field(default_factory=dict)
    reader: PartReader | None = None
    people: int | None = None
    n_hidden: int = 0

    @property
    def n_people(self) -> int:
        return self.n_records if self.people is None else self.people

    @property
    def counted(self) -> str:
        return "records" if self.people is None else "people"

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

    def classes_after(self, attributes: Sequence[int]) -> Classes:
        return self._classes([], 0, None)

    def _tally(self, count: Callable[[BeforeAfter], T], unite: Callable[[Sequence[T]], T], by: Side) -> T:
        def united(batches: Batches) -> Batches:
            if parts := _unpacked(batches):
                yield _packed(unite(parts))

        with spark_failures("count the classes"):
            found = self._over_parts(lambda part: _packed(count(part.sides)), "found binary", by)
            if len(self.digests) > _UNITED_AT_ONCE:
                found = found.repartition(-(-len(self.digests) // _UNITED_AT_ONCE))
                found = found.mapInArrow(united, "found binary")
            return unite(_unpacked(found.toArrow().to_batches()))

    def _over_parts(self, work: Callable[[Part], pa.RecordBatch], schema: str, by: Side) -> Any:
        """A dataframe of what workers find in each part, which holds whole classes of a side."""
        reader, digests = self.reader, self.digests
        assert reader is not None

        def published(batches: Batches) -> Batches:
            one_thread()
            for table in verified_tables(batches, digests):
                yield work(reader.part(table))

        def original(batches: Batches) -> Batches:
            one_thread()
            if records := [batch for batch in batches if batch.num_rows]:
                yield work(reader.original_part(pa.Table.from_batches(records)))

        if by == "after":
            return self.parts.select("part", "packed").mapInArrow(published, schema)
        return self._originals.mapInArrow(original, schema)

    @cached_property
    def _originals(self) -> Any:
        """The original in codes, in partitions that hold whole classes of it."""
        reader, digests = self.reader, self.digests
        assert reader is not None

        def code(batches: Batches) -> Batches:
            one_thread()
            for table in verified_tables(batches, digests):
                yield reader.coded(table)

        coded = self.parts.select("part", "packed").mapInArrow(code, reader.coded_schema)
        return coded.repartition(len(digests), *reader.keys)

    def drawn(self) -> BeforeAfter:
        import pyspark.sql.functions as F

        with spark_failures("draw some records"):
            order = F.xxhash64(F.lit(0), F.col(ROW))
            found = self.frame.orderBy(order, ROW).limit(MOST_DRAWN).toArrow()
        assert self.reader is not None
        return replace(self.reader.part(found.sort_by(ROW)).sides, numbers=None, drawn_of=self.n_records)

    def codes_of_records(self, numbers: np.ndarray) -> RecordCodes:
        import pyspark.sql.functions as F

        with spark_failures("look records up"):
            found = self.frame.filter(F.col(ROW).isin([int(n) for n in numbers])).toArrow().sort_by(ROW)
        assert self.reader is not None
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
            columns = {"person": pa.array(part.people[sizes > 0]), "size": pa.array(sizes[sizes > 0])}
            return pa.RecordBatch.from_pydict(columns)

        with spark_failures("count the people of classes"):
            found = self._over_parts(least, "person long, size long", by).groupBy("person")
            counted = found.agg(F.min("size").alias("size")).groupBy("size").count().toArrow().sort_by("size")
        return SizeCounts(*(counted.column(name).to_numpy() for name in ("size", "count")))

    def most_frequent(self, column: Column, by: Side) -> float:
        some_withheld = by == "after" and self.n_hidden > 0
        if self.people is None and not some_withheld:
            return float(column.counts.max() / self.n_records)
        import pyspark.sql.functions as F

        place = [known.name for known in self.sensitive].index(column.name)

        def values(part: Part) -> pa.RecordBatch:
            return _values(part, place, ~part.sides.withheld if some_withheld else slice(None))

        counted = F.sum("n") if self.people is None else F.count_distinct("person")
        with spark_failures("count the values of a column"):
            found = self._over_parts(values, "value int, person long, n long", "after")
            counts = found.groupBy("value").agg(counted.alias("n")).toArrow().column("n").to_numpy()
            everybody = found.agg(counted).collect()[0][0]
        return float(counts.max() / everybody)


def _values(part: Part, place: int, chosen: Any) -> pa.RecordBatch:
    """The values of a sensitive column in a part, the people who have them, and in how many records."""
    codes = part.sides.sensitive[place].codes[chosen]
    persons = np.zeros(len(codes), np.int64) if part.people is None else part.sides.persons[chosen]  # type: ignore[index]
    keys, times = np.unique(np.column_stack([codes, persons]), axis=0, return_counts=True)
    people = keys[:, 1] if part.people is None else part.people[keys[:, 1]]
    columns = {"value": pa.array(keys[:, 0], pa.int32()), "person": pa.array(people, pa.int64())}
    return pa.RecordBatch.from_pydict({**columns, "n": pa.array(times, pa.int64())})


def _packed(found: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"found": pa.array([pickle.dumps(found, protocol=5)], pa.binary())})


def _unpacked(batches: Iterator[pa.RecordBatch] | Sequence[pa.RecordBatch]) -> list[Any]:
    return [pickle.loads(row.as_py()) for batch in batches for row in batch.column("found")]


def counted_sides(release: SparkRelease) -> CountedSides:
    """Both sides of a release on a cluster; the labels of each quasi-identifier are counted for it."""
    frame = release.with_originals
    sensitive = tuple(
        _counted(release.dataset.sensitive_column(n)) for n in release.roles.having("sensitive")
    )
    attributes = release.problem.attributes
    labels = tuple(_counted_labels(frame, attribute.name) for attribute in attributes)
    n_hidden, people = release.verdict.withheld, release.facts()["people"]
    reader = PartReader(attributes, labels, sensitive, PERSON in frame.columns, n_hidden > 0)
    return CountedSides(
        attributes=attributes,
        labels=labels,
        sensitive=sensitive,
        rows=np.zeros(0, dtype=np.int64),
        withheld=np.zeros(0, dtype=bool),
        n_records=release.dataset.n_records,
        frame=frame,
        reader=reader,
        parts=release.held[0],
        digests=release.digests,
        people=people,
        n_hidden=n_hidden,
    )


def _counted(column: Column) -> CountedColumn:
    assert isinstance(column, CountedColumn)
    return column


def _counted_labels(frame: Any, name: str) -> CountedColumn:
    """The labels of a published column with their counts."""
    with spark_failures(f"count the labels of {name!r}"):
        found = frame.groupBy(quoted(name)).count().limit(MOST_VALUES + 1).toArrow()
    if len(found) > MOST_VALUES:
        raise UnsupportedError(
            f"Column {name!r} is published with more than {MOST_VALUES:,} different labels, too many for a "
            "report. Write the release and its certificate without one."
        )
    values = found.column(0).combine_chunks()
    values = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
    return counted_column(name, values, found.column(1).to_numpy())
