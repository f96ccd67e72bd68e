"""Solve a table on a cluster: in regions, each by a worker, or as a whole on its distinct rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kohort.algorithms import ALGORITHMS, Algorithm, Run, Solver
from kohort.algorithms.mondrian.cut_regions import RegionRules, cut_regions
from kohort.algorithms.mondrian.region_records import Regions, RegionTree
from kohort.algorithms.uniting.counting_people import kept_by_whole_table
from kohort.errors import UnsupportedError, counted
from kohort.job.choose import Choice, choose
from kohort.pipeline.spark.arranging import DEALT, Arrangement
from kohort.pipeline.spark.global_recoding import global_recoding
from kohort.pipeline.spark.prepare import SparkPrepared
from kohort.pipeline.spark.records import SparkRecords
from kohort.pipeline.spark.regions import RegionJob, units_of
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding
from kohort.statement import Statement
from kohort.tables.spark import ROW, quoted
from kohort.tables.spark_cells import partition_keys
from kohort.tables.spark_session import spark_failures

_ANY_SIZE = "mondrian"  # chosen where nobody asks for an algorithm: it is for tables of any size
_PER_PART = 500_000  # records, about, of a part that a worker verifies


def choose_on_spark(prepared: SparkPrepared) -> Choice:
    """The algorithm that solves the regions; where people have several records, one that may."""
    request, problem = prepared.request, prepared.problem
    if prepared.person is not None:  # promises to people that the whole table breaks are kept by uniting
        problem = kept_by_whole_table(problem)
    if request.algorithm == "auto":
        choice = choose(problem, replace(request, algorithm=_ANY_SIZE))
        choice = replace(choice, notes=(f"{_ANY_SIZE} was chosen: it is for tables of any size.",))
    else:
        choice = choose(problem, request)
    if prepared.person is None:
        return choice
    return _counting_people(choice, prepared.problem, request, _largest_region(choice, prepared))


@dataclass(frozen=True)
class _ChosenThere:
    """The algorithm that is chosen where the records are, as one machine would choose it."""

    request: Statement

    def refuse(self, problem: Problem) -> None:
        """Nothing is known yet."""

    def solve(self, problem: Problem, run: Run) -> Recoding:
        return choose(problem, self.request).solver.solve(problem, run)


def _counting_people(choice: Choice, problem: Problem, request: Statement, largest: int) -> Choice:
    """The choice for a table in which people have several records.

    largest  how many records a worker solves at a time

    Mondrian starts from the whole table as one class, and cuts it while people keep every promise. A promise
    that the whole table breaks, and any other algorithm, needs all records in one region: there groups are
    united until they keep it, and it may be any two of them. Where one region is enough, so are groups that
    are published alike.
    """
    algorithm = ALGORITHMS[choice.name]
    if not issubclass(algorithm.recoding, Groups):
        raise UnsupportedError(
            f"Where people have several records, the Spark engine does not run {choice.name}. Choose "
            f"{_ANY_SIZE}, or engine: local."
        )
    broken = [m.name for m in problem.models if m not in kept_by_whole_table(problem).models]
    united = algorithm.people != "counts" or not problem.all_survive_unions
    weight = {"diversify": {"w": request.diversify_weight}} if united else {}
    choice = replace(choice, parameters=choice.parameters | weight)
    cut = problem.n_records > largest
    if algorithm.in_regions and not broken and (cut or problem.all_survive_unions):
        return choice
    if cut:
        what = f"the algorithm {choice.name}"
        if algorithm.in_regions:
            what = f"the promise {broken[0]}, which the whole table as one class breaks,"
        raise UnsupportedError(
            f"Where people have several records, {what} needs all {problem.n_records:,} records in one "
            f"region, and a region has up to {largest:,}. Raise records_per_region if a worker's memory "
            "allows that, or use engine: local."
        )
    there = replace(request, algorithm=choice.name) if request.algorithm == "auto" else request
    return replace(choice, solver=_ChosenThere(there))


@dataclass(frozen=True, eq=False)
class Made:
    """How a table is published: its records, which Spark will make, and what is known of the solution.

    pieces   published records, dealt out by class: each partition has the pieces of one part
    recoding the same everywhere, with its maps; empty groups where records are grouped by workers
    was_cut  whether a time limit may have decided anything
    held     what Spark holds until the records are made; None: nothing
    n_regions  in how many regions the table is solved
    """

    pieces: Any
    arrangement: Arrangement
    notes: tuple[str, ...]
    recoding: Recoding
    was_cut: bool
    held: SparkRecords | None = None
    n_regions: int = 1

    def release(self) -> None:
        """Let Spark give up what it holds."""
        if self.held is not None:
            self.held.release()


def solve_on_spark(prepared: SparkPrepared, choice: Choice, run: Run) -> Made:
    """The published records, with their originals beside them; workers make them when they are asked for."""
    n_parts = -(-prepared.problem.n_records // _PER_PART)  # the same on any number of executors
    with spark_failures("deal out the records"):
        keys = partition_keys(prepared.frame.sparkSession, n_parts)
    arrangement = Arrangement.of(prepared)
    if issubclass(ALGORITHMS[choice.name].recoding, Groups):
        largest = _largest_region(choice, prepared)
        return _made_in_regions(prepared, choice, arrangement, keys, largest, run)
    return _made_by_maps(prepared, choice, arrangement, keys)


def _made_by_maps(
    prepared: SparkPrepared, choice: Choice, arrangement: Arrangement, keys: Sequence[int]
) -> Made:
    limited = Run(time_limit=prepared.request.time_limit)
    job, recoding = global_recoding(prepared, choice, arrangement.coder, keys, limited)
    notes = ("Made on a cluster by Spark: one map for each column, found on the distinct rows.",)
    with spark_failures("publish the records"):
        records = prepared.frame.select(*map(quoted, arrangement.coder.names), ROW)
        made = records.mapInArrow(job.publish, DEALT).repartition(len(keys), "key")
    return Made(made, arrangement, notes, recoding, limited.was_cut)


def _made_in_regions(
    prepared: SparkPrepared,
    choice: Choice,
    arrangement: Arrangement,
    keys: Sequence[int],
    largest: int,
    run: Run,
) -> Made:
    problem = prepared.problem
    rules, cut = _rules(problem, choice), problem.n_records > largest
    records = SparkRecords(prepared.frame, arrangement.coder, rules, problem.n_records, hold=cut)
    try:
        regions = Regions(RegionTree.of_one_region(), {0: problem.n_records})
        if cut:
            regions = cut_regions(records, rules, problem.n_records, largest, run)
        seconds, units = _seconds(prepared, choice, len(regions.sizes)), units_of(regions, largest)
        job = RegionJob(
            problem=problem,
            solver=_solver(choice),
            regions=regions,
            units=units,
            unit_keys=partition_keys(prepared.frame.sparkSession, int(units.max()) + 1),
            keys=keys,
            null_is_star=prepared.request.nulls == "star",
            has_people=arrangement.coder.has_people,
            seconds=seconds,
        )
        made = _published(records, job)
    except BaseException:
        records.release()
        raise
    nobody = Groups(np.zeros(0, dtype=np.int32))
    notes = _notes(regions, seconds)
    return Made(made, arrangement, notes, nobody, seconds is not None, records, len(regions.sizes))


def _notes(regions: Regions, seconds: float | None) -> tuple[str, ...]:
    notes = [f"Made on a cluster by Spark, in {counted(len(regions.sizes), 'region')}."]
    if seconds is not None:
        notes.append(
            f"Every region was searched for at most {seconds:.3g} s. The same input, spec, version and seed "
            "may give another release next time, or on another cluster."
        )
    return tuple(notes)


def _solver(choice: Choice) -> Solver:
    """The algorithm that solves regions: without the time for a bound, which a cluster does not give."""
    return choice.solver.without_bound() if isinstance(choice.solver, Algorithm) else choice.solver


def _largest_region(choice: Choice, prepared: SparkPrepared) -> int:
    """How many records a region may have, that the algorithm solves in reasonable time and memory."""
    return int(min(prepared.dataset.records_per_region, ALGORITHMS[choice.name].largest_region))


def _seconds(prepared: SparkPrepared, choice: Choice, n_regions: int) -> float | None:
    """The time limit of a region: its part of what is asked for, or of the algorithm's own."""
    algorithm, limit = ALGORITHMS[choice.name], prepared.request.time_limit
    own = algorithm.own_time_limit
    if algorithm.in_regions or (limit is None and own is None):
        return None
    at_once = min(prepared.frame.sparkSession.sparkContext.defaultParallelism, n_regions)
    return (own or 0.0 if limit is None else limit) * at_once / n_regions


def _rules(problem: Problem, choice: Choice) -> RegionRules:
    """The rules by which a table is cut into regions: those of the algorithm, where it has such ones."""
    parameters = choice.parameters if ALGORITHMS[choice.name].in_regions else {}
    strict = bool(parameters.get("strict")) or not problem.all_survive_unions
    return RegionRules(problem, strict=strict, widest=parameters.get("choose") == "range")


def _published(records: SparkRecords, job: RegionJob) -> Any:
    """The published records by class; workers will solve the regions for it, each in a partition."""
    with spark_failures("solve and publish the regions"):
        dealt = records.blocks.select("block", "beside").mapInArrow(job.deal, DEALT)
        solved = dealt.repartition(len(job.unit_keys), "key").mapInArrow(job.solve, DEALT)
        return solved.repartition(len(job.keys), "key")
