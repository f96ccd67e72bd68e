"""Mondrian: cut the records into two or more parts, repeatedly, while every part satisfies the models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.kernels.group_costs import costs_by_group
from kohort.algorithms.mondrian.kernels.best_cuts import find_cuts
from kohort.algorithms.mondrian.kernels.cut_parts import deal_out, part_records, people_in_parts
from kohort.algorithms.refusals import refuse_unknown_costs
from kohort.algorithms.run import Run
from kohort.errors import UnsupportedError
from kohort.kernels.threads import in_threads
from kohort.problem.models import Model
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

__all__ = ["Mondrian"]


@dataclass(frozen=True)
class Mondrian(Algorithm):
    """Mondrian multidimensional partitioning (LeFevre, DeWitt and Ramakrishnan, 2006).

    Starts from one group that holds all records. A group is cut along one attribute: between two values
    where any interval or set may be published, into the children of its node (small ones pooled) where there
    is a hierarchy. Among the cuts that leave every model satisfied on every side, the one with the least
    resulting cost over all attributes is taken (`choose="cost"`), or the attribute with the widest range is
    cut in the middle as in the paper (`choose="range"`). `strict` keeps records with equal values together;
    otherwise they may be dealt to both sides.

    All groups of one depth are cut at the same time, in parallel. O(n * attributes^2 * depth).

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"age": [21, 22, 41, 42]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)], algorithm=ko.Mondrian()
    ... )
    >>> release.table["age"].to_pylist()
    ['[21, 22]', '[21, 22]', '[41, 42]', '[41, 42]']
    """

    name: ClassVar[str] = "mondrian"
    summary: ClassVar[str] = "cuts the table into ever smaller groups; near-linear, for tables of any size"
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006"
    promise: ClassVar[str] = "no bound on the loss"
    recoding: ClassVar[type[Groups]] = Groups
    people = "counts"
    weighs: ClassVar[bool] = True

    choose: Literal["cost", "range"] = "cost"
    strict: bool = False

    @classmethod
    def meets(cls, model: type[Model]) -> bool:
        return True

    def refuse(self, problem: Problem) -> None:
        self.refuse_cost(problem.cost)
        if not problem.cost.linear:
            refuse_unknown_costs(problem)
        whole = problem.satisfied(np.zeros(problem.n_records, dtype=np.int64), slice(None), 1)
        if not whole.all():
            raise UnsupportedError(
                "mondrian starts from the whole table as one group, which does not satisfy the models "
                "(alpha with rounding: ceiling asks for more than the whole table has). Leave rounding out."
            )

    def solve(self, problem: Problem, run: Run) -> Groups:
        """The groups; where records weigh, the better ones of two searches, with weights and without.

        Each cut is the best by itself, which need not lead to the best groups: so weights may mislead it.
        """
        if problem.masses is None:
            return self._cut_up(problem, run)
        tried = [self._cut_up(asked, run) for asked in (problem, problem.varied(masses=None))]
        return min(tried, key=lambda groups: _weighed_cost(problem, groups.group_of_record))

    def _cut_up(self, problem: Problem, run: Run) -> Groups:
        table = _Cutting(problem, self)
        while table.open_starts.size:
            run.report("cutting groups", table.share_done())
            if run.out_of_time:
                return table.groups("Stopped at the time limit: some groups could still be cut.")
            table.cut_all_open()
        run.report("cutting groups", 1.0)
        return table.groups()


def _weighed_cost(problem: Problem, group_of_record: np.ndarray) -> float:
    """The total cost of all records, each counted by its mass."""
    order = np.argsort(group_of_record, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(group_of_record))])
    costs = costs_by_group(problem.coded.tables, problem.coded.searched_leaves(), order, start)
    return float(np.dot(costs, np.bincount(group_of_record, problem.masses)))


class _Cutting:
    """The records in the order of their groups, and the groups that may still be cut."""

    def __init__(self, problem: Problem, options: Mondrian) -> None:
        self.problem = problem
        self.tables = problem.coded.tables
        self.rows = problem.coded.searched_leaves()
        self.records = np.arange(problem.n_records, dtype=np.int32)
        self.open_starts = np.array([0], dtype=np.int64)
        self.open_ends = np.array([problem.n_records], dtype=np.int64)
        self.done_starts: list[np.ndarray] = []
        self.widest = options.choose == "range"
        # under the ceiling two groups that look alike are one class that may fail: cut between values only
        self.strict = options.strict or not problem.all_survive_unions
        self.only_k = all(model.attribute is None for model in problem.models)
        self.persons = np.zeros(0, dtype=np.int32)  # of each row, in the order of the groups
        self.masses = np.zeros(0)  # likewise, where records weigh
        self.n_cuts = 4 if self.only_k else 2 * len(problem.attributes)

    def share_done(self) -> float:
        return 1 - float((self.open_ends - self.open_starts).sum()) / len(self.records)

    def cut_all_open(self) -> None:
        """Cut each open group by its best cut that satisfies the models, or close it if there is none."""
        starts, ends = self.open_starts, self.open_ends
        if self.problem.persons is not None:
            self.persons = self.problem.persons[self.records]
        if self.problem.masses is not None:
            self.masses = self.problem.masses[self.records]
        cuts = np.concatenate(in_threads(lambda run: self._find(starts[run], ends[run]), ends - starts))
        new_starts, new_ends = [], []
        for attempt in range(self.n_cuts):
            possible = cuts["way"][:, attempt] >= 0
            self.done_starts.append(starts[~possible])
            starts, ends, cuts = starts[possible], ends[possible], cuts[possible]
            if not starts.size:
                break
            succeeded, part_starts, part_ends = self._cut(
                starts, ends, np.ascontiguousarray(cuts[:, attempt])
            )
            new_starts.append(part_starts)
            new_ends.append(part_ends)
            starts, ends, cuts = starts[~succeeded], ends[~succeeded], cuts[~succeeded]
        self.done_starts.append(starts)
        self.open_starts = np.concatenate([*new_starts, np.zeros(0, dtype=np.int64)])
        self.open_ends = np.concatenate([*new_ends, np.zeros(0, dtype=np.int64)])

    def _find(self, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        return find_cuts(
            self.rows,
            self.persons,
            self.masses,
            starts,
            ends,
            self.tables,
            self.problem.k,
            self.strict,
            self.widest,
            self.n_cuts,
        )

    def _cut(
        self, starts: np.ndarray, ends: np.ndarray, cuts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Carry out one cut per group where it satisfies the models.

        Returns whether each group was cut, and the starts and ends of the new parts.
        """
        parts, n_parts = part_records(
            self.rows, self.persons, starts, ends, cuts, self.tables, self.problem.k, self.strict
        )
        sizes = ends - starts
        group = np.repeat(np.arange(len(starts), dtype=np.int32), sizes)
        first_part = (np.cumsum(n_parts) - n_parts).astype(np.int32)
        if self.only_k and self.problem.persons is not None:
            holds = partial(self._have_people, starts, ends, n_parts)
        else:
            holds = partial(self._hold, first_part[group], self._records_of(starts, sizes), n_parts)
        parts, good = self._satisfying(parts, first_part, n_parts, group, holds)
        kept = good[group]
        deal_out(self.rows, self.records, starts[good], ends[good], parts[kept], n_parts[good])
        part_sizes = np.bincount(first_part[group[kept]] + parts[kept], minlength=n_parts.sum())
        return good, *self._runs(starts, n_parts, part_sizes, good)

    def _records_of(self, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """The records of these groups, one group after the other; none where the models need none."""
        if self.only_k:
            return self.records[:0]
        before = np.cumsum(sizes) - sizes
        return self.records[np.arange(sizes.sum()) + np.repeat(starts - before, sizes)]

    def _satisfying(
        self,
        parts: np.ndarray,
        first_part: np.ndarray,
        n_parts: np.ndarray,
        group: np.ndarray,
        satisfied: Callable[[np.ndarray], np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Move parts that fail a model into part 0, the pool of a cut into children.

        satisfied  from the part of each record to whether each part satisfies the models

        Returns the part of each record, and whether each group can be cut.
        """
        many = n_parts > 2
        for _ in range(2):
            holds = satisfied(parts)
            failing = ~holds[first_part[group] + parts] & many[group]
            if not failing.any():
                break
            parts = np.where(failing, 0, parts)
        used = np.zeros(len(holds), dtype=bool)
        used[first_part[group] + parts] = True
        group_of_part = np.repeat(np.arange(len(n_parts)), n_parts)
        n_used = np.bincount(group_of_part, weights=used, minlength=len(n_parts))
        broken = np.bincount(group_of_part, weights=used & ~holds, minlength=len(n_parts)) > 0
        return parts, (n_used > 1) & ~broken

    def _hold(
        self, first_part: np.ndarray, records: np.ndarray, n_parts: np.ndarray, parts: np.ndarray
    ) -> np.ndarray:
        """Whether each part satisfies the models; a part without records does.

        first_part, parts  per record the first part of its group, and which of the group's parts it is in
        """
        part, n_all = first_part + parts, int(n_parts.sum())
        present = np.bincount(part, minlength=n_all) > 0
        number = np.cumsum(present) - 1
        holds = np.ones(n_all, dtype=bool)
        holds[present] = self.problem.satisfied(number[part], records, int(present.sum()))
        return holds

    def _have_people(
        self, starts: np.ndarray, ends: np.ndarray, n_parts: np.ndarray, parts: np.ndarray
    ) -> np.ndarray:
        """Whether each part of these groups has k people, or no records."""
        people = people_in_parts(self.rows, self.persons, starts, ends, parts, n_parts)
        return (people >= self.problem.k) | (people == 0)

    def _runs(
        self, starts: np.ndarray, n_parts: np.ndarray, part_sizes: np.ndarray, good: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Starts and ends of the parts of the groups that were cut."""
        of_good = np.repeat(good, n_parts)
        sizes = part_sizes[of_good]
        first = np.cumsum(n_parts[good]) - n_parts[good]
        ends = np.cumsum(sizes)
        before = (ends - sizes)[first] if len(first) else ends
        offset = np.repeat(starts[good] - before, n_parts[good])
        part_ends = ends + offset
        return (part_ends - sizes)[sizes > 0], part_ends[sizes > 0]

    def groups(self, *notes: str) -> Groups:
        starts = np.sort(np.concatenate([*self.done_starts, self.open_starts]))
        sizes = np.diff(np.append(starts, len(self.records)))
        group_of_record = np.empty(len(self.records), dtype=np.int32)
        group_of_record[self.records] = np.repeat(np.arange(len(starts), dtype=np.int32), sizes)
        return Groups(group_of_record, notes=notes)
