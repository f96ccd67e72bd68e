"""Approximation ratios actually seen, against the optimum on small tables and against bounds on Adult.

    python -m experiments.approximation --data FOLDER

FOLDER holds arx-adult-hierarchies/ (default: the environment variable KOHORT_DATA). Writes, beside this file,
small.csv and small.svg (mean ratio to the optimum on samples of Adult), binary.csv (the worst on random
binary tables), adult.csv and adult.svg (cost over the best proven bound on a larger sample of Adult). About
half an hour of CPU time, most of it for the optimum at k = 10.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import kohort as ko
from experiments.bounds import best_bound
from experiments.charts import Panel, Record, write_csv, write_svg

PARTS = ("small", "binary", "adult")
HERE = Path(__file__).parent
KS = (2, 3, 5, 10)
NAMES = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
FOR_ANY_K = ("forest", "k-anon-cf", "agglomerative", "mondrian")
FOR_ONE_K = {2: ("two-anonymity",), 3: ("three-anonymity",)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("KOHORT_DATA"), help="folder of larger data")
    parser.add_argument("--tables", type=int, default=15, help="samples of Adult for each k")
    parser.add_argument("--size", type=int, default=40, help="records in a sample")
    parser.add_argument("--records", type=int, default=10_000, help="records of Adult for the last part")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    options = parser.parse_args()
    if options.data is None:
        parser.error("Say where the data is: --data FOLDER, or set KOHORT_DATA.")
    adult = ko.datasets.load_adult(split="train").select(NAMES)
    hierarchies = {
        name: ko.read_hierarchy(Path(options.data) / "arx-adult-hierarchies" / f"{name}.csv")
        for name in NAMES
    }
    if "small" in options.parts:
        rows = list(small(adult, hierarchies, options.tables, options.size))
        title = f"Cost over the least cost, mean of {options.tables} samples of {options.size} records"
        chart(rows, "mean ratio", title, "small")
    if "binary" in options.parts:
        write_csv(list(binary()), HERE / "binary.csv")
    if "adult" in options.parts:
        rows = list(bounds(sample(adult, options.records, 0), hierarchies))
        title = f"Cost over the best proven bound, {options.records:,} records of Adult"
        chart(rows, "cost / bound", title, "adult")


def chart(rows: list[Record], y: str, title: str, name: str) -> None:
    write_csv(rows, HERE / f"{name}.csv")
    write_svg([Panel(title, rows, x="k", y=y, series="algorithm")], HERE / f"{name}.svg")


def small(adult: pa.Table, hierarchies: dict, n_tables: int, size: int) -> Iterator[Record]:
    """Samples of Adult that `optimal` solves."""
    for k in KS:
        ratios: dict[str, list[float]] = {}
        for seed in range(n_tables):
            people = sample(adult, size, seed)
            best = release(people, hierarchies, k, "optimal", time_limit=120)
            for name in algorithms(k):
                made = release(people, hierarchies, k, name)
                ratios.setdefault(name, []).append(made.cost / best_bound(best))
        for name, seen in ratios.items():
            yield said(
                {
                    "k": k,
                    "algorithm": name,
                    "tables": len(seen),
                    "mean ratio": round(float(np.mean(seen)), 4),
                    "worst ratio": round(max(seen), 4),
                    "guarantee": round(promised(name, k), 2) if promised(name, k) else "",
                }
            )


def binary(n_tables: int = 300, records: int = 12, columns: int = 8) -> Iterator[Record]:
    """Random binary tables, where the special algorithms promise most."""
    for k in (2, 3):
        ratios: dict[str, list[float]] = {}
        for seed in range(n_tables):
            bits = np.random.default_rng(seed).integers(0, 2, (records, columns))
            table = pa.table({f"q{j}": column for j, column in enumerate(bits.T)})
            flat = {name: ko.flat() for name in table.column_names}
            best = release(table, flat, k, "optimal", cost="suppressions").cost
            for name in (*FOR_ONE_K[k], "forest"):
                made = release(table, flat, k, name, cost="suppressions").cost
                ratios.setdefault(name, []).append(made / best if best else 1.0)
        for name, seen in ratios.items():
            factor = {"two-anonymity": 1.5, "three-anonymity": 2.0}.get(name, promised(name, k))
            yield said(
                {
                    "k": k,
                    "algorithm": name,
                    "tables": n_tables,
                    "mean ratio": round(float(np.mean(seen)), 4),
                    "worst ratio": round(max(seen), 4),
                    "guarantee": factor,
                }
            )


def bounds(adult: pa.Table, hierarchies: dict) -> Iterator[Record]:
    """Cost over the best bound that any of the algorithms proves."""
    for k in KS:
        made, seconds = {}, {}
        for name in algorithms(k):
            start = time.process_time()
            made[name] = release(adult, hierarchies, k, name)
            seconds[name] = time.process_time() - start
        bound = max(best_bound(found) for found in made.values())
        for name, found in made.items():
            yield said(
                {
                    "k": k,
                    "algorithm": name,
                    "loss": round(found.cost, 5),
                    "bound": round(bound, 5),
                    "cost / bound": round(found.cost / bound, 4),
                    "guarantee": "" if found.guarantee is None else round(found.guarantee, 2),
                    "cpu seconds": round(seconds[name], 1),
                }
            )


def algorithms(k: int) -> tuple[str, ...]:
    return (*FOR_ONE_K.get(k, ()), *FOR_ANY_K)


def promised(name: str, k: int) -> float | None:
    """The factor known before the run, for any table."""
    return {
        "forest": float(max(2 * k - 1, 3 * k - 5)),
        "two-anonymity": 2.0,
        "three-anonymity": 3.0,
        "k-anon-cf": 2 * (1 + math.log(2 * k)),
    }.get(name)


def release(table: pa.Table, hierarchies: dict, k: int, algorithm: str, **options: object) -> ko.Release:
    return ko.anonymize(
        table,
        quasi_identifiers=hierarchies,
        privacy=[ko.KAnonymity(k)],
        algorithm=algorithm,
        **options,
    )


def sample(table: pa.Table, n: int, seed: int) -> pa.Table:
    return table.take(np.sort(np.random.default_rng(seed).permutation(table.num_rows)[:n]))


def said(row: Record) -> Record:
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
