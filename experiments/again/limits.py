"""Why keeping releases safe together costs what it does: bounds for whoever comes together, reasons to rest.

    python -m experiments.again.limits

Where nobody leaves, those who came together are told from all others by when they came, so every cell lies
among them, and no release can lose less than the mean of the lower bounds for each of these tables alone.
Where people leave, it says of RAND's years how many places are vacant, and how many people rest for that.
"""

from __future__ import annotations

import csv
from typing import Any

import numpy as np

from experiments.again.__main__ import (
    FIGURES,
    KEY,
    SECONDS,
    adult_spec,
    adult_tables,
    health_spec,
    health_tables,
    write_rows,
)
from experiments.bounds import best_bound
from kohort.algorithms.again import Standing
from kohort.data.ledger import Ledger
from kohort.io.read_spec import with_files
from kohort.job.prepare import prepare
from kohort.job.tie import Tie, TiedRelease
from kohort.release.job import release_of
from kohort.statement.from_yaml import from_yaml as parse_spec
from kohort.tables.memory import MemoryTable
from kohort.tables.source import Source

N_COHORTS = 8


def main() -> None:
    """Both tables, printed and written down."""
    write_rows(FIGURES / "again-bounds.csv", bounds())
    write_rows(FIGURES / "again-resting.csv", reasons())


def bounds() -> list[dict[str, Any]]:
    """Per release of Adult where nobody leaves: the least that any release can lose, and one alone loses."""
    with (FIGURES / "again.csv").open(encoding="utf-8") as file:
        found = {row["release"]: row for row in csv.DictReader(file) if row["algorithm"] == "improve"}
    rows: list[dict[str, Any]] = []
    for number, table in enumerate(list(adult_tables(0.0))[:N_COHORTS], 1):
        newcomers = table.slice(table.num_rows - 3000).drop(["person"])
        spec = adult_spec() | {"algorithm": "improve", "time_limit": SECONDS, "suppression": 0.0}
        spec["attributes"] = {name: how for name, how in spec["attributes"].items() if name != "person"}
        release = release_of([Source.of(newcomers)], parse_spec(spec))
        bound = best_bound(release)
        assert bound is not None  # improve proves one
        before = [row["bound of newcomers"] for row in rows]
        least = float(np.mean([*before, bound]))
        alone = float(found[str(number)]["alone"] or found[str(number)]["loss"])
        rows.append(
            {
                "release": number,
                "bound of newcomers": round(bound, 4),
                "newcomers alone": round(release.cost, 4),
                "least possible": round(least, 4),
                "alone": alone,
                "at least times": round(least / alone, 3),
                "reached": float(found[str(number)]["loss"]),
            }
        )
        print(rows[-1], flush=True)
    return rows


def reasons() -> list[dict[str, Any]]:
    """Per year of RAND: who is in cells with vacancies, and how many people rest."""
    rows, ledger = [], Ledger("person")
    for number, table in enumerate(health_tables(), 1):
        spec = health_spec() | {"again": "history-keeping", "algorithm": "mondrian"}
        request = with_files(parse_spec(spec), key=KEY, ledger=ledger)
        tie = Tie.of(prepare(MemoryTable(table), request))
        release = release_of([Source.of(table)], request)
        assert isinstance(release.tied, TiedRelease)
        ledger = release.tied.ledger
        if number > 1:
            people, loss = release.tied.people, round(release.loss["loss"], 3)
            row = {"year": number, **_vacancies(tie.standing)}
            rows.append(row | {"taken over": people["passed_on"], "rest": people["resting"], "loss": loss})
            print(rows[-1], flush=True)
    return rows


def _vacancies(standing: Standing) -> dict[str, Any]:
    """How many people are left of earlier releases, and where somebody is missing."""
    cell = standing.cell_of_place
    size, there = np.bincount(cell), np.bincount(cell[standing.seated() >= 0], minlength=int(cell.max()) + 1)
    vacant = np.where(there > 0, size - there, 0)
    return {
        "cells": int((there > 0).sum()),
        "median size": float(np.median(size[there > 0])),
        "people who stayed": int(there.sum()),
        "newcomers": len(standing.newcomers),
        "vacant": int(vacant.sum()),
        "in cells with a vacancy": int(there[vacant > 0].sum()),
    }


if __name__ == "__main__":
    main()
