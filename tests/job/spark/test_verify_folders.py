"""What Spark writes, a folder of files, is verified by the ordinary command, certificate included."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import kohort as ko
from cli.running import run
from kohort.io.tables import write_table

pytestmark = pytest.mark.spark

SPEC = """
attributes:
  sex: {role: quasi-identifier}
  age: {role: quasi-identifier}
  postcode: {role: quasi-identifier}
  diagnosis: {role: sensitive}
  ward: {role: insensitive}
others: drop
privacy: {k: 5}
algorithm: mondrian
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A table, with a column that is missing in many records, and its spec."""
    folder = tmp_path_factory.mktemp("people")
    people = ko.datasets.generate_hospital(400, seed=3).drop_columns(["procedures"])
    ward = pa.array(["north" if place % 7 == 0 else None for place in range(400)])
    write_table(people.append_column("ward", ward), folder / "people.parquet")
    (folder / "spec.yaml").write_text(SPEC)
    return folder


@pytest.mark.parametrize("ending", ["parquet", "orc", "csv", "jsonl"])
def test_the_folder_is_verified_with_its_certificate(spark, written, tmp_path, ending) -> None:
    data, spec = written / "people.parquet", written / "spec.yaml"
    out, certificate = tmp_path / f"release.{ending}", tmp_path / "c.json"
    done = run(
        "anonymize", data, "--spec", spec, "--out", out, "--certificate", certificate, "--engine", "spark"
    )
    assert done.exit == 0, done.err
    assert out.is_dir()
    found = run("verify", out, "--spec", spec, "--original", data, "--certificate", certificate, "--json")
    assert found.exit == 0, found.out + found.err
    claims = {claim["claim"]: claim["holds"] for claim in json.loads(found.out)["claims"]}
    assert claims["sha256 of the release"] is True
    first = min(out.glob("part-*"))
    first.with_name("part-99999" + "".join(first.suffixes)).write_bytes(first.read_bytes())
    assert run("verify", out, "--spec", spec, "--certificate", certificate, "--quiet").exit == 1
