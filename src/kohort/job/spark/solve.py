"""Solve a table on a cluster: in regions, each by a worker, or as a whole on its distinct rows."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms import ALGORITHMS, Algorithm, Progress, Run, Solver
from kohort.algorithms.mondrian.cut_regions import RegionRules, cut_regions
from kohort.algorithms.mondrian.region_records import Regions, RegionTree
from kohort.algorithms.uniting.counting_people import kept_by_whole_table
from kohort.errors import UnsupportedError, counted
from kohort.job.choose import Choice, choose
from kohort.job.publish import labelled
from kohort.job.spark.prepare import SparkPrepared
from kohort.job.spark.publish import (
    DEALT,
    LABELS,
    dealt,
    dealt_by_class,
    divided,
    gathered,
    global_recoding,
    of_any_size,
)
from kohort.job.spark.records import ORIGINAL, PERSON, Coder, SparkRecords, counted_values
from kohort.kernels.compile_time import compile_clock
from kohort.problem.encoding.coded import Coded
from kohort.problem.problem import Problem
from kohort.problem.units import People, Units
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding
from kohort.statement import Statement
from kohort.tables.spark import ROW, joined_tables, one_thread, partition_keys, quoted, unpacked
from kohort.tables.spark_session import give_up, spark_failures

_REGION = "_kohort_region"
Batches = Iterator[pa.RecordBatch]


def units_of(regions: Regions, largest: int) -> np.ndarray:
    """Per node of the tree the unit that is dealt out to a worker: small regions are dealt out together.

    largest  records of a unit, at most, unless it is one region
    """
    unit = np.zeros(regions.tree.n_nodes, dtype=np.int64)
    n_units, room = 0, 0
    for node, size in sorted(regions.sizes.items()):
        if size > room:
            n_units, room = n_units + 1, largest
        unit[node], room = n_units - 1, room - size
    return unit


@dataclass(frozen=True, eq=False)
class RegionJob:
    """What workers need to know to solve and publish a region.

    units      per region the unit that is dealt out to a worker
    unit_keys  per unit the number by which Spark deals it out
    keys       per part of published records the number by which Spark deals it out
    seconds    the time limit of a region
    """

    problem: Problem
    solver: Solver
    regions: Regions
    units: np.ndarray
    unit_keys: Sequence[int]
    keys: Sequence[int]
    null_is_star: bool
    has_people: bool
    seconds: float | None = None

    def deal(self, batches: Batches) -> Batches:
        """The records of blocks, dealt out by unit."""
        one_thread()
        for batch in batches:
            for block, beside in zip(batch.column("block"), batch.column("beside")):
                coded = pickle.loads(block.as_buffer())
                node = coded.nodes(self.regions.tree)
                table = unpacked(beside.as_buffer()).append_column(_REGION, pa.array(node))
                yield dealt(table, self.units[node], self.unit_keys, coded.first)

    def solve(self, batches: Batches) -> Batches:
        """The published records of the units of a partition, which there is one of, dealt out by class."""
        one_thread()
        for _, table in gathered(batches):
            solved = [(self._labels(node, region), region) for node, region in _by_region(table)]
            yield dealt_by_class(*_joined_regions(solved), self.keys)

    def _labels(self, node: int, table: pa.Table) -> dict[str, pa.DictionaryArray]:
        problem = region_problem(self.problem, table, has_people=self.has_people)
        if node in self.regions.finished:
            return labels_of(problem, Groups(np.zeros(len(table), dtype=np.int64)), self.null_is_star)
        with compile_clock() as compiling:
            run = Run(time_limit=self.seconds, excluded=lambda: compiling.seconds)
            groups = self.solver.solve(problem, run)
        assert isinstance(groups, Groups)
        return labels_of(problem, groups, self.null_is_star)


def _by_region(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The records of each region of a unit, in order, without the column that says which it is."""
    place = table.column_names.index(_REGION)
    node = table.column(place).to_numpy()
    table = table.remove_column(place)
    if (node == node[0]).all():
        return iter([(int(node[0]), table)])
    return ((one, part.combine_chunks()) for one, part in divided(table, node, int(node.max()) + 1))


