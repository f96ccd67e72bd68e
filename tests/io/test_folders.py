"""Folders whose files are one table: read as one file would be, hashed as by sha256sum, or refused."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from itertools import pairwise

import pyarrow as pa
import pytest
from pyarrow import orc

import kohort as ko
from cli.running import run
from kohort.errors import InputError, UnsupportedError
from kohort.io.data_files import read_data
from kohort.io.private_files import read_salt
from kohort.io.tables import open_in_batches, read_table, write_table
from kohort.job.public import commitment_to
from kohort.statement.items import BasketShape
from reading_in_batches import anonymized_in_batches

KINDS = ["parquet", "csv", "tsv", "json", "jsonl.gz", "arrow", "orc", "csv.gz"]
HOW = {
    "quasi_identifiers": ["sex", "age", "postcode"],
    "sensitive": ["diagnosis"],
    "others": "drop",
    "k": 10,
    "algorithm": "mondrian",
}
SPEC = """
attributes:
  sex: {role: quasi-identifier}
  age: {role: quasi-identifier}
  postcode: {role: quasi-identifier}
  diagnosis: {role: sensitive}
others: drop
privacy: {k: 10}
algorithm: mondrian
"""


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return ko.datasets.generate_hospital(600, seed=4).drop_columns(["procedures"])


def parted(folder, table: pa.Table, kind: str, ends=(0, 250, 250, 600)):
    """The folder with the table in files of this kind, one of them without records, as Spark writes them."""
    folder.mkdir()
    for number, (start, stop) in enumerate(pairwise(ends)):
        path, part = folder / f"part-{number:05}-abc.{kind}", table.slice(start, stop - start)
        if kind == "orc":
            orc.write_table(part, str(path))
        elif start == stop and kind == "json":
            path.write_bytes(b"")
        else:
            write_table(part, path)
    (folder / "_SUCCESS").write_text("")
    (folder / "_committed").mkdir()
    (folder / ".part-00000-abc.crc").write_bytes(b"\0\1")
    return folder


def printed_hash(folder) -> str:
    """The definition: the SHA-256 of what `sha256sum part-*` prints in the folder."""
    done = subprocess.run(
        "sha256sum part-*", shell=True, cwd=folder, capture_output=True, check=True, env={"LC_ALL": "C"}
    )
    return hashlib.sha256(done.stdout).hexdigest()


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_is_read_as_its_files_one_after_the_other(tmp_path, people, kind) -> None:
    folder = parted(tmp_path / "people", people, kind)
    found = read_table(folder)
    assert found.sha256 == printed_hash(folder)
    assert any("sha256sum" in note for note in found.notes)
    if kind != "orc":
        write_table(people, tmp_path / f"whole.{kind}")
        whole = read_table(tmp_path / f"whole.{kind}")
        assert found.table.to_pylist() == whole.table.to_pylist()
        assert (found.format, found.delimiter, found.encoding) == (
            whole.format,
            whole.delimiter,
            whole.encoding,
        )
    else:
        assert found.table.to_pylist() == people.to_pylist()


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_a_folder_give_the_same_release(tmp_path, people, kind) -> None:
    folder = parted(tmp_path / "people", people, kind)
    whole, streamed = (make(folder, **HOW) for make in (ko.anonymize, anonymized_in_batches))
    assert streamed.table.to_pylist() == whole.table.to_pylist()
    assert streamed.origin.sha256 == whole.origin.sha256 == printed_hash(folder)
    facts = streamed.write(tmp_path / "release.parquet", salt=tmp_path / "salt")
    assert facts["commitment"] == commitment_to(printed_hash(folder), read_salt(tmp_path / "salt"))


def test_text_that_repeats_in_some_files_only(tmp_path) -> None:
    """Text is encoded where it repeats, file by file; batches of one reading still are of one type."""
    table = pa.table({"a": ["x"] * 3000 + [f"v{i}" for i in range(3000)], "b": ["y"] * 6000})
    for kind in ("csv", "parquet"):
        for name, ends in (("first", (0, 3000, 6000)), ("last", (3000, 6000)), ("both", (0, 6000))):
            folder = parted(tmp_path / f"{kind}-{name}", table, kind, ends)
            batches = open_in_batches(folder)
            read = pa.Table.from_batches(list(batches.read(["a", "b"], last=True)))
            assert read.to_pylist() == table.slice(ends[0]).to_pylist()
            assert batches.whole().to_pylist() == read.to_pylist()
            assert read_table(folder).table.to_pylist() == read.to_pylist()


def test_keys_that_objects_lack_are_missing(tmp_path) -> None:
    """Spark leaves out keys without a value, so files of one table may have different keys and types."""
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "part-0.json").write_text('{"a": 1}\n{"a": 2}\n')
    (folder / "part-1.json").write_text('{"a": 2.5, "b": "x"}\n{"b": "y", "c": ["u"]}\n')
    (folder / "part-2.json").write_text('{"b": "z", "c": []}\n')
    expected = [
        {"a": 1.0, "b": None, "c": None},
        {"a": 2.0, "b": None, "c": None},
        {"a": 2.5, "b": "x", "c": None},
        {"a": None, "b": "y", "c": ["u"]},
        {"a": None, "b": "z", "c": []},
    ]
    assert read_table(folder).table.to_pylist() == expected
    batches = open_in_batches(folder)
    assert pa.Table.from_batches(list(batches.read(["a", "b", "c"]))).to_pylist() == expected
    only = pa.Table.from_batches(list(batches.read(["b"])))
    assert only.to_pylist() == [{"b": row["b"]} for row in expected]
    (folder / "part-3.json").write_text('{"a": "seven"}\n')
    with pytest.raises(InputError, match="the values of 'a' are not of one kind"):
        read_table(folder)
    (folder / "part-3.json").write_text("{}\n")
    with pytest.raises(InputError, match=r"part-3\.json"):
        read_table(folder)


def test_files_without_a_header(tmp_path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "part-0.csv").write_text("1,ann\n2,bob\n")
    (folder / "part-1.csv").write_text("3,cleo\n")
    with pytest.raises(InputError, match="header"):
        read_table(folder)
    assert read_table(folder, header=False).table["column_2"].to_pylist() == ["ann", "bob", "cleo"]
    (folder / "part-1.csv").write_text("3,cleo,x\n")
    with pytest.raises(InputError, match=r"part-1\.csv has other columns") as caught:
        read_table(folder, header=False)
    assert "cleo" not in str(caught.value)


def test_a_first_line_that_is_a_record_is_not_shown(tmp_path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "part-0.csv").write_text("name,age\nann,7\nbob,8\n")
    (folder / "part-1.csv").write_text("zoe,41\n")
    for read in (read_table, open_in_batches):
        with pytest.raises(InputError, match=r"part-1\.csv has other columns") as caught:
            read(folder)
        assert "zoe" not in str(caught.value)


def test_what_is_not_one_table_is_refused(tmp_path, people) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "_SUCCESS").write_text("")
    with pytest.raises(InputError, match="without files"):
        read_table(folder)
    write_table(people, folder / "part-0.parquet")
    write_table(people, folder / "part-1.csv")
    with pytest.raises(InputError, match=r"several formats: 'part-0\.parquet', 'part-1\.csv'"):
        read_table(folder)
    (folder / "part-1.csv").unlink()
    write_table(people.drop_columns(["age"]), folder / "part-1.parquet")
    for read in (read_table, open_in_batches):
        with pytest.raises(InputError, match=r"part-1\.parquet has other columns.*than part-0\.parquet"):
            read(folder)
    (folder / "part-1.parquet").unlink()
    (folder / "README").write_text("read me")
    with pytest.raises(UnsupportedError, match="README: unknown extension"):
        read_table(folder)
    (folder / "README").unlink()
    (folder / "more").mkdir()
    with pytest.raises(InputError, match="has folders in it, such as 'more'"):
        read_table(folder)
    (folder / "more").rmdir()
    (folder / "diagnosis=HIV").mkdir()
    with pytest.raises(InputError, match=r"divided into folders by the values of 'diagnosis'") as caught:
        read_table(folder)
    assert "HIV" not in str(caught.value)
    (folder / "diagnosis=HIV").rmdir()
    os.mkfifo(folder / "pipe.parquet")
    with pytest.raises(InputError, match="not a regular file"):
        read_table(folder)


def test_types_must_be_the_same(tmp_path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    write_table(pa.table({"a": [1]}), folder / "part-0.parquet")
    write_table(pa.table({"a": ["1"]}), folder / "part-1.parquet")
    with pytest.raises(InputError, match="columns of other types"):
        read_table(folder)


@pytest.mark.parametrize("kind", ["xlsx", "dta"])
def test_folders_of_workbooks_are_refused(tmp_path, kind) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    write_table(pa.table({"a": [1]}), folder / f"part.{kind}")
    with pytest.raises(UnsupportedError, match=f"folder of .{kind} files"):
        read_table(folder)


def test_names_that_sha256sum_prints_otherwise_are_refused(tmp_path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "part\n0.csv").write_text("a\nx\n")
    with pytest.raises(InputError, match="backslash or a line end"):
        read_table(folder)


def added(folder, people):
    write_table(people, folder / "part-00009-abc.parquet")


def removed(folder, _):
    (folder / "part-00001-abc.parquet").unlink()


def replaced(folder, people):
    """Other records of the same size, in another file of the same name."""
    write_table(people.slice(250).take(list(reversed(range(350)))), folder / "new.parquet")
    (folder / "new.parquet").replace(folder / "part-00002-abc.parquet")


def touched(folder, _):
    """One byte of a value, with the old times: only the hash can tell."""
    path = folder / "part-00002-abc.parquet"
    state, content = path.stat(), bytearray(path.read_bytes())
    place = content.find(b"PAR1", 4) - 40
    content[place] ^= 1
    with path.open("r+b") as file:
        file.write(bytes(content))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.mark.parametrize("change", [added, removed, replaced, touched])
def test_a_folder_that_changes_between_two_readings_is_refused(tmp_path, people, change) -> None:
    folder = parted(tmp_path / "people", people, "parquet")
    release = anonymized_in_batches(folder, **HOW)
    change(folder, people)
    with pytest.raises(InputError, match=r"changed while it was read|is damaged"):
        release.write(tmp_path / "release.csv")
    assert not (tmp_path / "release.csv").exists()


def test_nothing_is_written_into_a_folder_that_is_read(tmp_path, people) -> None:
    folder = parted(tmp_path / "people.parquet", people, "parquet")
    release = ko.anonymize(folder, **HOW)
    with pytest.raises(InputError, match="in a folder that this run reads"):
        release.write(folder / "release.parquet")
    with pytest.raises(InputError, match="is a folder"):
        release.write(folder)


def test_orc_is_read_and_not_written(tmp_path, people) -> None:
    orc.write_table(people, str(tmp_path / "people.orc"))
    assert read_table(tmp_path / "people.orc").table.to_pylist() == people.to_pylist()
    streamed = anonymized_in_batches(tmp_path / "people.orc", **HOW)
    assert streamed.table.to_pylist() == ko.anonymize(people, **HOW).table.to_pylist()
    with pytest.raises(UnsupportedError, match=r"ORC files \(.orc\) can be read, not written"):
        streamed.write(tmp_path / "release.orc")
    (tmp_path / "broken.orc").write_bytes(b"ORC of no kind")
    with pytest.raises(InputError, match="damaged"):
        read_table(tmp_path / "broken.orc")


def test_baskets_in_a_folder(tmp_path) -> None:
    folder = tmp_path / "baskets"
    folder.mkdir()
    (folder / "part-0.txt").write_text("a b\nc\n")
    (folder / "part-1.txt").write_text("")
    (folder / "part-2.txt").write_text("a\n")
    (folder / "_SUCCESS").write_text("")
    found = read_data(folder, BasketShape())
    assert found.table["items"].to_pylist() == [["a", "b"], ["c"], ["a"]]
    assert found.sha256 == printed_hash(folder)
    lists = tmp_path / "lists"
    lists.mkdir()
    write_table(pa.table({"items": [["a", "b"], ["c"]]}), lists / "part-0.parquet")
    assert read_data(lists, BasketShape()).table["items"].to_pylist() == [["a", "b"], ["c"]]
    write_table(pa.table({"things": [["a", "b"], ["c"]]}), lists / "part-0.parquet")
    with pytest.raises(InputError, match="one column, 'items', of lists"):
        read_data(lists, BasketShape())


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_commands_read_folders(tmp_path, people, kind) -> None:
    folder = parted(tmp_path / "people", people, kind)
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC)
    release = ko.anonymize(folder, spec=spec)
    published = parted(tmp_path / "release", release.table, kind)
    facts = release.write(tmp_path / "one.csv")
    facts["sha256"]["output"] = printed_hash(published)
    (tmp_path / "c.json").write_text(json.dumps(facts))
    done = run(
        "verify", published, "--spec", spec, "--original", folder, "--certificate", tmp_path / "c.json",
        "--json", "--violations", tmp_path / "failing.csv",
    )  # fmt: skip
    assert done.exit == 0, done.err
    assert run("verify", published, "--certificate", tmp_path / "c.json", "--quiet").exit == 0
    (published / f"part-00009.{kind}").write_bytes((published / f"part-00000-abc.{kind}").read_bytes())
    broken = run("verify", published, "--certificate", tmp_path / "c.json")
    assert broken.exit == 1 and "sha256 of the release" in broken.out
    for words in (
        ["profile", folder],
        ["init", folder, "--out", tmp_path / "new.yaml"],
        ["risk", folder, "--spec", spec],
        ["anonymize", folder, "--spec", spec, "--out", tmp_path / "release.csv"],
    ):
        done = run(*words, "--quiet")
        assert done.exit == 0, done.err
    assert ko.verify(folder, spec=spec).records == 600
