"""A file that is read in batches gives the same release as one that is read whole."""

from __future__ import annotations

import json
import tempfile
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from kohort.errors import KohortError
from kohort.io.formats import delimited, fitting, json_lines
from kohort.io.tables import open_in_batches, read_table, write_table
from kohort.job import streaming
from kohort.tables.batches import BatchTable
from reading_in_batches import anonymized_in_batches, no_table_is_small
from strategies import cases

ENDINGS = (".parquet", ".arrow", ".csv", ".csv.gz", ".jsonl")
ASKED = {
    "quasi_identifiers": {"sex": None, "age": ko.intervals(5, 10, 20), "postcode": ko.mask()},
    "identifiers": ["name"],
    "sensitive": ["diagnosis"],
    "insensitive": ["length_of_stay"],
    "privacy": [ko.KAnonymity(5), ko.LDiversity("diagnosis", 2, kind="distinct")],
    "algorithm": "mondrian",
}
KEY = b"a secret of sixteen bytes"
OF_NUMBERS = (ko.Noise(0.1), ko.RankSwap(0.1), ko.Limits(2, 9), ko.Rounding(5), ko.Rounding("5/2"))
COLUMNS = [*ASKED["quasi_identifiers"], "name", "diagnosis", "length_of_stay"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of a few records, so that small tables have many."""
    monkeypatch.setattr(fitting, "ROWS", 7)
    monkeypatch.setattr(delimited, "BATCH_BYTES", 400)
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 300)
    monkeypatch.setattr(streaming, "DEALT_AT_ONCE", 50)
    monkeypatch.setattr(streaming, "ROWS", 40)


def hospital(folder, ending=".parquet", n=400):
    table = ko.datasets.generate_hospital(n).select(COLUMNS)
    path = Path(folder) / f"hospital{ending}"
    write_table(table, path)
    return path


def outcome(make, path, out):
    """The facts of a release, what is written and what is held; or the error."""
    try:
        release = make(data=path)
        facts = release.write(out)
    except KohortError as error:
        return type(error), str(error)
    del facts["seconds"], facts["sha256"]
    facts["notes"] = [note for note in facts["notes"] if "read in batches" not in note]
    rows = release.original_rows.tolist()
    return facts, read_table(out).table.to_pylist(), rows, release.arrow.to_pylist(), release.risk()


def assert_same(make, path, folder, ending=None):
    if isinstance(open_in_batches(path, **({"header": True} if ".csv" in path.suffixes else {})), str):
        assert path.suffix == ".jsonl"
        return None  # its lines have values of different kinds
    out = [Path(folder) / f"{name}{ending or ''.join(path.suffixes)}" for name in ("whole", "batches")]
    whole = outcome(make, path, out[0])
    with no_table_is_small():
        assert outcome(make, path, out[1]) == whole
    return whole


@given(case=cases(), ending=st.sampled_from(ENDINGS), shuffle=st.sampled_from(["auto", True, False]))
def test_any_release_is_the_same(case, ending, shuffle):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"original{ending}"
        try:
            write_table(case.table, path)
        except KohortError:
            return  # the format cannot hold it
        options = {"algorithm": "mondrian", "shuffle": shuffle, "header": True if "csv" in ending else None}
        assert_same(lambda **more: case.anonymize(**options, **more), path, folder)


CHANGES = (
    {"shuffle": True, "seed": 3},
    {"suppression": 0.2, "suppressed": "drop", "algorithm": "forest"},
    {"suppression": 0.2, "algorithm": "forest"},
    {"labels": "tight"},
    {"identifiers": {"name": "mask"}},
    {"identifiers": {"name": "pseudonym"}, "key": KEY},
    *({"insensitive": {"length_of_stay": how}, "key": KEY} for how in OF_NUMBERS),
    {"sensitive": {"diagnosis": ko.Pram(0.9)}, "privacy": [ko.KAnonymity(5)], "key": KEY},
    {"identifiers": [], "person": {"name": "pseudonym"}, "key": KEY},
    {
        "privacy": [
            ko.KAnonymity(4),
            ko.TCloseness("diagnosis", 0.4),
            ko.AlphaDeassociation("diagnosis", 0.9),
        ]
    },
    {"algorithm": "full-domain", "privacy": [ko.KAnonymity(2)]},
    {"quasi_identifiers": ["sex", "age", "postcode"]},
    {"identifiers": [], "person": "name"},
    {"insensitive": [], "weight": {"length_of_stay": "keep"}},
    {"insensitive": [], "weight": "length_of_stay", "identifiers": [], "person": "name"},
)
OF_HOSPITAL = [(ending, {}) for ending in ENDINGS] + list(zip(cycle(ENDINGS), CHANGES))


@pytest.mark.parametrize(
    ("ending", "changed"),
    OF_HOSPITAL,
    ids=lambda part: part if isinstance(part, str) else "-".join(part) or "plain",
)
def test_a_release_of_hospital_records_is_the_same(tmp_path, ending, changed):
    """Every format, and every option with one of them."""
    path = hospital(tmp_path, ending)
    found = assert_same(lambda **more: ko.anonymize(**ASKED | changed, **more), path, tmp_path)
    assert found[0]["holds"]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", ".jsonl", ".xlsx", ".csv.zst"])
def test_every_format_is_written(tmp_path, ending):
    path = hospital(tmp_path)
    assert_same(lambda **more: ko.anonymize(**ASKED, **more), path, tmp_path, ending)


def test_formulas_are_escaped_and_counted(tmp_path):
    table = ko.datasets.generate_hospital(60).select(COLUMNS)
    notes = pa.array(["=1+1" if i % 7 == 0 else "fine" for i in range(60)])
    write_table(table.append_column("=notes", notes), path := tmp_path / "data.csv")
    asked = ASKED | {"insensitive": ["length_of_stay", "=notes"], "formulas": "escape"}
    found = assert_same(lambda **more: ko.anonymize(**asked, **more), path, tmp_path)
    assert any("like a formula" in note for note in found[0]["notes"])


def test_large_files_are_streamed_and_small_ones_are_not(tmp_path, monkeypatch):
    path = hospital(tmp_path)
    assert not isinstance(ko.anonymize(path, **ASKED).dataset, BatchTable)
    monkeypatch.setattr("kohort.tables.source._SMALL", 100)
    release = ko.anonymize(path, **ASKED)
    assert isinstance(release.dataset, BatchTable)
    assert any("read in batches" in note for note in release.notes)
    assert set(release.dataset.held) == {"sex", "age", "postcode", "diagnosis"}


def test_what_cannot_be_streamed_is_read_whole_and_the_note_says_why(tmp_path, monkeypatch):
    path = hospital(tmp_path)
    monkeypatch.setattr("kohort.tables.source._SMALL", 100)
    release = ko.anonymize(path, **ASKED, sample=0.5)
    assert not isinstance(release.dataset, BatchTable)
    assert any("a sample is drawn" in note for note in release.notes)


def test_a_release_can_be_judged_and_certified_without_being_written(tmp_path):
    release = anonymized_in_batches(hospital(tmp_path), **ASKED)
    release.report(tmp_path / "report.html")
    release.certificate(tmp_path / "certificate.json")
    assert json.loads((tmp_path / "certificate.json").read_text())["holds"]
    assert release.table.num_rows == 400
    assert release.utility(queries=10)
    assert "Safe to publish as promised" in str(release.summary())


def test_nothing_but_labels_can_be_shuffled(tmp_path):
    path = hospital(tmp_path)
    asked = {"quasi_identifiers": ["sex", "age"], "k": 5, "others": "drop", "algorithm": "mondrian"}
    assert_same(lambda **more: ko.anonymize(**asked, shuffle=True, **more), path, tmp_path)


def test_the_order_file_undoes_the_shuffling(tmp_path):
    path = hospital(tmp_path)
    release = anonymized_in_batches(path, **ASKED, shuffle=True)
    release.write(tmp_path / "out.parquet", order_file=tmp_path / "order.json")
    order = np.array(json.loads((tmp_path / "order.json").read_text())["original_records"]) - 1
    stays = pq.read_table(path).column("length_of_stay").to_numpy()
    assert (pq.read_table(tmp_path / "out.parquet").column("length_of_stay").to_numpy() == stays[order]).all()
    assert sorted(order) != order.tolist()


def test_the_file_shows_no_value_of_records_that_were_left_out(tmp_path):
    table = ko.datasets.generate_hospital(60).select(COLUMNS)
    rare = pa.array(["a value of nobody else" if i == 0 else "common" for i in range(60)])
    age = pa.array([300 if i == 0 else a for i, a in enumerate(table["age"].to_pylist())])
    table = table.set_column(table.column_names.index("diagnosis"), "diagnosis", rare)
    table = table.set_column(table.column_names.index("age"), "age", age)
    write_table(table, path := tmp_path / "data.parquet")
    asked = ASKED | {
        "privacy": [ko.KAnonymity(3)],
        "suppression": 0.1,
        "suppressed": "drop",
        "algorithm": "full-domain",
        "quasi_identifiers": {"age": ko.intervals(10, 20)},
        "insensitive": ["sex", "postcode", "length_of_stay"],
    }
    for make in (ko.anonymize, anonymized_in_batches):
        out = tmp_path / f"{make.__name__}.parquet"
        release = make(path, **asked)
        release.write(out)
        assert 0 not in release.original_rows
        assert b"nobody else" not in out.read_bytes()


@pytest.mark.parametrize("k", [2, 10, 100])
def test_adult_has_the_same_classes_by_both_engines(tmp_path, monkeypatch, k):
    monkeypatch.setattr(fitting, "ROWS", 4_096)
    monkeypatch.setattr(streaming, "ROWS", 4_096)
    monkeypatch.setattr(streaming, "DEALT_AT_ONCE", 10_000)
    path = tmp_path / "adult.parquet"
    names = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
    pq.write_table(ko.datasets.load_adult("train").select([*names, "occupation"]), path)
    asked = {"quasi_identifiers": names, "sensitive": ["occupation"], "algorithm": "mondrian", "k": k}
    whole, batches = (make(path, **asked) for make in (ko.anonymize, anonymized_in_batches))
    assert batches.arrow.to_pylist() == whole.arrow.to_pylist()
    assert batches.cost == whole.cost and batches.verdict.classes == whole.verdict.classes
