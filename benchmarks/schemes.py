"""optimal-recoding: the least costs of the six schemes on Adult."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.schemes.__main__ import COSTS, measured, posed
from experiments.schemes.oracles import adult

import kohort as ko
from benchmarks.measuring import Row, Size, data_folder, row

__all__ = ["schemes"]

COLUMNS = {"bhs": 8, "ghs": 8, "gops": 7, "ops": 6, "gsps": 6, "sps": 5}


def schemes(size: Size) -> Iterator[Row]:
    """Adult's train part, age in 15 values, k = 5, records withheld freely; each search has a CPU minute."""
    for scheme, n in COLUMNS.items():
        for cost in COSTS:
            problem = posed(*adult(data_folder(), n), 5, cost)
            found = measured(problem, ko.OptimalRecoding(scheme=scheme), 60.0)
            gap = round(found["cost"] / found["bound"] - 1, 4)
            yield row({"scheme": scheme, "columns": n, "cost": cost}, **found, gap=gap)
