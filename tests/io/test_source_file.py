"""The SHA-256 of a table is that of the bytes that were read, whatever happens to the file meanwhile."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from kohort.errors import InputError
from kohort.io import data_files, hierarchies, source_file
from kohort.io.data_files import read_data
from kohort.io.formats import format_of
from kohort.io.tables import read_table, write_table
from kohort.statement.items import BasketShape
from kohort.tables.source import Source

ENDINGS = [".csv", ".csv.gz", ".parquet", ".arrow", ".xlsx", ".jsonl", ".sav", ".dta"]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def while_reading(monkeypatch, ending: str, happens) -> None:
    """Let something happen to the file after it was opened and before its first byte is parsed."""
    code = format_of(f"people{ending}").code
    read = code.read

    def slow(source, how):
        happens()
        return read(source, how)

    monkeypatch.setattr(code, "read", slow)


class CountingReads(io.FileIO):
    """A file that counts how often it is read."""

    reads = 0

    def read(self, size=-1):
        self.reads += 1
        return super().read(size)


@pytest.fixture(params=ENDINGS)
def two_tables(request, tmp_path):
    """A file, another with the same columns, and the ending of both."""
    one, other = tmp_path / f"people{request.param}", tmp_path / f"other{request.param}"
    write_table(pa.table({"name": ["Ann", "Bob"]}), one)
    write_table(pa.table({"name": ["Cyd", "Dee", "Eve"]}), other)
    return one, other, request.param


def is_what_was_read(found: Source, hashes: dict[str, list[str]]) -> bool:
    return found.table["name"].to_pylist() == hashes[found.sha256]


def test_a_file_put_in_its_place(two_tables, monkeypatch):
    one, other, ending = two_tables
    hashes = {sha256(one): ["Ann", "Bob"], sha256(other): ["Cyd", "Dee", "Eve"]}
    while_reading(monkeypatch, ending, lambda: other.replace(one))
    assert is_what_was_read(read_table(one), hashes)


def test_a_link_that_is_turned_to_another_file_and_back(two_tables, monkeypatch):
    one, other, ending = two_tables
    hashes = {sha256(one): ["Ann", "Bob"], sha256(other): ["Cyd", "Dee", "Eve"]}
    link = one.with_name(f"link{ending}")
    link.symlink_to(one)

    def turn():
        link.unlink()
        link.symlink_to(other)

    while_reading(monkeypatch, ending, turn)
    assert is_what_was_read(read_table(link), hashes)


def test_a_file_that_is_written_to_while_it_is_read_is_refused(two_tables, monkeypatch):
    one, other, ending = two_tables
    content = other.read_bytes()
    while_reading(monkeypatch, ending, lambda: one.write_bytes(content))
    with pytest.raises(InputError, match="was changed while it was read") as caught:
        read_table(one)
    assert str(one) in str(caught.value) and "/proc" not in str(caught.value)


def test_a_small_file_is_read_once(tmp_path, monkeypatch):
    path = tmp_path / "people.csv.gz"
    write_table(pa.table({"name": ["Ann", "Bob"]}), path)
    was, stream = sha256(path), CountingReads(path)
    monkeypatch.setattr(source_file, "_open", lambda _: stream)
    monkeypatch.setattr(source_file, "_lasting_name", lambda *_: str(tmp_path / "nowhere"))
    monkeypatch.setattr(source_file, "_is_at", lambda *_: True)
    found = read_table(path)
    assert stream.reads == 1
    assert (found.table["name"].to_pylist(), found.sha256) == (["Ann", "Bob"], was)


def test_a_large_file_is_refused_though_its_size_and_time_are_as_before(tmp_path, monkeypatch):
    monkeypatch.setattr(source_file, "_IN_MEMORY", 0)
    path = tmp_path / "people.csv"
    path.write_text("name\nAnn\nBob\n")
    was = path.stat()

    def happens():
        path.write_text("name\nCyd\nDee\n")
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))

    while_reading(monkeypatch, ".csv", happens)
    with pytest.raises(InputError, match="was changed while it was read"):
        read_table(path)


def test_where_open_files_have_no_names_a_change_is_refused(two_tables, monkeypatch):
    one, other, ending = two_tables
    monkeypatch.setattr(source_file, "_OWN_FILES", Path("/nowhere"))
    assert read_table(one).sha256 == sha256(one)
    while_reading(monkeypatch, ending, lambda: other.replace(one))
    with pytest.raises(InputError, match="was changed while it was read"):
        read_table(one)


def test_messages_name_the_file_as_the_user_did(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("a,b\n1\n")
    with pytest.raises(InputError, match=r"^people\.csv: line 2 has 1 field"):
        read_table("people.csv")
    for ending in (".parquet", ".xlsx", ".sav"):
        Path(f"people{ending}").write_text("nothing of the kind")
        with pytest.raises(InputError, match=rf"^people\{ending} is damaged"):
            read_table(f"people{ending}")


def test_a_file_of_baskets(tmp_path, monkeypatch):
    one, other = tmp_path / "baskets.txt", tmp_path / "other.txt"
    one.write_text("a b\nc\n")
    other.write_text("d\n")
    was = sha256(one)
    detect = data_files.detect_encoding
    monkeypatch.setattr(data_files, "detect_encoding", lambda path: (other.replace(one), detect(path))[1])
    found = read_data(one, BasketShape())
    assert found.table["items"].to_pylist() == [["a", "b"], ["c"]]
    assert found.sha256 == was


def test_a_hierarchy_is_read_whole_though_another_takes_its_place(tmp_path, monkeypatch):
    one, other = tmp_path / "h.csv", tmp_path / "other.csv"
    one.write_text("é;*\n", encoding="utf-8")
    other.write_bytes("è;*\n".encode("utf-16"))
    detect = hierarchies.detect_encoding

    def swap(path):
        encoding = detect(path)
        other.replace(one)
        return encoding

    monkeypatch.setattr(hierarchies, "detect_encoding", swap)
    found = hierarchies.read_hierarchy(one).hierarchy
    assert found is not None and found.leaves == ("é",)


def test_reading_leaves_no_file_open(tmp_path):
    path = tmp_path / "people.csv"
    pl.DataFrame({"a": [1]}).write_csv(path)
    before = {p.name for p in Path("/proc/self/fd").iterdir()}
    read_table(path)
    assert {p.name for p in Path("/proc/self/fd").iterdir()} == before
