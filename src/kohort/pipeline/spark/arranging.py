"""Published records on a cluster, in parts of whole classes: dealt out by class, and put in order.

A part does not depend on where its records come from: only on what is published, and on the seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.errors import UnsupportedError
from kohort.job.publish import Published
from kohort.pipeline.spark.coding import ORIGINAL, PERSON, Coder
from kohort.pipeline.spark.prepare import SparkPrepared
from kohort.tables.spark import ROW, SparkParts, SparkTable
from kohort.tables.spark_cells import (
    compact_dictionary,
    dictionary_of_places,
    hashed_rows,
    joined_tables,
    packed,
    sorted_by,
    unpacked,
)
from kohort.tables.spark_session import give_up
from kohort.treatments.identifiers import MASK

LABELS = pa.dictionary(pa.int32(), pa.string())  # one type, so that labels can be joined
DEALT = "key long, number long, first long, records binary"
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, eq=False, kw_only=True)
class PublishedThere(Published):
    """A table as it is published on a cluster.

    parts        the published records in parts, which were verified, as Spark holds them
    fingerprint  of these records: see `kohort.tables.spark.fingerprint`
    found_formulas  how many texts of each column begin like a formula
    """

    parts: SparkParts
    fingerprint: tuple[int, int]
    found_formulas: Mapping[str, int]

    @property
    def formulas(self) -> Mapping[str, int]:
        return self.found_formulas

    @property
    def names(self) -> list[str]:
        return list(self.parts.names)

    @cached_property
    def native(self) -> Any:
        """The published records as a dataframe of Spark's; they are made from the parts that it holds."""
        return self.parts.frame()

    @property
    def originals(self) -> np.ndarray:
        raise UnsupportedError("A release on a cluster does not know which original each record has.")

    def close(self) -> None:
        """Let Spark give up all that it holds of the release and of its original; `native` is gone then."""
        give_up(self.parts.held)
        assert isinstance(self.dataset, SparkTable)
        self.dataset.release()


def dealt(table: pa.Table, number: np.ndarray, keys: Sequence[int], first: int = 0) -> pa.RecordBatch:
    """Records dealt out by a number of each, as rows of DEALT.

    keys   per number the one by which Spark deals it out
    first  where these records belong among others that are dealt out
    """
    order, start = sorted_by(number, len(keys))
    ordered = table.take(pa.array(order)).combine_chunks()
    found = np.flatnonzero(np.diff(start)).tolist()
    records = [packed(_compact(ordered.slice(start[n], start[n + 1] - start[n]))) for n in found]
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([keys[n] for n in found], pa.int64()),
            "number": pa.array(found, pa.int64()),
            "first": pa.array([first] * len(found), pa.int64()),
            "records": pa.array(records, pa.binary()),
        }
    )


def dealt_by_class(
    labels: Mapping[str, pa.DictionaryArray], beside: pa.Table, keys: Sequence[int]
) -> pa.RecordBatch:
    """Some published records, all of a class to one part: labels, and places of values beside them."""
    hashed = hashed_rows((labels[name] for name in sorted(labels)), len(beside))
    part = (hashed >> np.uint64(32)) % np.uint64(len(keys))
    columns = {name: beside.column(name) for name in beside.column_names}
    return dealt(pa.table({**labels, **columns}), part, keys)


def _compact(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = compact_dictionary(table.column(place).chunk(0)).cast(LABELS)
            table = table.set_column(place, field.name, column)
    return table


def gathered(batches: Batches) -> Iterator[tuple[int, pa.Table]]:
    """The records of each number that was dealt out to a partition, in order."""
    pieces: dict[int, list[tuple[int, Any]]] = defaultdict(list)
    for batch in batches:
        for number, first, records in zip(*(batch.column(name) for name in ("number", "first", "records"))):
            pieces[number.as_py()].append((first.as_py(), records.as_buffer()))
    for number in sorted(pieces):
        in_order = sorted(pieces.pop(number), key=lambda piece: piece[0])
        yield number, joined_tables([unpacked(records) for _, records in in_order])


@dataclass(frozen=True, eq=False)
class Arrangement:
    """How the records of a part are put together and ordered.

    names   the published columns
    masked  those that hide what they held
    """

    coder: Coder
    names: Sequence[str]
    masked: Sequence[str]
    seed: int

    @classmethod
    def of(cls, prepared: SparkPrepared) -> Arrangement:
        """The arrangement of a table that was prepared."""
        return cls(Coder.of(prepared), prepared.published_names, prepared.masked, prepared.request.seed)

    @property
    def hidden(self) -> list[str]:
        """The columns that go along with the published ones, for verification and reports."""
        originals = [f"{ORIGINAL}{number}" for number in range(len(self.coder.attributes))]
        return [*originals, ROW, *([PERSON] if self.coder.has_people else [])]

    def kinds(self, frame: Any) -> dict[str, Any]:
        """The types of all these columns, as Spark takes them; `frame` has the original."""
        from pyspark.sql.types import LongType, StringType

        kinds = {field.name: field.dataType for field in frame.schema.fields}
        quasi = [attribute.name for attribute in self.coder.attributes]
        kinds |= {f"{ORIGINAL}{number}": kinds[name] for number, name in enumerate(quasi)}
        return (
            kinds
            | dict.fromkeys([*quasi, *self.masked], StringType())
            | {PERSON: LongType(), ROW: LongType()}
        )

    def parts(self, batches: Batches) -> Iterator[tuple[int, pa.Table]]:
        """The parts that were dealt out to a partition: published columns, and those that are hidden."""
        for part, table in gathered(batches):
            yield part, self._arranged(table)

    def _arranged(self, table: pa.Table) -> pa.Table:
        columns: dict[str, Any] = {}
        places = self.coder.originals
        for name in [*self.names, *self.hidden]:
            if name in self.masked:
                zeros = pa.array(np.zeros(len(table), dtype=np.uint8))
                columns[name] = pa.DictionaryArray.from_arrays(zeros, pa.array([MASK]))
            elif name in places:
                columns[name] = dictionary_of_places(table.column(name).to_numpy(), places[name].given)
            else:
                columns[name] = _in_one(table.column(name))
        shown = (columns[name] for name in self.names)
        order = np.argsort(hashed_rows(shown, len(table), self.seed), kind="stable")
        return pa.table(columns).take(pa.array(order)).combine_chunks()


def _in_one(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else whole.chunk(0)
