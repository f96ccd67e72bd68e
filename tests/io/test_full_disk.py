"""A full disk never leaves a part of a file where a whole one was, in any format."""

from __future__ import annotations

import subprocess

import pyarrow as pa
import pytest

from kohort.errors import InputError
from kohort.files.atomic import replacing
from kohort.io.data_files import write_data
from kohort.io.tables import read_table, write_table
from kohort.statement.items import BasketShape
from lossy_disk import losing_half

ENDINGS = [
    ".csv", ".csv.gz", ".csv.zst", ".tsv.xz", ".parquet", ".arrow", ".xlsx", ".jsonl",
    ".sav", ".zsav", ".dta",
]  # fmt: skip
TABLE = pa.table(
    {
        "name": [f"person {i * 7919 % 1009}" for i in range(300)],
        "age": [i * 31 % 97 for i in range(300)],
        "share": [i * 0.37 % 1 for i in range(300)],
    }
)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 KB of its own, where this user may make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only the administrator can mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("ending", ENDINGS)
def test_with_any_room_the_file_is_whole_or_the_old_one_stays(small_disk, ending):
    target, ballast = small_disk / f"release{ending}", small_disk / "ballast"
    outcomes = set()
    for room in range(0, 56 * 1024, 4096):
        target.write_text("old")
        with ballast.open("wb") as file:
            file.write(bytes(60 * 1024 - room))
        try:
            with replacing(target) as draft:
                write_table(TABLE, draft)
        except InputError as error:
            outcomes.add("refused")
            assert "person" not in str(error)
            assert target.read_text() == "old"
        else:
            outcomes.add("written")
            assert read_table(target).table.num_rows == 300
            assert read_table(target).table["name"].to_pylist() == TABLE["name"].to_pylist()
        ballast.unlink()
        assert [path.name for path in small_disk.iterdir()] == [target.name]
    assert outcomes == {"refused", "written"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_draft_that_does_not_come_back_is_not_published(tmp_path, monkeypatch, ending):
    target = tmp_path / f"release{ending}"
    target.write_text("old")
    losing_half(monkeypatch)
    with pytest.raises(InputError, match=r"Could not write .*release"), replacing(target) as draft:
        write_table(TABLE, draft)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_baskets_that_do_not_come_back_are_not_published(tmp_path, monkeypatch):
    target = tmp_path / "baskets.txt"
    losing_half(monkeypatch)
    lists = pa.table({"items": [["a", "b"], ["c"]] * 50})
    with pytest.raises(InputError, match="Could not write"), replacing(target) as draft:
        write_data(lists, draft, BasketShape(), delimiter=None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [".sav", ".zsav", ".dta"])
def test_a_text_that_the_format_cuts_off_is_refused(tmp_path, ending):
    cut = pa.table({"a": ["Zebulon\0x", "y"], "b": [1, 2]})
    with pytest.raises(InputError, match="Column 'a' does not come back") as caught:
        write_table(cut, tmp_path / f"t{ending}")
    assert "Zebulon" not in str(caught.value)


@pytest.mark.parametrize("ending", [".sav", ".zsav", ".dta"])
def test_an_empty_table_and_odd_values_come_back(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    odd = pa.table(
        {
            "spaces": pa.array(["a ", None, " b"]),
            "nothing": pa.array([None, None, None], pa.string()),
            "gone": pa.nulls(3),
            "small": pa.array([0.1, float("nan"), None], pa.float32()),
            "zero": pa.array([-0.0, 0.0, None]),
            "moment": pa.array([1, 1_600_000_000_123_456_789, None], pa.timestamp("ns")),
            "zone": pa.array([1, 2, None], pa.timestamp("ms", "Europe/Berlin")),
            "clock": pa.array([1, 86_399_999_999, None], pa.time64("us")),
        }
    )
    write_table(odd, path)
    assert read_table(path).table.num_rows == 3
    write_table(odd.slice(0, 0), path)
