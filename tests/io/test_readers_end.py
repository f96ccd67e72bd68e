"""No reader leaves anything behind that aborts the process: neither an error nor half a reading does."""

from __future__ import annotations

import gzip
import lzma
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from kohort.io.formats import Layout
from kohort.io.formats.delimited import _open_utf8
from kohort.io.source_file import opened
from kohort.io.tables import write_table

ROWS = 100_000
TIMES = 50
TABLE = pa.table({"a": pa.array(range(ROWS)).cast(pa.string()), "b": ["x", "y"] * (ROWS // 2)})
SCRIPT = """
import sys
from kohort.errors import InputError
from kohort.io.data_files import read_data

path, times = sys.argv[1], int(sys.argv[2])
sys.setswitchinterval(1.0)  # threads that wait for Python get it late
for _ in range(times):
    try:
        read_data(path)
    except InputError:
        continue
    sys.exit("there was no error")
"""


def damaged(folder: Path, ending: str) -> Path:
    """A file of some size with an error near its end."""
    path = folder / f"table{ending}"
    if ".csv" in ending:
        text = "a,b\n" + "1,2\n" * ROWS + "1\n" + "1,2\n" * ROWS
        content = text.encode("utf-16" if ending == ".utf16.csv" else "utf-8")
        pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
        path.write_bytes(pack(content))
    elif ending == ".jsonl":
        path.write_text('{"a": 1}\n' * (ROWS // 20) + '{"a":\n')
    elif ending == ".orc":
        from pyarrow import orc

        orc.write_table(TABLE, path)
    else:
        write_table(TABLE, path)
    if ".csv" not in ending and ending != ".jsonl":
        content = path.read_bytes()
        half = len(content) // 2
        path.write_bytes(content[: half // 2] + content[half:])
    return path


@pytest.mark.processes
@pytest.mark.parametrize(
    "ending",
    [
        ".csv",
        ".utf16.csv",
        ".csv.gz",
        ".csv.xz",
        ".parquet",
        ".arrow",
        ".orc",
        ".jsonl",
        ".xlsx",
        ".sav",
        ".dta",
    ],
)
def test_many_errors_and_then_a_normal_end(tmp_path, ending):
    path = damaged(tmp_path, ending)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path), str(TIMES)], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("ending", [".csv", ".utf16.csv", ".csv.xz"])
def test_what_arrow_reads_is_in_its_own_memory(tmp_path, ending):
    """Its threads free it, perhaps while the process ends, when they cannot wait for Python any more."""
    path = damaged(tmp_path, ending)
    layout = Layout("utf-16" if "16" in ending else "utf-8", ",", ["a", "b"], 0)
    before = pa.total_allocated_bytes()
    with opened(path) as source:
        of_file = pa.total_allocated_bytes() - before
        assert of_file >= path.stat().st_size
        with _open_utf8(source, layout):
            decoded = pa.total_allocated_bytes() - before - of_file
        assert ending == ".csv" or decoded >= 8 * ROWS
