"""One Spark session for all tests of the engine, which are skipped where it cannot start."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from job.spark.small_tasks import SMALL_TASKS
from kohort.errors import KohortError
from kohort.tables.spark_session import quiet, refuse_wrong_java

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "3",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A Spark session with two threads."""
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'kohort[spark]'")
    try:
        refuse_wrong_java()
    except KohortError as error:
        pytest.skip(f"no Java for Spark: {error}")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    here = Path(__file__)
    folders = [str(here.parents[3] / "src"), str(here.parent), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    with quiet():
        builder = SparkSession.builder.master("local[2]").appName("kohort tests")
        for name, value in (SETTINGS | SMALL_TASKS).items():
            builder = builder.config(name, value)
        builder = builder.config("spark.local.dir", str(tmp_path_factory.mktemp("spark")))
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def taken(spark, monkeypatch):
    """About how many bytes the driver gets, in each of several runs: a 0 is appended before each."""
    cls, taken = type(spark.range(1)), []
    arrow, rows = cls.toArrow, cls.collect

    def measured(frame):
        found = arrow(frame)
        taken[-1] += found.nbytes
        return found

    def counted(frame):
        found = rows(frame)
        taken[-1] += 100 * len(found)
        return found

    monkeypatch.setattr(cls, "toArrow", measured)
    monkeypatch.setattr(cls, "collect", counted)
    return taken
