"""Whatever goes wrong between the two readings of a file: nothing is half-published, and nothing is left."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as ko
from kohort.errors import InputError, InternalError
from kohort.files import checked
from kohort.io import tables
from kohort.io.formats import delimited, fitting, json_lines
from kohort.io.tables import write_table
from kohort.job import streaming
from kohort.job.streaming import published_slices
from reading_in_batches import anonymized_in_batches

ASKED = {
    "quasi_identifiers": {"sex": None, "age": ko.intervals(5, 10, 20)},
    "sensitive": ["diagnosis"],
    "insensitive": ["length_of_stay"],
    "k": 5,
    "algorithm": "mondrian",
}
COLUMNS = ["sex", "age", "diagnosis", "length_of_stay"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(fitting, "ROWS", 40)
    monkeypatch.setattr(delimited, "BATCH_BYTES", 400)
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(streaming, "DEALT_AT_ONCE", 50)
    monkeypatch.setattr(streaming, "ROWS", 40)
    monkeypatch.setattr(fitting, "rows_per_slice", lambda n_columns: 30)
    monkeypatch.setattr("kohort.release.targets.rows_per_slice", lambda n_columns: 30)


@pytest.fixture(params=[".parquet", ".csv", ".arrow", ".jsonl"])
def path(request, tmp_path):
    path = tmp_path / f"hospital{request.param}"
    write_table(ko.datasets.generate_hospital(400).select(COLUMNS), path)
    return path


@pytest.fixture(params=[False, True], ids=["in order", "shuffled"])
def release(request, path):
    return anonymized_in_batches(path, **ASKED, shuffle=request.param)


def refused(release, error, match):
    """Writing is refused: the old release stays, and no draft is left."""
    source = release.origin.reads[0]
    out = source.parent / f"release{source.suffix}"
    out.write_text("old")
    with pytest.raises(error, match=match) as raised:
        release.write(out, certificate=source.parent / "certificate.json")
    assert out.read_text() == "old"
    assert {p.name for p in source.parent.iterdir()} == {source.name, out.name}
    return str(raised.value)


def same_times(path, before):
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_an_input_that_was_cut_short_is_refused(release, path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    refused(release, InputError, "was changed while it was read")


def test_an_input_that_was_cut_short_while_it_is_read_is_refused(release, path, monkeypatch):
    compare = streaming.SliceCheck.compare_original

    def cut_short(self, batch):
        os.truncate(path, path.stat().st_size // 2)
        compare(self, batch)

    monkeypatch.setattr(streaming.SliceCheck, "compare_original", cut_short)
    refused(release, InputError, "changed")


def test_another_file_in_its_place_is_refused(release, path):
    other = path.with_name(f"other{path.suffix}")
    other.write_bytes(path.read_bytes())
    other.replace(path)
    refused(release, InputError, "was changed while it was read")


def changed_in_place(path, change):
    """The same file with another table in it, and with its old times."""
    before = path.stat()
    table = change(ko.datasets.generate_hospital(400).select(COLUMNS))
    other = path.with_name(f"other{path.suffix}")
    write_table(table, other)
    with path.open("r+b") as file:
        file.write(other.read_bytes())
        file.truncate()
    other.unlink()
    same_times(path, before)
    return path.stat().st_size == before.st_size


def with_sex(table, record, sex):
    found = table["sex"].to_pylist()
    found[record] = sex
    return table.set_column(0, "sex", pa.array(found))


def test_a_value_that_the_first_reading_did_not_see_is_refused(tmp_path):
    write_table(ko.datasets.generate_hospital(400).select(COLUMNS), path := tmp_path / "hospital.csv")
    release = anonymized_in_batches(path, **ASKED)
    first = path.read_text().splitlines()[1].split(",")[0]
    assert changed_in_place(path, lambda table: with_sex(table, 0, "x" * len(first)))
    said = refused(release, InputError, "column 'sex' has other values than before")
    assert "xxx" not in said


def test_known_values_in_other_records_are_refused(tmp_path):
    write_table(ko.datasets.generate_hospital(400).select(COLUMNS), path := tmp_path / "hospital.csv")
    release = anonymized_in_batches(path, **ASKED)
    assert changed_in_place(path, lambda table: pa.concat_tables([table.slice(1), table.slice(0, 1)]))
    refused(release, InputError, "has other values than before")


def test_a_change_of_a_column_that_is_handed_on_is_refused(tmp_path):
    write_table(ko.datasets.generate_hospital(400).select(COLUMNS), path := tmp_path / "hospital.csv")
    release = anonymized_in_batches(path, **ASKED)

    def other_stays(table):
        stays = [9 - stay if stay < 10 else stay for stay in table["length_of_stay"].to_pylist()]
        return table.set_column(3, "length_of_stay", pa.array(stays))

    assert changed_in_place(path, other_stays)
    refused(release, InputError, "was changed while it was read")


def test_more_or_fewer_records_are_refused(tmp_path, monkeypatch):
    write_table(ko.datasets.generate_hospital(400).select(COLUMNS), path := tmp_path / "hospital.parquet")
    release = anonymized_in_batches(path, **ASKED)
    read = tables.FileBatches.read

    def only_some(self, names, *, last=False):
        yield from list(read(self, names, last=last))[:-1]

    monkeypatch.setattr(tables.FileBatches, "read", only_some)
    refused(release, InputError, "it had 400 records and now has 390")

    def twice(self, names, *, last=False):
        yield from read(self, names, last=last)
        yield from read(self, names, last=last)

    monkeypatch.setattr(tables.FileBatches, "read", twice)
    refused(release, InputError, "it had 400 records and now has more")


def test_a_label_beside_another_record_is_our_bug_and_not_written(release, monkeypatch):
    made = streaming._published_batch

    def one_late(published, original, rows):
        late = slice(rows.start, rows.stop) if isinstance(rows, slice) else rows[::-1]
        batch = made(published, original, late)
        if isinstance(rows, slice):
            labels = batch.column("age").take(pa.array([*range(1, len(batch)), 0]))
            batch = batch.set_column(batch.schema.get_field_index("age"), "age", labels)
        return batch

    monkeypatch.setattr(streaming, "_published_batch", one_late)
    refused(release, InternalError, "not what was verified")


def test_an_untouched_column_that_was_changed_is_our_bug_and_not_written(path, monkeypatch):
    release = anonymized_in_batches(path, **ASKED, shuffle=False)
    made = streaming._published_batch

    def changed(published, original, rows):
        batch = made(published, original, rows)
        place = batch.schema.get_field_index("length_of_stay")
        return batch.set_column(
            place, batch.schema.field(place), batch.column(place).take(pa.array([0] * len(batch)))
        )

    monkeypatch.setattr(streaming, "_published_batch", changed)
    refused(release, InternalError, "column 'length_of_stay' was changed")


def test_ctrl_c_leaves_nothing(release):
    seen = []

    def interrupt(what, share):
        seen.append(share)
        if len(seen) == 4:
            raise KeyboardInterrupt

    source = release.origin.reads[0]
    slicing = published_slices(release.published, lambda n: 30, source.parent, interrupt)
    with pytest.raises(KeyboardInterrupt), slicing as (_, slices, _check):
        list(slices)
    assert [p.name for p in source.parent.iterdir()] == [source.name]
    assert 0 < seen[0] < 1


def test_a_full_disk_leaves_nothing(release, monkeypatch):
    def full(self, data, /):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checked._HashingStream, "write", full)
    refused(release, InputError, "No space left on device")


def test_a_disk_that_is_full_of_dealt_records_leaves_nothing(path, monkeypatch):
    release = anonymized_in_batches(path, **ASKED, shuffle=True)

    def full(stack, path, schema):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(streaming, "_writer", full)
    refused(release, InputError, "No space left on device")


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.processes
def test_a_killed_run_publishes_nothing_and_the_next_one_sweeps_up(tmp_path, shuffle):
    path, out = tmp_path / "hospital.parquet", tmp_path / "release.parquet"
    write_table(ko.datasets.generate_hospital(400).select(COLUMNS), path)
    out.write_text("old")
    script = (
        "import os, signal, kohort as ko\n"
        "from kohort.tables import source as local\n"
        "from kohort.io.formats import fitting\n"
        "from kohort.job import streaming\n"
        "fitting.ROWS, streaming.ROWS, local._SMALL = 40, 40, -1\n"
        "made, calls = streaming._published_batch, []\n"
        "def killing(*arguments):\n"
        "    calls.append(1)\n"
        "    if len(calls) == 4:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return made(*arguments)\n"
        "streaming._published_batch = killing\n"
        f"release = ko.anonymize({str(path)!r}, quasi_identifiers=['sex', 'age'], k=5, others='keep',\n"
        f"                       algorithm='mondrian', shuffle={shuffle})\n"
        f"release.write({str(out)!r})\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert out.read_text() == "old"
    left = [p for p in tmp_path.iterdir() if p not in (path, out)]
    assert left and all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in left)
    anonymized_in_batches(path, **ASKED).write(out)
    assert {p.name for p in tmp_path.iterdir()} == {path.name, out.name}
    assert pq.read_table(out).num_rows == 400


def test_slices_are_only_made_of_files_that_are_read_in_batches(tmp_path):
    release = ko.anonymize(ko.datasets.generate_hospital(400).select(COLUMNS), **ASKED)
    with pytest.raises(AssertionError), published_slices(release.published, lambda n: 10, Path(tmp_path)):
        pass
