"""Tables that were opened, and where their records are held: in memory, in batches or on a cluster."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kohort.errors import InputError, UnsupportedError, did_you_mean, in_bytes
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table

if TYPE_CHECKING:
    from kohort.tables.spark import SparkTable


ENGINES = ("local", "spark")
RECORDS_PER_REGION = 2_000_000
_RETIRED = ("memory", "streaming")


def check_engine(name: str) -> None:
    """Refuse an engine that does not exist, and warn of one that is no more."""
    if name in _RETIRED:
        warnings.warn(
            f"engine: {name} is no more and changes nothing: small tables are held in memory, and large ones "
            "are read in batches, to the same release. Leave it out.",
            FutureWarning,
            stacklevel=2,
        )
    elif name not in ENGINES:
        raise InputError(f"There is no engine {name!r} in this version. {did_you_mean(name, ENGINES)}")


def refuse_cluster(engine: str) -> None:
    """Refuse the Spark engine where a table is anonymized on this machine."""
    if engine == "spark":
        raise UnsupportedError(
            "engine: spark is for tables that Spark reads: a path, or a dataframe of Spark's. Leave it out."
        )


@dataclass(frozen=True, eq=False)
class SparkData:
    """What Spark is to read: a dataframe of its own, or a path; and how.

    order_by            the columns to sort a dataframe by first; then by all others that can be sorted
    records_per_region  how many records a worker solves at a time
    """

    data: Any
    order_by: Sequence[str] = ()
    records_per_region: int = RECORDS_PER_REGION

    @classmethod
    def of(cls, data: Any) -> SparkData | None:
        """What Spark is to read, if this is that already, or a dataframe of Spark's; else None."""
        if isinstance(data, cls):
            return data
        return cls(data) if _is_frame(data) else None

    def table(self) -> SparkTable:
        """The table, with a number for each record."""
        from kohort.tables.spark_files import source_of_frame, source_of_path
        from kohort.tables.spark_session import spark_session

        if isinstance(self.data, (str, Path)):
            if self.order_by:
                raise InputError("'order_by' is for dataframes: the records of files have an order.")
            found = source_of_path(spark_session(), str(self.data))
        elif _is_frame(self.data):
            order = [self.order_by] if isinstance(self.order_by, str) else self.order_by
            found = source_of_frame(self.data, order)
        else:
            raise InputError(f"A table is a dataframe of Spark's or a path, not {type(self.data).__name__}.")
        found.records_per_region = self.records_per_region
        return found


def _is_frame(data: Any) -> bool:
    return type(data).__module__.startswith("pyspark.sql")


_MEMORY = Path("/proc/meminfo")
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_UNKNOWN = 1 << 33  # bytes, where the system does not say: 8 GiB


def available_memory() -> int:
    """The bytes of memory that this process may still use, as far as the system says."""
    limits = [_free()]
    for path in _LIMITS:
        with suppress(OSError, ValueError):  # no such limit: no file, or the word max
            limits.append(int(path.read_text()))
    return min(limits)


def _free() -> int:
    with suppress(OSError, ValueError, StopIteration):
        line = next(line for line in _MEMORY.read_text().splitlines() if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return _UNKNOWN


_SMALL = 1 << 29  # bytes: a table up to this size is held in memory
_SHARE = 8  # ... unless it would take more than one eighth of the memory that is available
_LEAST_PER_RECORD = 24  # bytes that solving, publishing and verifying take on top of codes, whoever solves it


def too_large_to_hold(size: int) -> str:
    """Why a table that would take `size` bytes is read in batches, part of a sentence; empty: it is held."""
    most = min(_SMALL, available_memory() // _SHARE)
    return f"it would take about {in_bytes(size)} of memory" if size > most else ""


def refuse_too_large(n_records: int) -> None:
    """Refuse a table at once for which there is not enough memory, before the system ends the process."""
    needed, free = n_records * _LEAST_PER_RECORD, available_memory()
    if needed > free:
        raise UnsupportedError(
            f"{n_records:,} records take at least another {in_bytes(needed)} of memory to anonymize in one "
            f"process, and {in_bytes(free)} are free. Choose engine: spark, which solves a table region by "
            "region and holds the rest on disk, also on one machine."
        )


@dataclass(frozen=True, eq=False)
class Source:
    """A table that was opened, or a dataframe that was given.

    records   the table in memory, in batches or on a cluster
    format    how it is stored: the name of a format of files, `baskets` or `database`; empty for a dataframe
    sha256    the hash of the bytes that were read; empty for a dataframe
    notes     sentences on what was read, where more than one table could have been meant
    database  where the records come from, if that is no file but a table or query of a database
    """

    records: pa.Table | Table
    format: str = ""
    sha256: str = ""
    delimiter: str | None = None
    encoding: str | None = None
    notes: tuple[str, ...] = ()
    database: Any = None

    @classmethod
    def of(cls, data: Any) -> Source:
        """What was opened already as it is; a dataframe or a table without a file."""
        if isinstance(data, cls):
            return data
        return cls(data if isinstance(data, Table) else MemoryTable(data))

    @cached_property
    def dataset(self) -> Table:
        """The records."""
        return self.records if isinstance(self.records, Table) else MemoryTable(self.records)

    @property
    def table(self) -> pa.Table:
        """All records, read into memory if they are not there."""
        return self.records.whole() if isinstance(self.records, Table) else self.records

    def holding(self, table: pa.Table) -> Source:
        """The same source with other records."""
        return replace(self, records=table)

    def noting(self, *notes: str) -> Source:
        """The same source with more sentences on what was read."""
        return replace(self, notes=(*self.notes, *notes))
