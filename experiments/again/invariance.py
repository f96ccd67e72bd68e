"""m-invariance with newcomers assigned by prices, beside the assignment of its authors.

    python -m experiments.again.invariance [releases]

writes docs/figures/again-invariance.csv. `spread` is a measure from 0 to 100 as in work on microaggregation:
the share, in percent, of the squared deviations from the mean that lies within groups, here over the
standardized numbers of the leaves of each quasi-identifier.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.again.__main__ import (
    FIGURES,
    KEY,
    adult_spec,
    adult_tables,
    health_spec,
    health_tables,
    write_rows,
)
from experiments.again.classic import Classic
from kohort.algorithms.again import WAYS, MInvariance
from kohort.data.ledger import Ledger
from kohort.io.read_spec import with_files
from kohort.release.job import release_of
from kohort.release.release import Release
from kohort.statement.from_yaml import from_yaml as parse_spec
from kohort.tables.source import Source

WAYS_BESIDE = {"buckets": Classic, "prices": MInvariance}


def main(n_releases: int) -> None:
    rows: list[dict[str, Any]] = []
    pairs = {"k": 3, "diversity": {"attribute": "occupation", "l": 3}}
    for data, tables, spec in (
        ("Adult, 5 % leave", list(adult_tables(0.05)), adult_spec()),
        ("Adult, 5 % leave, k = 3", list(adult_tables(0.05)), adult_spec() | {"privacy": pairs}),
        ("RAND, years 1 to 5", health_tables(), health_spec()),
        ("RAND, counterfeits", health_tables(), health_spec() | {"counterfeits": 2000}),
    ):
        for name, way in WAYS_BESIDE.items():
            rows += [
                {"data": data, "assigned by": name, **row} for row in publish(tables[:n_releases], spec, way)
            ]
    write_rows(FIGURES / "again-invariance.csv", rows)


def publish(tables: Sequence[pa.Table], spec: dict, way: type[MInvariance]) -> list[dict[str, Any]]:
    """The figures of releases one after the other."""
    WAYS["m-invariance"] = way
    ledger, rows = Ledger("person"), []
    for number, table in enumerate(tables, 1):
        read = parse_spec(spec | {"again": "m-invariance", "algorithm": "mondrian"})
        began = time.process_time()
        release = release_of([Source.of(table)], with_files(read, key=KEY, ledger=ledger))
        seconds = time.process_time() - began - release.seconds.get("compile", 0.0)
        assert release.tied is not None
        ledger, people = release.tied.ledger, release.tied.people
        rows.append(
            {
                "release": number,
                "records": table.num_rows,
                "withheld": people["resting"] + people["waiting"],
                "counterfeits": release.published.counterfeits,
                "signatures": n_signatures(ledger),
                "loss": round(release.loss["loss"], 4),
                "spread": round(spread(release), 2),
                "CPU seconds": round(seconds, 2),
            }
        )
        print(way.__name__, *(f"{name} {value}" for name, value in rows[-1].items()), sep="; ", flush=True)
    return rows


def n_signatures(ledger: Ledger) -> int:
    """How many different sets of values the groups of the last release have."""
    entry = ledger.entries[-1]
    pairs = np.unique(np.column_stack([entry.place, entry.value[:, 0]]), axis=0)
    starts = np.searchsorted(pairs[:, 0], np.arange(int(entry.place.max()) + 1))
    return len({part.tobytes() for part in np.split(pairs[:, 1], starts[1:])})


def spread(release: Release) -> float:
    """The share of squared deviations within groups, in percent; withheld records are not counted."""
    group = release.recoding.group_of_record  # type: ignore[attr-defined]
    kept = group >= 0
    within = total = 0.0
    for attribute in release.problem.attributes:
        x = attribute.leaves[kept].astype(float)
        if x.std() > 0:
            x = (x - x.mean()) / x.std()
            sizes = np.bincount(group[kept])
            mean = np.bincount(group[kept], weights=x) / np.maximum(sizes, 1)
            within += float(((x - mean[group[kept]]) ** 2).sum())
            total += float((x**2).sum())
    return 100 * within / total


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
