"""Solve a table on a cluster: in regions, each by a worker, or as a whole on its distinct rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kohort.algorithms import ALGORITHMS, Run, Solver
from kohort.algorithms.improve.improve import Improve, regrouped_without_bound
from kohort.algorithms.mondrian.cut_regions import RegionRules, cut_regions
from kohort.algorithms.mondrian.region_records import Question
from kohort.algorithms.mondrian.region_tree import Regions, RegionTree
from kohort.engines.spark.coding import Coder
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.packing import partition_keys
from kohort.engines.spark.records import SparkRecords
from kohort.engines.spark.source import ROW
from kohort.engines.spark.values import quoted
from kohort.errors import counted
from kohort.job.choose import Choice
from kohort.pipeline.spark.arranging import PIECES, Arrangement, Pieces
from kohort.pipeline.spark.frames import masked_names
from kohort.pipeline.spark.global_recoding import global_recoding
from kohort.pipeline.spark.prepare import SparkPrepared
from kohort.pipeline.spark.regions import DEALT, RegionJob, Units, label_of_group
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding

_PER_PART = 500_000  # records, about, of a part that a worker verifies
_MOST_IMPROVED = 500_000  # records of a region, for searches that hold more of each
_MOST_TOGETHER = 100_000  # records of a region, for algorithms that are not for large tables


@dataclass(frozen=True, eq=False)
class Made:
    """How a table is published: its records, which Spark will make, and what is known of the solution.

    pieces   published records, dealt out by class: each partition has the pieces of one part
    limited  the seconds that each region may take; None where the clock decides nothing
    held     what Spark holds until the records are made; None: nothing
    recoding the maps of a recoding that is the same everywhere; None: there are none
    n_regions  in how many regions the table is solved
    """

    pieces: Any
    arrangement: Arrangement
    notes: tuple[str, ...]
    scheme: dict[str, Any] | None = None
    limited: float | None = None
    held: SparkRecords | None = None
    recoding: Recoding | None = None
    n_regions: int = 1

    def release(self) -> None:
        """Let Spark give up what it holds."""
        if self.held is not None:
            self.held.release()


def solve_on_spark(prepared: SparkPrepared, choice: Choice, records_per_region: int, run: Run) -> Made:
    """The published records, with their originals beside them; workers make them when they are asked for."""
    n_parts = -(-prepared.problem.n_records // _PER_PART)  # the same on any number of executors
    with spark_failures("deal out the records"):
        pieces = Pieces(partition_keys(prepared.frame.sparkSession, n_parts))
    kept = [name for name in prepared.published_names if name in prepared.carried]
    has_people = prepared.person is not None
    coder = Coder.of(prepared.problem, prepared.counted_sensitive, kept, has_people=has_people)
    arrangement = Arrangement(coder, prepared.published_names, masked_names(prepared), prepared.request.seed)
    if issubclass(ALGORITHMS[choice.name].recoding, Groups):
        largest = largest_region(choice, records_per_region)
        return _made_in_regions(prepared, choice, arrangement, pieces, largest, run)
    return _made_by_maps(prepared, choice, arrangement, pieces)


def _made_by_maps(prepared: SparkPrepared, choice: Choice, arrangement: Arrangement, pieces: Pieces) -> Made:
    limit = prepared.request.time_limit
    limited = Run(time_limit=limit)
    job, recoding = global_recoding(prepared, choice, arrangement.coder, pieces, limited)
    notes = ("Made on a cluster by Spark: one map for each column, found on the distinct rows.",)
    with spark_failures("publish the records"):
        records = prepared.frame.select(*map(quoted, arrangement.coder.names), ROW)
        made = records.mapInArrow(job.publish, PIECES).repartition(len(pieces.keys), "key")
    seconds = limit if limited.was_cut else None
    scheme = dict(recoding.search) or None
    return Made(made, arrangement, (*notes, *recoding.notes), scheme, seconds, recoding=recoding)


def _made_in_regions(
    prepared: SparkPrepared, choice: Choice, arrangement: Arrangement, pieces: Pieces, largest: int, run: Run
) -> Made:
    problem = prepared.problem
    rules, cut = _rules(problem, choice), problem.n_records > largest
    records = SparkRecords(prepared.frame, arrangement.coder, rules, problem.n_records, hold=cut)
    try:
        regions = Regions(RegionTree.of_one_region(), {0: problem.n_records})
        if cut:
            regions = cut_regions(records, rules, problem.n_records, largest, run)
        seconds = _seconds(prepared, choice, len(regions.sizes))
        job = RegionJob(
            problem=problem,
            solver=_solver(choice),
            regions=regions,
            units=_units(prepared, regions, largest),
            labels=_labels_of_groups(prepared, regions, records),
            pieces=pieces,
            null_is_star=prepared.request.nulls == "star",
            has_people=arrangement.coder.has_people,
            seconds=seconds,
        )
        made = _published(records, job)
    except BaseException:
        records.release()
        raise
    return Made(
        made, arrangement, _notes(regions, seconds), None, seconds, records, n_regions=len(regions.sizes)
    )


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
    return _RegroupedRegions(choice.solver) if isinstance(choice.solver, Improve) else choice.solver


@dataclass(frozen=True)
class _RegroupedRegions:
    """improve, where large regions are searched without the time for a bound."""

    inner: Improve

    def refuse(self, problem: Problem) -> None:
        self.inner.refuse(problem)

    def solve(self, problem: Problem, run: Run) -> Recoding:
        if (
            problem.n_records > _MOST_TOGETHER
            and self.inner.start == "prices"
            and not problem.cost.of_numbers
        ):
            return regrouped_without_bound(problem, run)
        return self.inner.solve(problem, run)


def largest_region(choice: Choice, asked: int) -> int:
    """How many records a region may have, that the algorithm solves in reasonable time and memory."""
    if choice.name == "mondrian":
        return asked
    return min(asked, _MOST_IMPROVED if choice.name == "improve" else _MOST_TOGETHER)


def _seconds(prepared: SparkPrepared, choice: Choice, n_regions: int) -> float | None:
    """The time limit of a region: its part of what is asked for, or of the algorithm's own."""
    own = ALGORITHMS[choice.name].own_time_limit
    limit = prepared.request.time_limit
    if choice.name == "mondrian" or (limit is None and own is None):
        return None
    at_once = min(prepared.frame.sparkSession.sparkContext.defaultParallelism, n_regions)
    return (own or 0.0 if limit is None else limit) * at_once / n_regions


