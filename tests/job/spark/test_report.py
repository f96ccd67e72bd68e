"""Reports, risk and utility of a release on a cluster: the figures of one machine, from counts."""

from __future__ import annotations

import hashlib
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as ko
import kohort.spark
from kohort.errors import InputError, UnsupportedError
from kohort.job.spark import sides
from kohort.job.spark import solve as solving
from kohort.report.facts import report_facts
from kohort.tables import spark as spark_tables

pytestmark = pytest.mark.spark

N = 3_000
TREES = {"sex": None, "age": ko.intervals(5, 10, 20), "postcode": ko.mask(), "occupation": None}
ASKED = {
    "quasi_identifiers": TREES,
    "sensitive": ["diagnosis", "insurance"],
    "others": "drop",
    "privacy": [ko.KAnonymity(5), ko.LDiversity("diagnosis", 2, kind="distinct")],
    "algorithm": "mondrian",
}
CASES = {
    "plain": {},
    "missing as a star, tight": {"nulls": "star", "labels": "tight"},
    "some withheld": {
        "quasi_identifiers": {"sex": ko.flat(), "age": ko.intervals(5, 10, 20), "insurance": ko.flat()},
        "sensitive": ["diagnosis"],
        "privacy": [ko.KAnonymity(12)],
        "algorithm": "full-domain",
        "suppression": 0.05,
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def table():
    return ko.datasets.generate_hospital(N, seed=3).drop_columns(["procedures"])


@pytest.fixture(scope="module")
def path(folder, table):
    pq.write_table(table, folder / "hospital.parquet")
    return folder / "hospital.parquet"


@pytest.fixture(autouse=True, scope="module")
def many_parts():
    """Parts of about 400 records, so that figures are united, by workers and on the driver."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solving, "_PER_PART", 400)
        patch.setattr(spark_tables, "_UNITED_AT_ONCE", 3)
        yield


@pytest.fixture(scope="module")
def made(spark, path, many_parts):
    """A release that several tests only look at."""
    release = kohort.spark.anonymize(path, **ASKED)
    yield release
    release.close()


def assert_same(found, expected, place: str = "facts") -> None:
    """Equal facts, but for the rounding of sums in another order."""
    if isinstance(expected, dict):
        assert list(found) == list(expected), place
        for name, value in expected.items():
            assert_same(found[name], value, f"{place}.{name}")
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected), place
        for number, value in enumerate(expected):
            assert_same(found[number], value, f"{place}.{number}")
    elif isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12), f"{place}: {found} {expected}"
    else:
        assert found == expected, place


FROM_THE_RELEASE = ("attributes", "class_sizes", "guesses", "item_levels", "sensitive", "distributions")


def compared(facts: dict) -> dict:
    """The facts that must be equal: not those of the order, and not the numbers of classes."""
    chosen = {name: facts[name] for name in (*FROM_THE_RELEASE, "riskiest", "risk", "utility")}
    chosen["risk"] = {n: v for n, v in chosen["risk"].items() if n not in ("order", "left_out")}
    rows = [{**row, "number": None} for row in chosen["riskiest"]["classes"]]
    return chosen | {"riskiest": {**chosen["riskiest"], "classes": rows}}


@pytest.mark.parametrize("more", CASES.values(), ids=CASES)
def test_figures_are_those_of_one_machine(spark, path, table, more):
    asked = ASKED | more
    made, local = kohort.spark.anonymize(path, **asked), ko.anonymize(table, **asked)
    assert len(made.published.parts.digests) == 8
    facts, expected = report_facts(made), report_facts(local)
    assert (facts["risk"]["withheld"] > 0) == ("suppression" in more)
    assert_same(compared(facts), compared(expected))
    assert facts["risk"]["order"] is None
    assert "order of the records" in facts["left_out"][0]
    assert made.summary().columns == local.summary().columns
    made.close()


def test_figures_of_people_are_those_of_one_machine(spark, folder):
    visits = ko.datasets.generate_hospital(1_000, seed=2, visits=N).drop_columns(["procedures"])
    pq.write_table(visits, folder / "visits.parquet")
    asked = {
        **ASKED,
        "quasi_identifiers": {name: TREES[name] for name in ("sex", "age", "postcode")},
        "person": "patient_id",
    }
    made = kohort.spark.anonymize(folder / "visits.parquet", **asked)
    facts, expected = report_facts(made), report_facts(ko.anonymize(visits, **asked))
    assert facts["risk"]["counted"] == "people"
    assert facts["risk"]["linkage"] is None
    assert any("people with several records" in sentence for sentence in facts["left_out"])
    expected["risk"]["linkage"] = None
    assert_same(compared(facts), compared(expected))
    made.close()


def test_reports_are_written_with_the_release(made, tmp_path):
    out, page = tmp_path / "release.parquet", tmp_path / "report.html"
    made.write(out, report=page, certificate=tmp_path / "certificate.json", certificate_version="internal")
    lines = [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in sorted(out.glob("part-*"))]
    facts = json.loads((tmp_path / "certificate.json").read_text())
    assert len(lines) == 8
    assert facts["sha256"]["output"] == hashlib.sha256("".join(lines).encode()).hexdigest()
    assert "sha256sum part-*" in facts["notes"][-1]
    text = page.read_text()
    assert facts["sha256"]["output"] in text
    assert "Can people be found?" in text
    assert "The riskiest classes" in text
    assert "The order of the records was not attacked" in text
    made.report(tmp_path / "public.html", version="public")
    assert "The riskiest classes" not in (tmp_path / "public.html").read_text()


def test_a_report_that_fails_leaves_nothing(made, tmp_path, monkeypatch):
    from kohort.report import html

    def failing(*_, **__):
        raise OSError("the disk is full")

    monkeypatch.setattr(html, "write_report", failing)
    with pytest.raises(InputError, match="Could not write"):
        made.write(tmp_path / "release.parquet", report=tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_what_needs_all_records_is_refused(made, table):
    with pytest.raises(UnsupportedError, match="population"):
        made.risk(population=table)
    with pytest.raises(UnsupportedError, match="sampling_fraction"):
        made.risk(sampling_fraction=0.1)
    with pytest.raises(UnsupportedError, match="in one place"):
        _ = made.sides.after


def test_only_some_records_are_drawn(spark, path, monkeypatch):
    monkeypatch.setattr(sides, "MOST_DRAWN", 500)
    made = kohort.spark.anonymize(path, **ASKED)
    utility = made.utility()
    assert utility["queries"]["records"] == 500
    assert utility["queries"]["sampled"]
    assert utility["classification"]["trained_on"] + utility["classification"]["tested_on"] == 500
    [sentence] = utility["left_out"]
    assert sentence.startswith("Of 3,000 records on a cluster, 500 were drawn at random")
    made.close()


def test_a_report_collects_nothing_that_grows_with_the_records(spark, folder, table, taken, monkeypatch):
    monkeypatch.setattr(sides, "MOST_DRAWN", 100)
    for times in (1, 8):
        taken.append(0)
        monkeypatch.setattr(solving, "_PER_PART", 400 * times)
        pq.write_table(pa.concat_tables([table] * times), folder / f"times-{times}.parquet")
        made = kohort.spark.anonymize(folder / f"times-{times}.parquet", **ASKED)
        report_facts(made)
        made.close()
    assert 0 < taken[1] < 1.5 * taken[0]
