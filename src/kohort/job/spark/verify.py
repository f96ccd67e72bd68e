"""Verification on a cluster: every worker verifies whole classes, and the verdicts are united."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from kohort.data.compact_column import CountedColumn
from kohort.data.formulas import formula_cells
from kohort.errors import InputError, UnsupportedError
from kohort.job.publish import shows_extremes
from kohort.job.spark.coding import ORIGINAL, PERSON, counted_values
from kohort.job.spark.prepare import SparkPrepared
from kohort.job.spark.publish import Arrangement, PublishedThere
from kohort.job.spark.solve import Made
from kohort.problem.units import SensitiveAttribute
from kohort.tables.memory import MemoryTable
from kohort.tables.spark import SparkParts, digest_of, fingerprints, one_thread, packed, quoted, unpacked
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


@dataclass(frozen=True, eq=False)
class _PartCheck:
    """What workers need to know to put parts together and to verify them: as they are held, in bytes."""

    arrangement: Arrangement
    demands: PartDemands
    k: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        one_thread()
        for part, table in self.arrangement.parts(batches):
            data = packed(table)
            found, *more = self._found(unpacked(data))
            known = [{"of": name, "person": p} for name, who in found.known.items() for p in who.tolist()]
            facts = pickle.dumps((digest_of(data), replace(found, known={}), *more), protocol=5)
            cells = [pa.array([part], pa.int64()), pa.array([data]), pa.array([facts])]
            yield pa.RecordBatch.from_arrays([*cells, pa.array([known], _KNOWN)], names=_PARTS)

    def _found(self, table: pa.Table) -> tuple[PartFound, frozenset[str], dict[str, int]]:
        demands = self.demands
        shown = MemoryTable(table.select(list(self.arrangement.names)), list(demands.sensitive.values()))
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


def _compares(prepared: SparkPrepared) -> bool:
    """Whether a promise compares the people of classes with those of the whole table."""
    return prepared.units.several and any(
        model.compares_with_whole_table for model in prepared.request.table_models
    )


def _demands(prepared: SparkPrepared) -> PartDemands:
    counted = prepared.sensitive if _compares(prepared) else {}
    return PartDemands(
        attributes=prepared.attributes,
        models=prepared.request.table_models,
        sensitive={name: counted_values(s) for name, s in prepared.sensitive.items()},
        hierarchies=prepared.sensitive_hierarchies,
        orders=prepared.request.orders,
        person=prepared.person,
        allowed=prepared.problem.max_withheld,
        overall={name: s.units.overall(s.column) for name, s in counted.items()},
    )


def verify_on_spark(
    prepared: SparkPrepared, made: Made, before: tuple[int, int]
) -> tuple[PublishedThere, Verification]:
    """Publish the records in parts of whole classes, and measure every promise on them.

    before  the fingerprint of the original
    """
    from pyspark import StorageLevel

    check = _PartCheck(made.arrangement, _demands(prepared), prepared.problem.k)
    with spark_failures("publish the records"):
        held = made.pieces.mapInArrow(check, _SCHEMA).persist(StorageLevel.DISK_ONLY)
    try:
        return _verified(prepared, held, made, before)
    except BaseException:
        give_up(held)  # what failed is not kept anywhere
        raise


def _verified(
    prepared: SparkPrepared, held: Any, made: Made, before: tuple[int, int]
) -> tuple[PublishedThere, Verification]:
    with spark_failures("solve, publish and verify the regions"):
        rows = held.select("part", "found").toArrow().to_pydict()
    if not rows["part"]:  # as when a file is longer than it was when Spark divided it
        raise _changed(before, 0)
    digests, found, extremes, formulas = zip(*map(pickle.loads, rows["found"]))
    arrangement = made.arrangement
    kinds = arrangement.kinds(prepared.frame)
    by_part = dict(zip(rows["part"], digests))
    parts = SparkParts(held, arrangement.names, arrangement.hidden, kinds, by_part)
    whole, shown = _whole(prepared, parts, before)
    if prepared.person is not None and any(c.known for part in found for c in part.certainty.values()):
        whole = replace(whole, known=_known_people(held))
    verified = unite_parts(found, _demands(prepared), whole)
    if made.n_regions > 1 and not prepared.problem.all_survive_unions:
        _refuse_lookalikes(verified)
    cells: Counter[str] = Counter()
    for part in formulas:
        cells.update(part)
    published = PublishedThere(
        prepared.dataset,
        prepared.published_names,
        {},
        prepared.files,
        parts=parts,
        fingerprint=shown,
        found_formulas=cells,
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


def _changed(before: tuple[int, int], n_records: int) -> InputError:
    return InputError(
        f"The table changed while it was read: {before[0]:,} records, and then {n_records:,} with other "
        "values. Nothing was written. Run this again on a source that gives the same records at every "
        "reading."
    )


def original_columns(prepared: SparkPrepared) -> list[str]:
    """The columns of the original whose values are compared with those of the release."""
    return [*(a.name for a in prepared.attributes), *prepared.carried, *_whose(prepared)]


def _whose(prepared: SparkPrepared) -> list[str]:
    """The column that tells people apart, where they are counted."""
    return [] if prepared.person is None else [PERSON]


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
    people = _recounted_people(published, prepared.sensitive) if _compares(prepared) else {}
    names = [name for name in published.columns if not name.startswith("_kohort_")]
    right = names == prepared.published_names
    detail = (
        "The columns are those of the spec; no identifier is published." if right else "The columns differ."
    )
    columns = Check("columns", right, detail)
    n_people = prepared.n_people if prepared.units.several else None
    found = WholeFound(prepared.untouched, True, columns, n_people, people=people)
    return found, shown


# The people of the published table, counted once more: by other means than before the search.


def _recounted_people(
    published: Any, sensitive: Mapping[str, SensitiveAttribute]
) -> dict[str, dict[int, Fraction]]:
    """The share of people that has each value, per column; InputError unless it is as counted before.

    published  the records, with their persons
    """
    recounted = {}
    for attribute in sensitive.values():
        found = _shares(published, counted_values(attribute))
        overall = attribute.units.overall(attribute.column)
        total = int(overall.sum())
        compared = {code: Fraction(int(n), total) for code, n in enumerate(overall) if n}
        recounted[attribute.column.name] = found
        if found != compared:
            raise InputError(
                "The table changed while it was read: other people have the values of "
                f"{attribute.column.name!r}. Nothing was written. Run this again on a source that gives the "
                "same records at every reading."
            )
    return recounted


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
