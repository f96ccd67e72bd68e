"""Redo the figures of section 7: `python -m experiments.k_anon_cf --data FOLDER [--only fig08 ...]`.

The folder holds nursery.csv.zst and coil2000_ticdata.csv.zst; Adult comes with Kohort. Every figure becomes a
CSV file and a chart. Seconds are CPU seconds, compiled.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import kohort as ko
from experiments.charts import Panel, Record, write_csv, write_svg
from experiments.k_anon_cf.tables import Table, adult, coil, larger, nursery
from kohort.algorithms import Algorithm, Run
from kohort.algorithms.mining.closed_records import mine_closed_records

KS = (10, 30, 50, 75, 100, 150, 200)
COMPARED: dict[str, Algorithm] = {
    "k-anon-cf": ko.KAnonCF(),
    "agglomerative": ko.Agglomerative(),
    "sequential": ko.Sequential(),
    "hilbert": ko.Hilbert(),
    "hilbert, even": ko.Hilbert(spacing="even"),
}
Runs = Iterator[Record]


@cache
def release(
    table: Table,
    algorithm: Algorithm,
    k: int,
    *,
    cost: str = "loss",
    l: float = 1,  # noqa: E741
    w: float = 0.15,
) -> Record:
    """One run: what was asked, what it cost, how long it took."""
    privacy: list = [ko.KAnonymity(k)]
    if l > 1:
        privacy.append(ko.LDiversity(table.sensitive, l))
    columns = [*table.hierarchies, *([table.sensitive] if l > 1 else [])]
    cpu = time.process_time()
    made = ko.anonymize(
        table.records.select(columns),
        quasi_identifiers=table.hierarchies,
        sensitive=columns[len(table.hierarchies) :],
        privacy=privacy,
        algorithm=algorithm,
        cost=cost,
        diversify_weight=w,
    )
    cpu = time.process_time() - cpu
    return {
        "table": table.name,
        "cost": cost,
        "k": k,
        "l": l,
        "value": round(made.loss[cost], 5),
        "cpu": round(cpu, 2),
        "regions": sum("regions" in note for note in made.notes),
    }


def compared(table: Table, *, costs: tuple[str, ...] = ("loss",)) -> Runs:
    """Every algorithm at every k."""
    for cost in costs:
        for k in KS:
            for name, algorithm in COMPARED.items():
                yield {"algorithm": name} | release(table, algorithm, k, cost=cost)


def diversified(table: Table, k: int, ls: tuple[float, ...], w: float = 0.15) -> Runs:
    """Every algorithm for every l, by uniting groups."""
    for l in ls:  # noqa: E741
        for name, algorithm in COMPARED.items():
            yield {"algorithm": name} | release(table, algorithm, k, l=l, w=w)


def growing(table: Table, k: int) -> Runs:
    """Closed records and seconds against the number of records."""
    for n in (30_000, 60_000, 90_000, 120_000):
        some = larger(table, n)
        made = ko.anonymize(
            some.records.select(list(some.hierarchies)),
            quasi_identifiers=some.hierarchies,
            privacy=[ko.KAnonymity(k)],
            algorithm="hilbert",
        )
        record = release(some, ko.KAnonCF(), k)
        closed = len(mine_closed_records(made.problem, run=Run()))
        yield {"series": table.name, "records": n, "closed": closed} | record


def by_attributes() -> Runs:
    """Seconds of k-anon-cf with 5, 8, 11 and 14 quasi-identifiers, and with flat hierarchies."""
    for table in (adult(5), adult(8), adult(11), adult(14).flat(), adult(14)):
        for k in reversed(KS):
            yield {"series": table.name} | release(table, COMPARED["k-anon-cf"], k)


def nursery_by_k_and_l(table: Table) -> Runs:
    """Loss of k-anon-cf against k for several l."""
    for l in (1, 1.5, 2, 2.5, 2.9):  # noqa: E741
        for k in KS:
            yield {"series": f"l = {l}"} | release(table, ko.KAnonCF(), k, l=l)


def against_k(records: list[Record], what: str = "value") -> list[Panel]:
    """A panel per cost."""
    unit = {"value": "", "cpu": ", CPU seconds"}[what]
    by_cost: dict[str, list[Record]] = {}
    for record in records:
        by_cost.setdefault(record["cost"], []).append(record)
    return [
        Panel(f"{some[0]['table']}: {cost}{unit}", some, "k", what, "algorithm")
        for cost, some in by_cost.items()
    ]


def charts(name: str, records: list[Record]) -> list[Panel]:
    """What a figure shows."""
    first = records[0]
    if name == "fig06":
        return [Panel(f"Adult: {y}", records, "records", y, "series") for y in ("closed", "cpu")]
    if name == "fig07":
        return [Panel("Adult: CPU seconds", records, "k", "cpu", "series")]
    if name == "fig16":
        return [Panel("Nursery: loss", records, "k", "value", "series")]
    if len({record["l"] for record in records}) > 1:
        return [Panel(f"{first['table']}: loss, k = {first['k']}", records, "l", "value", "algorithm")]
    return [*against_k(records), *against_k(records, "cpu")]


def figures(folder: Path) -> dict[str, Callable[[], Runs]]:
    """The runs of each figure."""
    ls = (1, 1.5, 2, 2.25, 2.5, 2.75, 2.9)
    return {
        "fig08-09": lambda: compared(nursery(folder)),
        "fig10-11": lambda: compared(coil(folder)),
        "fig14": lambda: diversified(nursery(folder), 30, ls),
        "fig15": lambda: diversified(nursery(folder), 30, ls, w=0.0),
        "fig16": lambda: nursery_by_k_and_l(nursery(folder)),
        "fig13": lambda: diversified(coil(folder), 100, (1, 1.5, 2, 2.5, 3, 3.4)),
        "fig04-05-8-attributes": lambda: compared(adult(8), costs=("loss", "entropy")),
        "fig12": lambda: diversified(adult(8), 50, (1, 1.1, 1.15, 1.2, 1.25, 1.3)),
        "fig06": lambda: growing(adult(8), 100),
        "fig07": by_attributes,
        "fig04-05-14-attributes": lambda: compared(adult(14)),  # hours; the other figures take one
    }


def warm_up() -> None:
    """Compile everything, so that it is in no measured time."""
    few = adult(5)
    few = Table("warm-up", few.records.slice(0, 500), few.hierarchies, few.sensitive)
    for algorithm in (*COMPARED.values(), ko.KAnonCF(memory=1e-9)):
        release(few, algorithm, 5, l=1.1)


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m experiments.k_anon_cf", description="Redo section 7's figures."
    )
    where = "folder of Nursery and CoIL 2000; by default KOHORT_DATA"
    parser.add_argument("--data", type=Path, default=os.environ.get("KOHORT_DATA"), help=where)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--only", nargs="*", help="figures, by the beginning of their names")
    options = parser.parse_args()
    if options.data is None:
        parser.error("--data is needed (or the environment variable KOHORT_DATA): the folder of the tables")
    warm_up()
    for name, runs in figures(Path(options.data)).items():
        if options.only and not any(name.startswith(wanted) for wanted in options.only):
            continue
        records = []
        for record in runs():
            records.append(record)
            print(name, record, file=sys.stderr, flush=True)
            write_csv(records, options.out / f"{name}.csv")
        write_svg(charts(name, records), options.out / f"{name}.svg")


if __name__ == "__main__":
    main()
