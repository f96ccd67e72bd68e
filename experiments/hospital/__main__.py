"""The best bound that can be proven for a million, or ten million, generated hospital records.

    python -m experiments.hospital --rows 1000000 [--rounds 150] [--folder FOLDER] [--out RESULTS]

No search: only mondrian's release, and a lower bound on the loss of every release, proven cell by cell (see
docs/algorithms/improve.md). RESULTS gets a line of JSON for what was asked, and one for each portion of cells
as soon as it is proven, with what holds so far: cells that are not proven yet count as 0. A run that was
stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks.large import SEVEN, write_records

import kohort as ko
from kohort.algorithms.improve.assignment_search import closures
from kohort.algorithms.mining.closed_records import costs_of_nodes
from kohort.algorithms.proofs.cell_prices import PricedPortion, priced_portions
from kohort.algorithms.proofs.cells import Cells, cells_of
from kohort.algorithms.run import Run


def measure(path: Path, rounds: int, known: list[dict]) -> Iterator[dict]:
    """Lines of results: what was asked, and each portion of cells with what is proven so far.

    known  lines of an earlier run, which need not be proven again
    """
    release = ko.anonymize(path, **SEVEN)
    problem = release.problem
    cells = cells_of(problem)
    assert cells is not None
    paid = _paid(release)
    large = np.diff(cells.start)[np.diff(cells.start) >= problem.k]
    in_small = problem.n_records - int(large.sum())
    if not known:
        yield {
            "records": problem.n_records,
            "k": problem.k,
            "cells": len(cells),
            "cells_of_k_or_more": len(large),
            "largest_cell": int(large.max()),
            "highest_price": cells.highest,
            "mondrian": float(paid.mean()),
            "records_in_smaller_cells": in_small,
        }
    total = cells.highest * in_small + sum(line["bound"] * line["records"] for line in known[1:])
    done = sum(line["records"] for line in known[1:])
    left = _without_first(cells, sum(line["cells"] for line in known[1:]), problem.k)
    start = time.process_time()
    for portion in priced_portions(problem, left, lambda *_: rounds, Run()):
        total, done = total + portion.total, done + len(portion.records)
        yield _line(portion, paid) | {
            "proven_so_far": total / problem.n_records,
            "share_of_records": done / problem.n_records,
            "cpu_seconds": round(time.process_time() - start, 1),
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }


def _without_first(cells: Cells, n_proven: int, k: int) -> Cells:
    """The cells without the first ones that have at least k records."""
    sizes = np.diff(cells.start)
    first = np.append(np.flatnonzero(sizes >= k), len(sizes))[n_proven]
    return replace(
        cells, records=cells.records[cells.start[first] :], start=cells.start[first:] - cells.start[first]
    )


def _paid(release: ko.Release) -> np.ndarray:
    """What each record pays in mondrian's release."""
    group = release.recoding.group_of_record
    return costs_of_nodes(release.problem, closures(release.problem, release.recoding))[group]


def _line(portion: PricedPortion, paid: np.ndarray) -> dict:
    return {
        "cells": len(portion.cells),
        "records": len(portion.records),
        "rounds": portion.rounds,
        "rows_under_closed_records": portion.rows,
        "cuts": sum(len(cell.cuts) for cell in portion.cells),
        "bound": portion.total / len(portion.records),
        "mondrian": float(paid[portion.records].mean()),
    }


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="experiments.hospital", description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--folder", type=Path, help="where the records are, or are written to and kept")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = (asked.folder or Path(folder)) / f"records-{asked.rows}.parquet"
        if not path.exists():
            write_records(path, asked.rows)
        asked.out.mkdir(exist_ok=True)
        out = asked.out / f"bound-{asked.rows}.jsonl"
        known = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        with out.open("a") as results:
            for line in measure(path, asked.rounds, list(known)):
                known.append(line)
                print(json.dumps(line), file=results, flush=True)
    print(json.dumps(known[-1]))


if __name__ == "__main__":
    main(sys.argv[1:])
