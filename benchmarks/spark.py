"""The Spark engine on hospital records: CPU seconds, driver memory, and the same release as on one machine.

    python -m benchmarks.spark --rows 1000000[,10000000] [--case k,diverse,alpha,close,nulls,people,...]
        [--against-local] [--improve SECONDS] [--against-sample] [--master 'local-cluster[2,1,2048]']
        [--memory 1g] [--region RECORDS] [--kill-executor SECONDS] [--folder FOLDER]

--rows            several numbers of records are measured one after the other, each in processes of its own
                  with the same memory for the driver; the last line compares the largest with the smallest:
                  the driver's peak memory, and the CPU seconds per record
--memory          how much the heap of the driver's JVM may have
--case            what is asked for, one release after the other: k = 10 with seven quasi-identifiers; with
                  six, k = 10 and three different diagnoses, alpha = .5, or t = .4; missing values as `*`;
                  k = 10 people, who have three records each on average, with three different diagnoses, with
                  at most a third of them with the same one (shares), or with t = .4 (likeness)
--against-local   compares each release with that of the local engine: classes, loss, facts, and the bytes of
                  both as files, sorted by a number that the records of the input have
--improve         instead of mondrian, improve with as many seconds
--against-sample  compares with the method of mosaicrown/mondrian (De Capitani di Vimercati et al., 2023),
                  written here for the comparison: buckets of quantiles of one column, found on a sample, and
                  mondrian within each bucket
--kill-executor   kills an executor of a local-cluster after as many seconds
--folder          keeps the generated records there, and uses those that are there

Not a part of `benchmarks.run`: a million records take about a minute on two cores.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import kohort as ko
import kohort.spark
from benchmarks.large import DIVERSE, SEVEN, write_records
from kohort.algorithms import Run
from kohort.algorithms.kernels.costs import costs_by_group
from kohort.io.read_spec import with_files
from kohort.job.spark.prepare import prepare_on_spark
from kohort.job.spark.records import Coder
from kohort.job.spark.solve import labels_of, region_problem
from kohort.statement import Statement
from kohort.statement.from_keywords import from_keywords, spelled_out
from kohort.tables.spark_files import source_of_path
from kohort.tables.spark_session import quiet, refuse_wrong_java

__all__ = ["measure", "session"]

_SAMPLE = 20_000
_BUCKETS = 8
_FACTS = ("holds", "records", "suppressed", "classes", "smallest_class", "models", "cautions", "people")
_K = ko.KAnonymity(10)
_OF_PEOPLE = {"identifiers": ["name"], "person": "patient_id"}
CASES: dict[str, dict] = {
    "k": SEVEN,
    "diverse": DIVERSE,
    "alpha": DIVERSE | {"privacy": [_K, ko.AlphaDeassociation("diagnosis", alpha=0.5)]},
    "close": DIVERSE | {"privacy": [_K, ko.TCloseness("diagnosis", 0.4)]},
    "nulls": SEVEN | {"nulls": "star"},
    "people": DIVERSE | _OF_PEOPLE,
    "shares": DIVERSE | _OF_PEOPLE | {"privacy": [_K, ko.LDiversity("diagnosis", 3)]},
    "likeness": DIVERSE | _OF_PEOPLE | {"privacy": [_K, ko.TCloseness("diagnosis", 0.4)]},
}


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


def measure(
    path: Path, out: Path, asked: dict, *, region: int, kill: float | None = None
) -> tuple[dict, dict]:
    """Make and write the release of a file on Spark; its facts, CPU seconds, the driver's memory in MB."""
    start, cpu, driver = time.perf_counter(), _cpu_seconds(), time.process_time()
    killer = threading.Thread(target=_kill_an_executor, args=[kill], daemon=True) if kill else None
    if killer is not None:
        killer.start()
    release = kohort.spark.anonymize(path, **asked, records_per_region=region)
    facts = release.write(out)
    live = _live_heap(release.table.sparkSession)
    release.close()
    return facts, {
        "records": facts["records"],
        "classes": facts["classes"],
        "loss": facts["loss"]["loss"],
        "seconds": round(time.perf_counter() - start, 1),
        "phases": {phase: round(value, 1) for phase, value in facts["seconds"].items()},
        "spark_cpu_seconds": round(_cpu_seconds() - cpu, 1),
        "driver_cpu_seconds": round(time.process_time() - driver, 1),
        "driver_python_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "driver_java_mb": _java_memory(),
        "driver_java_live_mb": live,
        "notes": facts["notes"][:2],
    }


