"""What a case is given and how it measures: CPU seconds, peak memory, the facts of a release."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import kohort as ko

__all__ = ["Row", "Size", "data_folder", "facts", "measured", "peak_mb", "row"]

T = TypeVar("T")
Row = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How much a case should do.

    quick   a few settings and small tables, each the best of several runs: to compare before and after
    rows    number of generated hospital records
    """

    quick: bool = False
    rows: int = 1_000_000

    @property
    def runs(self) -> int:
        """How often a setting is measured; the quickest run counts, since other work only slows runs down."""
        return 5 if self.quick else 2


def data_folder() -> Path:
    """The folder of larger data: KOHORT_DATA, else `shared/data` beside the project."""
    return Path(os.environ.get("KOHORT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def measured(work: Callable[[], T], runs: int = 1) -> tuple[T, float]:
    """The result of the work and the CPU seconds of its quickest run."""
    quickest = float("inf")
    for _ in range(runs):
        start = time.process_time()
        result = work()
        quickest = min(quickest, time.process_time() - start)
    return result, quickest


def peak_mb() -> int:
    """The most memory that this process has used so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def row(asked: dict[str, Any], **found: Any) -> Row:
    """A line of the results: what was asked (`benchmarks.compare` matches lines by it), what was found."""
    return {"asked": asked} | found | {"peak_mb": peak_mb()}


def facts(release: ko.Release, cpu: float) -> dict[str, Any]:
    """The figures of a release beside its CPU seconds."""
    return {
        "cpu": round(cpu, 3),
        "seconds": {phase: round(value, 3) for phase, value in release.seconds.items()},
        "loss": round(release.loss["loss"], 6),
        "distortion": round(release.loss["distortion"], 6),
        "bound": release.bound,
        "solver_bound": release.solver_bound,
        "guarantee": release.guarantee,
        "classes": release.verdict.classes,
        "smallest_class": release.verdict.smallest_class,
        "cut_by_time": release.cut_by_time,
    }
