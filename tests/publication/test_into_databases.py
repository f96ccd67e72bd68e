"""Releases out of and into databases: the same as of a file, whole or not at all."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as ko
from kohort.errors import InputError, InternalError, UnsupportedError
from kohort.io.databases.dialect import AdbcDatabase
from kohort.io.databases.records import TableDraft
from kohort.job import streaming
from kohort.release import in_database
from kohort.tables.batches import BatchTable
from reading_databases import read_database
from reading_in_batches import anonymized_in_batches

ASKED = {
    "quasi_identifiers": {"sex": None, "age": ko.intervals(5, 10, 20), "postcode": ko.mask()},
    "identifiers": ["name"],
    "sensitive": ["diagnosis"],
    "insensitive": ["length_of_stay"],
    "privacy": [ko.KAnonymity(5), ko.LDiversity("diagnosis", 2, kind="distinct")],
    "algorithm": "mondrian",
}
COLUMNS = [*ASKED["quasi_identifiers"], "name", "diagnosis", "length_of_stay"]
SPEC = {
    "attributes": {
        "name": {"role": "identifier"},
        "sex": {"role": "quasi-identifier"},
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}},
        "postcode": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}},
        "diagnosis": {"role": "sensitive"},
        "length_of_stay": {"role": "insensitive"},
    },
    "privacy": {"k": 5, "diversity": {"attribute": "diagnosis", "l": 2, "kind": "distinct"}},
}
HOSPITAL = ko.datasets.generate_hospital(400).select(COLUMNS)


of_files = pytest.mark.parametrize("database_place", ["sqlite", "duckdb"], indirect=True)


@pytest.fixture
def place(database_place):
    """A database of each kind with a table of people."""
    database_place.load("people", HOSPITAL)
    return database_place


def table_in(place, name="release"):
    return read_database(ko.database(place.url, table=name))[0]


def records(table):
    return sorted(map(str, table.to_pylist()))


@pytest.mark.parametrize("make", [ko.anonymize, anonymized_in_batches])
def test_the_release_is_that_of_a_dataframe(place, make, monkeypatch):
    monkeypatch.setattr(streaming, "DEALT_AT_ONCE", 50)
    monkeypatch.setattr(streaming, "ROWS", 40)
    expected = ko.anonymize(HOSPITAL, **ASKED)
    release = make(ko.database(place.url, table="people"), **ASKED)
    assert isinstance(release.dataset, BatchTable) == (make is anonymized_in_batches)
    facts = release.write(ko.database(place.url, table="release"))
    assert release.loss == expected.loss
    assert records(table_in(place)) == records(expected.arrow)
    found, sha256 = read_database(ko.database(place.url, table="release"))
    assert facts["sha256"]["output"] == sha256
    assert found.schema.field("length_of_stay").type == pa.int64()
    assert ko.verify(ko.database(place.url, table="release"), spec=SPEC).holds
    assert sorted(place.tables()) == ["people", "release"]


@pytest.mark.parametrize("make", [ko.anonymize, anonymized_in_batches])
def test_columns_keep_their_types(place, make):
    whole = {"age": [20, 20, 30, 30], "yes": [True, False, None, True], "empty": pa.nulls(4, pa.string())}
    times = {
        "day": pa.array([1, 2, None, 3], pa.date32()),
        "moment": pa.array([1, 2, None, 3], pa.timestamp("us")),
        "zoned": pa.array([1, 2, None, 3], pa.timestamp("us", "UTC")),
    }
    table = pa.table(whole | times)
    place.load("odd", table)
    source = ko.database(place.url, table="odd")
    asked = {"quasi_identifiers": ["age"], "others": "keep", "k": 2, "algorithm": "mondrian"}
    make(source, **asked).write(ko.database(place.url, table="release"))
    found = table_in(place)
    before = read_database(source)[0]
    assert records(found.drop_columns("age")) == records(before.drop_columns("age"))
    if place.kind == "mysql":  # truth values are numbers there, and times have no zone
        types = [pa.int64(), pa.string(), pa.date32(), pa.timestamp("us"), pa.timestamp("us")]
        assert found.schema.types[1:] == types
    elif place.kind != "sqlite":
        assert found.schema.types[1:] == table.schema.types[1:]


def test_from_a_query_to_a_file(place, tmp_path):
    source = ko.database(place.url, query="select * from people where age > 40 -- the older ones")
    ko.anonymize(source, **ASKED).write(tmp_path / "release.parquet")
    older = HOSPITAL.filter(pa.compute.greater(HOSPITAL["age"], 40))
    expected = ko.anonymize(older, **ASKED)
    assert records(pq.read_table(tmp_path / "release.parquet")) == records(expected.arrow)


def test_an_old_table_is_replaced(place):
    place.load("release", pa.table({"old": [1, 2, 3]}))
    release = ko.anonymize(ko.database(place.url, table="people"), **ASKED)
    release.write(ko.database(place.url, table="release"))
    release.write(ko.database(place.url, table="release"))
    assert records(table_in(place)) == records(release.arrow)
    assert sorted(place.tables()) == ["people", "release"]


@pytest.mark.parametrize(
    "source",
    [
        {"table": "people"},
        {"query": "select * from people"},
        {"query": "select p.* from people p join people q using (name)"},
        {"query": "with them as (select * from people) select * from them"},
        {"table": "everybody"},
    ],
    ids=lambda source: next(iter(source.values())),
)
def test_what_is_read_is_never_written(place, source):
    place.run("create view everybody as select * from people")
    release = ko.anonymize(ko.database(place.url, **source), **ASKED)
    with pytest.raises(InputError, match="this run reads"):
        release.write(ko.database(place.url, table="people"))
    assert records(table_in(place, "people")) == records(HOSPITAL)


def test_a_url_is_no_file(place):
    release = ko.anonymize(HOSPITAL, **ASKED)
    with pytest.raises(InputError, match=r"ko\.database"):
        release.write(place.url)


def test_people_and_events_of_a_database(place, tmp_path):
    place.load("visits", pa.table({"id": [1, 2, 3, 4], "illness": ["a", "b", "a", "b"]}))
    place.load("patients", pa.table({"id": [1, 2, 3, 4], "age": [20, 20, 30, 30]}))
    release = ko.anonymize(
        ko.database(place.url, table="patients"),
        events=ko.database(place.url, table="visits"),
        person="id",
        quasi_identifiers=["age"],
        sensitive=["illness"],
        k=2,
    )
    release.write(tmp_path / "people.csv", events=tmp_path / "events.csv")
    assert len((tmp_path / "events.csv").read_text().splitlines()) == 5
    with pytest.raises(InputError, match="two files, or to two tables of one database"):
        release.write(ko.database(place.url, table="release"), events=tmp_path / "other.csv")


PEOPLE = pa.table({"id": [1, 2, 3, 4], "age": [20, 20, 30, 30]})
VISITS = pa.table({"id": [1, 2, 3, 4], "illness": ["a", "b", "a", "b"]})
TWO = {"person": "id", "quasi_identifiers": ["age"], "sensitive": ["illness"], "k": 2}


@pytest.fixture
def two(place):
    """People and their visits in a database, and where the release of both goes."""
    place.load("patients", PEOPLE)
    place.load("visits", VISITS)
    source, events = (ko.database(place.url, table=name) for name in ("patients", "visits"))
    return ko.anonymize(source, events=events, **TWO)


def places(place, *names):
    return [ko.database(place.url, table=name) for name in names]


def test_people_and_events_become_two_tables(place, two, tmp_path):
    out, events = places(place, "release", "release_visits")
    for _ in range(2):
        facts = two.write(out, events=events, certificate=tmp_path / "c.json")
    spec = {
        "attributes": {"age": {"role": "quasi-identifier"}},
        "events": {"key": "id", "attributes": {"illness": {"role": "sensitive"}}},
        "privacy": {"k": 2},
    }
    assert ko.verify(out, events=events, spec=spec).holds
    assert facts["sha256"]["events"] == read_database(events)[1]
    assert facts["sha256"]["output"] == read_database(out)[1]
    assert sorted(table_in(place, "release_visits")["illness"].to_pylist()) == ["a", "a", "b", "b"]
    assert sorted(place.tables()) == ["patients", "people", "release", "release_visits", "visits"]


@pytest.mark.parametrize("what", ["commit", "verify", "second fill"])
def test_two_tables_are_both_old_after_a_failure(place, two, tmp_path, monkeypatch, what):
    for name in ("release", "release_visits"):
        place.load(name, pa.table({"old": [1, 2, 3]}))
    out, events = places(place, "release", "release_visits")
    slices = TableDraft._slices

    def second(self):
        return 1 / 0 if self.target == events else slices(self)

    broken = {"commit": (TableDraft, "commit"), "verify": (in_database, "verify_release")}
    if what == "second fill":
        monkeypatch.setattr(TableDraft, "sha256", "0")
        monkeypatch.setattr(TableDraft, "_slices", second)
    else:
        monkeypatch.setattr(*broken[what], lambda *given, **named: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        two.write(out, events=events, certificate=tmp_path / "c.json")
    for name in ("release", "release_visits"):
        assert table_in(place, name).to_pydict() == {"old": [1, 2, 3]}
    assert len(place.tables()) == 5
    assert not (tmp_path / "c.json").exists()


def test_two_tables_that_are_refused(place, two):
    out, events = places(place, "release", "visits")
    with pytest.raises(InputError, match="this run reads"):
        two.write(out, events=events)
    with pytest.raises(InputError, match="two names"):
        two.write(out, events=out)
    with pytest.raises(InputError, match="one URL"):
        two.write(out, events=ko.database("duckdb:///other.duckdb", table="visits"))
    with pytest.raises(InputError, match="two files"):
        two.write(out)


@of_files
def test_no_file_of_the_run_replaces_the_database(place, tmp_path):
    release = ko.anonymize(ko.database(place.url, table="people"), **ASKED)
    before = place.path.read_bytes()
    with pytest.raises(InputError, match="this run reads"):
        release.write(tmp_path / "release.csv", certificate=place.path)
    assert place.path.read_bytes() == before


# -- all or nothing ----------------------------------------------------------------------------------


@pytest.fixture
def before(place, tmp_path):
    """An old release in the database, and an old certificate beside it."""
    place.load("release", pa.table({"old": [1, 2, 3]}))
    (tmp_path / "certificate.json").write_text("old")
    return tmp_path


def assert_nothing_changed(place, folder):
    assert table_in(place).to_pydict() == {"old": [1, 2, 3]}
    assert (folder / "certificate.json").read_text() == "old"
    assert sorted(place.tables()) == ["people", "release"]
    assert not list(folder.glob(".kohort*"))


def write_all(place, folder):
    release = ko.anonymize(ko.database(place.url, table="people"), **ASKED)
    return release.write(ko.database(place.url, table="release"), certificate=folder / "certificate.json")


def test_all_is_written(place, before):
    facts = write_all(place, before)
    assert json.loads((before / "certificate.json").read_text())["sha256"] == facts["sha256"]
    assert table_in(place).num_rows == 400


@pytest.mark.parametrize("what", ["commit", "load"])
def test_a_failure_leaves_what_was_there(place, before, monkeypatch, what):
    done = getattr(TableDraft, what)

    def fail(self, *given):
        if what == "load":
            done(self, *given)
        raise InputError("the end")

    monkeypatch.setattr(TableDraft, what, fail)
    with pytest.raises(InputError, match="the end"):
        write_all(place, before)
    assert_nothing_changed(place, before)


def test_a_table_that_breaks_a_promise_is_not_committed(place, before, monkeypatch):
    real = in_database.verify_release

    def stricter(found, request, **more):
        return real(found, request.promising([ko.KAnonymity(401)]), **more)

    monkeypatch.setattr(in_database, "verify_release", stricter)
    with pytest.raises(InternalError, match="does not keep the promises"):
        write_all(place, before)
    assert_nothing_changed(place, before)


def test_a_table_that_is_not_the_release_is_not_committed(place, before, monkeypatch):
    stored = TableDraft._stored

    def without_the_last(self):
        parts = list(stored(self))
        yield from parts[:-1]
        yield parts[-1].slice(0, len(parts[-1]) - 1)

    def load(self, relations, verify):
        assert self.sha256  # of all records
        monkeypatch.setattr(TableDraft, "_stored", without_the_last)
        return real(self, relations, verify)

    real = TableDraft.load
    monkeypatch.setattr(TableDraft, "load", load)
    with pytest.raises(InternalError, match="not the release that was verified"):
        write_all(place, before)
    assert_nothing_changed(place, before)


CHILD = """
import sys, time
from pathlib import Path
import kohort as ko
from kohort.io.databases.records import TableDraft

