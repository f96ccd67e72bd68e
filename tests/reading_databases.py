"""Tables of databases as tests look at them: their records and the hash of these."""

from __future__ import annotations

import pyarrow as pa

from kohort.io.data_files import read_data
from kohort.io.databases import DatabaseTable
from kohort.io.databases.records import ContentHash


def read_database(source: DatabaseTable) -> tuple[pa.Table, str]:
    found = read_data(source)
    return found.table, found.sha256


def content_hash(table: pa.Table) -> str:
    found = ContentHash(table.column_names)
    found.add(table)
    return found.sha256
