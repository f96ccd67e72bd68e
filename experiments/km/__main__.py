"""Redo Figures 8 to 11 on set-valued data: `python -m experiments.km --data FOLDER [--only fig08 ...]`.

The folder holds BMS-WebView-1.txt.zst and BMS-WebView-2.txt.zst. Every figure becomes a CSV file and a chart.
Seconds are CPU seconds of the search, compiled; memory is that of baskets and lists, where the paper counts
nodes of its tree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import kohort as ko
from experiments.charts import Panel, Record, write_csv, write_svg
from experiments.km.baskets import click_stream, first_records, point_of_sale
from kohort.algorithms import ItemsAlgorithm, Run
from kohort.algorithms.items.cut_search import CutSearch
from kohort.data.baskets import code_baskets
from kohort.problem.items import ItemsProblem

HERE = Path(__file__).parent
SMALL: dict[str, ItemsAlgorithm] = {
    "OA": ko.OptimalItems(),
    "DA": ko.DirectItems(refine=False),
    "AA": ko.AprioriItems(refine=False),
}
LARGE: dict[str, ItemsAlgorithm] = {"AA": ko.AprioriItems(refine=False), "AA, refined": ko.AprioriItems()}


def measured(
    table: pa.Table, algorithm: ItemsAlgorithm, *, k: int, m: int, fanout: int, order: str = "natural"
) -> Record:
    """One search: its CPU seconds (the second of two, so that nothing is compiled), memory and NCP."""
    baskets = code_baskets("items", table["items"])
    hierarchy = ko.order(order, fanout=fanout).build(baskets.items)
    problem = ItemsProblem(baskets, hierarchy, ko.KmAnonymity(k, m))
    for _ in range(2):
        start = time.process_time()
        recoding = algorithm.solve(problem, Run(time_limit=600))
        seconds = time.process_time() - start
    search = CutSearch(baskets.offsets, problem.leaves, hierarchy, k)
    return {
        "order": order,
        "k": k,
        "m": m,
        "height": hierarchy.height,
        "baskets": len(baskets),
        "items": len(hierarchy.leaves),
        "seconds": round(seconds, 3),
        "megabytes": round(search.bytes() / 1e6, 2),
        "ncp": round(100 * problem.ncp(recoding.node_of_occurrence), 4),
    }


def fig08(folder: Path) -> Iterator[Record]:
    """Against the number of baskets."""
    whole = click_stream(folder, 2)
    for n in (2_000, 5_000, 10_000, 15_000):
        for name, algorithm in SMALL.items():
            run = measured(first_records(whole, n, 40), algorithm, k=100, m=3, fanout=4)
            yield {"series": name, "x": n} | run


def fig09(folder: Path) -> Iterator[Record]:
    """Against the number of items."""
    whole = click_stream(folder, 2)
    for n_items in (40, 50, 60):
        for name, algorithm in SMALL.items():
            run = measured(first_records(whole, 10_000, n_items), algorithm, k=100, m=3, fanout=4)
            yield {"series": name, "x": n_items} | run


def fig10(folder: Path) -> Iterator[Record]:
    """Against m."""
    small = first_records(click_stream(folder, 2), 10_000, 40)
    for m in (1, 2, 3, 4):
        for name, algorithm in SMALL.items():
            yield {"series": name, "x": m} | measured(small, algorithm, k=100, m=m, fanout=4)


def fig11(folder: Path) -> Iterator[Record]:
    """The large sets, by the order of the items: 1 is the generated one, 2 and 3 the click-streams."""
    for x, table in enumerate((point_of_sale(), click_stream(folder, 1), click_stream(folder, 2)), start=1):
        for order in ("natural", "frequency"):
            for name, algorithm in LARGE.items():
                run = measured(table, algorithm, k=5, m=3, fanout=5, order=order)
                yield {"series": f"{name}, {order}", "x": x} | run


def fig11b(folder: Path) -> Iterator[Record]:
    """The generated set against k."""
    table = point_of_sale()
    for k in (2, 5, 10, 20):
        yield {"series": "AA", "x": k} | measured(table, LARGE["AA"], k=k, m=3, fanout=5)


def fig11c(folder: Path) -> Iterator[Record]:
    """The generated set against the height of the hierarchy."""
    table = point_of_sale()
    for fanout in (12, 7, 5, 4):
        run = measured(table, LARGE["AA"], k=5, m=3, fanout=fanout)
        yield {"series": "AA", "x": run["height"]} | run


def fig11d(folder: Path) -> Iterator[Record]:
    """The generated set against m."""
    table = point_of_sale()
    for m in (1, 2, 3):
        yield {"series": "AA", "x": m} | measured(table, LARGE["AA"], k=5, m=m, fanout=5)


FIGURES = {figure.__name__: figure for figure in (fig08, fig09, fig10, fig11, fig11b, fig11c, fig11d)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--only", nargs="*", choices=FIGURES, default=list(FIGURES))
    asked = parser.parse_args()
    for name in asked.only:
        records = []
        for record in FIGURES[name](asked.data):
            print(name, record, flush=True)
            records.append(record)
        write_csv(records, asked.out / f"{name}.csv")
        panels = [Panel(f"{name}: {y}", records, "x", y, "series") for y in ("seconds", "megabytes", "ncp")]
        write_svg(panels, asked.out / f"{name}.svg", columns=3)


if __name__ == "__main__":
    main()
