"""What holds for tables of every format: round trips, refusals, and no cell in any message."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import traceback
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from kohort.errors import InputError, KohortError, UnsupportedError
from kohort.files.atomic import replacing
from kohort.io.formats import FORMATS, SUFFIXES, format_of
from kohort.io.source_file import sha256_of
from kohort.io.tables import read_table, write_table

TEXT = [".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json"]
COMPRESSED = [suffix + packed for suffix in (".csv", ".jsonl") for packed in (".gz", ".zst", ".bz2", ".xz")]
WRITABLE = [suffix for suffix in SUFFIXES if suffix != ".orc"] + COMPRESSED
SECRET = "Zebulon"


def refusal(path: Path, kind: type[KohortError] = InputError, **options) -> str:
    """The message with which reading is refused; neither it nor its traceback shows a cell."""
    with pytest.raises(kind) as caught:
        read_table(path, **options)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


@pytest.mark.parametrize("suffix", WRITABLE)
def test_text_survives_in_every_format(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    table = pa.table({"name": ["Åsa", "Bo, Jr", 'Cy "C"', "01234"], "note": ["1.10", " x", "a;b", "=1+1"]})
    write_table(table, path)
    back = read_table(path)
    assert back.table.to_pydict() == table.to_pydict()
    assert back.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert back.format == SUFFIXES["." + suffix.split(".")[1]].name


@pytest.mark.parametrize("suffix", WRITABLE)
def test_dictionary_columns_are_written_as_text(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    column = pa.chunked_array(
        [pa.array(["b", "a", "b"]).dictionary_encode(), pa.array(["c"]).dictionary_encode()]
    )
    write_table(pa.table({"letter": column}), path)
    assert read_table(path).table.to_pydict() == {"letter": ["b", "a", "b", "c"]}


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITABLE if "sav" not in suffix])
def test_equal_tables_are_equal_files(tmp_path, suffix):
    table = pa.table({"name": ["Åsa", None, "Bo"], "age": [1, 2, 3]})
    for number in (1, 2):
        write_table(table, tmp_path / f"{number}{suffix}")
    assert (tmp_path / f"1{suffix}").read_bytes() == (tmp_path / f"2{suffix}").read_bytes()


def test_a_gzip_file_tells_neither_when_nor_under_which_name_it_was_made(tmp_path):
    write_table(pa.table({"a": [1]}), tmp_path / "table.csv.gz")
    assert (tmp_path / "table.csv.gz").read_bytes()[3:8] == bytes(5)


@pytest.mark.parametrize("suffix", WRITABLE)
def test_slices_are_joined_without_a_seam(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("kohort.io.formats.fitting.LEAST_ROWS_PER_SLICE", 7)
    monkeypatch.setattr("kohort.io.formats.fitting.CELLS_PER_SLICE", 14)
    path = tmp_path / f"table{suffix}"
    table = pa.table({"n": list(range(100)), "letter": pa.array(list("abcde") * 20).dictionary_encode()})
    write_table(table, path)
    back = read_table(path).table.to_pydict()
    assert [int(number) for number in back["n"]] == list(range(100))
    assert back["letter"] == list("abcde") * 20


@contextmanager
def files_limited_to(count: int):
    """A real refusal of the system to write more, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("suffix", WRITABLE)
