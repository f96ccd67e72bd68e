"""Optimal: the least cost of all releases by local recoding, by integer programming. For small tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.mining.closed_records import ClosedRecords, MinedRows, mine, record_costs
from kohort.algorithms.programs import Program, Solution, solve_program
from kohort.algorithms.proofs.measured_units import in_measured_units, searches_what_is_measured
from kohort.algorithms.refusals import refuse_other_costs, refuse_without_hierarchies
from kohort.algorithms.run import Run
from kohort.data.hierarchy import Hierarchy
from kohort.errors import UnsupportedError
from kohort.problem.counted_cells import groups_from_pieces
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

MOST_CELLS = 300_000  # rows in the supports of all closed records
_FIRST_SLACK = 0.02  # share of the bound: variables of greater reduced cost are left out of the first search


@dataclass(frozen=True)
class Optimal(Algorithm):
    """The optimum itself, for teaching, and as the measure of everything else.

    Groups that are published alike can be one, so a release is a choice of closed generalized records, each
    with at least k of the records under it. HiGHS finds the cheapest choice: first the linear relaxation,
    whose reduced costs show which closed records can be in a better solution than the one known; then the
    integer program over these. Records may be withheld as far as the problem allows.

    Exponential in the worst case. Sixty distinct records with eight attributes take seconds; a table whose
    closed records have more than 300,000 rows under them in all is refused. At the time limit the best
    release found is returned, with the factor that is proven by then.

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"age": [21, 22, 24, 41, 42, 47]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers={"age": ko.intervals(5, 10)}, privacy=[ko.KAnonymity(2)],
    ...     algorithm="optimal",
    ... )
    >>> sorted(release.table["age"].to_pylist()), release.guarantee
    (['[20, 25)', '[20, 25)', '[20, 25)', '[40, 50)', '[40, 50)', '[40, 50)'], 1.0)
    """

    name: ClassVar[str] = "optimal"
    summary: ClassVar[str] = "finds the least possible cost by integer programming; for small tables"
    paper: ClassVar[str] = "closed records: Kenig, Tassa (2012); integer programs: HiGHS, highs.dev"
    promise: ClassVar[str] = "the least cost"
    recoding: ClassVar[type[Groups]] = Groups
    people = "refuses"
    withholds: ClassVar[bool] = True

    def refuse(self, problem: Problem) -> None:
        refuse_other_costs(self, problem)
        refuse_without_hierarchies(problem)
        if problem.tight:
            raise UnsupportedError(
                "optimal is exact for hierarchy nodes only, not for tight labels. Use labels: hierarchy."
            )

    def solve(self, problem: Problem, run: Run) -> Groups:
        run.report("mining closed records", 0.0)
        in_full = Run()  # no time limit: MOST_CELLS keeps it short, and the proof needs all closed records
        closed = mine(
            MinedRows.of(problem), problem.k, max_records=MOST_CELLS, max_support_rows=MOST_CELLS, run=in_full
        )
        if not (closed.complete and closed.has_supports):
            raise UnsupportedError(
                f"optimal is for small tables: its closed records may have at most {MOST_CELLS:,} distinct "
                "rows under them in all, and here they have more. Choose k-anon-cf instead."
            )
        choices = _Choices.of(problem, closed)
        found = _search(choices, run)
        return _groups(problem, choices, found)


@dataclass(frozen=True, eq=False)
class _Choices:
    """The closed records that each row may be published as; the last record is `*`, for withheld records.

    row, record   the row and the closed record of each choice
    paid          per closed record: cost of one row
    """

    problem: Problem
    nodes: np.ndarray
    row: np.ndarray
    record: np.ndarray
    paid: np.ndarray

    @classmethod
    def of(cls, problem: Problem, closed: ClosedRecords) -> _Choices:
        n_rows = len(problem.rows.counts)
        star = problem.coded.star_cost
        n_withheld = n_rows if problem.max_withheld else 0
        record = np.repeat(np.arange(len(closed)), np.diff(closed.start))
        return cls(
            problem,
            closed.nodes,
            np.concatenate([closed.rows, np.arange(n_withheld)]),
            np.concatenate([record, np.full(n_withheld, len(closed))]),
            np.append(record_costs(problem, closed), star),
        )

    @property
    def copies(self) -> np.ndarray:
        return self.problem.rows.counts[self.row]

    @property
    def everything_as_one(self) -> np.ndarray:
        """The solution that always exists: the most general closed record, which comes first."""
        return np.concatenate([np.where(self.record == 0, self.copies, 0), np.arange(len(self.paid)) == 0])

    def program(self, kept: np.ndarray, *, integer: bool) -> Program:
        """The program: its variables are how many copies of each row go to each record, then which are open.

        Every copy goes to some record; only to an open one; an open one gets at least k copies.
        """
        counts, k = self.problem.rows.counts, self.problem.k
        n_rows, n_choices, n_records = len(counts), len(self.row), len(self.paid)
        choice, record = np.arange(n_choices), np.arange(n_records)
        parts = [
            (self.row, choice, np.ones(n_choices)),
            (n_rows + self.record, choice, np.ones(n_choices)),
            (n_rows + record, n_choices + record, np.where(record == n_records - 1, 0.0, -k)),
            (n_rows + n_records + choice, choice, np.ones(n_choices)),
            (n_rows + n_records + choice, n_choices + self.record, -self.copies.astype(float)),
        ]
        least = [counts, np.zeros(n_records), np.full(n_choices, -np.inf)]
        most = [counts, np.full(n_records, np.inf), np.zeros(n_choices)]
        most[1][-1] = self.problem.max_withheld
        if not self.problem.cost.monotone:
            rows, columns, values, n_exact = _exact_closures(self)
            parts.append((n_rows + n_records + n_choices + rows, columns, values))
            least.append(np.zeros(n_exact))
            most.append(np.full(n_exact, np.inf))
        return Program(
            cost=np.concatenate([self.paid[self.record], np.zeros(n_records)]),
            upper=np.where(kept, np.concatenate([self.copies, np.ones(n_records)]), 0.0),
            entries=tuple(np.concatenate(column) for column in zip(*parts)),  # type: ignore[arg-type]
            least=np.concatenate(least),
            most=np.concatenate(most),
            integer=np.ones(n_choices + n_records, dtype=bool) if integer else None,
        )

    def needed(self, relaxed: Solution, slack: float) -> np.ndarray:
        """Whether each variable can be above 0 in a solution at most `slack` above the relaxation's value.

        A variable above 0 adds its reduced cost; an open record adds those of the k cheapest copies that may
        go there.
        """
        n_choices = len(self.row)
        added = np.maximum(relaxed.reduced_cost, 0.0)
        order = np.lexsort((added[:n_choices], self.record))
        record, copies = self.record[order], self.copies[order]
        before = np.cumsum(copies) - copies
        before -= before[np.searchsorted(record, record)]
        taken = np.clip(np.where(record < len(self.paid) - 1, self.problem.k, 0) - before, 0, copies)
        filling = np.bincount(record, taken * added[:n_choices][order], minlength=len(self.paid))
        opened = added[n_choices:] + filling <= slack
        opened[0] = True
        choice = (added[:n_choices] <= slack) | (self.record == 0)
        return np.concatenate([choice & opened[self.record], opened])


def _exact_closures(choices: _Choices) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Rows of the program for costs that are not monotone: the closure of a group must be its closed record.

    For each child of each node of an open record, at least one copy is not under the child. (With a monotone
    cost a smaller closure only costs less.)
    """
    n_choices = len(choices.row)
    leaves = choices.problem.rows.leaves
    rows, columns, values, number = [], [], [], 0
    for record, nodes in enumerate(choices.nodes):
        mine = np.flatnonzero(choices.record == record)
        for attribute, node, leaf in zip(choices.problem.attributes, nodes, leaves[choices.row[mine]].T):
            tree = attribute.domain
            assert isinstance(tree, Hierarchy)
            for child in tree.children(int(node)):
                under = (tree.lo[child] <= leaf) & (leaf <= tree.hi[child]) & ~tree.hidden[leaf]
                columns.append(np.append(mine[~under], n_choices + record))
                values.append(np.append(np.ones((~under).sum()), -1.0))
                rows.append(np.full(len(columns[-1]), number))
                number += 1
    if not number:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), 0
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(values), number


