"""The Spark engine on hospital records: seconds, driver memory, and the same release as on one machine.

    python -m benchmarks.spark --rows 1000000 [--diverse] [--improve SECONDS] [--against-local]
        [--against-sample] [--master 'local-cluster[2,1,2048]'] [--kill-executor SECONDS] [--folder FOLDER]

--against-sample compares with the method of mosaicrown/mondrian (De Capitani di Vimercati et al., 2023),
written here for the comparison: buckets of quantiles of one column, found on a sample, and mondrian within
each bucket. Not a part of `benchmarks.run`: a million records take about a minute on two cores.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import kohort as ko
import kohort.spark
from benchmarks.large import DIVERSE, SEVEN, write_records
from kohort.engines.spark.session import quiet, refuse_wrong_java

__all__ = ["measure", "session"]

_SAMPLE = 20_000
_BUCKETS = 8


def session(master: str | None, memory: str, folder: Path) -> Any:
    """A Spark session; local-cluster runs executors in JVMs of their own, from the pip package of Spark."""
    refuse_wrong_java()
    import pyspark
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    builder = SparkSession.builder.appName("kohort benchmark").config("spark.driver.memory", memory)
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    settings |= {"spark.local.dir": str(folder), "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path)}
    for name, value in settings.items():
        builder = builder.config(name, value)
    with quiet():
        found = (builder if master is None else builder.master(master)).getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def measure(path: Path, out: Path, asked: dict, *, region: int, kill: float | None = None) -> dict:
    """Make and write the release of a file on Spark; seconds by phase, and the driver's memory in MB."""
    start = time.perf_counter()
    killer = threading.Thread(target=_kill_an_executor, args=[kill], daemon=True) if kill else None
    if killer is not None:
        killer.start()
    release = kohort.spark.anonymize(path, **asked, records_per_region=region)
    facts = release.write(out)
    release.close()
    return {
        "records": facts["records"],
        "classes": facts["classes"],
        "loss": facts["loss"]["loss"],
        "seconds": round(time.perf_counter() - start, 1),
        "phases": {phase: round(value, 1) for phase, value in facts["seconds"].items()},
        "spark_cpu_seconds": round(_cpu_seconds(), 1),
        "driver_cpu_seconds": round(time.process_time(), 1),
        "driver_python_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "driver_java_mb": _java_memory(),
        "notes": facts["notes"][:1],
    }


def _children(word: str) -> list[int]:
    found = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    lines = [line.strip().split(None, 1) for line in found.splitlines()[1:]]
    return [int(pid) for pid, args in lines if word in args and "java" in args]


def _java_memory() -> int | None:
    """The peak memory of the driver's JVM in MB, where the system tells."""
    for pid in _children("SparkSubmit"):
        status = Path(f"/proc/{pid}/status")
        for line in status.read_text().splitlines() if status.exists() else ():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) // 1024
    return None


def _kill_an_executor(seconds: float) -> None:
    """Kill one of the executors of a local-cluster once it works."""
    time.sleep(seconds)
    executors = _children("CoarseGrainedExecutorBackend")
    if executors:
        os.kill(executors[0], signal.SIGKILL)
        print(json.dumps({"killed": executors[0]}), flush=True)


def by_buckets(path: Path, asked: dict) -> dict:
    """The loss of mondrian within buckets of quantiles of one column, found on a sample."""
    start = time.perf_counter()
    table = pq.read_table(path)
    ages = table.column("age").to_numpy()
    sample = np.random.default_rng(0).choice(ages, _SAMPLE)
    limits = np.unique(np.quantile(sample, np.arange(1, _BUCKETS) / _BUCKETS))
    bucket, loss = np.searchsorted(limits, ages, side="right"), 0.0
    whole = ko.anonymize(table, **asked).problem  # for the domains: buckets know the values of all records
    for number in range(len(limits) + 1):
        rows = np.flatnonzero(bucket == number)
        groups = _groups_of(whole, rows)
        loss += groups
    return {
        "method": "sample and quantiles",
        "loss": loss / len(ages),
        "seconds": round(time.perf_counter() - start, 1),
    }


def _groups_of(whole: Any, rows: np.ndarray) -> float:
    """The total loss of the records of a bucket, cut by mondrian."""
    from dataclasses import replace

    from kohort.algorithms import Run
    from kohort.algorithms.kernels.group_costs import costs_by_group

    attributes = tuple(
        replace(a, column=replace(a.column, codes=a.column.codes[rows])) for a in whole.attributes
    )
    problem = replace(whole, attributes=attributes, sensitive={}, models=whole.models[:1])
    vars(problem)["coded"] = replace(whole.coded, attributes=attributes)
    vars(problem.coded)["tables"] = whole.coded.tables
    group = ko.Mondrian().solve(problem, Run()).group_of_record
    order = np.argsort(group, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(group))])
    costs = costs_by_group(problem.coded.tables, problem.coded.searched_leaves(), order, start)
    return float(np.dot(costs, np.bincount(group)))


def _same(path: Path, asked: dict, out: Path) -> dict:
    """Whether a release on Spark has the records of the local one, in any order."""
    start = time.perf_counter()
    local = ko.anonymize(path, **asked)
    seconds = time.perf_counter() - start
    mine, theirs = _digest(local.arrow), _digest(pq.read_table(out))
    return {
        "local_seconds": round(seconds, 1),
        "local_classes": local.verdict.classes,
        "local_loss": local.loss["loss"],
        "same_records": mine == theirs,
    }


def _digest(table: pa.Table) -> tuple[int, int]:
    """The number of records, and a sum over them that does not depend on their order."""
    texts = pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
    hashed = pl.DataFrame(pl.from_arrow(texts)).hash_rows(seed=1)
    return len(hashed), int(hashed.sum())


def _cpu_seconds() -> float:
    """CPU seconds of Spark's processes: its JVMs, and the Python of workers that still live."""
    ticks = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            args = (status.parent / "cmdline").read_bytes()
            if any(word in args for word in (b"SparkSubmit", b"ExecutorBackend", b"pyspark.daemon")):
                fields = status.read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--diverse", action="store_true")
    parser.add_argument("--improve", type=float, metavar="SECONDS")
    parser.add_argument("--against-local", action="store_true")
    parser.add_argument("--against-sample", action="store_true")
    parser.add_argument("--kill-executor", type=float, metavar="SECONDS", help="after as many seconds")
    parser.add_argument("--master")
    parser.add_argument("--memory", default="1g", help="of the driver's JVM")
    parser.add_argument("--region", type=int, default=500_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as inside:
        folder = given.folder or Path(inside)
        path = folder / f"hospital-{given.rows}.parquet"
        if not path.exists():
            write_records(path, given.rows)
        asked = dict(DIVERSE if given.diverse else SEVEN)
        if given.improve is not None:
            asked |= {"algorithm": "improve", "time_limit": given.improve}
        spark = session(given.master, given.memory, Path(inside))
        out = Path(inside) / "release.parquet"
        print(
            json.dumps(measure(path, out, asked, region=given.region, kill=given.kill_executor)), flush=True
        )
        spark.stop()
        if given.against_local:
            print(json.dumps(_same(path, asked, out)), flush=True)
        if given.against_sample:
            print(json.dumps(by_buckets(path, asked)), flush=True)


if __name__ == "__main__":
    main()
