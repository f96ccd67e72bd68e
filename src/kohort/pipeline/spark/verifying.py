"""Verification on a cluster: every worker verifies whole classes, and the verdicts are united."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kohort.data.counted_column import PartOfTable
from kohort.data.formulas import formula_cells
from kohort.engines.spark.coding import PERSON
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.values import fingerprint
from kohort.errors import InputError, InternalError
from kohort.pipeline.notes import shows_extremes
from kohort.pipeline.spark.prepare import SparkPrepared
from kohort.pipeline.spark.regions import ORIGINAL
from kohort.verification import (
    Check,
    PartDemands,
    PartFound,
    Verification,
    WholeFound,
    unite_parts,
    verify_part,
)

__all__ = ["Found", "verify_on_spark"]


@dataclass(frozen=True, eq=False)
class Found:
    """What was found in the published records.

    extremes  columns that show their least or greatest value although few people have it
    formulas  how many texts of each column begin like a formula
    """

    verified: Verification
    extremes: frozenset[str]
    formulas: dict[str, int]


@dataclass(frozen=True, eq=False)
class _PartCheck:
    """What workers need to know to verify a part of the published records."""

    demands: PartDemands
    names: Sequence[str]
    k: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        records = [batch for batch in batches if batch.num_rows]
        if records:
            found = pickle.dumps(self._found(pa.Table.from_batches(records)), protocol=5)
            yield pa.RecordBatch.from_pydict({"found": pa.array([found], pa.binary())})

    def _found(self, table: pa.Table) -> tuple[PartFound, frozenset[str], dict[str, int]]:
        demands = self.demands
        shown = PartOfTable(table.select(list(self.names)), list(demands.sensitive.values()))
        originals = {a.name: table.column(f"{ORIGINAL}{n}") for n, a in enumerate(demands.attributes)}
        if demands.person is not None:
            originals[demands.person] = table.column(PERSON)
        found = verify_part(shown, PartOfTable(pa.table(originals)), demands)
        extremes = frozenset(
            a.name for a in demands.attributes if shows_extremes(a, shown.arrow(a.name), self.k)
        )
        return found, extremes, formula_cells(shown)


def verify_on_spark(prepared: SparkPrepared, published: Any, before: tuple[int, int]) -> Found:
    """Measure every promise on the published records, which are in partitions of whole classes.

    before  the fingerprint of the original
    """
    demands = PartDemands(
        attributes=prepared.attributes,
        models=prepared.request.table_models,
        sensitive=prepared.counted_sensitive,
        hierarchies=prepared.sensitive_hierarchies,
        orders=prepared.request.orders,
        person=prepared.person,
        allowed=prepared.problem.max_withheld,
    )
    check = _PartCheck(demands, prepared.published_names, prepared.problem.k)
    with spark_failures("verify the release"):
        rows = published.mapInArrow(check, "found binary").toArrow().column("found")
    parts = [pickle.loads(row.as_py()) for row in rows]
    whole = _whole(prepared, published, before)
    verified = unite_parts([part[0] for part in parts], demands, whole)
    _refuse_failed(verified)
    formulas: dict[str, int] = {}
    for _, _, found in parts:
        for name, n in found.items():
            formulas[name] = formulas.get(name, 0) + n
    return Found(verified, frozenset().union(*(part[1] for part in parts)), formulas)


def original_columns(prepared: SparkPrepared) -> list[str]:
    """The columns of the original whose values are compared with those of the release."""
    return [*(a.name for a in prepared.attributes), *prepared.untouched]


def _whole(prepared: SparkPrepared, published: Any, before: tuple[int, int]) -> WholeFound:
    hidden = [f"{ORIGINAL}{number}" for number in range(len(prepared.attributes))]
    after = fingerprint(published, [*hidden, *prepared.untouched])
    if after != before:
        raise InputError(
            f"The table changed while it was read: {before[0]:,} records, and then {after[0]:,} with other "
            "values. Nothing was written. Run this again on a source that gives the same records at every "
            "reading."
        )
    shown = [name for name in published.columns if not name.startswith("_kohort_")]
    right = shown == prepared.published_names
    detail = (
        "The columns are those of the spec; no identifier is published." if right else "The columns differ."
    )
    return WholeFound(prepared.untouched, True, Check("columns", right, detail), prepared.n_people)


def _refuse_failed(found: Verification) -> None:
    if not found.verdict.holds:
        raise InternalError(
            "The release failed its own verification and was not made. Please report this.\n"
            + "\n".join(found.verdict.reasons())
        )
