"""Generated hospital records: the whole job from a file, coding by itself, verification by itself."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

import kohort as ko
from benchmarks.measuring import Row, Size, facts, measured, row
from kohort.tables.memory import MemoryTable

__all__ = ["coding", "hospital", "verification"]

AT_ONCE = 1_000_000  # records generated at a time
SPEC = ko.datasets.example_spec("hospital")
ASKED = {  # as in the spec, but by mondrian: `auto` would search for a minute
    "quasi_identifiers": {
        "sex": None,
        "age": ko.intervals(5, 10, 20),
        "postcode": ko.mask(),
        "admitted": ko.dates("month", "quarter", "year"),
        "insurance": None,
        "occupation": str(Path(SPEC).parent / "hierarchies" / "hospital" / "occupation.csv"),
    },
    "identifiers": ["patient_id", "name", "procedures"],
    "sensitive": ["diagnosis"],
    "insensitive": ["length_of_stay"],
    "privacy": [ko.KAnonymity(10), ko.LDiversity("diagnosis", 3, kind="distinct")],
    "algorithm": "mondrian",
}


def hospital(size: Size) -> Iterator[Row]:
    """mondrian from a Parquet file, six quasi-identifiers, k = 10, l = 3 distinct."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hospital.parquet"
        _write(path, size.rows)
        made, cpu = measured(lambda: ko.anonymize(path, **ASKED), size.runs)
        yield row({"rows": size.rows}, **facts(made, cpu))


def _write(path: Path, rows: int) -> None:
    with pq.ParquetWriter(path, ko.datasets.generate_hospital(1).schema) as writer:
        for seed in range(0, rows, AT_ONCE):
            writer.write_table(ko.datasets.generate_hospital(min(rows - seed, AT_ONCE), seed=seed))


def coding(size: Size) -> Iterator[Row]:
    """Ten columns into codes."""
    table = ko.datasets.generate_hospital(size.rows).drop_columns(["procedures"])
    _, cpu = measured(lambda: [MemoryTable(table).column(name) for name in table.column_names], size.runs)
    yield row({"rows": size.rows, "columns": table.num_columns}, cpu=round(cpu, 3))


def verification(size: Size) -> Iterator[Row]:
    """Verifying a release, beside one plain group-by of the same columns."""
    table = ko.datasets.generate_hospital(size.rows)
    release = ko.anonymize(table, **ASKED, shuffle=False).table
    frame = pl.from_arrow(release)
    _, group_by = measured(lambda: frame.group_by(list(ASKED["quasi_identifiers"])).len(), size.runs)
    for original in (None, table):
        _, cpu = measured(lambda o=original: ko.verify(release, spec=SPEC, original=o), size.runs)
        asked = {"rows": size.rows, "with_original": original is not None}
        yield row(asked, cpu=round(cpu, 3), group_by_cpu=round(group_by, 3), ratio=round(cpu / group_by, 2))
