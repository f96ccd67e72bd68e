"""Many runs at once on one ledger: it knows each release that was written, and no other was."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kohort.io.ledger_file import read_ledger

RUNS, ROUNDS = 6, 5
KEY = b"a secret of at least 16 bytes"
SCRIPT = """
import sys, time
from pathlib import Path
import pyarrow as pa
import kohort as ko

run, runs, rounds = map(int, sys.argv[1:])
table = pa.table({
    "name": [f"p{number}" for number in range(12)],
    "age": [20 + number for number in range(12)],
    "illness": ["flu", "cold", "gout"] * 4,
})
for number in range(rounds):
    ledger = f"{number}.ledger"
    release = ko.anonymize(
        table, quasi_identifiers={"age": ko.intervals(5, 10)}, sensitive=["illness"], person="name",
        key=b"a secret of at least 16 bytes", k=2, ledger=ledger, algorithm="mondrian",
    )
    Path(f"{number}-{run}.ready").touch()
    while len(list(Path().glob(f"{number}-*.ready"))) < runs:
        time.sleep(0.001)
    try:
        release.write(f"{number}-{run}.csv")
    except ko.InputError as error:
        assert "Make the release again" in str(error), error
"""


@pytest.mark.processes
def test_each_release_that_is_written_is_in_the_ledger(tmp_path):
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, *map(str, (run, RUNS, ROUNDS))],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
        )
        for run in range(RUNS)
    ]
    ended = [(run.communicate(timeout=300)[1], run.returncode) for run in runs]
    assert ended == [(b"", 0)] * RUNS
    for number in range(ROUNDS):
        written = list(tmp_path.glob(f"{number}-*.csv"))
        assert len(written) == 1
        assert len(read_ledger(tmp_path / f"{number}.ledger", KEY).entries) == 1
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
