"""Cuts and local recodings side by side: `python -m experiments.km.local --data FOLDER`.

The folder is that of `experiments.km`. Three sets of baskets, three hierarchies of fan-out 5 (items in the
order of their ids, by frequency, by co-occurrence), k = 2 ... 100 at m = 3 and m = 1 ... 4 at k = 5. Seconds
are CPU seconds of the search, after a small one, so that nothing is compiled. At k = 5 and m = 3 the releases
are mined, too, and made again with items that may be dropped.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

import kohort as ko
from experiments.charts import Record, write_csv
from experiments.km.baskets import click_stream
from kohort.algorithms import ItemsAlgorithm, Run
from kohort.data.baskets import code_baskets
from kohort.data.cooccurrence import by_cooccurrence
from kohort.pipeline.before_after import BasketPair
from kohort.problem.items import ItemsProblem
from kohort.recoding.item_nodes import ItemNodes
from kohort.utility.itemset_loss import itemset_loss

HERE = Path(__file__).parent
FANOUT = 5
TIME_LIMIT = 60
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
        "algorithm": algorithm.name + (", dropping" if problem.suppress else ""),
        "k": problem.model.k,
        "m": problem.model.m,
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


def records(folder: Path) -> Iterator[Record]:
    """All runs, those that are mined first."""
    tables = sets(folder)
    for name, table in tables.items():
        for order in ORDERS:
            problem = posed(table, order, 5, 3)
            for algorithm, suppress in ONCE:
                asked = replace(problem, suppress=suppress)
                recoding, found = searched(asked, algorithm)
                yield {"baskets": name, "order": order} | found | mined(asked, recoding)
    for k, m in ((100, 3), (2, 3), (10, 3), (5, 1), (5, 2), (5, 4), (25, 3)):
        for name, table in tables.items():
            for order in ORDERS:
                for algorithm in (ko.AprioriItems(), ko.LocalItems()):
                    _, found = searched(posed(table, order, k, m), algorithm)
                    unmined = dict.fromkeys(("tkd", "tkd_ml2", "pair_error"))
                    yield {"baskets": name, "order": order} | found | unmined


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    asked = parser.parse_args()
    small = posed(ko.datasets.generate_baskets(500, n_items=30, mean_size=4, seed=0), "natural", 5, 3)
    for algorithm, suppress in ONCE:
        searched(replace(small, suppress=suppress), algorithm)
    found = []
    for record in records(asked.data):
        print(record, flush=True)
        found.append(record)
        write_csv(found, asked.out / "local.csv")


if __name__ == "__main__":
    main()
