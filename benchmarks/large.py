"""Large files of hospital records, read in batches: CPU seconds by phase, and memory.

    python -m benchmarks.large --rows 10000000 [--format csv] [--diverse] [--folder FOLDER] [--keep]

The table has seven quasi-identifiers and a sensitive column; with --diverse six, and one column is handed on,
and every class has three different diagnoses. Records are drawn from one distribution, a million at a time,
so that their order tells nothing. Not a part of `benchmarks.run`: ten million records take half a minute, a
hundred million several minutes.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import kohort as ko
from benchmarks.hospital import ASKED
from kohort.job.solve import Clock
from kohort.tables.batches import BatchTable

__all__ = ["measure", "write_records"]

AT_ONCE = 1_000_000
DIVERSE = {**ASKED, "identifiers": ["patient_id", "name"]}
SEVEN = {
    **DIVERSE,
    "quasi_identifiers": {**ASKED["quasi_identifiers"], "length_of_stay": ko.intervals(2, 4, 8, 16, 32)},
    "insensitive": [],
    "privacy": [ko.KAnonymity(10)],
}


def write_records(path: Path, rows: int) -> None:
    """Write generated records, without their lists of procedures, which CSV cannot hold.

    After the first million, postcodes and days of admission, which depend on nothing else, are dealt out
    anew: that gives other records of the same distribution.
    """
    first = ko.datasets.generate_hospital(min(rows, AT_ONCE)).drop_columns(["procedures"])
    rng = np.random.default_rng(0)
    csv = path.suffix == ".csv"
    with (pa.csv.CSVWriter if csv else pq.ParquetWriter)(path, first.schema) as writer:
        for start in range(0, rows, AT_ONCE):
            part = first if not start else _dealt(first, rng)
            writer.write_table(part.slice(0, min(AT_ONCE, rows - start)))


def _dealt(table: pa.Table, rng: np.random.Generator) -> pa.Table:
    for name in ("postcode", "admitted"):
        place = table.column_names.index(name)
        order = pa.array(rng.permutation(table.num_rows))
        table = table.set_column(place, name, table.column(name).take(order))
    return table.take(pa.array(rng.permutation(table.num_rows)))


def measure(path: Path, out: Path, *, diverse: bool = False) -> dict:
    """Make and write the release of a file; CPU seconds by phase, peak memory in MB."""
    cpu: dict[str, float] = {}
    with _cpu_by_phase(cpu):
        start = time.process_time()
        release = ko.anonymize(path, **(DIVERSE if diverse else SEVEN))
        made = time.process_time()
        release.write(out)
        cpu["write"] = time.process_time() - made
    cpu["read"] = made - start - sum(seconds for phase, seconds in cpu.items() if phase != "write")
    return {
        "rows": release.dataset.n_records,
        "file": path.suffix,
        "streamed": isinstance(release.dataset, BatchTable),
        "cpu": {phase: round(seconds, 2) for phase, seconds in cpu.items()},
        "cpu_total": round(sum(cpu.values()), 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "classes": release.verdict.classes,
        "holds": release.verdict.holds,
        "loss": release.loss["loss"],
    }


@contextmanager
def _cpu_by_phase(cpu: dict[str, float]) -> Iterator[None]:
    """Measure the phases of the job in CPU seconds of all threads, besides the seconds of its clock."""
    timed = Clock.__call__

    @contextmanager
    def measured(self: Clock, phase: str) -> Iterator[None]:
        start = time.process_time()
        with timed(self, phase):
            yield
        cpu[phase] = cpu.get(phase, 0.0) + time.process_time() - start

    Clock.__call__ = measured  # type: ignore[method-assign]
    try:
        yield
    finally:
        Clock.__call__ = timed  # type: ignore[method-assign]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.large", description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--format", choices=["parquet", "csv"], default="parquet")
    parser.add_argument("--diverse", action="store_true", help="ask for three different diagnoses, too")
    parser.add_argument("--folder", type=Path, help="where the files are; a temporary folder if not given")
    parser.add_argument("--keep", action="store_true", help="keep the generated records, and use those there")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = (asked.folder or Path(folder)) / f"records-{asked.rows}.{asked.format}"
        out = path.with_name(f"release-{asked.rows}.{asked.format}")
        if not (asked.keep and path.exists()):
            write_records(path, asked.rows)
        print(json.dumps(measure(path, out, diverse=asked.diverse)))
        for made in [out] if asked.keep else [path, out]:
            made.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
