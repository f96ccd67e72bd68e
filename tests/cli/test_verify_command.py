"""kohort verify and the demo: a good release passes, a hand-edited one fails and says why."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path

import polars as pl
import pytest

from cli.running import run

DATA = Path(os.environ.get("KOHORT_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture
def files(demo, tmp_path):
    shutil.copytree(demo, tmp_path / "demo")
    return tmp_path / "demo"


def verify(files, *more):
    words = ("verify", files / "release.csv", "--spec", files / "spec.yaml", *more)
    return run(*words)


def edit(path, change):
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    changed = change(rows[0], rows[1:])
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([rows[0], *changed])


def test_the_demo_release_passes(files):
    result = verify(files, "--original", files / "people.csv", "--json")
    facts = json.loads(result.out)
    assert result.exit == 0
    assert facts["holds"] is True
    assert facts["smallest_class"] >= 10
    certified = json.loads((files / "certificate.json").read_text())["loss"]["loss"]
    assert facts["loss"]["loss"] <= certified <= facts["loss"]["loss"] * 1.1  # rounded up


def test_a_broken_class_fails_and_is_listed(files):
    def lonely(header, rows):
        rows[0][header.index("age")] = "103"
        return rows

    edit(files / "release.csv", lonely)
    result = verify(files, "--violations", files / "failing.csv")
    assert result.exit == 1
    assert "the promise that every class has at least 10" in result.err
    failing = pl.read_csv(files / "failing.csv", infer_schema=False)
    assert failing.filter(pl.col("age") == "103")["class_size"].to_list() == ["1"]
    assert set(failing["fails"]) <= {"k-anonymity", "k-anonymity; l-diversity", "l-diversity"}


def test_a_value_that_does_not_cover_its_original_fails(files):
    def exchanged(header, rows):
        sex = header.index("sex")
        rows[0][sex] = {"male": "female", "female": "male"}.get(rows[0][sex], "male")
        return rows

    order = ["--order-file", files / "order.json"]
    words = ("--spec", files / "spec.yaml", "--out", files / "release.csv", *order, "--algorithm", "mondrian")
    assert run("anonymize", files / "people.csv", *words, "--quiet").exit == 0
    edit(files / "release.csv", exchanged)
    result = verify(files, "--original", files / "people.csv", *order)
    assert result.exit == 1
    assert "1 value of 'sex' does not cover" in result.err


def test_a_missing_row_fails(files):
    edit(files / "release.csv", lambda header, rows: rows[:-1])
    result = verify(files, "--original", files / "people.csv")
    assert result.exit == 1
    assert "The original has 20,190 records, the release 20,189." in result.err


def test_a_changed_sensitive_value_fails(files):
    def healthier(header, rows):
        rows[0][header.index("doctor_visits")] = "77"
        return rows

    in_order = ("--algorithm", "mondrian", "--shuffle", "false", "--quiet")
    words = ("--spec", files / "spec.yaml", "--out", files / "release.csv", *in_order)
    assert run("anonymize", files / "people.csv", *words).exit == 0
    edit(files / "release.csv", healthier)
    result = verify(files, "--original", files / "people.csv")
    assert result.exit == 1
    assert "not those of the original: in this order or any other" in result.err


def test_without_an_order_file_columns_are_compared_as_a_whole(files):
    def healthier(header, rows):
        rows[0][header.index("doctor_visits")] = "77"
        return rows

    words = ("--spec", files / "spec.yaml", "--out", files / "release.csv", "--algorithm", "mondrian")
    assert run("anonymize", files / "people.csv", *words, "--quiet").exit == 0
    edit(files / "release.csv", healthier)
    result = verify(files, "--original", files / "people.csv", "--json")
    checks = {check["check"]: check for check in json.loads(result.out)["checks"]}
    assert result.exit == 1
    assert [name for name, check in checks.items() if check["holds"] is False] == [
        "records",
        "values of 'doctor_visits'",
    ]
    assert "Give the order file (--order-file)" in checks["records"]["detail"]
    assert checks["values of 'doctor_visits'"]["detail"].startswith("1 value is in 'doctor_visits' that")
    assert result.err.count("Broken") == 2


def test_the_order_file_tells_what_was_changed(files):
    demo = [files / "people.csv", "--spec", files / "spec.yaml", "--out", files / "release.csv"]
    order = ["--order-file", files / "order.json"]
    assert run("anonymize", *demo, *order, "--algorithm", "mondrian", "--quiet").exit == 0

    def healthier(header, rows):
        rows[0][header.index("doctor_visits")] = "77"
        return rows

    edit(files / "release.csv", healthier)
    result = verify(files, "--original", files / "people.csv", *order)
    assert result.exit == 1
    assert result.err.count("Broken") == 1 and "'doctor_visits' was changed in 1 record" in result.err


def test_a_published_identifier_fails_even_without_the_original(files):
    people, release = pl.read_csv(files / "people.csv"), pl.read_csv(files / "release.csv")
    release.with_columns(people["person"]).write_csv(files / "release.csv")
    result = verify(files)
    assert result.exit == 1
    assert "'person'" in result.err


def test_a_greater_k_fails(files):
    assert verify(files, "--k", "11").exit == 1


def test_a_release_without_a_quasi_identifier_is_bad_input(files):
    pl.read_csv(files / "release.csv").drop("age").write_csv(files / "release.csv")
    result = verify(files)
    assert result.exit == 2
    assert "'age'" in result.err


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="needs the folder of larger data (KOHORT_DATA)")
def test_adult_with_the_hierarchies_of_arx_users_is_10_anonymous_by_a_pandas_group_by(tmp_path):
    import pandas as pd

    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    people = pl.read_csv(DATA / "adult.csv.zst").filter(pl.col("split") == "train")
    people.select(*names, "salary-class").write_csv(tmp_path / "adult.csv")
    shutil.copytree(DATA / "arx-adult-hierarchies", tmp_path / "hierarchies")
    lines = [f"  {n}: {{role: quasi-identifier, hierarchy: hierarchies/{n}.csv}}" for n in names]
    spec = "\n".join(["attributes:", *lines, "  salary-class: {role: sensitive}", "privacy: {k: 10}", ""])
    (tmp_path / "spec.yaml").write_text(spec)
    words = ["--spec", tmp_path / "spec.yaml", "--out", tmp_path / "release.csv", "--json"]
    result = run("anonymize", tmp_path / "adult.csv", *words, "--algorithm", "mondrian")
    assert result.exit == 0, result.err
    release = pd.read_csv(tmp_path / "release.csv", dtype=str, keep_default_na=False)
    assert len(release) == 30_162
    assert release.groupby(names).size().min() >= 10
    assert json.loads(result.out)["loss"]["loss"] < 0.09