def _rules(problem: Problem, choice: Choice) -> RegionRules:
    """The rules of mondrian by which a table is cut into regions."""
    parameters = choice.parameters if choice.name == "mondrian" else {}
    strict = bool(parameters.get("strict")) or not problem.all_survive_unions
    return RegionRules(problem, strict=strict, widest=parameters.get("choose") == "range")


def _units(prepared: SparkPrepared, regions: Regions, largest: int) -> Units:
    units = Units.of(regions, prepared.problem.n_records, largest)
    with spark_failures("deal out the records"):
        return replace(units, keys=partition_keys(prepared.frame.sparkSession, units.n_units))


def _labels_of_groups(
    prepared: SparkPrepared, regions: Regions, records: SparkRecords
) -> dict[int, dict[str, str | None]]:
    """The published values of regions that are one group each, whose records may be anywhere."""
    problem, nodes = prepared.problem, sorted(regions.finished)
    ends = np.append(problem.coded.tables.leaf_start, len(problem.coded.tables.leaf_cost))
    present: dict[int, list[np.ndarray]] = {node: [] for node in nodes}
    for attribute, n_leaves in enumerate(np.diff(ends).tolist() if nodes else ()):
        asked = [Question(node, attribute, np.arange(n_leaves), n_leaves) for node in nodes]
        for node, counts in zip(nodes, records.count(regions.tree, asked)):
            present[node].append(counts.sizes > 0)
    null_is_star = prepared.request.nulls == "star"
    return {n: label_of_group(problem, leaves, null_is_star=null_is_star) for n, leaves in present.items()}


def _published(records: SparkRecords, job: RegionJob) -> Any:
    """The published records by class; workers will solve the regions for it, each in a partition."""
    with spark_failures("solve and publish the regions"):
        dealt = records.blocks.select("block", "beside").mapInArrow(job.deal, DEALT)
        solved = dealt.repartition(job.units.n_units, "key").mapInArrow(job.solve, PIECES)
        return solved.repartition(len(job.pieces.keys), "key")
