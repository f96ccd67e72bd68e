"""Published records on a cluster, in parts of whole classes: dealt out by class, ordered, and held.

A part does not depend on where its records come from: only on what is published, and on the seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.engines.spark.coding import ORIGINAL, PERSON, Coder
from kohort.engines.spark.packing import (
    compact_dictionary,
    dictionary_of_places,
    joined_tables,
    packed,
    sorted_by,
    unpacked,
)
from kohort.engines.spark.row_hashes import hashed_rows
from kohort.engines.spark.source import ROW
from kohort.errors import InputError
from kohort.treatments.identifiers import MASK

LABELS = pa.dictionary(pa.int32(), pa.string())  # one type, so that labels can be joined
PIECES = "key long, part long, records binary"
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class Pieces:
    """How published records are dealt out: all records of a class to one part.

    keys  per part the number by which Spark deals it out
    """

    keys: Sequence[int]

    def dealt(self, labels: Mapping[str, pa.DictionaryArray], beside: pa.Table) -> pa.RecordBatch:
        """Some published records by part: labels, and places of original values beside them."""
        hashed = hashed_rows((labels[name] for name in sorted(labels)), len(beside))
        part = (hashed >> np.uint64(32)) % np.uint64(len(self.keys))
        order, start = sorted_by(part, len(self.keys))
        columns = {name: beside.column(name) for name in beside.column_names}
        ordered = pa.table({**labels, **columns}).take(pa.array(order)).combine_chunks()
        found = np.flatnonzero(np.diff(start)).tolist()
        records = [
            packed(_compact(ordered.slice(start[part], start[part + 1] - start[part]))) for part in found
        ]
        return pa.RecordBatch.from_pydict(
            {
                "key": pa.array([self.keys[part] for part in found], pa.int64()),
                "part": pa.array(found, pa.int64()),
                "records": pa.array(records, pa.binary()),
            }
        )


def _compact(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = compact_dictionary(table.column(place).chunk(0)).cast(LABELS)
            table = table.set_column(place, field.name, column)
    return table


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

    @property
    def hidden(self) -> list[str]:
        """The columns that go along with the published ones, for verification and reports."""
        originals = [f"{ORIGINAL}{number}" for number in range(len(self.coder.attributes))]
        return [*originals, ROW, *([PERSON] if self.coder.has_people else [])]

    def parts(self, batches: Batches) -> Iterator[tuple[int, pa.Table]]:
        """The parts of a partition, which there is one of: published columns, and those that are hidden."""
        pieces: dict[int, list[pa.Table]] = {}
        for batch in batches:
            for part, records in zip(batch.column("part"), batch.column("records")):
                pieces.setdefault(part.as_py(), []).append(unpacked(records.as_buffer()))
        for part in sorted(pieces):
            yield part, self._arranged(joined_tables(pieces.pop(part)))

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


def digest_of(data: Any) -> bytes:
    """What tells a part from any other."""
    return blake2b(data, digest_size=16).digest()


def verified_tables(batches: Batches, digests: Mapping[int, bytes]) -> Iterator[pa.Table]:
    """The records of parts; one that was lost, and is not what was verified when made again, is refused."""
    for batch in batches:
        for part, data in zip(batch.column("part"), batch.column("packed")):
            if digest_of(data.as_buffer()) != digests.get(part.as_py()):
                raise InputError(
                    "A part of the release was lost with an executor, and came out otherwise when it was "
                    "made again. Nothing was written. Run this again, without a time limit if it recurs."
                )
            yield unpacked(data.as_buffer())


def opened_parts(names: Sequence[str], digests: Mapping[int, bytes]) -> Any:
    """A function for `mapInArrow` that gives the records of parts, of these columns.

    digests  of the parts that were verified: another one, made again after it was lost, is refused
    """

    def opened(batches: Batches) -> Batches:
        for table in verified_tables(batches, digests):
            plain = [_plain(table.column(name)) for name in names]
            yield from pa.table(plain, names=list(names)).to_batches(max_chunksize=1 << 16)

    return opened


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
