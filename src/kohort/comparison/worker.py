"""One release of a comparison, in a process of its own, so that its memory can be measured.

Reads a pickled Job from stdin; writes JSON lines to stdout: progress, and at last the figures.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.errors import InfeasibleError, KohortError, UnsupportedError
from kohort.release.job import release_of
from kohort.release.release import Release
from kohort.risk import assess_risk
from kohort.statement import Statement
from kohort.tables.source import Source
from kohort.utility.itemset_loss import itemset_loss
from kohort.utility.queries import item_query_error, query_error


@dataclass(frozen=True)
class Job:
    """What a worker is asked to do."""

    table: pa.Table
    spec: Statement
    queries: int
    seed: int


def run_job(job: Job, progress: Any = None) -> dict[str, Any]:
    """The figures of one release and the seconds spent on compiling, or why it could not be made."""
    start = time.process_time()
    try:
        release = release_of([Source.of(job.table)], job.spec, progress=progress)
    except UnsupportedError as error:
        return {"status": "refused", "reason": str(error)}
    except InfeasibleError as error:
        return {"status": "infeasible", "reason": str(error)}
    except KohortError as error:
        return {"status": "failed", "reason": str(error)}
    used = {
        "compiling": release.seconds.get("compile", 0.0),
        "seconds": sum(release.seconds.values()),
        "cpu_seconds": time.process_time() - start,
        "memory_mb": peak_memory(),
    }
    return figures_of(release, job.queries, job.seed) | used


def figures_of(release: Release, queries: int, seed: int) -> dict[str, Any]:
    """The figures of a release that a comparison shows; those of baskets are about known items."""
    risk = assess_risk(release, seed=seed)
    sides = release.sides
    answered = query_error(sides, queries=queries, seed=seed)
    if answered is None and sides.baskets is not None:
        answered = item_query_error(sides.baskets, queries=queries, seed=seed)
    mined = None if sides.baskets is None else itemset_loss(sides.baskets)
    prosecutor = risk["prosecutor"] or risk["linkage"]
    guesses = [found["after"]["maximum"] for found in risk["attribute_disclosure"]]
    return {
        "status": "done",
        "made_by": release.algorithm,
        "loss": release.loss.get("loss", release.loss.get("ncp")),
        "value": release.cost,
        "bound": release.bound,
        "gap": release.gap,
        "solver_bound": release.solver_bound,
        "solver_gap": release.solver_gap,
        "highest_risk": prosecutor["after"]["maximum"],
        "average_risk": prosecutor["after"]["average"],
        "linked": risk["linkage"]["after"]["average"],
        "best_guess": max(guesses, default=None),
        "query_error": None if answered is None else answered["median_relative_error"],
        **{name: None if mined is None else mined[name] for name in ("tkd", "tkd_ml2", "pair_error")},
        "classes": release.verdict.classes,
        "smallest_class": release.verdict.smallest_class,
        "withheld": release.verdict.withheld,
    }


def peak_memory() -> float | None:
    """The most memory that this process has had, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would include the process that started this one
        [peak] = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(peak) / 1024
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Do the job that is read from stdin."""
    job: Job = pickle.load(sys.stdin.buffer)

    def tell(what: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()

    tell(run_job(job, lambda what, share: tell({"progress": share, "what": what})))


if __name__ == "__main__":
    main()
