"""Time, memory and loss of the whole job, as JSON lines: fixed seeds, compile time apart.

    make bench                                        every case
    python -m benchmarks.run mondrian hospital        these cases
    python -m benchmarks.run --quick --out after.jsonl    about two minutes, for `benchmarks.compare`
    python -m benchmarks.run hospital --rows 10000000     with as many generated hospital records

Each case runs in a process of its own, so that its peak memory is its own. A process that had to compile is
run again: compiled code comes from the cache then, and compiling counts neither as time nor as memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, NEED_DATA, QUICK
from benchmarks.measuring import Row, Size, data_folder

QUICK_ROWS, ALL_ROWS = 100_000, 1_000_000


def main() -> None:
    options = _arguments()
    rows = options.rows or (QUICK_ROWS if options.quick else ALL_ROWS)
    size = Size(quick=options.quick, rows=rows)
    if options.in_this_process:
        print(json.dumps(_run_here(options.cases[0], size)))
        return
    for case in options.cases or (QUICK if options.quick else CASES):
        for line in _run_apart(case, size):
            _write(line, options.out)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"default: all of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help=f"small versions of {', '.join(QUICK)}")
    parser.add_argument("--rows", type=int, help="generated hospital records (a million; quick: 100,000)")
    parser.add_argument("--out", type=Path, help="append the JSON lines to this file, too")
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = [case for case in options.cases if case not in CASES]
    if unknown:
        parser.error(f"Unknown: {', '.join(unknown)}. Cases: {', '.join(CASES)}.")
    return options


def _run_apart(case: str, size: Size) -> Iterator[Row]:
    """The lines of a case, from a process that compiled nothing."""
    if case in NEED_DATA and not (data_folder() / "arx-adult-hierarchies").exists():
        yield {"case": case, "skipped": "arx-adult-hierarchies is not there: set KOHORT_DATA"}
        return
    found = _process(case, size)
    if found["compiled"]:
        found = _process(case, size)
    for line in found["rows"]:
        yield {"case": case} | line


def _process(case: str, size: Size) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.run", case, "--rows", str(size.rows), "--in-this-process"]
    done = subprocess.run([*command, *["--quick"] * size.quick], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"The case {case} failed.")
    return json.loads(done.stdout)


def _run_here(case: str, size: Size) -> dict[str, Any]:
    from kohort.kernels.compile_time import compile_clock

    with compile_clock() as clock:
        rows = list(CASES[case](size))
    return {"rows": rows, "compiled": clock.seconds > 0}


def _write(line: Row, out: Path | None) -> None:
    text = json.dumps(line)
    print(text, flush=True)
    if out is not None:
        with out.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
