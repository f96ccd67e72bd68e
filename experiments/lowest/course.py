"""Loss and bound against time: `python -m experiments.lowest.course --data FOLDER [--k 10 100] [--limit 60]`.

A run of `improve` on Adult's train part per k, in this process. A run of a few seconds comes first, so that
everything is compiled. Writes a CSV file and a chart.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import kohort as ko
from experiments.charts import Panel, Record, write_csv, write_svg
from experiments.lowest.__main__ import asked

RESULTS = Path(__file__).parent / "results"


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
    note("release", release.cost, release.bound)
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("KOHORT_DATA"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--k", type=int, nargs="*", default=[10, 100])
    parser.add_argument("--limit", type=float, default=60.0)
    options = parser.parse_args()
    if options.data is None:
        sys.exit("Say where the data is: --data FOLDER, or the environment variable KOHORT_DATA.")
    for k in options.k:
        course(options.data, k, 4.0)  # compiles
    records = [record for k in options.k for record in course(options.data, k, options.limit)]
    write_csv(records, options.out / "course.csv")
    panels = [
        Panel(f"Adult, k = {k}: loss and proven bound", [r for r in records if r["k"] == k], *AXES)
        for k in options.k
    ]
    write_svg(panels, options.out / "course.svg")


AXES = ("seconds", "value", "what")

if __name__ == "__main__":
    main()