def test_a_full_disk_leaves_nothing_behind(tmp_path, suffix):
    target = tmp_path / f"release{suffix}"
    target.write_text("old")
    table = pa.table({"name": [hashlib.sha256(bytes([n % 256, n // 256])).hexdigest() for n in range(5000)]})
    with files_limited_to(50_000), pytest.raises(InputError), replacing(target) as draft:
        write_table(table, draft)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_missing_file_with_a_near_miss(tmp_path):
    (tmp_path / "patients.csv").write_text("a\n1\n")
    assert refusal(tmp_path / "patient.csv").endswith("does not exist. Did you mean 'patients.csv'?")
    assert refusal(tmp_path / "quite_different.csv").endswith("does not exist.")
    assert refusal(tmp_path / "nowhere" / "patients.csv").endswith("does not exist.")


def test_a_folder(tmp_path):
    assert "is a folder" in refusal(tmp_path)


def test_a_file_without_permission(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text(f"a\n{SECRET}\n")

    def refuse(self, *_args, **_options):
        raise PermissionError(errno.EACCES, "refused", str(self))

    monkeypatch.setattr(Path, "open", refuse)  # root may read everything
    assert refusal(path) == f"{path} cannot be read: {os.strerror(errno.EACCES)}."


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    path.touch()
    assert "is empty (0 bytes)" in refusal(path)


@pytest.mark.parametrize(
    "suffix", [suffix for suffix in WRITABLE if format_of(f"table{suffix}").name != "jsonl"]
)
def test_a_header_without_records(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    write_table(pa.table({"name": pa.array([], pa.string()), "age": pa.array([], pa.string())}), path)
    assert "no records" in refusal(path)


@pytest.mark.parametrize("suffix", [suffix for suffix in [*SUFFIXES, *COMPRESSED] if suffix not in TEXT])
def test_a_file_that_is_not_what_its_extension_says(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    path.write_text(f"name\n{SECRET}\n" * 100)
    assert "damaged" in refusal(path)


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITABLE if suffix not in TEXT])
def test_a_truncated_file(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    write_table(pa.table({"name": [SECRET, "Bo"] * 5000, "number": list(range(10_000))}), path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert "damaged" in refusal(path)


@pytest.mark.parametrize("name", ["table.doc", "table", "table.parquet.gz", "table.gz", "table.csv.zip"])
def test_an_unknown_extension(tmp_path, name):
    path = tmp_path / name
    path.write_text("a\n1\n")
    message = refusal(path, UnsupportedError)
    assert ".parquet" in message
    assert ".csv" in message
    with pytest.raises(UnsupportedError, match="unknown extension"):
        write_table(pa.table({"a": [1]}), path)


def test_extensions_in_capitals():
    assert format_of("A.CSV").name == "csv"
    assert format_of("A.CSV.GZ").name == "csv"


def test_old_workbooks_are_refused_and_the_message_says_what_to_do(tmp_path):
    (tmp_path / "table.xls").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1"))
    with pytest.raises(UnsupportedError, match=r"Open it in a spreadsheet program and save it as \.xlsx\."):
        read_table(tmp_path / "table.xls")
    with pytest.raises(UnsupportedError, match=r"\.xlsx"):
        write_table(pa.table({"a": [1]}), tmp_path / "table.xls")


def test_options_of_another_format_are_refused(tmp_path):
    path = tmp_path / "table.parquet"
    write_table(pa.table({"a": [1]}), path, delimiter=";")  # the input's, handed on: no harm
    assert "delimited text" in refusal(path, delimiter=";")
    assert "delimited text" in refusal(path, encoding="utf-8")
    assert "Excel" in refusal(path, sheet="one")


@pytest.mark.parametrize("suffix", WRITABLE)
def test_two_columns_with_one_name_are_not_written(tmp_path, suffix):
    doubled = pa.table([pa.array([1]), pa.array([2])], names=["age", "age"])
    with pytest.raises(InputError, match="called 'age'"):
        write_table(doubled, tmp_path / f"table{suffix}")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".sav", ".dta"])
def test_types_that_no_library_writes_are_refused(tmp_path, suffix):
    spans = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    with pytest.raises(UnsupportedError, match="column types"):
        write_table(pa.table({"span": spans}), tmp_path / f"table{suffix}")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".xlsx", ".sav", ".dta"])
def test_extension_types_are_written_as_what_they_are_stored_as(tmp_path, suffix):
    table = pa.table({"document": pa.array(["{}"], pa.json_(pa.string()))})
    write_table(table, tmp_path / f"table{suffix}")
    assert read_table(tmp_path / f"table{suffix}").table.to_pydict() == {"document": ["{}"]}
    with pytest.raises(UnsupportedError, match="'id'"):
        write_table(pa.table({"id": pa.array([b"0" * 16], pa.uuid())}), tmp_path / f"table{suffix}")


def test_sha256_of_a_file_longer_than_a_chunk(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(os.urandom(2_500_000))
    assert sha256_of(path) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_every_format_has_a_reader_and_a_writer():
    for kind in FORMATS:
        assert callable(kind.code.read)
        assert kind.whole != hasattr(kind.code, "open_in_batches")
        assert bool(kind.instead) != hasattr(kind.code, "write")
