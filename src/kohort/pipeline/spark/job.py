"""The whole job on a cluster: prepare, solve, publish, verify; the driver gets counts, never records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kohort.algorithms import ALGORITHMS, Progress, Run
from kohort.algorithms.mondrian.cut_regions import RegionRules, cut_regions
from kohort.algorithms.mondrian.region_records import Question
from kohort.algorithms.mondrian.region_tree import Regions, RegionTree
from kohort.engines.spark.coding import PERSON, Coder
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.records import SparkRecords
from kohort.engines.spark.source import ROW, SparkSource
from kohort.engines.spark.values import fingerprint, quoted
from kohort.errors import UnsupportedError, counted
from kohort.kernels.ahead import compile_ahead
from kohort.pipeline.choose import Choice, choose
from kohort.pipeline.clock import Clock
from kohort.pipeline.notes import extreme_caution, formula_sentences, model_notes, withholding_notes
from kohort.pipeline.order import PublishedOrder
from kohort.pipeline.request import Request
from kohort.pipeline.spark.global_recoding import global_recoding
from kohort.pipeline.spark.prepare import SparkPrepared, prepare_on_spark
from kohort.pipeline.spark.regions import ORIGINAL, REGION, RegionJob, label_of_group
from kohort.pipeline.spark.release import SparkRelease
from kohort.pipeline.spark.verifying import Found, original_columns, verify_on_spark
from kohort.recoding.groups import Groups
from kohort.verification import checked_loss

__all__ = ["RECORDS_PER_REGION", "make_spark_release"]

RECORDS_PER_REGION = 500_000
_PER_PARTITION = 500_000
_MOST_TOGETHER = 100_000  # records of a region, for algorithms that are not for large tables


def make_spark_release(
    source: SparkSource,
    request: Request,
    *,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
    records_per_region: int = RECORDS_PER_REGION,
) -> SparkRelease:
    """Anonymize a table on a cluster and prove the result, or raise.

    records_per_region  a region with at most as many records is solved by one worker
    """
    clock, run = Clock({} if seconds is None else seconds), Run(progress=progress)
    with clock("code"):
        run.report("counting values", 0.0)
        prepared = prepare_on_spark(source, request)
        choice = _choice(prepared)
        before = fingerprint(source.frame, original_columns(prepared))
    with clock("solve"):
        compile_ahead(choice.names)
        made = _made(prepared, choice, records_per_region, run)
    with clock("verify"):
        run.report("solving, publishing and verifying", 0.0)
        published = _arranged(prepared, made.records)
        found = verify_on_spark(prepared, published, before)
        checked_loss(found.verified.loss or {})
    return _release(prepared, choice, made, found, published, clock)


@dataclass(frozen=True, eq=False)
class _Made:
    """How a table is published: its records, which Spark will make, and what is known of the solution.

    limited  the seconds that each region may take; None where the clock decides nothing
    """

    records: Any
    notes: tuple[str, ...]
    scheme: dict[str, Any] | None = None
    limited: float | None = None


def _made(prepared: SparkPrepared, choice: Choice, records_per_region: int, run: Run) -> _Made:
    masked = [name for name, how in prepared.request.treatments.items() if how == "mask"]
    if issubclass(ALGORITHMS[choice.name].recoding, Groups):
        return _made_in_regions(prepared, choice, masked, _largest_region(choice, records_per_region), run)
    limited = Run(time_limit=prepared.request.time_limit)
    job, recoding = global_recoding(prepared, choice, masked, limited)
    notes = ("Made on a cluster by Spark: one map for each column, found on the distinct rows.",)
    with spark_failures("publish the records"):
        records = prepared.frame.select(*map(quoted, _needed(prepared, masked)))
        schema = _published_schema(prepared, records, masked)
        made = records.mapInArrow(job.publish, schema)
    limit = prepared.request.time_limit if limited.was_cut else None
    return _Made(made, (*notes, *recoding.notes), dict(recoding.search) or None, limit)


def _made_in_regions(
    prepared: SparkPrepared, choice: Choice, masked: list[str], largest: int, run: Run
) -> _Made:
    solved = _regions(prepared, choice, largest, run)
    n_regions = len(solved.regions.sizes)
    seconds = _seconds(prepared, choice, n_regions)
    notes = [f"Made on a cluster by Spark, in {counted(n_regions, 'region')}."]
    if seconds is not None:
        notes.append(
            f"Every region was searched for at most {seconds:.3g} s. The same input, spec, version and seed "
            "may give another release next time, or on another cluster."
        )
    return _Made(_published(prepared, choice, solved, masked, largest, seconds), tuple(notes), None, seconds)


def _choice(prepared: SparkPrepared) -> Choice:
    """The algorithm that solves the regions; without one that is asked for, mondrian."""
    request = prepared.request
    if request.algorithm == "auto":
        choice = choose(prepared.problem, replace(request, algorithm="mondrian"))
        return replace(choice, notes=("mondrian was chosen: it is for tables of any size.",))
    choice = choose(prepared.problem, request)
    if prepared.person is not None and choice.name != "mondrian":
        raise UnsupportedError(
            "Where people have several records, the Spark engine runs mondrian alone. Choose mondrian, or "
            "engine: local."
        )
    return choice


def _largest_region(choice: Choice, asked: int) -> int:
    """How many records a region may have, that the algorithm solves in reasonable time and memory."""
    return asked if choice.name in ("mondrian", "improve") else min(asked, _MOST_TOGETHER)


def _seconds(prepared: SparkPrepared, choice: Choice, n_regions: int) -> float | None:
    """The time limit of a region: its share of what is asked for, or of the algorithm's own."""
    own = ALGORITHMS[choice.name].own_time_limit
    limit = prepared.request.time_limit
    if choice.name == "mondrian" or (limit is None and own is None):
        return None
    at_once = min(_parallelism(prepared.frame), n_regions)
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
    masked: list[str],
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
        masked=masked,
        null_is_star=prepared.request.nulls == "star",
        has_people=prepared.person is not None,
        largest=largest,
        seconds=seconds,
    )
    with spark_failures("solve and publish the regions"):
        names = _needed(prepared, masked)
        records = prepared.frame.select(*map(quoted, names))
        assigned = records.mapInArrow(job.assign, _assigned_schema(records)).groupBy(REGION)
        schema = _published_schema(prepared, records, masked)
        return assigned.applyInArrow(
            lambda table: job.solve(table), schema
        )  # a method would get the key, too