def _own(*words: str) -> list[int]:
    """The processes that this one started, or that these started, which have one of these words."""
    found = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    lines = [line.strip().split(None, 2) for line in found.splitlines()[1:]]
    parent = {int(pid): int(above) for pid, above, _ in lines}

    def is_own(pid: int) -> bool:
        while pid in parent and pid != os.getpid():
            pid = parent[pid]
        return pid == os.getpid()

    return [int(pid) for pid, _, args in lines if any(w in args for w in words) and is_own(int(pid))]


def _java_memory() -> int | None:
    """The peak memory of the driver's JVM in MB, where the system tells."""
    for pid in _own("SparkSubmit"):
        status = Path(f"/proc/{pid}/status")
        for line in status.read_text().splitlines() if status.exists() else ():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) // 1024
    return None


def _live_heap(spark: Any) -> int:
    """What the driver's JVM holds on its heap while the release is held, in MB, without garbage."""
    jvm = spark.sparkContext._jvm
    jvm.System.gc()
    heap = jvm.java.lang.Runtime.getRuntime()
    return (heap.totalMemory() - heap.freeMemory()) >> 20


def _kill_an_executor(seconds: float) -> None:
    """Kill one of the executors of a local-cluster once it works."""
    time.sleep(seconds)
    executors = _own("CoarseGrainedExecutorBackend")
    if executors:
        os.kill(executors[0], signal.SIGKILL)
        print(json.dumps({"killed": executors[0]}), flush=True)


def by_buckets(spark: Any, path: Path, out: Path, asked: dict) -> dict:
    """The loss of mondrian within buckets of quantiles of one column, found on a sample; on Spark, too.

    Each bucket is solved by one worker and written; nothing is verified.
    """
    import pyspark.sql.functions as F

    start, cpu = time.perf_counter(), _cpu_seconds()
    source = source_of_path(spark, str(path))
    prepared = prepare_on_spark(source, _request(asked))
    coder = Coder.of(prepared)
    with quiet():
        share = min(1.0, _SAMPLE / prepared.problem.n_records)
        ages = source.records.select("age").sample(share, seed=0).toArrow().column("age").to_numpy()
        limits = np.unique(np.quantile(ages, np.arange(1, _BUCKETS) / _BUCKETS)).tolist()
        bucket = sum(((F.col("age") > limit).cast("int") for limit in limits), F.lit(0))
        records = source.records.select(*coder.names, bucket.alias("bucket"))
        types = {field.name: field.dataType.simpleString() for field in records.schema.fields}
        names = [a.name for a in prepared.attributes]
        schema = ", ".join(f"`{n}` {'string' if n in names else types[n]}" for n in coder.names)
        parts = records.groupBy("bucket").applyInArrow(
            _bucket_solver(prepared.problem, coder), schema + ", cost double"
        )
        parts.write.parquet(str(out))
        loss, n_records = spark.read.parquet(str(out)).agg(F.sum("cost"), F.count("cost")).collect()[0]
    return {
        "method": "sample and quantiles",
        "loss": loss / n_records,
        "seconds": round(time.perf_counter() - start, 1),
        "spark_cpu_seconds": round(_cpu_seconds() - cpu, 1),
    }


def _request(asked: dict) -> Statement:
    return with_files(from_keywords(spelled_out(asked)), engine="spark")


def _bucket_solver(whole: Any, coder: Coder) -> Any:
    """A function that publishes the records of a bucket by mondrian, each with its cost."""
    names = coder.names

    def solve(table: pa.Table) -> pa.Table:
        problem = region_problem(whole, coder.beside(table), has_people=False)
        groups = ko.Mondrian().solve(problem, Run())
        order = np.argsort(groups.group_of_record, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(groups.group_of_record))])
        costs = costs_by_group(problem.coded.tables, problem.coded.searched_leaves(), order, start)
        labels = {n: c.cast(pa.string()) for n, c in labels_of(problem, groups, False).items()}
        shown = [labels[name] if name in labels else table.column(name) for name in names]
        return pa.table([*shown, pa.array(costs[groups.group_of_record])], names=[*names, "cost"])

    return solve


