"""The local engines: algorithms run in this process, on records in memory or on their codes."""

from __future__ import annotations

from typing import ClassVar

from kohort.algorithms import Run, Solver
from kohort.engines.engine import Place
from kohort.engines.memory import available_memory
from kohort.errors import in_bytes
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding

__all__ = ["LocalEngine", "MemoryEngine", "StreamingEngine"]

_SMALL = 1 << 29  # bytes: a table up to this size is held in memory
_SHARE = 8  # ... unless it would take more than one eighth of the memory that is available


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
        return algorithm.solve(problem, run)


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
