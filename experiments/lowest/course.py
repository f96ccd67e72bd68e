"""Loss and bound against time: `python -m experiments.lowest.course --data FOLDER [--k 10 100] [--limit 60]`.

A run of `improve` on Adult's train part per k, in this process. A run of a few seconds comes first, so that
everything is compiled. Writes a CSV file and the chart of the documentation; `--redraw` draws that alone.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from pathlib import Path

import kohort as ko
from experiments.bounds import best_bound
from experiments.charts import Panel, Record, write_csv, write_svg
from experiments.lowest.__main__ import asked

RESULTS = Path(__file__).parent / "results" / "course.csv"
FIGURE = Path(__file__).parents[2] / "docs" / "figures" / "course.svg"


def course(folder: Path, k: int, limit: float) -> list[Record]:
    """The loss and the bound at every moment that the search reports them, and those of the release."""
    records: list[Record] = []
    began = time.monotonic()

    def note(what: str, loss: float | None, bound: float | None) -> None:
        seconds = round(time.monotonic() - began, 2)
        for name, value in (("loss", loss), ("bound", bound)):
            if value is not None:
                records.append(
                    {"k": k, "seconds": seconds, "what": name, "value": round(value, 5), "step": what}
                )

    def report(what: str, share: float) -> None:
        if hasattr(what, "cost"):
            note("search", what.cost, what.bound)

    release = ko.anonymize(
        **asked("adult", folder),
        privacy=[ko.KAnonymity(k)],
        algorithm="improve",
        time_limit=limit,
        progress=report,
    )
    note("release", release.cost, best_bound(release))
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("KOHORT_DATA"))
    parser.add_argument("--k", type=int, nargs="*", default=[10, 100])
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--redraw", action="store_true", help="draw the chart of the last run again")
    options = parser.parse_args()
    if not options.redraw:
        run_all(options.data, options.k, options.limit)
    draw()


def run_all(folder: Path | None, ks: list[int], limit: float) -> None:
    if folder is None:
        sys.exit("Say where the data is: --data FOLDER, or the environment variable KOHORT_DATA.")
    for k in ks:
        course(folder, k, 4.0)  # compiles
    write_csv([record for k in ks for record in course(folder, k, limit)], RESULTS)


def draw() -> None:
    with RESULTS.open(encoding="utf-8", newline="") as lines:
        records = [
            r | {"seconds": float(r["seconds"]), "value": float(r["value"])} for r in csv.DictReader(lines)
        ]
    ks = dict.fromkeys(record["k"] for record in records)
    panels = [
        Panel(f"Adult, k = {k}: loss and proven bound", [r for r in records if r["k"] == k], *AXES)
        for k in ks
    ]
    write_svg([panel._replace(from_zero=False) for panel in panels], FIGURE)


AXES = ("seconds", "value", "what")

if __name__ == "__main__":
    main()