def records_of(folder: Path, rows: int, case: str) -> Path:
    """A file of records for a case, each with its number; written unless it is there."""
    of_people = "person" in CASES[case]
    path = folder / f"hospital-{'people-' * of_people}{rows}.parquet"
    if path.exists():
        return path
    plain = folder / "plain.parquet"
    if of_people:
        visits = ko.datasets.generate_hospital(rows // 3, seed=2, visits=rows).drop_columns(["procedures"])
        pq.write_table(visits, plain)
    else:
        write_records(plain, rows)
    source, first = pq.ParquetFile(plain), 0
    with pq.ParquetWriter(path, source.schema_arrow.append(pa.field("number", pa.int64()))) as writer:
        for batch in source.iter_batches(1 << 20):
            number = pa.array(np.arange(first, first + len(batch)))
            writer.write_batch(batch.append_column("number", number))
            first += len(batch)
    plain.unlink()
    return path


def _same(path: Path, asked: dict, out: Path, facts: dict) -> dict:
    """Whether a release on Spark is the local one: its facts, and its bytes when sorted by number."""
    start = time.process_time()
    local = ko.anonymize(path, **asked)
    expected = local.facts()
    found = {
        "local_cpu_seconds": round(time.process_time() - start, 1),
        "local_classes": expected["classes"],
        "local_loss": expected["loss"]["loss"],
        "other_facts": {n: [facts[n], expected[n]] for n in _FACTS if facts[n] != expected[n]},
        "same_loss": all(abs(facts["loss"][n] - v) <= 1e-12 * abs(v) for n, v in expected["loss"].items()),
    }
    table = local.arrow
    del local
    mine = _sorted_file(table, out.parent / "local.parquet")
    del table
    return found | {"same_bytes": mine == _sorted_file(pq.read_table(out), out.parent / "cluster.parquet")}


def _sorted_file(table: pa.Table, path: Path) -> str:
    """The SHA-256 of a file with the records in the order of their numbers."""
    kinds = pa.schema([(f.name, getattr(f.type, "value_type", f.type)) for f in table.schema])
    order = pa.array(np.argsort(table.column("number").to_numpy()))
    with pq.ParquetWriter(path, kinds) as writer:
        for start in range(0, len(table), 1 << 20):
            writer.write_table(table.take(order.slice(start, 1 << 20)).cast(kinds))
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    path.unlink()
    return digest


def _cpu_seconds() -> float:
    """CPU seconds of Spark's processes: its JVMs, and the Python of workers, also of those that ended."""
    ticks = 0
    for pid in _own("SparkSubmit", "ExecutorBackend", "pyspark.daemon"):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=_numbers, default=[1_000_000])
    parser.add_argument("--case", default="k", help=", ".join(CASES))
    parser.add_argument("--improve", type=float, metavar="SECONDS")
    parser.add_argument("--against-local", action="store_true")
    parser.add_argument("--against-sample", action="store_true")
    parser.add_argument("--kill-executor", type=float, metavar="SECONDS", help="after as many seconds")
    parser.add_argument("--master")
    parser.add_argument("--memory", default="1g", help="of the driver's JVM")
    parser.add_argument("--region", type=int, default=2_000_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if len(given.rows) > 1:
        _compare_sizes(given.rows)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as inside:
        folder = given.folder or Path(inside)
        spark = session(given.master, given.memory, Path(inside))
        for case in given.case.split(","):
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # its memory is not the driver's
                path = pool.submit(records_of, folder, given.rows[0], case).result()
            _run_case(spark, case, path, Path(inside) / f"{case}.parquet", given)
        spark.stop()


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _compare_sizes(sizes: list[int]) -> None:
    """Measure each size in processes of its own, and print how the driver's memory and the time grow."""
    found = []
    for rows in sorted(sizes):
        place = next(n for n, word in enumerate(sys.argv) if word.startswith("--rows"))
        rest = sys.argv[1:place] + sys.argv[place + (1 if "=" in sys.argv[place] else 2) :]
        command = [sys.executable, "-m", "benchmarks.spark", "--rows", str(rows), *rest]
        printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        print(printed, end="", flush=True)
        found.append(next(json.loads(line) for line in printed.splitlines() if "driver_java_mb" in line))
    least, most = found[0], found[-1]
    names = ("driver_python_mb", "driver_java_mb", "driver_java_live_mb")
    ratios = {f"{name}_ratio": most[name] / least[name] for name in names}
    each = [one["spark_cpu_seconds"] / one["records"] for one in (least, most)]
    print(json.dumps(ratios | {"cpu_per_record_ratio": each[1] / each[0]}), flush=True)


def _run_case(spark: Any, case: str, path: Path, out: Path, given: argparse.Namespace) -> None:
    """Print what is found of one case, as JSON."""
    asked = CASES[case] | {"insensitive": [*CASES[case]["insensitive"], "number"]}
    if given.improve is not None:
        asked |= {"algorithm": "improve", "time_limit": given.improve}
    facts, found = measure(path, out, asked, region=given.region, kill=given.kill_executor)
    print(json.dumps({"case": case} | found), flush=True)
    if given.against_local:
        print(json.dumps({"case": case} | _same(path, asked, out, facts)), flush=True)
    if given.against_sample:
        print(
            json.dumps({"case": case} | by_buckets(spark, path, out.with_suffix(".buckets"), asked)),
            flush=True,
        )


if __name__ == "__main__":
    main()