def _joined_regions(
    solved: list[tuple[dict[str, pa.DictionaryArray], pa.Table]],
) -> tuple[dict[str, pa.DictionaryArray], pa.Table]:
    """The labels of several regions together, and their records."""
    if len(solved) == 1:
        return solved[0]
    kinds = pa.schema([(name, LABELS) for name in solved[0][0]])  # codes of one type
    labels = joined_tables([pa.table(found).cast(kinds) for found, _ in solved])
    records = joined_tables([records for _, records in solved])
    return {name: labels.column(name).chunk(0) for name in labels.column_names}, records


def labels_of(problem: Problem, groups: Groups, null_is_star: bool) -> dict[str, pa.DictionaryArray]:
    """The published values of a region, by quasi-identifier."""
    return {a.name: labelled(groups.apply(a), groups.withheld, null_is_star) for a in problem.attributes}


def region_problem(whole: Problem, table: pa.Table, *, has_people: bool) -> Problem:
    """The problem of a region: its records, with the costs and the context of the whole table.

    table  the places of the values of its records, as `Coder.beside` gives them
    """
    attributes = tuple(
        replace(a, column=counted_values(a).part_at(table.column(f"{ORIGINAL}{n}").to_numpy()))
        for n, a in enumerate(whole.attributes)
    )
    units = Units()
    if has_people:
        units = People(np.unique(table.column(PERSON).to_numpy(), return_inverse=True)[1])
    asked = {model.attribute for model in whole.models}
    sensitive = {
        name: replace(s, column=counted_values(s).part_at(table.column(name).to_numpy()))
        for name, s in whole.sensitive.items()
        if name in asked
    }
    problem = replace(whole, attributes=attributes, sensitive=sensitive, units=units, suppression=0.0)
    coded = Coded(attributes, whole.cost)
    vars(coded)["tables"] = whole.coded.tables  # they count the values of the whole table
    vars(problem)["coded"] = coded
    return problem


_PER_PART = 500_000  # records, about, of a part that a worker verifies


def choose_on_spark(prepared: SparkPrepared) -> Choice:
    """The algorithm that solves the regions; where people have several records, one that may."""
    request, problem = prepared.request, prepared.problem
    if prepared.person is not None:  # promises to people that the whole table breaks are kept by uniting
        problem = kept_by_whole_table(problem)
    auto = request.algorithm == "auto"
    choice = choose(problem, replace(request, algorithm=of_any_size()) if auto else request)
    if auto:
        choice = replace(choice, notes=(f"{choice.name} was chosen: it is for tables of any size.",))
    return choice if prepared.person is None else _counting_people(choice, prepared)


@dataclass(frozen=True)
class _ChosenThere:
    """The algorithm that is chosen where the records are, as one machine would choose it."""

    request: Statement

    def refuse(self, problem: Problem) -> None:
        """Nothing is known yet."""

    def solve(self, problem: Problem, run: Run) -> Recoding:
        return choose(problem, self.request).solver.solve(problem, run)


