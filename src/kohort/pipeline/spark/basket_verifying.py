"""Verification of published baskets on a cluster: against their originals, and by supports of itemsets."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.baskets import Baskets, code_baskets
from kohort.data.counted_column import CountedColumn, counted_column
from kohort.data.dataset import Dataset
from kohort.data.formulas import formula_cells
from kohort.data.hierarchy import Hierarchy
from kohort.engines.spark.baskets import count_items, gather_baskets
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.source import ROW
from kohort.engines.spark.values import fingerprints, quoted
from kohort.engines.spark.workers import one_thread
from kohort.errors import InputError, InternalError
from kohort.pipeline.spark.basket_search import ORIGINAL_BASKET, BasketsPrepared
from kohort.problem.items import ItemsProblem
from kohort.problem.models import KmAnonymity
from kohort.verification import Check, Verification
from kohort.verification.basket_parts import Supports, Tails, count_supports, unite_basket_parts
from kohort.verification.item_coverage import CoveredItems, cover_items

__all__ = ["FoundBaskets", "verify_baskets_on_spark"]

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class FoundBaskets:
    """What was found in published baskets: the verdict, texts like formulas, and their fingerprint."""

    verified: Verification
    formulas: dict[str, int]
    shown: tuple[int, int]


def verify_baskets_on_spark(
    prepared: BasketsPrepared, published: Any, before: tuple[int, int]
) -> FoundBaskets:
    """Compare published baskets with their originals, and count every itemset, where they are.

    before  the fingerprint of the original
    """
    posed, column = prepared.posed, prepared.column
    after, shown = fingerprints(published, [ORIGINAL_BASKET, *prepared.untouched], prepared.published_names)
    if after != before:
        raise InputError(
            f"The table changed while it was read: {before[0]:,} records, and then {after[0]:,} with other "
            "values. Nothing was written. Run this again on a source that gives the same records at every "
            "reading."
        )
    compared = _compared(published, prepared)
    labels = _by_rarity(count_items(published.select(quoted(column)), column))
    supports = _supports(published, labels, posed.model)
    verified = unite_basket_parts(
        _one_basket(labels),
        posed.model,
        posed.hierarchy,
        [covered for covered, _ in compared],
        supports,
        n_records=after[0],
        checks=_checks(prepared, published),
        sensitive_columns=prepared.roles.having("sensitive"),
    )
    if not verified.verdict.holds:
        raise InternalError(
            "The release failed its own verification and was not made. Please report this.\n"
            + "\n".join(verified.verdict.reasons())
        )
    formulas: Counter[str] = Counter()
    for _, found in compared:
        formulas.update(found)
    return FoundBaskets(verified, dict(formulas), shown)


def _checks(prepared: BasketsPrepared, published: Any) -> list[Check]:
    """What was found of the table as a whole; values were compared by their fingerprint."""
    shown = [name for name in published.columns if not name.startswith("_kohort_")]
    right = shown == prepared.published_names
    detail = (
        "The columns are those of the spec; no identifier is published." if right else "The columns differ."
    )
    conserved = [
        Check(f"column {name!r} conserved", True, f"Column {name!r} is as it was.")
        for name in prepared.untouched
    ]
    return [Check("columns", right, detail), *conserved]


def _compared(published: Any, prepared: BasketsPrepared) -> list[tuple[CoveredItems, dict[str, int]]]:
    """What workers find who compare published baskets with their originals, record by record."""
    check = _Comparison(
        prepared.column, prepared.posed.hierarchy, prepared.posed.model, prepared.posed.suppress
    )
    with spark_failures("compare the baskets with their originals"):
        rows = published.mapInArrow(check, "found binary").toArrow().column("found")
    return [pickle.loads(row.as_py()) for row in rows]


@dataclass(frozen=True, eq=False)
class _Comparison:
    """What workers need to know to compare baskets."""

    column: str
    hierarchy: Hierarchy
    model: KmAnonymity
    suppress: bool

    def __call__(self, batches: Batches) -> Batches:
        one_thread()
        records = [batch for batch in batches if batch.num_rows]
        if records:
            found = pickle.dumps(self._found(pa.Table.from_batches(records)), protocol=5)
            yield pa.RecordBatch.from_pydict({"found": pa.array([found], pa.binary())})

    def _found(self, table: pa.Table) -> tuple[CoveredItems, dict[str, int]]:
        original = code_baskets(self.column, table.column(ORIGINAL_BASKET))
        everybody = np.zeros(len(original), dtype=np.int64)
        posed = ItemsProblem(
            original, self.hierarchy, self.model, class_of_record=everybody, suppress=self.suppress
        )
        shown = code_baskets(self.column, table.column(self.column))
        covered = cover_items(shown, posed, np.arange(len(original)))
        return covered, formula_cells(Dataset(table.drop_columns([ORIGINAL_BASKET])))


def _by_rarity(labels: CountedColumn) -> CountedColumn:
    """The labels with codes that ascend with how often they occur: the head of an itemset is its rarest."""
    order = np.argsort(labels.counts[labels.codes], kind="stable")
    values = labels.values.take(pa.array(order))
    found = counted_column(labels.name, values, np.asarray(labels.times)[order])
    rank = np.empty(len(order), dtype=np.int32)
    rank[:] = np.arange(len(order), dtype=np.int32)
    texts = tuple(found.texts[code] for code in found.codes)
    return CountedColumn(found.name, found.kind, rank, texts, None, values=found.values, times=found.times)


def _one_basket(labels: CountedColumn) -> Baskets:
    """All labels as one basket."""
    ends = np.array([0, len(labels.texts)])
    return Baskets(labels.name, labels.part(labels.values), ends, np.zeros(1, dtype=bool))


def _supports(published: Any, labels: CountedColumn, model: KmAnonymity) -> Supports:
    """The supports of all itemsets of up to m labels, counted by workers."""
    import pyspark.sql.functions as F

    def tails(batches: Batches) -> Batches:
        for batch in batches:
            yield _tails(batch)

    def count(batches: Batches) -> Batches:
        one_thread()
        records = [batch for batch in batches if batch.num_rows]
        if records:
            found = pickle.dumps(_counted(pa.Table.from_batches(records), model), protocol=5)
            yield pa.RecordBatch.from_pydict({"found": pa.array([found], pa.binary())})

    with spark_failures("count the itemsets"):
        numbered = published.select(quoted(labels.name), F.lit(0).cast("long").alias(ROW))
        distinct = gather_baskets(numbered, labels).filter("basket is not null")
        parts = distinct.select("basket", "n").mapInArrow(tails, "head int, tail binary, n long")
        summed = parts.groupBy("head", "tail").agg(F.sum("n").alias("n")).repartition("head")
        rows = summed.mapInArrow(count, "found binary").toArrow().column("found")
    return Supports.united([pickle.loads(row.as_py()) for row in rows])


def _tails(batch: pa.RecordBatch) -> pa.RecordBatch:
    """For each item of each basket: the item, the items after it, and how many records have the basket."""
    cells = batch.column("basket").to_pylist()
    heads = np.frombuffer(b"".join(cells), dtype=np.int32)
    tails = [cell[place:] for cell in cells for place in range(4, len(cell) + 1, 4)]
    times = np.repeat(batch.column("n").to_numpy(), [len(cell) // 4 for cell in cells])
    return pa.RecordBatch.from_pydict(
        {"head": pa.array(heads), "tail": pa.array(tails, pa.binary()), "n": pa.array(times, pa.int64())}
    )


def _counted(table: pa.Table, model: KmAnonymity) -> Supports:
    cells = table.column("tail").to_pylist()
    items = np.frombuffer(b"".join(cells), dtype=np.int32).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(cell) // 4 for cell in cells])]).astype(np.int64)
    heads, times = (table.column(name).to_numpy() for name in ("head", "n"))
    return count_supports(Tails(heads, offsets, items, times), model)
