"""Baskets on Spark: apriori-items on generated ones, against the local engine.

    python -m benchmarks.spark_baskets --baskets 1000000 [--against-local] [--master M] [--folder FOLDER]

Not a part of `benchmarks.run`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

import kohort as ko
import kohort.spark
from benchmarks.spark import session

ASKED = {"items": {"items": ko.order("frequency", fanout=5)}, "privacy": [ko.KmAnonymity(5, 3)]}


def _cpu_seconds_of_children() -> float:
    """CPU seconds of the processes that this one has started, and that they have: Spark and its workers."""
    fields = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields[int(status.parent.name)] = status.read_text().rpartition(")")[2].split()
    ours, ticks = {os.getpid()}, 0
    for pid in sorted(fields):  # a process has a larger number than the one that started it
        if int(fields[pid][1]) in ours:
            ours.add(pid)
            ticks += sum(map(int, fields[pid][11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--baskets", type=int, default=1_000_000)
    parser.add_argument("--against-local", action="store_true")
    parser.add_argument("--master", default=None)
    parser.add_argument("--folder", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "baskets.parquet"
        pq.write_table(ko.datasets.generate_baskets(given.baskets), path, row_group_size=100_000)
        session(given.master, "2g", Path(folder))
        before = time.process_time()
        release = kohort.spark.anonymize(path, **ASKED)
        facts = release.write(Path(folder) / "release.parquet")
        found = {
            "baskets": given.baskets,
            "ncp": facts["loss"]["ncp"],
            "seconds": facts["seconds"],
            "driver_cpu_seconds": round(time.process_time() - before, 1),
            "spark_cpu_seconds": round(_cpu_seconds_of_children(), 1),
            "driver_python_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "notes": facts["notes"],
        }
        if given.against_local:
            before = time.process_time()
            local = ko.anonymize(path, **ASKED)
            found["local_cpu_seconds"] = round(time.process_time() - before, 1)
            found["local_ncp"] = local.loss["ncp"]
            found["same"] = local.facts()["items"]["published_items"] == facts["items"]["published_items"]
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
