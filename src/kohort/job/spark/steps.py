"""The steps of a job whose records are on a cluster: the driver gets counts, and never records.

Every worker verifies whole classes, and the verdicts are united.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from kohort.data.compact_column import CountedColumn
from kohort.data.formulas import formula_cells
from kohort.errors import InputError, UnsupportedError
from kohort.job.choose import Choice
from kohort.job.order import PublishedOrder
from kohort.job.prepare import Prepared
from kohort.job.publish import Published, shows_extremes
from kohort.job.solve import Attempt, Clock, Solution
from kohort.job.spark.prepare import SparkPrepared, prepare_on_spark
from kohort.job.spark.publish import PublishedThere, arranged
from kohort.job.spark.records import ORIGINAL, PERSON, Coder, counted_values
from kohort.job.spark.solve import Made, choose_on_spark, solve_on_spark
from kohort.kernels.compile_time import compile_ahead
from kohort.statement import Statement
from kohort.tables.memory import MemoryTable
from kohort.tables.spark import (
    SparkParts,
    SparkTable,
    digest_of,
    fingerprint,
    fingerprints,
    one_thread,
    packed,
    quoted,
    unpacked,
)
from kohort.tables.spark_session import give_up, spark_failures
from kohort.verification import (
    Check,
    PartDemands,
    PartFound,
    Verification,
    WholeFound,
    unite_parts,
    verify_part,
)


class SparkSteps:
    """The steps of one job, as a context: if anything fails, Spark gives up what it holds for it.

    before  the fingerprint of the original
    """

    before: tuple[int, int]
    made: Made

    def __init__(self, table: Any, clock: Clock) -> None:
        assert isinstance(table, SparkTable)
        self.table, self.clock, self.held = table, clock, ExitStack()

    def __enter__(self) -> SparkSteps:
        if self.clock.stop is not None:
            raise UnsupportedError("A search on a cluster cannot be stopped: leave out 'stop'.")
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.held.close()
        if kind is not None:
            self.table.release()

    def prepare(self, table: Any, request: Statement, events: Any) -> SparkPrepared:
        self._report("counting values")
        return prepare_on_spark(table, request)

    def choose(self, prepared: SparkPrepared, standing: None) -> Choice:
        choice = choose_on_spark(prepared)
        compared = [*(a.name for a in prepared.attributes), *prepared.carried, *_whose(prepared)]
        self.before = fingerprint(prepared.frame, compared)
        return choice

    def solve(self, prepared: SparkPrepared, choice: Choice, clock: Clock) -> Attempt:
        with clock("solve"):
            compile_ahead(choice.names)
            self.made = solve_on_spark(prepared, choice, clock.progress, self.held)
        published = Published(prepared.dataset, prepared.published_names, {}, prepared.files)
        return prepared.problem, Solution(self.made.recoding, None, self.made.was_cut, ()), published

    def arrange(
        self, prepared: Prepared, solution: Solution, published: Published
    ) -> tuple[Published, PublishedOrder]:
        """Workers put the records in order while they verify them."""
        return published, PublishedOrder(prepared.request.shuffle)

    def verify(self, prepared: SparkPrepared, published: Published) -> tuple[Published, Verification]:
        """Publish the records in parts of whole classes, and measure every promise on them."""
        from pyspark import StorageLevel

        self._report("solving, publishing and verifying")
        check = _PartCheck(self.made.coder, _demands(prepared), prepared.problem.k)
        with spark_failures("publish the records"):
            parts = self.made.pieces.mapInArrow(check, _SCHEMA).persist(StorageLevel.DISK_ONLY)
        try:
            return _verified(prepared, parts, self.made, self.before)
        except BaseException:
            give_up(parts)  # what failed is not kept anywhere
            raise

    def _report(self, doing: str) -> None:
        if self.clock.progress is not None:
            self.clock.progress(doing, 0.0)


@dataclass(frozen=True, eq=False)
class _PartCheck:
    """What workers need to know to put parts together and to verify them: as they are held, in bytes."""

    coder: Coder
    demands: PartDemands
    k: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        one_thread()
        for part, table in arranged(self.coder, batches):
            data = packed(table)
            found, *more = self._found(unpacked(data))
            known = [{"of": name, "person": p} for name, who in found.known.items() for p in who.tolist()]
            facts = pickle.dumps((digest_of(data), replace(found, known={}), *more), protocol=5)
            cells = [pa.array([part], pa.int64()), pa.array([data]), pa.array([facts])]
            yield pa.RecordBatch.from_arrays([*cells, pa.array([known], _KNOWN)], names=_PARTS)

    def _found(self, table: pa.Table) -> tuple[PartFound, frozenset[str], dict[str, int]]:
        demands = self.demands
        shown = MemoryTable(table.select(list(self.coder.shown)), list(demands.sensitive.values()))
        originals = {a.name: table.column(f"{ORIGINAL}{n}") for n, a in enumerate(demands.attributes)}
        if demands.person is not None:
            originals[demands.person] = table.column(PERSON)
        found = verify_part(shown, MemoryTable(pa.table(originals)), demands)
        extremes = frozenset(
            a.name for a in demands.attributes if shows_extremes(a, shown.arrow(a.name), self.k)
        )
        return found, extremes, formula_cells(shown)


_ORDER = "The records are published in an order that depends on what is published alone."
_PARTS = ["part", "packed", "found", "known"]
_KNOWN = pa.list_(pa.struct({"of": pa.string(), "person": pa.int64()}))
_SCHEMA = "part long, packed binary, found binary, known array<struct<of: string, person: long>>"


def _compared(prepared: SparkPrepared) -> dict[str, CountedColumn]:
    """The sensitive columns whose people promises compare in classes and in the whole table."""
    asked = any(model.compares_with_whole_table for model in prepared.request.table_models)
    if not (asked and prepared.units.several):
        return {}
    return {name: counted_values(s) for name, s in prepared.sensitive.items()}


def _whose(prepared: SparkPrepared) -> list[str]:
    """The column that tells people apart, where they are counted."""
    return [] if prepared.person is None else [PERSON]


def _demands(prepared: SparkPrepared) -> PartDemands:
    return PartDemands(
        attributes=prepared.attributes,
        models=prepared.request.table_models,
        sensitive={name: counted_values(s) for name, s in prepared.sensitive.items()},
        hierarchies=prepared.sensitive_hierarchies,
        orders=prepared.request.orders,
        person=prepared.person,
        allowed=prepared.problem.max_withheld,
        overall={name: prepared.units.overall(column) for name, column in _compared(prepared).items()},
    )


def _verified(
    prepared: SparkPrepared, held: Any, made: Made, before: tuple[int, int]
) -> tuple[PublishedThere, Verification]:
    """What is published, and the verdict; `held` has the parts with what workers found of them."""
    with spark_failures("solve, publish and verify the regions"):
        rows = held.select("part", "found").toArrow().to_pydict()
    if not rows["part"]:  # as when a file is longer than it was when Spark divided it
        raise _changed(before, 0)
    digests, found, extremes, formulas = zip(*map(pickle.loads, rows["found"]))
    by_part, coder = dict(zip(rows["part"], digests)), made.coder
    parts = SparkParts(held, coder.shown, coder.hidden, coder.kinds(prepared.frame), by_part)
    whole, shown = _whole(prepared, parts, before)
    if prepared.person is not None and any(c.known for part in found for c in part.certainty.values()):
        whole = replace(whole, known=_known_people(held))
    verified = unite_parts(found, _demands(prepared), whole)
    if made.n_regions > 1 and not prepared.problem.all_survive_unions:
        _refuse_lookalikes(verified)
    published = PublishedThere(
        prepared.dataset,
        prepared.published_names,
        {},
        prepared.files,
        parts=parts,
        fingerprint=shown,
        found_formulas=sum(map(Counter, formulas), Counter()),
        found_extremes=frozenset().union(*extremes),
        notes=(*made.notes, _ORDER),
    )
    return published, verified


def _known_people(parts: Any) -> dict[str, int]:
    """Per sensitive column how many people are in classes that reveal it for certain, counted by Spark."""
    import pyspark.sql.functions as F

    with spark_failures("count the people whose values are known"):
        known = parts.select(F.explode("known").alias("one")).select("one.*").distinct()
        counted = known.groupBy("of").count().toArrow().to_pydict()
    return dict(zip(counted["of"], counted["count"]))


def _whole(
    prepared: SparkPrepared, parts: SparkParts, before: tuple[int, int]
) -> tuple[WholeFound, tuple[int, int]]:
    """What is found of the published table as a whole, and the fingerprint of what is published."""
    published = parts.frame(hidden=True)
    hidden = [f"{ORIGINAL}{number}" for number in range(len(prepared.attributes))]
    compared = [*hidden, *prepared.carried, *_whose(prepared)]
    after, shown = fingerprints(published, compared, prepared.published_names)
    if after != before:
        raise _changed(before, after[0])
    # the people of the published table, counted once more: by other means than before the search
    people = {name: _shares(published, column) for name, column in _compared(prepared).items()}
    for name, column in _compared(prepared).items():
        overall = prepared.units.overall(column)
        total = int(overall.sum())
        if people[name] != {code: Fraction(int(n), total) for code, n in enumerate(overall) if n}:
            raise InputError(
                f"The table changed while it was read: other people have the values of {name!r}. Nothing was "
                "written. Run this again on a source that gives the same records at every reading."
            )
    names = [name for name in published.columns if not name.startswith("_kohort_")]
    right = names == prepared.published_names
    detail = (
        "The columns are those of the spec; no identifier is published." if right else "The columns differ."
    )
    columns = Check("columns", right, detail)
    n_people = prepared.n_people if prepared.units.several else None
    return WholeFound(prepared.untouched, True, columns, n_people, people=people), shown


def _changed(before: tuple[int, int], n_records: int) -> InputError:
    return InputError(
        f"The table changed while it was read: {before[0]:,} records, and then {n_records:,} with other "
        "values. Nothing was written. Run this again on a source that gives the same records at every "
        "reading."
    )


def _shares(published: Any, column: CountedColumn) -> dict[int, Fraction]:
    """The share of all people that has each value, everybody spread evenly over their records.

    People with as many records are added up first, so that what comes here does not grow with their number.
    """
    import pyspark.sql.functions as F

    value = F.col(quoted(column.name)).alias("value")
    with spark_failures(f"count the people of {column.name!r}"):
        times = published.groupBy(PERSON).agg(F.count("*").alias("times"))
        n_people = times.count()
        joined = published.select(PERSON, value).join(times, PERSON)
        found = joined.groupBy("value", "times").agg(F.count("*").alias("n")).toArrow()
    shares: dict[int, Fraction] = {}
    codes = column.codes_of(found.column("value")).tolist()
    for code, n, of in zip(codes, found.column("n").to_pylist(), found.column("times").to_pylist()):
        shares[code] = shares.get(code, Fraction(0)) + Fraction(n, of * n_people)
    return shares


def _refuse_lookalikes(found: Verification) -> None:
    """Raise UnsupportedError where nothing but promises to people fails, in a table that was cut.

    Every class of a region keeps them. But classes of two regions that are published alike are one class, and
    its people may break a promise that those of both keep.
    """
    broken = [model.model for model in found.verdict.models if not model.holds]
    if broken and all(check.holds for check in found.verdict.checks):
        raise UnsupportedError(
            f"Some classes of different regions are published alike, and together their people break "
            f"{', '.join(broken)}. Raise records_per_region, so that all records are in one region, if a "
            "worker's memory allows that; or use engine: local."
        )
