"""Figures 5 and 6 of (alpha, k)-anonymous data publishing (Wong et al., 2009), on Adult.

    python -m experiments.alpha_k [--data FOLDER] [--out FOLDER] [--runs N]

Time and distortion ratio of incognito, progressive and top-down against alpha and the number of
quasi-identifiers, for k = 2 (Figure 5) and k = 10 (Figure 6).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

import kohort as ko
from experiments.charts import Panel, Record, write_csv, write_svg
from kohort.algorithms import Run, algorithm_named

HERE = Path(__file__).parent
ALGORITHMS = ("incognito", "progressive", "top-down")
FIGURES = {5: 2, 6: 10}  # and their k
ALPHAS = (0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9)
ALPHA = 0.5
# Table 12: the attributes in their order, and the heights of their taxonomies
HEIGHTS = {
    "age": 4,
    "workclass": 3,
    "education": 4,
    "marital-status": 3,
    "occupation": 2,
    "race": 2,
    "sex": 1,
    "native-country": 3,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.alpha_k", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with adult.csv.zst; default: the table in Kohort")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the results go")
    parser.add_argument("--runs", type=int, default=5, help="runs whose time is averaged")
    options = parser.parse_args()
    table = ko.datasets.load_adult() if options.data is None else pl.read_csv(options.data / "adult.csv.zst")
    for figure, k in FIGURES.items():
        records = list(measurements(table, k, options.runs))
        write_csv(records, options.out / f"figure-{figure}.csv")
        write_svg(panels(records, k), options.out / f"figure-{figure}.svg")


def measurements(table: Any, k: int, runs: int) -> Iterator[Record]:
    settings = {(alpha, len(HEIGHTS)) for alpha in ALPHAS} | {(ALPHA, n + 1) for n in range(len(HEIGHTS))}
    for alpha, n_attributes in sorted(settings):
        for name in ALGORITHMS:
            record = measured(table, name, k, alpha, n_attributes, runs)
            print(*record.values(), flush=True)
            yield record


def measured(table: Any, name: str, k: int, alpha: float, n_attributes: int, runs: int) -> Record:
    """The release, its distortion, and the CPU seconds that the algorithm itself takes once compiled."""
    names = list(HEIGHTS)[:n_attributes]
    release = ko.anonymize(
        table,
        quasi_identifiers={name: taxonomy(name) for name in names},
        sensitive=["salary-class"],
        others="drop",
        privacy=[ko.KAnonymity(k), ko.AlphaDeassociation("salary-class", alpha, values=[">50K"])],
        algorithm=name,
        cost="distortion",
    )
    start = time.process_time()
    for _ in range(runs):
        algorithm_named(name).solve(release.problem, Run())
    seconds = (time.process_time() - start) / runs
    return {
        "algorithm": name,
        "k": k,
        "alpha": alpha,
        "attributes": n_attributes,
        "seconds": round(seconds, 3),
        "distortion": round(release.loss["distortion"], 4),
        "classes": release.verdict.classes,
    }


def taxonomy(name: str) -> Any:
    """The generalizations of Table 12: 5-, 10- and 20-year ranges, suppression, or a taxonomy of ours."""
    if name == "age":
        return ko.intervals(5, 10, 20)
    return ko.flat() if name == "sex" else ko.read_hierarchy(HERE / "hierarchies" / f"{name}.csv")


def panels(records: list[Record], k: int) -> list[Panel]:
    by_alpha = [record for record in records if record["attributes"] == len(HEIGHTS)]
    by_size = [record for record in records if record["alpha"] == ALPHA]
    return [
        Panel(f"(a) time, k = {k}", by_alpha, "alpha", "seconds", "algorithm"),
        Panel(f"(b) time, k = {k}, alpha = {ALPHA}", by_size, "attributes", "seconds", "algorithm"),
        Panel(f"(c) distortion ratio, k = {k}", by_alpha, "alpha", "distortion", "algorithm"),
        Panel(
            f"(d) distortion ratio, k = {k}, alpha = {ALPHA}",
            by_size,
            "attributes",
            "distortion",
            "algorithm",
        ),
    ]


if __name__ == "__main__":
    main()
