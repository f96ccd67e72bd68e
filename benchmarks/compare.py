"""Ratios of time, memory and loss between two runs of the benchmarks.

    python -m benchmarks.run --quick --out before.jsonl
    python -m benchmarks.run --quick --out after.jsonl
    python -m benchmarks.compare before.jsonl after.jsonl

A line is matched by its case and by what was asked. Exits with 1 if a line is missing, if the mean ratio of
CPU seconds or of memory is above what is allowed (`--most`, 1.05), or if any loss has grown.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

from benchmarks.measuring import Row

MEASURES = ("cpu", "peak_mb", "loss")
LOSS_ROUNDING = 1e-5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--most", type=float, default=1.05, help="greatest ratio of time and memory")
    options = parser.parse_args()
    before, after = lines_of(options.before), lines_of(options.after)
    print(f"{'case':<64}" + "".join(f"{name:>10}" for name in MEASURES))
    for name in before:
        if name in after:
            print(f"{name:<64}" + "".join(map(shown, ratios(before[name], after[name]).values())))
    complaints = list(worse(before, after, options.most))
    print(*complaints, sep="\n")
    sys.exit(1 if complaints else 0)


def lines_of(path: Path) -> dict[str, Row]:
    """The measures of a run by case; where a file holds several runs, the least of each measure."""
    found: dict[str, Row] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "skipped" not in row:
            name = f"{row['case']} " + " ".join(f"{key}={value}" for key, value in row["asked"].items())
            least = {m: min(row[m], found.get(name, row)[m]) for m in MEASURES if m in row}
            found[name] = least
    return found


def ratios(before: Row, after: Row) -> dict[str, float | None]:
    """After divided by before, per measure; None where a line does not have it."""
    return {m: after[m] / before[m] if before.get(m) and m in after else None for m in MEASURES}


def shown(ratio: float | None) -> str:
    return f"{'':>10}" if ratio is None else f"{ratio:>10.3f}"


def worse(before: dict[str, Row], after: dict[str, Row], most: float) -> list[str]:
    """What got worse than allowed, or is missing, in words."""
    common = [name for name in before if name in after]
    found = [f"missing after: {name}" for name in before if name not in after]
    for measure in ("cpu", "peak_mb"):
        by_line = [ratios(before[name], after[name])[measure] for name in common]
        known = [ratio for ratio in by_line if ratio]
        if known:
            mean = math.exp(sum(map(math.log, known)) / len(known))
            print(f"geometric mean of {measure}: {mean:.3f}")
            if mean > most:
                found.append(f"{measure}: {mean:.3f} of what it was, on average; allowed: {most}")
    for name in common:
        one, other = before[name].get("loss"), after[name].get("loss")
        if one is not None and other is not None and other > one + LOSS_ROUNDING:
            found.append(f"loss of {name}: {one} -> {other}")
    return found


if __name__ == "__main__":
    main()
