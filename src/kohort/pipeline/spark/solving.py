"""Solve a table on a cluster: in regions, each by a worker, or as a whole on its distinct rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kohort.algorithms import ALGORITHMS, Run
from kohort.algorithms.mondrian.cut_regions import RegionRules, cut_regions
from kohort.algorithms.mondrian.region_records import Question
from kohort.algorithms.mondrian.region_tree import Regions, RegionTree
from kohort.engines.spark.coding import Coder
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.records import SparkRecords
from kohort.engines.spark.values import quoted
from kohort.errors import counted
from kohort.pipeline.choose import Choice
from kohort.pipeline.spark.frames import assigned_schema, masked_names, needed_columns, published_schema
from kohort.pipeline.spark.global_recoding import global_recoding
from kohort.pipeline.spark.prepare import SparkPrepared
from kohort.pipeline.spark.regions import REGION, RegionJob, label_of_group
from kohort.recoding.groups import Groups

__all__ = ["Made", "solve_on_spark"]

_MOST_TOGETHER = 100_000  # records of a region, for algorithms that are not for large tables


@dataclass(frozen=True, eq=False)
class Made:
    """How a table is published: its records, which Spark will make, and what is known of the solution.

    limited  the seconds that each region may take; None where the clock decides nothing
    """

    records: Any
    notes: tuple[str, ...]
    scheme: dict[str, Any] | None = None
    limited: float | None = None


def solve_on_spark(prepared: SparkPrepared, choice: Choice, records_per_region: int, run: Run) -> Made:
    """The published records, with their originals beside them; workers make them when they are asked for."""
    if issubclass(ALGORITHMS[choice.name].recoding, Groups):
        return _made_in_regions(prepared, choice, _largest_region(choice, records_per_region), run)
    limit = prepared.request.time_limit
    limited = Run(time_limit=limit)
    job, recoding = global_recoding(prepared, choice, masked_names(prepared), limited)
    notes = ("Made on a cluster by Spark: one map for each column, found on the distinct rows.",)
    with spark_failures("publish the records"):
        records = prepared.frame.select(*map(quoted, needed_columns(prepared)))
        made = records.mapInArrow(job.publish, published_schema(prepared, records))
    seconds = limit if limited.was_cut else None
    return Made(made, (*notes, *recoding.notes), dict(recoding.search) or None, seconds)


def _made_in_regions(prepared: SparkPrepared, choice: Choice, largest: int, run: Run) -> Made:
    solved = _regions(prepared, choice, largest, run)
    n_regions = len(solved.regions.sizes)
    seconds = _seconds(prepared, choice, n_regions)
    notes = [f"Made on a cluster by Spark, in {counted(n_regions, 'region')}."]
    if seconds is not None:
        notes.append(
            f"Every region was searched for at most {seconds:.3g} s. The same input, spec, version and seed "
            "may give another release next time, or on another cluster."
        )
    return Made(_published(prepared, choice, solved, largest, seconds), tuple(notes), None, seconds)


def _largest_region(choice: Choice, asked: int) -> int:
    """How many records a region may have, that the algorithm solves in reasonable time and memory."""
    return asked if choice.name in ("mondrian", "improve") else min(asked, _MOST_TOGETHER)


def _seconds(prepared: SparkPrepared, choice: Choice, n_regions: int) -> float | None:
    """The time limit of a region: its share of what is asked for, or of the algorithm's own."""
    own = ALGORITHMS[choice.name].own_time_limit
    limit = prepared.request.time_limit
    if choice.name == "mondrian" or (limit is None and own is None):
        return None
    at_once = min(prepared.frame.sparkSession.sparkContext.defaultParallelism, n_regions)
    return (own or 0.0 if limit is None else limit) * at_once / n_regions


@dataclass(frozen=True, eq=False)
class _Solved:
    """The regions of a table; `labels` are those of regions that are one group."""

    regions: Regions
    labels: Mapping[int, Mapping[str, str | None]]
    coder: Coder


def _regions(prepared: SparkPrepared, choice: Choice, largest: int, run: Run) -> _Solved:
    """Cut the table into regions by the rules of mondrian, where it is too large for one."""
    problem = prepared.problem
    coder = Coder.of(problem, has_people=prepared.person is not None)
    if problem.n_records <= largest:
        whole = Regions(RegionTree.of_one_region(), {0: problem.n_records})
        return _Solved(whole, {}, coder)
    parameters = choice.parameters if choice.name == "mondrian" else {}
    strict = bool(parameters.get("strict")) or not problem.all_survive_unions
    rules = RegionRules(problem, strict=strict, widest=parameters.get("choose") == "range")
    records = SparkRecords(prepared.frame, coder, rules, problem.n_records)
    try:
        regions = cut_regions(records, rules, problem.n_records, largest, run)
        labels = _labels_of_groups(prepared, regions, records)
    finally:
        records.release()
    return _Solved(regions, labels, coder)


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


def _published(
    prepared: SparkPrepared,
    choice: Choice,
    solved: _Solved,
    largest: int,
    seconds: float | None,
) -> Any:
    """The published records, with their originals beside them; workers will solve the regions for it."""
    job = RegionJob(
        problem=prepared.problem,
        solver=choice.solver,
        regions=solved.regions,
        coder=solved.coder,
        labels=solved.labels,
        names=prepared.published_names,
        masked=masked_names(prepared),
        null_is_star=prepared.request.nulls == "star",
        has_people=prepared.person is not None,
        largest=largest,
        seconds=seconds,
    )
    with spark_failures("solve and publish the regions"):
        records = prepared.frame.select(*map(quoted, needed_columns(prepared)))
        assigned = records.mapInArrow(job.assign, assigned_schema(records)).groupBy(REGION)
        # not the method itself, which would get the key of the region as well
        return assigned.applyInArrow(lambda table: job.solve(table), published_schema(prepared, records))
