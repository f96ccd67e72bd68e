"""Cuts and local recodings side by side: `python -m experiments.km.local --data FOLDER`.

The folder is that of `experiments.km`. Three sets of baskets, three hierarchies of fan-out 5 (items in the
order of their ids, by frequency, by co-occurrence), k = 2 ... 100 at m = 3 and m = 1 ... 4 at k = 5. Seconds
are CPU seconds of the search, after a small one, so that nothing is compiled. At k = 5 and m = 3 the releases
are mined, too, and made again with items that may be dropped. A run goes on where an earlier one stopped.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

import kohort as ko
from experiments.charts import Record, write_csv
from experiments.km.baskets import click_stream
from kohort.algorithms import ItemsAlgorithm, Run
from kohort.data.baskets import by_cooccurrence, code_baskets
from kohort.job.sides import BasketPair
from kohort.problem.items import ItemsProblem
from kohort.recoding.items import ItemNodes
from kohort.utility.itemset_loss import itemset_loss

HERE = Path(__file__).parent
FANOUT = 5
TIME_LIMIT = 60
SETS = ("WebView-1", "WebView-2", "generated")
GRID = ((100, 3), (2, 3), (5, 1), (5, 2), (5, 4), (10, 3), (25, 3))  # k and m
ORDERS = ("natural", "frequency", "cooccurrence")
ONCE: tuple[tuple[ItemsAlgorithm, bool], ...] = (
    (ko.AprioriItems(), False),
    (ko.AprioriItems(), True),
    (ko.VerticalItems(), False),
    (ko.LocalItems(), False),
    (ko.LocalItems(), True),
    (ko.ImproveItems(), False),
)  # and whether items may be dropped


def sets(folder: Path) -> dict[str, pa.Table]:
    """The baskets by name."""
    return {
        "WebView-1": click_stream(folder, 1),
        "WebView-2": click_stream(folder, 2),
        "generated": ko.datasets.generate_baskets(20_000, n_items=500, mean_size=5, seed=0),
    }


def posed(table: pa.Table, order: str, k: int, m: int) -> ItemsProblem:
    """The problem of baskets under a hierarchy of this order."""
    baskets = code_baskets("items", table["items"])
    values = by_cooccurrence(baskets, FANOUT) if order == "cooccurrence" else order
    hierarchy = ko.order(values, fanout=FANOUT).build(baskets.items)
    return ItemsProblem(baskets, hierarchy, ko.KmAnonymity(k, m))


def searched(problem: ItemsProblem, algorithm: ItemsAlgorithm) -> tuple[ItemNodes, Record]:
    """One search: its CPU seconds and NCP, and the share of items that were dropped."""
    run = Run(time_limit=TIME_LIMIT)
    start = time.process_time()
    recoding = algorithm.solve(problem, run)
    seconds = time.process_time() - start
    return recoding, {
        "seconds": round(seconds, 2),
        "stopped": run.was_cut,
        "ncp": round(100 * problem.ncp(recoding.node_of_occurrence), 4),
        "dropped": round(100 * recoding.dropped / len(recoding.node_of_occurrence), 4),
    }


def mined(problem: ItemsProblem, recoding: ItemNodes) -> Record:
    """What mining the release still finds."""
    shown = code_baskets("items", recoding.apply(problem))
    found = itemset_loss(BasketPair(problem.baskets, shown, problem.hierarchy, problem.model.m))
    assert found is not None
    return {name: round(100 * found[name], 2) for name in ("tkd", "tkd_ml2", "pair_error")}


class Case(NamedTuple):
    """One search, as the table names it."""

    baskets: str
    order: str
    algorithm: str
    k: int
    m: int


def cases() -> Iterator[tuple[Case, ItemsAlgorithm, bool]]:
    """All searches, each with its algorithm and whether items may be dropped; those of k = 5, m = 3 first."""
    for name, order, (algorithm, suppress) in product(SETS, ORDERS, ONCE):
        title = algorithm.name + (", dropping" if suppress else "")
        yield Case(name, order, title, 5, 3), algorithm, suppress
    for (k, m), name, order in product(GRID, SETS, ORDERS):
        for algorithm in (ko.AprioriItems(), ko.LocalItems()):
            yield Case(name, order, algorithm.name, k, m), algorithm, False


def record_of(case: Case, table: pa.Table, algorithm: ItemsAlgorithm, suppress: bool) -> Record:
    problem = replace(posed(table, case.order, case.k, case.m), suppress=suppress)
    recoding, found = searched(problem, algorithm)
    whole = (case.k, case.m) == (5, 3)
    lost = mined(problem, recoding) if whole else dict.fromkeys(("tkd", "tkd_ml2", "pair_error"), "")
    return case._asdict() | found | lost


def done(path: Path) -> list[Record]:
    """The rows of a table that an earlier run left."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    asked = parser.parse_args()
    small = posed(ko.datasets.generate_baskets(500, n_items=30, mean_size=4, seed=0), "natural", 5, 3)
    for algorithm, suppress in ONCE:
        searched(replace(small, suppress=suppress), algorithm)
    path, tables = asked.out / "local.csv", sets(asked.data)
    found = done(path)
    known = {tuple(str(row[name]) for name in Case._fields) for row in found}
    for case, algorithm, suppress in cases():
        if case.baskets in asked.sets and tuple(map(str, case)) not in known:
            found.append(record_of(case, tables[case.baskets], algorithm, suppress))
            print(found[-1], flush=True)
            write_csv(found, path)


if __name__ == "__main__":
    main()
