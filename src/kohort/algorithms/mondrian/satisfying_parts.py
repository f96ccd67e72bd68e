"""Which cuts leave parts that satisfy every model, where there are models other than k-anonymity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.problem.problem import Problem

__all__ = ["Parted", "satisfying"]


@dataclass(frozen=True, eq=False)
class Parted:
    """The parts of the records of some groups after one cut each.

    parts       per record its part, counted inside its group
    part_sizes  per part, group after group
    n_parts     per group
    cut         per group, whether it can be cut like that
    """

    parts: np.ndarray
    part_sizes: np.ndarray
    n_parts: np.ndarray
    cut: np.ndarray

    def runs(self, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Starts and ends of the parts of the groups that are cut, given the starts of all groups."""
        n_parts, sizes = self.n_parts[self.cut], self.part_sizes[np.repeat(self.cut, self.n_parts)]
        ends, first = np.cumsum(sizes), np.cumsum(n_parts) - n_parts
        before = (ends - sizes)[first] if len(first) else ends
        ends = ends + np.repeat(starts[self.cut] - before, n_parts)
        return (ends - sizes)[sizes > 0], ends[sizes > 0]


def satisfying(
    problem: Problem, records: np.ndarray, group: np.ndarray, parts: np.ndarray, n_parts: np.ndarray
) -> Parted:
    """Move parts that fail a model into part 0, the pool of a cut into children; see which groups are cut.

    records, group, parts  records, group after group: their numbers, groups, and parts inside these
    n_parts                per group
    """
    first_part = (np.cumsum(n_parts) - n_parts)[group]
    for _ in range(2):
        holds = _hold(problem, records, first_part + parts, int(n_parts.sum()))
        failing = ~holds[first_part + parts] & (n_parts > 2)[group]
        if not failing.any():
            break
        parts = np.where(failing, 0, parts).astype(np.int32)
    part_sizes = np.bincount(first_part + parts, minlength=int(n_parts.sum()))
    group_of_part = np.repeat(np.arange(len(n_parts)), n_parts)
    used = part_sizes > 0
    n_used = np.bincount(group_of_part, weights=used, minlength=len(n_parts))
    broken = np.bincount(group_of_part, weights=used & ~holds, minlength=len(n_parts)) > 0
    return Parted(parts, part_sizes, n_parts, (n_used > 1) & ~broken)


def _hold(problem: Problem, records: np.ndarray, part: np.ndarray, n_parts: int) -> np.ndarray:
    """Whether each part satisfies the models; a part without records does."""
    present = np.bincount(part, minlength=n_parts) > 0
    number = np.cumsum(present) - 1
    holds = np.ones(n_parts, dtype=bool)
    holds[present] = problem.satisfied(number[part], records, int(present.sum()))
    return holds
