"""The lock of a file: one holder at a time, whoever holds it and however that process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from kohort.errors import InputError
from kohort.files.lock import only_one

COUNTING = """
import sys
from pathlib import Path
from kohort.errors import InputError
from kohort.files.lock import only_one

path, added = Path(sys.argv[1]), 0
while added < 50:
    try:
        with only_one(path, "busy"):
            number = int(path.read_text())
            path.write_text(str(number + 1))
    except InputError:
        continue
    added += 1
"""
HOLDING = """
import sys
from pathlib import Path
from kohort.files.lock import only_one

with only_one(Path(sys.argv[1]), "busy"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_holder_is_refused_until_the_first_has_done(tmp_path):
    path = tmp_path / "ledger"
    with only_one(path, "busy"), pytest.raises(InputError, match="busy"), only_one(path, "busy"):
        pass
    with only_one(path, "busy"):
        pass
    assert not list(tmp_path.iterdir())


def test_two_names_of_one_file_have_one_lock(tmp_path):
    path, link = tmp_path / "ledger", tmp_path / "link"
    path.write_text("")
    link.symlink_to(path)
    with only_one(path, "busy"), pytest.raises(InputError, match="busy"), only_one(link, "busy"):
        pass


def test_many_processes_that_count_lose_nothing(tmp_path):
    path = tmp_path / "number"
    path.write_text("0")
    runs = [subprocess.Popen([sys.executable, "-c", COUNTING, str(path)]) for _ in range(6)]
    assert [run.wait(120) for run in runs] == [0] * 6
    assert path.read_text() == "300"


def test_a_holder_that_is_killed_holds_nothing(tmp_path):
    path = tmp_path / "ledger"
    run = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert run.stdout is not None and run.stdin is not None
    assert run.stdout.readline() == b"held\n"
    with pytest.raises(InputError, match="busy"), only_one(path, "busy"):
        pass
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    with only_one(path, "busy"):
        pass
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_hold_the_lock(tmp_path):
    with pytest.raises(InputError, match="cannot be locked"), only_one(tmp_path / "no" / "ledger", "busy"):
        pass
