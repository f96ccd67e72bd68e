"""Drafts hold data: nobody else can read them, and those of a killed run are gone after the next one."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kohort.files import atomic, drafts
from kohort.files.atomic import replacing, replacing_all

WRITER = """
import sys, time
from pathlib import Path
from kohort.files.atomic import replacing_all
with replacing_all([Path(name) for name in sys.argv[1:]]) as drafts:
    for draft in drafts:
        draft.write_text("personal data")
    print("ready", flush=True)
    sys.stdin.read()
"""


def start_writer(*targets: Path) -> subprocess.Popen:
    """A process in the middle of writing; it ends well when its input is closed."""
    words = [sys.executable, "-c", WRITER, *map(str, targets)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def kill(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def hidden(folder: Path) -> list[Path]:
    return sorted(folder.glob(".kohort*"))


def holds_data(folder: Path) -> list[Path]:
    return [path for path in hidden(folder) if "personal" in path.read_text()]


def test_only_the_owner_can_read_a_draft(tmp_path):
    target = tmp_path / "release.csv"
    target.write_text("old")
    target.chmod(0o644)
    mask = os.umask(0)
    try:
        with replacing_all([target, tmp_path / "new.csv"]) as found:
            for path in [*found, *hidden(tmp_path)]:
                assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o666


def test_drafts_of_a_killed_run_are_removed_by_the_next(tmp_path):
    process = start_writer(tmp_path / "release.csv", tmp_path / "report.html")
    assert len(holds_data(tmp_path)) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in hidden(tmp_path)} == {0o600}
    kill(process)
    assert len(holds_data(tmp_path)) == 2
    with replacing(tmp_path / "other.csv") as draft:
        assert holds_data(tmp_path) == []
        draft.write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


def test_drafts_of_a_running_process_are_left_alone(tmp_path):
    alive = start_writer(tmp_path / "release.csv")
    dead = start_writer(tmp_path / "release.csv")
    kill(dead)
    with replacing(tmp_path / "other.csv") as draft:
        assert len(holds_data(tmp_path)) == 1
        draft.write_text("new")
    alive.communicate()
    assert alive.returncode == 0
    assert (tmp_path / "release.csv").read_text() == "personal data"
    assert hidden(tmp_path) == []


def test_many_processes_at_once_remove_no_draft_of_each_other(tmp_path):
    program = (
        "import sys, os\nfrom pathlib import Path\nfrom kohort.files.atomic import replacing_all\n"
        "names = [Path(sys.argv[1]) / f'{sys.argv[2]}-{n}.csv' for n in range(3)]\n"
        "for turn in range(60):\n"
        "    with replacing_all(names) as drafts:\n"
        "        for draft in drafts: draft.write_text(str(turn))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(number)], stderr=subprocess.PIPE)
        for number in range(4)
    ]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert {path.read_text() for path in tmp_path.iterdir()} == {"59"}
    assert len(list(tmp_path.iterdir())) == 12


def test_drafts_within_drafts_of_one_process_stay(tmp_path):
    with replacing(tmp_path / "a.csv") as outer, replacing(outer) as inner:
        inner.write_text("new")
    assert (tmp_path / "a.csv").read_text() == "new"


def test_a_draft_that_is_taken_for_left_over_before_it_is_locked(tmp_path, monkeypatch):
    lock, calls = drafts._lock, []

    def late(descriptor):
        if not calls:
            calls.append(descriptor)
            drafts.remove_abandoned(tmp_path)
        return lock(descriptor)

    monkeypatch.setattr(drafts, "_lock", late)
    with replacing(tmp_path / "a.csv") as draft:
        draft.write_text("new")
        assert len(hidden(tmp_path)) == 2
    assert (tmp_path / "a.csv").read_text() == "new"


def test_old_drafts_of_the_first_version_are_removed_and_nothing_else(tmp_path):
    old, young = tmp_path / ".kohort-0123456789ab.csv.gz", tmp_path / ".kohort-0123456789ac.csv"
    others = [tmp_path / name for name in (".kohort-notes", ".kohort-0123456789ab-x.csv", "people.csv")]
    folder, link = tmp_path / ".kohort-0123456789ad", tmp_path / ".kohort-0123456789ae.lock"
    for path in (old, young, *others):
        path.write_text("personal data")
        if path != young:
            os.utime(path, (time.time() - 200_000,) * 2)
    folder.mkdir()
    link.symlink_to(others[2])
    with replacing(tmp_path / "release.csv") as draft:
        draft.write_text("new")
    assert not old.exists()
    assert all(path.exists() for path in (young, *others, folder, link))


def test_where_nothing_can_be_locked_nothing_is_removed(tmp_path, monkeypatch):
    kill(start_writer(tmp_path / "release.csv"))
    monkeypatch.setattr(drafts, "fcntl", None)
    with replacing(tmp_path / "release.csv") as draft:
        draft.write_text("new")
    assert len(holds_data(tmp_path)) == 1
    assert (tmp_path / "release.csv").read_text() == "new"


@pytest.mark.parametrize("links", [True, False])
def test_a_copy_of_an_old_file_is_no_more_open_than_it_was(tmp_path, monkeypatch, links):
    secret = tmp_path / "release.csv"
    secret.write_text("old")
    secret.chmod(0o600)
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(1, "no links here")))
    seen = []
    put_back = atomic._flush_folder
    monkeypatch.setattr(atomic, "_flush_folder", lambda f: (seen.extend(hidden(f)), put_back(f))[1])
    with replacing_all([secret, tmp_path / "b.csv"]) as found:
        for draft in found:
            draft.write_text("new")
    assert seen and {path.suffix for path in seen} == {"", ".lock"}
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
