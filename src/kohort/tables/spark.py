"""Tables on a cluster, as far as this machine knows them: their columns, and what was counted of them."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from kohort.data.column import Column
from kohort.data.compact_column import CountedColumn
from kohort.errors import InternalError
from kohort.tables.table import Table


class SparkTable(Table):
    """A table of which the values of some columns were counted; no records are here."""

    def __init__(self, schema: pa.Schema, n_records: int, columns: Mapping[str, CountedColumn]) -> None:
        self.schema = schema
        self.names = tuple(schema.names)
        self.n_records = n_records
        self._columns.update(columns)

    def field(self, name: str) -> pa.Field:
        return self.schema.field(name)

    def arrow(self, name: str) -> pa.ChunkedArray:
        raise InternalError(f"The records of column {name!r} are on the cluster. Please report this.")

    def _coded(self, name: str) -> Column:
        raise InternalError(f"The values of column {name!r} were not counted. Please report this.")