@dataclass(frozen=True, eq=False)
class _Found:
    """The best solution, its total cost, and a lower bound on the cost of any solution."""

    x: np.ndarray
    value: float
    bound: float


def _search(choices: _Choices, run: Run) -> _Found:
    """Solve the integer program over the variables that are needed, adding others until it is proven."""
    everything = np.ones(len(choices.row) + len(choices.paid), dtype=bool)
    x = choices.everything_as_one
    best = _Found(x, float(choices.paid[0] * x[: len(choices.row)].sum()), 0.0)
    run.report("solving the relaxation", 0.0)
    relaxed = solve_program(choices.program(everything, integer=False), run)
    if not relaxed.optimal:
        return best
    best = replace(best, bound=min(relaxed.value, best.value))
    slack = _FIRST_SLACK * relaxed.value
    enough = best.value <= relaxed.value
    while not enough:
        kept = choices.needed(relaxed, slack * (1 + 1e-9))
        program = choices.program(kept, integer=True)
        found = solve_program(program, run, start=best.x, doing="choosing closed records")
        if found.x is not None and found.value < best.value:
            best = replace(best, x=np.rint(found.x), value=found.value)
        bound = found.bound if kept.all() else min(found.bound, relaxed.value + slack)
        best = replace(best, bound=min(max(best.bound, bound), best.value))
        enough = bool(kept.all()) or best.value <= relaxed.value + slack or not found.optimal
        slack = best.value - relaxed.value
    return best


def _groups(problem: Problem, choices: _Choices, found: _Found) -> Groups:
    copies = found.x[: len(choices.row)].astype(np.int64)
    used = copies > 0
    group = np.where(choices.record == len(choices.paid) - 1, -1, choices.record)
    groups = groups_from_pieces(problem.rows.of_record, choices.row[used], copies[used], group[used])
    if (group[used] < 0).any():
        groups -= 1  # withheld records came first
    proven = found.value - found.bound <= 1e-9 * max(found.value, 1.0)
    note = "Stopped at the time limit: a release with a lower cost may exist."
    return Groups(
        groups,
        guarantee=_factor(found, proven) if searches_what_is_measured(problem) else None,
        bound=in_measured_units(problem, found.bound),
        notes=() if proven else (note,),
    )


def _factor(found: _Found, proven: bool) -> float | None:
    if proven:
        return 1.0
    return found.value / found.bound if found.bound > 0 else None
