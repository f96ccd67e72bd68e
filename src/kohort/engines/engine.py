"""What an engine is: where the records of a table are held, and where an algorithm solves a problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from kohort.algorithms import Run, Solver
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding

__all__ = ["Engine", "Place"]


@dataclass(frozen=True)
class Place:
    """Where the records of a file are held while a release is made.

    held   memory: all of them; streaming: the columns that are searched and protected, as small codes, while
           the rest is read in batches, once more when the release is written
    asked  whether the user asked for it: then it is refused rather than done otherwise
    why    a part of a sentence
    """

    held: Literal["memory", "streaming"]
    asked: bool
    why: str


class Engine(Protocol):
    """Where tables are held and problems are solved."""

    name: ClassVar[str]

    def place(self, size: int) -> Place:
        """Where the records of a file are held that would take `size` bytes in memory."""
        ...

    def solve(self, problem: Problem, algorithm: Solver, run: Run) -> Recoding:
        """The recoding that an algorithm finds for a problem."""
        ...