def _counting_people(choice: Choice, prepared: SparkPrepared) -> Choice:
    """The choice for a table in which people have several records.

    One that works in regions starts from the whole table as one class, and cuts it while people keep every
    promise. A promise that the whole table breaks, and any other algorithm, needs all records in one region:
    there groups are united until they keep it, and it may be any two of them. Where one region is enough, so
    are groups that are published alike.
    """
    problem, request, algorithm = prepared.problem, prepared.request, ALGORITHMS[choice.name]
    if not issubclass(algorithm.recoding, Groups):
        raise UnsupportedError(
            f"Where people have several records, the Spark engine does not run {choice.name}. Choose "
            f"{of_any_size()}, or engine: local."
        )
    broken = [m.name for m in problem.models if m not in kept_by_whole_table(problem).models]
    united = algorithm.people != "counts" or not problem.all_survive_unions
    weight = {"diversify": {"w": request.diversify_weight}} if united else {}
    choice = replace(choice, parameters=choice.parameters | weight)
    largest = _largest_region(choice, prepared)
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
    n_regions  in how many regions the table is solved
    """

    pieces: Any
    coder: Coder
    notes: tuple[str, ...]
    recoding: Recoding
    was_cut: bool
    n_regions: int = 1


def solve_on_spark(
    prepared: SparkPrepared, choice: Choice, progress: Progress | None, held: ExitStack
) -> Made:
    """The published records, with their originals beside them; workers make them when they are asked for.

    held  gives up what Spark holds until then
    """
    n_parts = -(-prepared.problem.n_records // _PER_PART)  # the same on any number of executors
    with spark_failures("deal out the records"):
        keys = partition_keys(prepared.frame.sparkSession, n_parts)
    coder = Coder.of(prepared)
    if issubclass(ALGORITHMS[choice.name].recoding, Groups):
        return _made_in_regions(prepared, choice, coder, keys, Run(progress=progress), held)
    limited = Run(time_limit=prepared.request.time_limit)
    job, recoding = global_recoding(prepared, choice, coder, keys, limited)
    notes = ("Made on a cluster by Spark: one map for each column, found on the distinct rows.",)
    with spark_failures("publish the records"):
        records = prepared.frame.select(*map(quoted, coder.names), ROW)
        made = records.mapInArrow(job.publish, DEALT).repartition(len(keys), "key")
    return Made(made, coder, notes, recoding, limited.was_cut)


def _made_in_regions(
    prepared: SparkPrepared, choice: Choice, coder: Coder, keys: Sequence[int], run: Run, held: ExitStack
) -> Made:
    """The records as they are published once workers have solved the regions, each in a partition."""
    problem, algorithm = prepared.problem, ALGORITHMS[choice.name]
    parameters = choice.parameters if algorithm.in_regions else {}
    strict = bool(parameters.get("strict")) or not problem.all_survive_unions
    rules = RegionRules(problem, strict=strict, widest=parameters.get("choose") == "range")
    largest = _largest_region(choice, prepared)
    cut = problem.n_records > largest
    records = SparkRecords(prepared.frame, coder, rules, problem.n_records, hold=cut)
    held.callback(give_up, records.blocks)
    regions = Regions(RegionTree.of_one_region(), {0: problem.n_records})
    if cut:
        regions = cut_regions(records, rules, problem.n_records, largest, run)
    n_regions, units = len(regions.sizes), units_of(regions, largest)
    notes = [f"Made on a cluster by Spark, in {counted(n_regions, 'region')}."]
    asked = prepared.request.time_limit
    limit = algorithm.own_time_limit if asked is None else asked
    seconds: float | None = None  # of a region: its part of all
    if limit is not None and not algorithm.in_regions:
        seconds = (
            limit * min(prepared.frame.sparkSession.sparkContext.defaultParallelism, n_regions) / n_regions
        )
        notes.append(
            f"Every region was searched for at most {seconds:.3g} s. The same input, spec, version and seed "
            "may give another release next time, or on another cluster."
        )
    solver = choice.solver  # without the time for a bound, which a cluster does not give
    job = RegionJob(
        problem=problem,
        solver=solver.without_bound() if isinstance(solver, Algorithm) else solver,
        regions=regions,
        units=units,
        unit_keys=partition_keys(prepared.frame.sparkSession, int(units.max()) + 1),
        keys=keys,
        null_is_star=prepared.request.nulls == "star",
        has_people=coder.has_people,
        seconds=seconds,
    )
    with spark_failures("solve and publish the regions"):
        dealt = records.blocks.select("block", "beside").mapInArrow(job.deal, DEALT)
        solved = dealt.repartition(len(job.unit_keys), "key").mapInArrow(job.solve, DEALT)
        made = solved.repartition(len(job.keys), "key")
    nobody = Groups(np.zeros(0, dtype=np.int32))
    return Made(made, coder, tuple(notes), nobody, seconds is not None, n_regions)


def _largest_region(choice: Choice, prepared: SparkPrepared) -> int:
    """How many records a region may have, that the algorithm solves in reasonable time and memory."""
    return int(min(prepared.dataset.records_per_region, ALGORITHMS[choice.name].largest_region))
