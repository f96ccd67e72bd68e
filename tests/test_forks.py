"""In a process forked after Kohort was used, everything works or is refused; nothing waits for ever."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
]

STORY = """
import os, sys
import pandas as pd, polars as pl, pyarrow as pa
import kohort as ko
from kohort.io.tables import read_table, write_table

columns = {"age": [21, 22, 41, 42] * 5, "town": ["a", "b"] * 10, "illness": ["flu", "cold"] * 10}
spec = {
    "attributes": {
        "age": {"role": "quasi-identifier"},
        "town": {"role": "quasi-identifier"},
        "illness": {"role": "sensitive"},
    },
    "privacy": {"k": 2, "diversity": {"attribute": "illness", "l": 2}},
    "algorithm": "mondrian",
}

def release(kind):
    made = ko.anonymize(kind(columns), spec=spec)
    assert len(made.table) == 20
    assert ko.verify(made.table, spec=spec, original=kind(columns)).holds
    return made

def in_child(work):
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            work()
            print("done")
        except ko.KohortError as error:
            print(type(error).__name__, error)
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.waitpid(child, 0)
"""


def told(story, folder=None):
    """What a process prints that does this, within a time that only a hang exceeds."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", STORY + textwrap.dedent(story)],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_releases_are_made_and_verified_after_everything_was_used():
    story = """
    release(pl.DataFrame); release(pd.DataFrame); release(pa.table).risk()
    for kind in (pd.DataFrame, pa.table):
        in_child(lambda: release(kind))
    in_child(lambda: release(pa.table).risk())
    in_child(lambda: release(pa.table).utility())
    """
    assert told(story) == ["done"] * 4


def test_polars_works_in_a_child_whose_parent_did_not_use_it():
    story = """
    release(pd.DataFrame); release(pa.table)
    in_child(lambda: release(pl.DataFrame))
    """
    assert told(story) == ["done"]


def test_what_needs_threads_of_the_parent_is_refused_with_what_to_do(tmp_path):
    story = """
    made = release(pl.DataFrame)
    write_table(made.arrow, "a.jsonl"); write_table(made.arrow, "a.xlsx")
    in_child(lambda: release(pl.DataFrame))
    in_child(lambda: write_table(made.arrow, "b.csv"))
    in_child(lambda: read_table("a.jsonl"))
    in_child(lambda: read_table("a.xlsx"))
    in_child(lambda: in_child(lambda: release(pl.DataFrame)))
    """
    lines = told(story, tmp_path)
    assert lines.pop() == "done"  # of the child that forked a child
    assert len(lines) == 5
    for line in lines:
        assert line.startswith("UnsupportedError")
        assert "forked from a process that had used" in line
        assert "multiprocessing.get_context('spawn')" in line
    assert "convert it to PyArrow or pandas" in lines[0]
    assert not (tmp_path / "b.csv").exists() or not (tmp_path / "b.csv").stat().st_size


def test_a_pool_of_forked_workers_makes_releases():
    story = """
    import multiprocessing
    release(pl.DataFrame)
    def table(kind):
        return release(kind).table  # a release itself is not sent: it holds the original
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print([len(made) for made in pool.map(table, [pd.DataFrame, pa.table])])
    """
    assert told(story) == ["[20, 20]"]
