"""full-domain beside ARX 3.9.2: Adult's train part, and a million records made from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import kohort as ko
from benchmarks.adult import adult
from benchmarks.measuring import Row, Size, measured, row
from kohort.algorithms import Run

__all__ = ["full_domain", "full_domain_million", "full_domain_models"]

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


def full_domain(size: Size) -> Iterator[Row]:
    """Loss, classes and withheld records as ARX has them; CPU milliseconds of the search, compiled."""
    people, hierarchies = adult()
    settings = ((10, 0.0), (10, 0.05)) if size.quick else ARX
    for k, suppression in settings:
        loss, classes, withheld, milliseconds = ARX[k, suppression]
        found = _found(people, hierarchies, [ko.KAnonymity(k)], suppression, size.runs)
        assert (round(found["loss"], 4), found["classes"], found["withheld"]) == (loss, classes, withheld)
        yield row({"k": k, "suppression": suppression}, **found, arx_ms=milliseconds)


def full_domain_models(size: Size) -> Iterator[Row]:
    """The same with l-diversity and t-closeness of the occupation, against losses found by ARX."""
    people, hierarchies = adult()
    del hierarchies["occupation"]
    for model, loss in (
        (ko.LDiversity("occupation", 2, kind="distinct"), 0.6333),
        (ko.TCloseness("occupation", 0.2), 0.9190),
    ):
        asked = [ko.KAnonymity(5), model]
        found = _found(people, hierarchies, asked, 0.0, size.runs, sensitive=["occupation"])
        assert round(found["loss"], 4) == loss
        yield row({"k": 5, "model": model.name}, **found)


def full_domain_million(size: Size) -> Iterator[Row]:
    """A million records, k = 10: CPU seconds of the search and of the whole job, peak memory."""
    people, hierarchies = adult()
    people = jittered(people, ROWS, JITTER)
    for suppression, seconds in ARX_MILLION.items():
        found = _found(people, hierarchies, [ko.KAnonymity(10)], suppression, 1)
        asked = {"rows": ROWS, "k": 10, "suppression": suppression}
        yield row(asked, **found, arx_ms=round(1000 * seconds))


def jittered(table: Any, n: int, share: float, seed: int = 1) -> Any:
    """n records drawn from a table; a share of their cells is drawn again, each from its own column."""
    rng = np.random.default_rng(seed)
    source, columns = rng.integers(table.num_rows, size=n), {}
    for name in table.column_names:
        redrawn = rng.random(n) < share
        of_cell = np.where(redrawn, rng.integers(table.num_rows, size=n), source)
        columns[name] = table[name].take(pa.array(of_cell))
    return pa.table(columns)


def _found(
    people: Any, hierarchies: dict, privacy: list, suppression: float, runs: int, **more: Any
) -> dict[str, Any]:
    """The figures of a release, of the whole job and of three searches by themselves."""

    def release() -> ko.Release:
        return ko.anonymize(
            people,
            quasi_identifiers=hierarchies,
            privacy=privacy,
            algorithm="full-domain",
            suppression=suppression,
            **more,
        )

    made, whole = measured(release, runs)
    # `replace`: a problem without what the last search left in it
    _, search = measured(lambda: ko.FullDomain().solve(replace(made.problem), Run()), 3)
    return {
        "cpu": round(whole, 3),
        "search_ms": round(1000 * search, 1),
        "loss": round(made.loss["loss"], 6),
        "classes": made.verdict.classes,
        "withheld": made.verdict.withheld,
        "distinct": len(made.problem.rows.counts),
    }
