"""Hospital records out of and into databases: CPU seconds and memory beside those of a Parquet file.

    python -m benchmarks.database --rows 1000000 [--kinds parquet,postgresql,sqlite,duckdb]

PostgreSQL is started for it, in a folder of its own, as the tests do. Each kind runs in a process of its own,
so that its memory can be measured: reading, solving by mondrian (k = 10), verifying, writing, and in a
database reading back and verifying once more before the commit. The time of the server itself is not counted.
Not a part of `benchmarks.run`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq

import kohort as ko
from benchmarks.large import SEVEN, write_records
from benchmarks.measuring import peak_mb
from kohort.tables import source as local

__all__ = ["measure"]

KINDS = ("parquet", "postgresql", "sqlite", "duckdb")
TESTS = Path(__file__).parents[1] / "tests"


def measure(source: Any, target: Any) -> dict[str, Any]:
    """The figures of one release, from its source to its target."""
    start, clock = time.process_time(), time.perf_counter()
    with patch.object(local, "_SMALL", -1):  # read in batches, as larger tables are
        release = ko.anonymize(source, **SEVEN)
    solved = time.process_time()
    facts = release.write(target)
    return {
        "records": facts["records"],
        "loss": round(facts["loss"]["loss"], 6),
        "cpu": round(time.process_time() - start, 2),
        "cpu_write": round(time.process_time() - solved, 2),
        "seconds": round(time.perf_counter() - clock, 2),
        "peak_mb": peak_mb(),
    }


def _child(kind: str, place: str) -> None:
    """One release, in the process that was started for it."""
    if kind == "parquet":
        found = measure(Path(place), Path(place).with_name("release.parquet"))
    else:
        found = measure(ko.database(place, table="people"), ko.database(place, table="release"))
    print(json.dumps({"kind": kind} | found))


def _run(kind: str, place: str) -> None:
    words = [sys.executable, "-m", "benchmarks.database", "--child", kind, place]
    subprocess.run(words, check=True)


def _places(kinds: list[str], parquet: Path) -> list[tuple[str, str, Any]]:
    """Each kind, where its records are, and the server to stop afterwards."""
    sys.path.insert(0, str(TESTS))
    from database_places import (
        PASSWORD,
        DuckdbPlace,
        PostgresqlPlace,
        PostgresqlServer,
        SqlitePlace,
        postgresql_programs,
    )

    found: list[tuple[str, str, Any]] = []
    for kind in kinds:
        if kind == "parquet":
            found.append((kind, str(parquet), None))
            continue
        server = None
        if kind == "postgresql":
            programs = postgresql_programs()
            if programs is None:
                print("PostgreSQL is not installed: left out.", file=sys.stderr)
                continue
            os.environ["PGPASSWORD"] = PASSWORD
            server = PostgresqlServer(programs)
            place: Any = PostgresqlPlace(server, "benchmark")
        else:
            place = (SqlitePlace if kind == "sqlite" else DuckdbPlace)(parquet.parent)
        place.load("people", pq.ParquetFile(parquet).read())
        found.append((kind, place.url, server))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        _child(*asked.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        parquet = Path(folder) / "people.parquet"
        write_records(parquet, asked.rows)
        places = _places(asked.kinds.split(","), parquet)
        try:
            for kind, place, _ in places:
                _run(kind, place)
        finally:
            for server in [server for _, _, server in places if server is not None]:
                server.stop()


if __name__ == "__main__":
    main()