def wait(self):
    Path(sys.argv[2]).touch()
    time.sleep(60)

TableDraft.commit = wait
from publication.test_into_databases import ASKED
release = ko.anonymize(ko.database(sys.argv[1], table="people"), **ASKED)
release.write(ko.database(sys.argv[1], table="release"))
"""


@pytest.mark.processes
def test_a_process_that_is_killed_leaves_the_old_table(place, before, tmp_path, monkeypatch):
    ready = tmp_path / "ready"
    tests = Path(__file__).parent.parent
    paths = os.pathsep.join([str(tests), *sys.path])
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, place.url, str(ready)],
        env=os.environ | {"PYTHONPATH": paths, "TMPDIR": str(tmp_path)},
    )
    for _ in range(600):
        if ready.exists() or child.poll() is not None:
            break
        time.sleep(0.05)
    assert child.poll() is None
    child.send_signal(signal.SIGKILL)
    child.wait()
    time.sleep(0.2 if place.kind in ("postgresql", "mysql") else 0)
    assert table_in(place).to_pydict() == {"old": [1, 2, 3]}
    left = [name for name in place.tables() if name not in ("people", "release")]
    assert [re.sub("[0-9a-f]{16}", "", name) for name in left] == (
        ["kohort_"] if place.kind == "mysql" else []
    )
    drafts = list(tmp_path.glob(".kohort*"))
    assert drafts and not [draft for draft in drafts if draft.stat().st_mode & 0o077]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    release = ko.anonymize(ko.database(place.url, table="people"), **ASKED)
    release.write(ko.database(place.url, table="release"))
    assert table_in(place).num_rows == 400
    assert not list(tmp_path.glob(".kohort*"))  # the next run removes what a killed one left
    assert sorted(place.tables()) == ["people", "release"]


@of_files
def test_a_new_file_is_gone_after_a_failure(place, tmp_path, monkeypatch):
    new = tmp_path / "new.db"
    release = ko.anonymize(ko.database(place.url, table="people"), **ASKED)
    monkeypatch.setattr(TableDraft, "commit", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        release.write(ko.database(f"{place.scheme}:///{new}", table="release"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [place.path.name]
    monkeypatch.undo()
    release.write(ko.database(f"{place.scheme}:///{new}", table="release"))
    assert read_database(ko.database(f"{place.scheme}:///{new}", table="release"))[0].num_rows == 400


def test_baskets_and_events_are_written_to_files(place):
    baskets = pa.table({"id": [1, 2, 3, 4], "bought": [["a"], ["a"], ["b"], ["b"]]})
    release = ko.anonymize(baskets, items="bought", insensitive=["id"], privacy=[ko.KmAnonymity(2, 1)])
    target = ko.database(place.url, table="release")
    if not place.has_lists:
        with pytest.raises(UnsupportedError, match="'bought'"):
            release.write(target)
    else:
        release.write(target)
        assert table_in(place)["bought"].to_pylist() == release.arrow["bought"].to_pylist()


def test_files_of_baskets_become_columns_of_lists(place, tmp_path):
    lines = tmp_path / "baskets.txt"
    lines.write_text("a b\na b\n\nc d\nc d\n")
    spec = {"items": {"hierarchy": {"order": "natural", "fanout": 2}}, "privacy": {"k": 2, "m": 2}}
    release, target = ko.anonymize(lines, spec=spec), ko.database(place.url, table="release")
    if not place.has_lists:
        with pytest.raises(UnsupportedError, match="'items'"):
            release.write(target)
        return
    release.write(target)
    assert table_in(place)["items"].to_pylist() == release.arrow["items"].to_pylist()
    assert ko.verify(target, spec=spec).holds
    again = ko.anonymize(target, spec=spec)
    again.write(tmp_path / "again.txt")
    assert sorted((tmp_path / "again.txt").read_text().splitlines()) == ["", "a b", "a b", "c d", "c d"]
    with pytest.raises(UnsupportedError, match="long table"):
        ko.anonymize(target, spec={**spec, "items": {"id": "basket", "item": "item"}})


# -- PostgreSQL --------------------------------------------------------------------------------------


def test_a_connection_that_is_ended_leaves_the_old_table(postgresql, tmp_path, monkeypatch):
    postgresql.load("people", HOSPITAL)
    postgresql.load("release", pa.table({"old": [1, 2, 3]}))
    (tmp_path / "certificate.json").write_text("old")
    commit = TableDraft.commit

    def ended(self):
        others = "pid <> pg_backend_pid() and datname = current_database()"
        postgresql.rows(f"select pg_terminate_backend(pid) from pg_stat_activity where {others}")
        commit(self)

    monkeypatch.setattr(TableDraft, "commit", ended)
    with pytest.raises(InputError, match=r"connection"):
        write_all(postgresql, tmp_path)
    assert_nothing_changed(postgresql, tmp_path)


def test_a_commit_whose_answer_is_lost(postgresql, tmp_path, monkeypatch):
    postgresql.load("people", HOSPITAL)
    commit = AdbcDatabase.commit

    def lost(self):
        commit(self)
        raise InputError("the connection was lost")

    monkeypatch.setattr(AdbcDatabase, "commit", lost)
    write_all(postgresql, tmp_path)
    assert table_in(postgresql).num_rows == 400
    assert (tmp_path / "certificate.json").exists()


def test_permissions_stay_with_the_name(postgresql):
    postgresql.load("people", HOSPITAL)
    postgresql.load("release", pa.table({"old": [1]}))
    postgresql.run("create role reader", "grant select on release to reader, public")
    write = ko.anonymize(ko.database(postgresql.url, table="people"), **ASKED).write
    write(ko.database(postgresql.url, table="public.release"))
    grants = postgresql.rows(
        "select grantee from information_schema.role_table_grants where table_name = 'release' and "
        "privilege_type = 'SELECT' and grantee <> 'steward' order by 1"
    )
    postgresql.run("drop owned by reader", "drop role reader")
    assert grants == [("PUBLIC",), ("reader",)]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("create view release as select 1 as i", "not a plain table"),
        ("create table release as select 1 as i; create view seen as select * from release", "depend on"),
        ("create table release (i int); alter table release enable row level security", "row security"),
        ("create schema other", "no schema"),
    ],
)
def test_tables_that_are_not_replaced(postgresql, made, words):
    postgresql.load("people", HOSPITAL)
    postgresql.run(*made.split("; "))
    name = "elsewhere.release" if words == "no schema" else "release"
    with pytest.raises(InputError, match=words):
        ko.anonymize(ko.database(postgresql.url, table="people"), **ASKED).write(
            ko.database(postgresql.url, table=name)
        )


def test_without_permission(postgresql):
    postgresql.load("people", HOSPITAL)
    postgresql.run(
        "create table release (i int)",
        "create role guest login password 'guest'",
        "grant select on people to guest",
        "revoke create on schema public from public",
        "revoke execute on function pg_control_system() from public",
    )
    guest = postgresql.url.replace("steward@", "guest:guest@")
    release = ko.anonymize(ko.database(guest, table="people"), **ASKED)
    try:
        with pytest.raises(InputError, match="may not create tables"):
            release.write(ko.database(guest, table="mine"))
        postgresql.run("grant create on schema public to guest")
        with pytest.raises(InputError, match="belongs to another user"):
            release.write(ko.database(guest, table="release"))
        own = ko.database(guest, table="own")
        release.write(own)
        again = ko.anonymize(own, quasi_identifiers=["sex"], others="drop", k=5)
        with pytest.raises(InputError, match="this run reads"):
            again.write(own)
        postgresql.run("revoke select on people from guest")
        with pytest.raises(InputError, match="no permission"):
            ko.anonymize(ko.database(guest, table="people"), **ASKED)
    finally:
        postgresql.run(
            "drop owned by guest",
            "drop role guest",
            "grant execute on function pg_control_system() to public",
        )


def test_an_original_that_changes_is_refused(postgresql, tmp_path):
    postgresql.load("people", HOSPITAL)
    release = anonymized_in_batches(ko.database(postgresql.url, table="people"), **ASKED)
    release.dataset.batches.close()
    postgresql.run("update people set length_of_stay = length_of_stay + 1")
    with pytest.raises(InputError, match="second reading"):
        release.write(tmp_path / "release.csv")
    assert not list(tmp_path.iterdir())


def test_sqlite_keeps_no_sign_of_zero(tmp_path):
    table = pa.table({"age": [30, 30, 40, 40], "dose": [-0.0, 1.5, 0.0, -2.5]})
    release = ko.anonymize(table, quasi_identifiers=["age"], insensitive=["dose"], k=2)
    release.write(ko.database(f"sqlite:///{tmp_path / 'clinic.db'}", table="release"))
    found = read_database(ko.database(f"sqlite:///{tmp_path / 'clinic.db'}", table="release"))[0]
    assert sorted(found["dose"].to_pylist()) == [-2.5, 0.0, 0.0, 1.5]
