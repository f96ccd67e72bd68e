"""The hash of an original that Spark reads: that of its file, or of what sha256sum prints for several."""

from __future__ import annotations

import hashlib
import json

import pyarrow.parquet as pq
import pytest

import kohort as ko
import kohort.spark
from kohort.errors import InputError
from kohort.io.private_files import read_salt
from kohort.job.public import commitment_to
from kohort.tables import spark_files as input_files

pytestmark = pytest.mark.spark

ASKED = {"quasi_identifiers": {"age": None, "sex": None}, "others": "drop", "k": 5, "time_limit": 2}


@pytest.fixture(scope="module")
def table():
    return ko.datasets.generate_hospital(1_000, seed=5)


@pytest.fixture(autouse=True)
def _session(spark):
    """All of these need Spark."""


def sha256(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("largest", [None, 10], ids=["by executors", "through the driver"])
def test_a_file_is_committed_to(table, tmp_path, monkeypatch, largest):
    if largest is not None:
        monkeypatch.setattr(input_files, "_LARGE", largest)
    path = tmp_path / "some stays.csv"
    table.select(["age", "sex", "diagnosis"]).to_pandas().to_csv(path, index=False)
    release = kohort.spark.anonymize(path, **ASKED)
    files = {"certificate": tmp_path / "c.json", "report": tmp_path / "r.html", "salt": tmp_path / "salt"}
    facts = release.write(tmp_path / "out.parquet", **files)
    release.close()
    salt = read_salt(tmp_path / "salt")
    assert facts["commitment"] == commitment_to(sha256(path), salt)
    assert json.loads((tmp_path / "c.json").read_text())["commitment"] == facts["commitment"]
    assert facts["sha256"]["input"] is None  # anybody could test guesses of the table with it
    assert sha256(path) in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("largest", [None, 10], ids=["by executors", "through the driver"])
def test_several_files_are_listed_by_name(spark, table, tmp_path, monkeypatch, largest):
    if largest is not None:
        monkeypatch.setattr(input_files, "_LARGE", largest)
    folder = tmp_path / "stays"
    names = ["year=2024/b.parquet", "year=2024/a b.parquet", "year=2023/c%20.parquet"]
    for place, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table.slice(place * 300, 300), folder / name)
    release = kohort.spark.anonymize(folder, **ASKED)
    lines = "".join(f"{sha256(folder / name)}  {name}\n" for name in sorted(names))
    assert release.dataset.sha256() == hashlib.sha256(lines.encode()).hexdigest()
    release.close()


def test_files_that_changed_are_refused(table, tmp_path):
    path = tmp_path / "stays.parquet"
    pq.write_table(table, path)
    release = kohort.spark.anonymize(path, **ASKED)
    pq.write_table(table.slice(0, 900), path)
    with pytest.raises(InputError, match="changed while they were read"):
        release.write(tmp_path / "out.parquet", salt=tmp_path / "salt")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["stays.parquet"]
    release.close()


def test_a_dataframe_has_no_files(spark, table, tmp_path):
    release = kohort.spark.anonymize(spark.createDataFrame(table.select(["age", "sex"])), **ASKED)
    with pytest.raises(InputError, match="this is a dataframe"):
        release.write(tmp_path / "out.parquet", salt=tmp_path / "salt")
    assert release.write(tmp_path / "out.parquet")["commitment"] is None
    release.close()
