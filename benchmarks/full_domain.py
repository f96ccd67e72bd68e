"""full-domain beside ARX 3.9.2: Adult's train part, and a million records made from it."""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import replace
from typing import Any

ARX = {  # per k and suppression: LM, classes, withheld records, CPU milliseconds of the warm call
    (2, 0.0): (0.5900, 60, 0, 46),
    (5, 0.0): (0.6608, 30, 0, 39),
    (10, 0.0): (0.6608, 30, 0, 41),
    (25, 0.0): (0.7150, 12, 0, 54),
    (50, 0.0): (0.7150, 12, 0, 33),
    (100, 0.0): (0.7150, 12, 0, 39),
    (2, 0.05): (0.1754, 1334, 1240, 465),
    (5, 0.05): (0.2618, 384, 1248, 571),
    (10, 0.05): (0.3315, 200, 1484, 516),
    (25, 0.05): (0.4184, 75, 1403, 457),
    (50, 0.05): (0.4869, 45, 1306, 269),
    (100, 0.05): (0.5429, 27, 1254, 217),
}
ARX_MILLION = {0.0: 0.8, 0.05: 2.9}  # CPU seconds; 0.7 to 1.1 GB
ROWS, JITTER = 1_000_000, 0.0436  # of the cells; gives about 96,000 different records


def full_domain(options: argparse.Namespace) -> list[dict]:
    """Loss, classes and withheld records as ARX has them; CPU milliseconds of the search, compiled."""
    import kohort as ko

    people, hierarchies = _adult()
    rows = []
    for (k, suppression), (loss, classes, withheld, milliseconds) in ARX.items():
        found = _found(people, hierarchies, [ko.KAnonymity(k)], suppression)
        assert (found["loss"], found["classes"], found["withheld"]) == (loss, classes, withheld)
        rows.append({"k": k, "suppression": suppression} | found | {"arx_ms": milliseconds})
    seven = {name: tree for name, tree in hierarchies.items() if name != "occupation"}
    for model, loss in (
        (ko.LDiversity("occupation", 2, kind="distinct"), 0.6333),
        (ko.TCloseness("occupation", 0.2), 0.9190),
    ):
        found = _found(people, seven, [ko.KAnonymity(5), model], 0.0, sensitive=["occupation"])
        assert found["loss"] == loss
        rows.append({"k": 5, "model": model.name, "suppression": 0.0} | found)
    return rows


def full_domain_million(options: argparse.Namespace) -> list[dict]:
    """A million records, k = 10: CPU seconds of the search and of the whole job, peak memory."""
    import kohort as ko

    people, hierarchies = _adult()
    _found(people, hierarchies, [ko.KAnonymity(10)], 0.05)  # compiles
    people = jittered(people, ROWS, JITTER)
    rows = []
    for suppression, seconds in ARX_MILLION.items():
        found = _found(people, hierarchies, [ko.KAnonymity(10)], suppression)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        rows.append(
            {"rows": ROWS, "k": 10, "suppression": suppression}
            | found
            | {"arx_ms": round(1000 * seconds), "peak_mb": peak}
        )
    return rows


def jittered(table: Any, n: int, share: float, seed: int = 1) -> Any:
    """n records drawn from a table; so many of their cells are drawn anew, each from its own column."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    row, columns = rng.integers(table.num_rows, size=n), {}
    for name in table.column_names:
        anew = rng.random(n) < share
        of_cell = np.where(anew, rng.integers(table.num_rows, size=n), row)
        columns[name] = table[name].take(pa.array(of_cell))
    return pa.table(columns)


def _adult() -> tuple[Any, dict[str, str]]:
    import kohort as ko
    from benchmarks.run import QUASI_IDENTIFIERS, data_folder

    folder = data_folder() / "arx-adult-hierarchies"
    people = ko.datasets.load_adult(split="train").select(QUASI_IDENTIFIERS)
    return people, {name: str(folder / f"{name}.csv") for name in QUASI_IDENTIFIERS}


def _found(people: Any, hierarchies: dict, privacy: list, suppression: float, **more: Any) -> dict:
    import kohort as ko
    from kohort.algorithms import Run

    start = time.process_time()
    release = ko.anonymize(
        people,
        quasi_identifiers=hierarchies,
        privacy=privacy,
        algorithm="full-domain",
        suppression=suppression,
        **more,
    )
    whole = time.process_time() - start
    searches = []
    for _ in range(3):  # the first of a process compiles; a busy machine disturbs single ones
        problem = replace(release.problem)  # without what the last search left in it
        start = time.process_time()
        ko.FullDomain().solve(problem, Run())
        searches.append(time.process_time() - start)
    return {
        "loss": round(release.loss["loss"], 4),
        "classes": release.verdict.classes,
        "withheld": release.verdict.withheld,
        "distinct": len(release.problem.rows.counts),
        "search_ms": round(1000 * min(searches), 1),
        # small tables also get a bound for releases of any kind, which takes longer than all the rest
        "job_cpu": round(whole, 2) if release.bound is None else None,
    }
