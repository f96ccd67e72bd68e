"""Release.write: all files of a release from Python, as from the command line, or none."""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path

import polars as pl
import pytest

import kohort as ko
from kohort.io.private_files import make_keys
from kohort.job.public import public_version

TOWNS = "a;north;*\nb;north;*\nc;south;*\n"
EVERYTHING = {
    "report": "report.html",
    "certificate": "certificate.json",
    "salt": "salt.txt",
    "maps": "maps.json",
    "order_file": "order.json",
    "hierarchies": "labels",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = {"age": [20 + i % 40 for i in range(60)], "town": ["abc"[i % 3] for i in range(60)]}
    pl.DataFrame(people | {"ill": ["xyzw"[i % 4] for i in range(60)]}).write_csv("people.csv", separator=";")
    Path("towns.csv").write_text(TOWNS)
    return tmp_path


def made(data="people.csv", algorithm="full-domain"):
    return ko.anonymize(
        data,
        quasi_identifiers={"age": ko.intervals(10, 20), "town": "towns.csv"},
        sensitive=["ill"],
        privacy=[ko.KAnonymity(3)],
        algorithm=algorithm,
    )


def contents() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def test_every_file_is_written(folder):
    facts = made().write("release.csv", **EVERYTHING)
    written = {*EVERYTHING.values(), "release.csv", "labels/age.csv", "labels/town.csv"} - {"labels"}
    assert set(contents()) == written | {"people.csv", "towns.csv"}
    assert json.loads(Path("certificate.json").read_text()) == public_version(facts)
    assert facts["sha256"]["output"] == hashlib.sha256(Path("release.csv").read_bytes()).hexdigest()
    assert facts["commitment"] is not None
    assert Path("release.csv").read_text().startswith("age;town;ill\n")  # the delimiter of the original
    assert stat.S_IMODE(Path("order.json").stat().st_mode) == 0o600
    assert ko.apply_maps("maps.json", "people.csv").table.num_rows == 60
    assert ko.verify(
        "release.csv",
        spec={
            "attributes": {
                "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
                "town": {"role": "quasi-identifier", "hierarchy": "towns.csv"},
                "ill": {"role": "sensitive"},
            },
            "privacy": {"k": 3},
        },
        original="people.csv",
        order_file="order.json",
    ).holds


def test_a_certificate_is_signed(folder):
    pytest.importorskip("cryptography", reason="kohort[sign] is not installed")
    private, _ = make_keys()
    Path("mine.pem").write_bytes(private)
    made().write("release.csv", certificate="certificate.json", sign="mine.pem")
    assert Path("certificate.json.sig").stat().st_size == 64
    with pytest.raises(ko.InputError, match="signs the certificate"):
        made().write("other.csv", sign="mine.pem")


@pytest.mark.parametrize("failing", [{"report": "nowhere/report.html"}, {"report": "report.docx"}])
def test_a_file_that_cannot_be_written_leaves_nothing(folder, failing):
    before = contents()
    with pytest.raises(ko.InputError):
        made().write("release.csv", **EVERYTHING | failing)
    assert contents() == before and not Path("labels").exists()


def test_maps_that_do_not_exist_leave_nothing(folder):
    before = contents()
    with pytest.raises(ko.UnsupportedError):
        made(algorithm="mondrian").write("release.csv", **EVERYTHING)
    assert contents() == before and not Path("labels").exists()


@pytest.mark.parametrize("option", ["out", "certificate", "maps"])
@pytest.mark.parametrize("read", ["people.csv", "towns.csv"])
def test_nothing_that_was_read_is_replaced(folder, option, read):
    before = contents()
    with pytest.raises(ko.InputError, match="is a file that this run reads"):
        made().write(**{"out": "release.csv", option: read})
    assert contents() == before


def test_files_of_a_spec_are_not_replaced(folder):
    Path("spec.yaml").write_text(
        "attributes:\n  age: {role: quasi-identifier}\n"
        "  town: {role: quasi-identifier, hierarchy: towns.csv}\n  ill: {role: sensitive}\n"
        "privacy: {k: 3}\nalgorithm: mondrian\n"
    )
    release = ko.anonymize("people.csv", spec="spec.yaml")
    before = contents()
    for read in ("people.csv", "spec.yaml", "towns.csv"):
        with pytest.raises(ko.InputError, match="is a file that this run reads"):
            release.write("release.csv", certificate=read)
    assert contents() == before


def test_hierarchy_files_that_exist_are_replaced_only_by_force(folder):
    Path("labels").mkdir()
    Path("labels/age.csv").write_text("mine")
    with pytest.raises(ko.InputError, match="already exists"):
        made().write("release.csv", hierarchies="labels")
    assert not Path("release.csv").exists()
    made().write("release.csv", hierarchies="labels", force=True)
    assert Path("labels/age.csv").read_text() != "mine"


def test_a_dataframe_is_written_too(folder):
    facts = made(pl.read_csv("people.csv", separator=";")).write("release.parquet")
    assert facts["commitment"] is None and pl.read_parquet("release.parquet").height == 60
