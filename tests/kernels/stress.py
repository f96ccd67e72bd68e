"""Fill the cache of compiled kernels from many processes in random orders, then use all of it in one process.

    python tests/kernels/stress.py [--seed N] [--each file|test] [--files GLOB ...] [--root FOLDER]

Every test file of kernels and algorithms runs in a process of its own, two at a time, over one fresh cache;
then all of them run in one process, which loads what the others compiled. They compare kernels with their
twins by definition, so a kernel that runs another one's code is noticed.

With `--each test`, every test function gets a process of its own. Each process then compiles few kernels, and
compiles them first: where numba numbers them from 1, different kernels get the same numbers.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PYTEST = [sys.executable, "-m", "pytest", "-q", "--hypothesis-profile=stress", "-p", "no:xdist"]


def main() -> int:
    options = arguments()
    files = sorted({path for glob in options.files for path in options.root.glob(glob)})
    random.Random(options.seed).shuffle(files)
    print(f"seed {options.seed}: {len(files)} files", flush=True)
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(options.root / "src")}

        def run(tested: list[Path] | list[str]) -> int:
            done = subprocess.run(
                [*PYTEST, *map(str, tested)],
                cwd=options.root,
                env=environment,
                capture_output=True,
                text=True,
            )
            if done.returncode:
                print(done.stdout[-3000:], done.stderr[-2000:], sep="\n", flush=True)
            return done.returncode

        parts = (
            [[file] for file in files]
            if options.each == "file"
            else tests_of(files, options.root, environment)
        )
        random.Random(options.seed).shuffle(parts)
        with ThreadPoolExecutor(2) as pool:
            alone = list(pool.map(run, parts))
        failed = sum(map(bool, alone))
        print(f"each {options.each} in a process of its own: {failed} of {len(parts)} failed", flush=True)
        random.Random(options.seed + 1).shuffle(files)
        together = run(files)
        print(f"all files in one process: exit {together}")
    return 1 if any(alone) or together else 0


def tests_of(files: list[Path], root: Path, environment: dict[str, str]) -> list[list[str]]:
    """One list per test function of the files: its name as pytest takes it."""
    command = [*PYTEST, "-o", "addopts=", "--collect-only", *map(str, files)]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    names = {line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line}
    return [[name] for name in sorted(names)]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", choices=("file", "test"), default="file")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument(
        "--files", nargs="+", default=["tests/kernels/test_*.py", "tests/algorithms/**/test_*.py"]
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
