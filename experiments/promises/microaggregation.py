"""SSE / SST of mdav, V-MDAV and improve: `python -m experiments.promises.microaggregation`.

On the six numeric columns of Adult (30,162 records), and on 30,000 records of ten correlated columns that are
drawn at random.
"""

from __future__ import annotations

import csv
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import kohort as ko

RESULTS = Path(__file__).parent / "results" / "microaggregation.csv"
ADULT = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]


def tables() -> dict[str, pa.Table]:
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(30_000, 10)) @ rng.normal(size=(10, 10))
    return {
        "adult": ko.datasets.load_adult("train").select(ADULT),
        "drawn": pa.table({f"x{place}": np.round(column, 4) for place, column in enumerate(drawn.T)}),
    }


def main() -> None:
    rows = []
    for name, table in tables().items():
        for k in (3, 5, 10):
            rows += [
                run(name, table, k, algorithm) for algorithm in (ko.Mdav(), ko.Mdav(gamma=0.2), "improve")
            ]
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def run(name: str, table: pa.Table, k: int, algorithm: Any) -> dict[str, Any]:
    """The share of the variance that is lost, and the CPU seconds of the whole release."""
    before = _cpu()
    release = ko.anonymize(
        table,
        quasi_identifiers=dict.fromkeys(table.column_names),
        k=k,
        cost="squares",
        publish=dict.fromkeys(table.column_names, "mean"),
        algorithm=algorithm,
        time_limit=30,
    )
    row = {
        "table": name,
        "k": k,
        "algorithm": release.algorithm + ("" if not release.parameters.get("gamma") else " (V-MDAV)"),
        "squares": round(release.loss["squares"], 6),
        "solve_seconds": round(release.seconds["solve"], 2),
        "cpu_seconds": round(_cpu() - before - release.seconds.get("compile", 0), 1),
    }
    print(row, flush=True)
    return row


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
