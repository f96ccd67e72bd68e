"""A run that is killed around the commit in a database: its files are old where its table is old."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import kohort as ko
from publication.test_into_databases import ASKED, HOSPITAL, table_in
from reading_databases import read_database

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(os.name == "nt", reason="there are no locks that a kill releases"),
]

CHILD = """
import os, signal, sys
from pathlib import Path
import kohort as ko
from kohort.io.databases.records import TableDraft
from publication.test_into_databases import ASKED

url, folder, when, left = sys.argv[1], Path(sys.argv[2]), sys.argv[3], [int(sys.argv[4])]
rename, commit = Path.replace, TableDraft.commit

def end():
    os.kill(os.getpid(), signal.SIGKILL)

def replace(self, target):
    if not left[0]:
        end()
    left[0] -= 1
    return rename(self, target)

def committed(self):
    if when == "before":
        end()
    commit(self)
    end()

release = ko.anonymize(ko.database(url, table="people"), **ASKED)
if when == "rename":
    Path.replace = replace
else:
    TableDraft.commit = committed
release.write(
    ko.database(url, table="release"),
    certificate=folder / "c.json", report=folder / "new.html", maps=None, salt=folder / "more" / "salt",
)
"""

# files are handled alike whatever the database; the two differ most: what is not committed is gone with the
# process, or stands in the database as a draft
where_files_matter = pytest.mark.parametrize("database_place", ["sqlite", "mysql+pymysql"], indirect=True)


@pytest.fixture
def place(database_place):
    database_place.load("people", HOSPITAL)
    database_place.load("release", pa.table({"old": [1, 2, 3]}))
    return database_place


@pytest.fixture
def folder(tmp_path):
    """A folder with an old certificate, and another one in it without files."""
    folder = tmp_path / "files"
    (folder / "more").mkdir(parents=True)
    (folder / "c.json").write_text("old")
    return folder


def killed(place, folder, when: str, renames: int = 0) -> None:
    tests = Path(__file__).parent.parent
    paths = os.pathsep.join([str(tests), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", CHILD, place.url, str(folder), when, str(renames)],
        env=os.environ | {"PYTHONPATH": paths, "TMPDIR": str(folder)},
        capture_output=True,
    )
    assert done.returncode == -9, done.stderr.decode()


def next_run(folder) -> None:
    """Any run that writes to one of the folders looks after what a killed one left."""
    ko.anonymize(pa.table({"age": [1, 1]}), quasi_identifiers=["age"], k=2).write(
        folder / "more" / "other.csv"
    )
    ko.anonymize(pa.table({"age": [1, 1]}), quasi_identifiers=["age"], k=2).write(folder / "other.csv")


def test_right_before_the_commit_everything_is_old(place, folder) -> None:
    all_is_old_after_a_kill(place, folder, "before")


@pytest.mark.parametrize("renames", range(5))
@where_files_matter
def test_between_renames_everything_is_old(place, folder, renames) -> None:
    """The first renames are those of the journals, one for each folder; the others are those of the files."""
    all_is_old_after_a_kill(place, folder, "rename", renames)


def all_is_old_after_a_kill(place, folder, when: str, renames: int = 0) -> None:
    killed(place, folder, when, renames)
    assert table_in(place).to_pydict() == {"old": [1, 2, 3]}
    next_run(folder)
    assert (folder / "c.json").read_text() == "old"
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    assert found == ["c.json", "more", "more/other.csv", "other.csv"]
    assert table_in(place).to_pydict() == {"old": [1, 2, 3]}


@where_files_matter
def test_files_of_others_are_not_taken_back(place, folder) -> None:
    killed(place, folder, "before")
    assert json.loads((folder / "c.json").read_text())["holds"]
    (folder / "theirs.json").write_text("theirs")
    (folder / "theirs.json").replace(folder / "c.json")
    next_run(folder)
    assert (folder / "c.json").read_text() == "theirs"


def test_a_kill_right_after_the_commit_is_found_by_the_hash(place, folder) -> None:
    """The one instant that is left: the table is new, and its certificate is the old one."""
    release = ko.anonymize(ko.database(place.url, table="people"), **ASKED)
    release.write(folder / "release.csv", certificate=folder / "c.json")
    before = (folder / "c.json").read_text()
    killed(place, folder, "after")
    next_run(folder)
    assert (folder / "c.json").read_text() == before
    _, sha256 = read_database(ko.database(place.url, table="release"))
    assert json.loads(before)["sha256"]["output"] != sha256
