"""Figures 10 to 13 of Towards optimal k-anonymization (Li and Li, 2008), on Adult.

    python -m experiments.schemes [--data FOLDER] [--out FOLDER] [--limit SECONDS] [--figures 10 11 12 13]

Nodes and time of bottom-up, top-down-search and optimal-recoding, by k and by the number of
quasi-identifiers; time and cost of the six schemes; what the pruning techniques are worth.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

import kohort as ko
from experiments.alpha_k.__main__ import HERE as ALPHA_K
from experiments.charts import Panel, Record, write_csv, write_svg
from kohort.algorithms import Run
from kohort.algorithms.schemes.scheme_spaces import SCHEMES
from kohort.problem.costs import cost_named
from kohort.problem.problem import Problem

HERE = Path(__file__).parent
KS = (2, 3, 5, 10, 15, 20)
K = 5
# the four of section 5.2.1, then others from few values to many
COLUMNS = ("age", "marital-status", "race", "sex", "workclass", "occupation", "education", "native-country")
SEARCHES = {
    "bottom-up": ko.BottomUp,
    "top-down-search": ko.TopDownSearch,
    "optimal-recoding": ko.OptimalRecoding,
}
COSTS = {"DM": "discernibility", "HDM": "hierarchical-discernibility"}
TECHNIQUES = {
    "none": ("seeding", "modified_bfs", "node_rearrangement", "applicator_rearrangement"),
    "seeding, modified BFS": ("node_rearrangement", "applicator_rearrangement"),
    "rearrangement": ("seeding", "modified_bfs"),
    "all": (),
}  # and what each switches off


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.schemes", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with adult.csv.zst; default: the table in Kohort")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the results go")
    parser.add_argument("--limit", type=float, default=5.0, help="CPU seconds for each search")
    parser.add_argument("--figures", type=int, nargs="*", default=[10, 11, 12, 13])
    options = parser.parse_args()
    table = load(options.data)
    figures = {10: figure_10, 11: figure_11, 12: figure_12, 13: figure_13}
    for number in options.figures:
        records, panels = figures[number](table, options.limit)
        write_csv(records, options.out / f"figure-{number}.csv")
        write_svg(panels, options.out / f"figure-{number}.svg")


def load(folder: Path | None) -> pl.DataFrame:
    """The train part, with age in ranges of five years from 16 on: 15 values."""
    if folder is None:
        table = pl.DataFrame(ko.datasets.load_adult(split="train"))
    else:
        table = pl.read_csv(folder / "adult.csv.zst").filter(pl.col("split") == "train")
    low = (pl.col("age").cast(pl.Int64) - 1) // 5 * 5 + 1
    label = pl.format("{}-{}", low, low + 4)
    return table.select(COLUMNS).with_columns(label.alias("age"))


def hierarchy(table: pl.DataFrame, name: str) -> ko.Hierarchy:
    """Ours; ages in ranges of 5, 10 and 20 years."""
    if name == "age":
        values = sorted(table["age"].unique().to_list())
        low = [int(value[:2]) for value in values]
        ranges = [tuple(f"{(a - 1) // w * w + 1}-{(a - 1) // w * w + w}" for w in (10, 20)) for a in low]
        return ko.Hierarchy.from_paths([(value, *above, "*") for value, above in zip(values, ranges)])
    if name == "sex":
        return ko.Hierarchy.from_paths([("Male", "*"), ("Female", "*")])
    return ko.read_hierarchy(ALPHA_K / "hierarchies" / f"{name}.csv")


def problem(table: pl.DataFrame, k: int, n_columns: int, cost: str) -> Problem:
    """Records may be withheld freely."""
    names = list(COLUMNS[:n_columns])
    return posed(table.select(names), {name: hierarchy(table, name) for name in names}, k, cost)


def posed(people: Any, trees: dict[str, ko.Hierarchy], k: int, cost: str) -> Problem:
    """The problem of a table of quasi-identifiers, with records withheld freely."""
    release = ko.anonymize(
        people, quasi_identifiers=trees, privacy=ko.KAnonymity(k), algorithm="mondrian", time_limit=1e-9
    )
    return replace(release.problem, cost=cost_named(COSTS[cost]), suppression=1.0)


def measured(problem: Problem, search: Any, limit: float) -> Record:
    """Cost, bound, nodes and CPU seconds, once compiled."""
    _compile(type(search), problem.cost.name, search.scheme)
    start = time.process_time()
    run = Run(time_limit=limit, excluded=lambda: time.monotonic() - time.process_time())  # CPU seconds count
    found = search.solve(problem, run).search
    seconds = time.process_time() - start
    gap = found["gap"]
    return {
        "cost": None if gap is None else round(found["bound"] * (1 + gap), 6),
        "bound": round(found["bound"], 6),
        "nodes": found["nodes"],
        "seconds": round(seconds, 3),
        "proven": gap == 0,
    }


@cache
def _compile(search: type, cost: str, scheme: str) -> None:
    """Run the search once on a few records."""
    people = load(None).select(COLUMNS[:3]).head(60)
    made = ko.anonymize(
        people,
        quasi_identifiers={name: hierarchy(people, name) for name in people.columns},
        privacy=ko.KAnonymity(2),
        algorithm="mondrian",
    )
    search(scheme=scheme).solve(
        replace(made.problem, cost=cost_named(cost), suppression=1.0), Run(time_limit=20)
    )


def figure_10(table: pl.DataFrame, limit: float) -> tuple[list[Record], list[Panel]]:
    settings = [(k, 4) for k in KS] + [(K, n) for n in (1, 2, 3, 5)]
    records = []
    for k, n in settings:
        for scheme in ("ops", "sps"):
            for name, search in SEARCHES.items():
                found = measured(problem(table, k, n, "DM"), search(scheme=scheme), limit)
                records.append(_shown({"k": k, "columns": n, "search": f"{name}, {scheme}"} | found))
    by_k = [record for record in records if record["columns"] == 4]
    by_size = [record for record in records if record["k"] == K]
    return records, [
        Panel("(a) time, 4 quasi-identifiers", by_k, "k", "seconds", "search"),
        Panel(f"(b) time, k = {K}", by_size, "columns", "seconds", "search"),
    ]


def figure_11(table: pl.DataFrame, limit: float) -> tuple[list[Record], list[Panel]]:
    records = list(_by_scheme(table, [(K, n) for n in range(1, 9)] + [(k, 4) for k in KS], limit, "DM"))
    by_size = [record for record in records if record["k"] == K]
    by_k = [record for record in records if record["columns"] == 4]
    return records, [
        Panel(f"(a) time, k = {K}", by_size, "columns", "seconds", "scheme"),
        Panel("(b) time, 4 quasi-identifiers", by_k, "k", "seconds", "scheme"),
    ]


def figure_12(table: pl.DataFrame, limit: float) -> tuple[list[Record], list[Panel]]:
    records = [r for cost in COSTS for r in _by_scheme(table, [(k, 4) for k in KS], limit, cost)]
    return records, [
        Panel(f"({letter}) {cost}", [r for r in records if r["measure"] == cost], "k", "cost", "scheme")
        for letter, cost in zip("ab", COSTS)
    ]


def figure_13(table: pl.DataFrame, limit: float) -> tuple[list[Record], list[Panel]]:
    records = []
    for k in KS:
        for words, off in TECHNIQUES.items():
            search = ko.BottomUp(scheme="ops", **dict.fromkeys(off, False))
            found = measured(problem(table, k, 4, "DM"), search, limit)
            records.append(_shown({"k": k, "techniques": words} | found))
    return records, [
        Panel("(a) time, ops, 4 quasi-identifiers", records, "k", "seconds", "techniques"),
        Panel("(b) nodes", records, "k", "nodes", "techniques"),
    ]


def _by_scheme(
    table: pl.DataFrame, settings: list[tuple[int, int]], limit: float, cost: str
) -> Iterator[Record]:
    for k, n in settings:
        for scheme in SCHEMES:
            if scheme == "sps" and n == 8:
                continue  # 41 countries have more sets than can be looked at
            found = measured(problem(table, k, n, cost), ko.OptimalRecoding(scheme=scheme), limit)
            yield _shown({"k": k, "columns": n, "measure": cost, "scheme": scheme} | found)


def _shown(record: Record) -> Record:
    print(*record.values(), flush=True)
    return record


if __name__ == "__main__":
    main()
