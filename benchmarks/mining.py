"""Mining closed records beside Algorithms 6 and 7 as they are printed (Kenig and Tassa, 2012)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import kohort as ko
from benchmarks.measuring import Row, Size, measured, row

__all__ = ["mining_ratio"]

COLUMNS = ["sex", "race", "education", "workclass"]


def mining_ratio(size: Size) -> Iterator[Row]:
    """300 records of Adult, four quasi-identifiers, k = 5: our CPU seconds and those of the printed text."""
    people = ko.datasets.load_adult(split="train").select(COLUMNS).slice(0, 300)
    asked = {name: ko.auto() for name in COLUMNS}
    problem = ko.anonymize(people, quasi_identifiers=asked, privacy=[ko.KAnonymity(5)]).problem
    ours, cpu = measured(lambda: ko.mine_closed_records(people, quasi_identifiers=asked, k=5), 3)
    printed, printed_cpu = measured(lambda: _as_printed(problem, 5))
    assert len(ours) == len(printed)
    yield row(
        {"k": 5},
        closed_records=len(ours),
        cpu=round(cpu, 4),
        printed_cpu=round(printed_cpu, 3),
        ratio=round(printed_cpu / cpu),
    )


def _as_printed(problem: Any, k: int) -> set[tuple[int, ...]]:
    """The closed records, by narrowing one attribute of a record at a time, from the most general one on."""
    trees = [attribute.domain for attribute in problem.attributes]
    columns, counts = problem.rows.leaves.T, problem.rows.counts
    met: set[tuple[int, ...]] = set()
    closed: set[tuple[int, ...]] = set()

    def visit(record: tuple[int, ...], rows: np.ndarray) -> None:
        if record in met:
            return
        met.add(record)
        for j, tree in enumerate(trees):
            for child in tree.children(record[j]):
                below = rows & (columns[j] >= tree.lo[child]) & (columns[j] <= tree.hi[child])
                if counts[below].sum() >= k:
                    visit((*record[:j], int(child), *record[j + 1 :]), below)
                    if (below == rows).all():
                        return  # not closed: the narrowed record has the same support
        closed.add(record)

    visit((0,) * len(trees), np.ones(len(counts), dtype=bool))
    return closed
