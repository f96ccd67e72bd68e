"""What can go wrong on a cluster: a clear error, exit code 2, and nothing half-published."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as ko
import kohort.spark
from cli.running import run
from job.spark.small_tasks import SMALL_TASKS
from kohort.errors import InputError, KohortError

pytestmark = pytest.mark.spark

ASKED = {"quasi_identifiers": {"age": None, "sex": None}, "k": 5, "algorithm": "mondrian", "others": "drop"}
N = 2_000


@pytest.fixture(scope="module")
def table():
    return ko.datasets.generate_hospital(N, seed=5).select(["age", "sex", "diagnosis"])


@pytest.fixture
def path(tmp_path, table):
    pq.write_table(table, tmp_path / "stays.parquet")
    return tmp_path / "stays.parquet"


@pytest.fixture
def spec(tmp_path):
    roles = {name: {"role": "quasi-identifier"} for name in ("age", "sex")}
    columns = {"attributes": roles | {"diagnosis": {"role": "insensitive"}}}
    asked = columns | {"privacy": {"k": 5}, "algorithm": "mondrian"}
    (tmp_path / "spec.yaml").write_text(json.dumps(asked))
    return tmp_path / "spec.yaml"


def changing(path, table):
    """A callback of progress that changes a file between two passes over it."""

    def change(what, share):
        if what.startswith("solving"):
            pq.write_table(table, path)

    return change


def another_type(table):
    return table.set_column(0, "age", table.column("age").cast(pa.string()))


@pytest.mark.parametrize(
    "changed",
    [
        lambda table: table.drop_columns(["sex"]),
        another_type,
        lambda table: table.slice(0, N - 7),
        lambda table: table.slice(0, N - 1).append_column("new", pa.array(range(N - 1))),
    ],
    ids=["a column is gone", "another type", "fewer records", "another column"],
)
def test_a_table_that_changes_between_passes_is_refused(spark, path, table, changed):
    with pytest.raises(InputError, match=r"changed|could not"):
        kohort.spark.anonymize(path, **ASKED, progress=changing(path, changed(table)))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system that nobody can write to")
def test_an_output_that_cannot_be_written_is_refused(spark, path, spec, tmp_path):
    ran = run("anonymize", path, "--spec", spec, "--engine", "spark", "--out", "/proc/release.parquet")
    assert ran.exit == 2
    assert "permission denied" in " ".join(ran.err.split())
    file = tmp_path / "file"
    file.write_text("no folder")
    out = file / "release.parquet"
    assert run("anonymize", path, "--spec", spec, "--engine", "spark", "--out", out).exit == 2
    assert file.read_text() == "no folder"


@pytest.mark.parametrize("version", [None, "11.0.2"])
def test_no_java_or_an_old_one_ends_with_exit_2(spark, path, spec, tmp_path, monkeypatch, version):
    from pyspark.sql import SparkSession

    home = tmp_path / "java"
    if version is not None:
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        (home / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setattr(SparkSession, "getActiveSession", classmethod(lambda cls: None))
    out = tmp_path / "release.parquet"
    ran = run("anonymize", path, "--spec", spec, "--engine", "spark", "--out", out)
    assert ran.exit == 2
    assert "Java" in ran.err
    assert not out.exists()


def test_a_worker_that_runs_out_of_memory_fails_cleanly(spark, path, monkeypatch):
    """A real limit of the worker's memory, and more records than fit: not an error that is only raised."""
    from kohort.job.spark import solve as solving

    class Hungry(solving.RegionJob):  # defined here, so that it is sent to workers by its code
        def _labels(self, node, table):
            import resource

            import numpy as np

            before = resource.getrlimit(resource.RLIMIT_AS)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), before[1]))
            try:
                return {"held": np.ones(1 << 26)}
            finally:
                resource.setrlimit(resource.RLIMIT_AS, before)

    monkeypatch.setattr(solving, "RegionJob", Hungry)
    with pytest.raises(InputError, match="out of memory"):
        kohort.spark.anonymize(path, **ASKED)


QUICK = " ".join(f"--conf '{name}={value}'" for name, value in SMALL_TASKS.items())
GONE = """
import os, signal, sys
import pyspark
from kohort.cli.app import main
from {module} import {name} as honest
import {module} as module

def gone(*given, **named):
    os.kill(pyspark.SparkContext._gateway.proc.pid, signal.SIGKILL)
    return honest(*given, **named)

module.{name} = gone
main()
"""


@pytest.mark.parametrize(
    ("module", "name"),
    [("kohort.job.spark.steps", "_verified"), ("kohort.release.on_spark", "fingerprint")],
    ids=["while it is verified", "while it is written"],
)
def test_a_cluster_that_is_gone_leaves_nothing(spark, path, spec, tmp_path, module, name):
    script = tmp_path / "gone.py"
    script.write_text(GONE.format(module=module, name=name))
    out = tmp_path / "out" / "release.parquet"
    out.parent.mkdir()
    words = ["anonymize", path, "--spec", spec, "--engine", "spark", "--out", out]
    certificate = tmp_path / "out" / "certificate.json"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")}
    ran = subprocess.run(
        [sys.executable, script, *map(str, words), "--certificate", certificate],
        capture_output=True,
        text=True,
        timeout=600,
        env=clean | {"PYSPARK_SUBMIT_ARGS": f"--master local[1] --driver-memory 600m {QUICK} pyspark-shell"},
        check=False,
    )
    assert ran.returncode == 2, ran.stderr[-2000:]
    assert "Nothing was written" in " ".join(ran.stderr.split())
    assert "bug in Kohort" not in ran.stderr  # a thread of PySpark's may print what happened to it
    assert list(out.parent.iterdir()) == []


def altered(change):
    """A job whose workers publish each part of the release with something changed in it."""
    from kohort.job.spark.solve import RegionJob

    class Altered(RegionJob):  # defined here, so that it is sent to workers by its code
        def solve(self, batches):
            from kohort.job.spark.publish import dealt_by_class, gathered
            from kohort.job.spark.solve import _by_region, _joined_regions

            for _, table in gathered(batches):
                solved = [(self._labels(node, region), region) for node, region in _by_region(table)]
                labels, records = _joined_regions(solved)
                rows, labels = change(list(range(len(records))), labels)
                shown = {n: found.take(rows) for n, found in labels.items()}
                yield dealt_by_class(shown, records.take(rows), self.keys)

    return Altered


WORKER_FAULTS = {
    "a worker loses a record": lambda rows, labels: (rows[1:], labels),
    "a worker publishes a record twice": lambda rows, labels: ([*rows, rows[0]], labels),
    "a worker publishes a record in the place of another": lambda rows, labels: (
        [rows[1], *rows[1:]],
        labels,
    ),
    "a worker exchanges labels": lambda rows, labels: (
        rows,
        labels | {"age": labels["age"].take(rows[::-1])},
    ),
}


@pytest.mark.parametrize("name", WORKER_FAULTS)
def test_a_part_that_a_worker_alters_is_caught(spark, path, monkeypatch, name):
    from kohort.job.spark import solve as solving

    kohort.spark.anonymize(path, **ASKED).close()
    monkeypatch.setattr(solving, "RegionJob", altered(WORKER_FAULTS[name]))
    with pytest.raises(KohortError, match=r"failed its own verification|and then [0-9,]+ with other values"):
        kohort.spark.anonymize(path, **ASKED)