def _arranged(prepared: SparkPrepared, made: Any) -> Any:
    """The published records in partitions of whole classes, which Spark holds.

    Within a partition they are in an order that depends on what is published, and on the seed.
    """
    import pyspark.sql.functions as F
    from pyspark import StorageLevel

    labels = [F.col(quoted(attribute.name)) for attribute in prepared.attributes]
    n_parts = max(_parallelism(prepared.frame), -(-prepared.problem.n_records // _PER_PARTITION))
    shown = [F.col(quoted(f.name)) for f in made.schema.fields if _hashable(f)]
    digest = F.xxhash64(F.lit(prepared.request.seed), *shown)
    with spark_failures("publish the records"):
        arranged = made.repartition(n_parts, *labels).sortWithinPartitions(digest, *labels)
        return arranged.persist(StorageLevel.MEMORY_AND_DISK)


def _hashable(field: Any) -> bool:
    return not field.name.startswith("_kohort_") and field.dataType.typeName() not in ("map", "variant")


def _needed(prepared: SparkPrepared, masked: list[str]) -> list[str]:
    """The columns that workers get."""
    quasi = [attribute.name for attribute in prepared.attributes]
    kept = [name for name in prepared.published_names if name not in masked]
    return [*dict.fromkeys([*quasi, *kept]), ROW, *([PERSON] if prepared.person is not None else [])]


def _assigned_schema(records: Any) -> Any:
    from pyspark.sql.types import LongType, StructField, StructType

    return StructType([*records.schema.fields, StructField(REGION, LongType())])


def _published_schema(prepared: SparkPrepared, records: Any, masked: list[str]) -> Any:
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    kinds = {field.name: field.dataType for field in records.schema.fields}
    quasi = [attribute.name for attribute in prepared.attributes]
    fields = [
        StructField(name, StringType() if name in quasi or name in masked else kinds[name])
        for name in prepared.published_names
    ]
    fields += [StructField(f"{ORIGINAL}{number}", kinds[name]) for number, name in enumerate(quasi)]
    return StructType([*fields, *([StructField(PERSON, LongType())] if prepared.person is not None else [])])


def _parallelism(frame: Any) -> int:
    return int(frame.sparkSession.sparkContext.defaultParallelism)


def _release(
    prepared: SparkPrepared, choice: Choice, made: _Made, found: Found, published: Any, clock: Clock
) -> SparkRelease:
    request, verified = prepared.request, found.verified
    extremes = [extreme_caution(a) for a in prepared.attributes if a.name in found.extremes]
    notes = (
        *made.notes,
        "The records are published in an order that depends on what is published alone.",
        *choice.notes,
        *withholding_notes(prepared.problem, verified.verdict.withheld),
        *model_notes(prepared.problem),
        *formula_sentences(found.formulas, request),
    )
    shown = [quoted(name) for name in prepared.published_names]
    return SparkRelease(
        dataset=prepared.dataset,
        request=request,
        roles=prepared.roles,
        problem=prepared.problem,
        columns={},
        rows=None,
        verdict=verified.verdict.cautioned(*extremes),
        loss=verified.loss or {},
        algorithm=choice.name,
        parameters=choice.parameters,
        guarantee=None,
        bound=None,
        notes=notes,
        seconds=clock.seconds,
        recoding=Groups(np.zeros(0, dtype=np.int32)),
        scheme=made.scheme,
        cut_by_time=made.limited is not None,
        order=PublishedOrder(request.shuffle, None, shuffled=True),
        frame=published.select(*shown),
        held=(published, prepared.source),
    )
