"""Cautions of a release on a cluster are those of one machine: people count once, whatever their region."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as ko
import kohort.spark

pytestmark = pytest.mark.spark

REGION = 600
ASKED = {
    "quasi_identifiers": {"age": ko.intervals(5, 10, 20), "site": ko.flat()},
    "sensitive": ["diagnosis", "ward"],
    "person": "patient",
    "privacy": [ko.KAnonymity(4), ko.LDiversity("diagnosis", 2, kind="distinct")],
    "algorithm": "mondrian",
}


def visits(checked: list[str]) -> pa.Table:
    """Visits of 900 people at any age; everybody at some sites was there to be checked, among others."""
    rng = np.random.default_rng(3)
    patient, age = rng.integers(0, 900, 3_000), rng.integers(20, 90, 3_000)
    site = rng.choice(["north", "south", "east", "west"], 3_000)
    once = pa.table({"patient": patient, "age": age, "site": site})
    seen = once.append_column("diagnosis", pa.array(rng.choice(["flu", "cold", "gout"], 3_000)))
    again = once.filter(pa.array(np.isin(site, checked)))
    again = again.append_column("diagnosis", pa.array(["checked"] * again.num_rows, pa.string()))
    both = pa.concat_tables([seen, again])
    return both.append_column("ward", pa.array([f"ward {n % 3}" for n in range(both.num_rows)]))


@pytest.mark.parametrize("checked", [["north"], ["north", "south", "east", "west"], []], ids=str)
@pytest.mark.parametrize(
    "more",
    [{}, {"person": None, "identifiers": ["patient"]}],
    ids=["people", "records"],
)
def test_what_is_known_for_certain(spark, tmp_path, checked, more):
    table, asked = visits(checked), ASKED | more
    pq.write_table(table, tmp_path / "visits.parquet")
    made = kohort.spark.anonymize(tmp_path / "visits.parquet", **asked, records_per_region=REGION)
    local = ko.anonymize(table, **asked)
    facts, expected = made.facts(), local.facts()
    assert facts["cautions"] == expected["cautions"]
    assert facts["classes"] == expected["classes"]
    known = [caution["records"] for caution in facts["cautions"] if caution["kind"] == "known-for-certain"]
    if not more:
        assert bool(known) == bool(checked)
    made.close()
