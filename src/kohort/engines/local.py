"""The local engines: algorithms run in this process, on records in memory or on their codes."""

from __future__ import annotations

from typing import ClassVar

from kohort.algorithms import Run, Solver
from kohort.engines.engine import Place
from kohort.engines.memory import available_memory
from kohort.errors import UnsupportedError, in_bytes
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding

__all__ = ["LocalEngine", "MemoryEngine", "StreamingEngine"]

_SMALL = 1 << 29  # bytes: a table up to this size is held in memory
_SHARE = 8  # ... unless it would take more than one eighth of the memory that is available
_LEAST_PER_RECORD = 24  # bytes that solving, publishing and verifying take on top of codes, whoever solves it


class LocalEngine:
    """Runs an algorithm in this process, on as many cores as its kernels use.

    Small tables are held in memory; of large ones, the columns that are needed for the search are, in codes.
    """

    name: ClassVar[str] = "local"

    def place(self, size: int) -> Place:
        most = min(_SMALL, available_memory() // _SHARE)
        takes = f"it would take about {in_bytes(size)} of memory"
        return Place("streaming" if size > most else "memory", asked=False, why=takes)

    def solve(self, problem: Problem, algorithm: Solver, run: Run) -> Recoding:
        _refuse_too_large(problem.n_records)
        return algorithm.solve(problem, run)


def _refuse_too_large(n_records: int) -> None:
    """Refuse a table at once for which there is not enough memory, before the system ends the process."""
    needed, free = n_records * _LEAST_PER_RECORD, available_memory()
    if needed > free:
        raise UnsupportedError(
            f"{n_records:,} records take at least another {in_bytes(needed)} of memory to anonymize in one "
            f"process, and {in_bytes(free)} are free. Choose engine: spark, which solves a table region by "
            "region and holds the rest on disk, also on one machine."
        )


class MemoryEngine(LocalEngine):
    """The local engine with every table in memory."""

    name: ClassVar[str] = "memory"

    def place(self, size: int) -> Place:
        return Place("memory", asked=True, why="engine: memory")


class StreamingEngine(LocalEngine):
    """The local engine with every file read in batches."""

    name: ClassVar[str] = "streaming"

    def place(self, size: int) -> Place:
        return Place("streaming", asked=True, why="engine: streaming")
