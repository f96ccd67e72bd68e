"""Baskets on a cluster: prepared, searched on the driver on the different ones, and published by workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms import Run
from kohort.data.baskets import code_baskets
from kohort.data.build_hierarchy import Order
from kohort.data.counted_column import CountedColumn, CountedDataset
from kohort.engines.spark.baskets import DistinctBaskets, count_items, distinct_baskets, gather_baskets
from kohort.engines.spark.coding import ORIGINAL
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.source import ROW, SparkSource
from kohort.engines.spark.values import quoted
from kohort.engines.spark.workers import larger_batches, one_thread
from kohort.errors import UnsupportedError
from kohort.pipeline.choose import Choice, choose
from kohort.pipeline.identifiers import MASK
from kohort.pipeline.items import Items
from kohort.pipeline.prepare import settled_roles
from kohort.pipeline.prepare_items import item_hierarchy
from kohort.pipeline.request import Request
from kohort.pipeline.spark.prepare import refuse_on_spark
from kohort.problem.costs import cost_named
from kohort.problem.items import ItemsProblem
from kohort.problem.problem import Problem
from kohort.problem.roles import Roles
from kohort.recoding.item_nodes import ItemNodes

__all__ = ["ORIGINAL_BASKET", "BasketsPrepared", "prepare_baskets", "published_baskets", "solve_baskets"]

ORIGINAL_BASKET = f"{ORIGINAL}0"
_PER_PART = 250_000  # baskets


@dataclass(frozen=True, eq=False)
class BasketsPrepared:
    """A table of baskets on a cluster and what is asked of it.

    items    all items of the table
    problem  its `items` has the different baskets
    """

    source: SparkSource
    dataset: CountedDataset
    request: Request
    roles: Roles
    items: CountedColumn
    problem: Problem

    @property
    def column(self) -> str:
        return self.items.name

    @property
    def posed(self) -> ItemsProblem:
        assert self.problem.items is not None
        return self.problem.items

    @property
    def untouched(self) -> list[str]:
        """The columns that are published as they came."""
        return self.roles.untouched(self.request.treatments)

    @property
    def published_names(self) -> list[str]:
        """The published columns, in the order of the table."""
        dropped = set(self.roles.dropped(self.request.treatments))
        return [name for name in self.source.names if name not in dropped]


def prepare_baskets(source: SparkSource, request: Request) -> BasketsPrepared:
    """Prepare baskets on a cluster: the different ones come to the driver, if they fit."""
    asked = request.items
    assert asked is not None and request.km is not None
    refuse_on_spark(request, baskets=True)
    _refuse(asked, request)
    roles = settled_roles(CountedDataset(source.schema, 0, {}), request)
    items = count_items(source.frame, asked.column)
    with spark_failures("gather the baskets"):
        gathered = gather_baskets(source.frame, items).persist()
    try:
        found = distinct_baskets(gathered, items)
    finally:
        gathered.unpersist()
    dataset = CountedDataset(source.schema, int(found.times.sum()), {})
    problem = Problem(
        attributes=(),
        models=(),
        cost=cost_named("ncp"),
        suppression=request.suppression,
        seed=request.seed,
        items=_posed(found, asked, request),
    )
    return BasketsPrepared(source, dataset, request, roles, items, problem)


def _posed(found: DistinctBaskets, asked: Items, request: Request) -> ItemsProblem:
    assert request.km is not None
    hierarchy = item_hierarchy(found.baskets, asked, found.baskets)
    return ItemsProblem(
        found.baskets,
        hierarchy,
        request.km,
        suppress=asked.suppress,
        seed=request.seed,
        times=found.times,
    )


def _refuse(asked: Items, request: Request) -> None:
    """Refuse what is not done for baskets on a cluster."""
    reason = None
    if asked.multiset:
        reason = "baskets that are multisets"
    elif request.confidence is not None:
        reason = "promises about sensitive items (confidence)"
    elif asked.separator is not None:
        reason = "a column of texts with separated items: split it into an array first"
    elif isinstance(asked.hierarchy, Order) and asked.hierarchy.values == "cooccurrence":
        reason = "hierarchies by cooccurrence"
    elif "pseudonym" in request.treatments.values():
        reason = "pseudonyms beside baskets"
    if reason is not None:
        raise UnsupportedError(f"The Spark engine does not support {reason}. Or use engine: local.")


def solve_baskets(prepared: BasketsPrepared, run: Run) -> tuple[Choice, ItemNodes]:
    """The nodes of the items of the different baskets: the search is that of one machine."""
    choice = choose(prepared.problem, prepared.request)
    assert choice.items is not None
    if not choice.items.counts_equal_baskets:
        raise UnsupportedError(
            f"The Spark engine does not run {choice.items.name}, which looks at single baskets. Choose "
            "apriori-items, or engine: local."
        )
    recoding = choice.solver.solve(prepared.problem, run)
    assert recoding.items is not None
    return choice, recoding.items


def published_baskets(prepared: BasketsPrepared, nodes: ItemNodes) -> Any:
    """The published records with their originals beside them, in an order that tells nothing more."""
    import pyspark.sql.functions as F
    from pyspark import StorageLevel

    node_of_item = np.full(len(prepared.items.texts), -1, dtype=np.int64)
    node_of_item[prepared.posed.baskets.items.codes] = nodes.node_of_occurrence
    masked = [name for name, how in prepared.request.treatments.items() if how == "mask"]
    names = prepared.published_names
    job = _BasketJob(prepared.items, prepared.posed, node_of_item, names, masked)
    kept = [name for name in names if name not in masked]
    source, n_parts = prepared.source.frame, -(-prepared.dataset.n_records // _PER_PART)
    with spark_failures("publish the baskets"):
        needed = dict.fromkeys([prepared.column, *kept, ROW])
        records = source.select(*map(quoted, needed))
        made = records.mapInArrow(job.publish, _published_schema(records, names, masked, prepared.column))
        shown = [F.col(quoted(name)) for name in names]
        digest = F.xxhash64(F.lit(prepared.request.seed), *shown)
        arranged = made.repartition(n_parts, digest).sortWithinPartitions(digest)
        return arranged.persist(StorageLevel.MEMORY_AND_DISK)


@dataclass(frozen=True, eq=False)
class _BasketJob:
    """What workers need to know to publish baskets: the node of each item."""

    items: CountedColumn
    posed: ItemsProblem
    node_of_item: np.ndarray
    names: Sequence[str]
    masked: Sequence[str]

    def __getstate__(self) -> dict[str, Any]:
        """Without the baskets, which workers do not need."""
        posed, nobody = self.posed, np.zeros(0, dtype=np.int64)
        empty = code_baskets(
            self.items.name, pa.array([], pa.list_(self.items.values.type)), known=self.items
        )
        reduced = ItemsProblem(empty, posed.hierarchy, posed.model, class_of_record=nobody)
        return {**vars(self), "posed": reduced}

    def publish(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The published records, with the original baskets beside them."""
        one_thread()
        for batch in larger_batches(batches):
            lists = batch.column(self.items.name)
            baskets = code_baskets(self.items.name, lists, known=self.items)
            everybody, n = np.zeros(len(baskets), dtype=np.int64), len(baskets)
            posed = ItemsProblem(baskets, self.posed.hierarchy, self.posed.model, class_of_record=everybody)
            nodes = ItemNodes(self.node_of_item[baskets.items.codes], np.zeros(n, dtype=bool))
            columns: dict[str, Any] = {name: pa.array([MASK] * n, pa.string()) for name in self.masked}
            columns[self.items.name] = nodes.apply(posed)
            shown = [columns[name] if name in columns else batch.column(name) for name in self.names]
            yield pa.RecordBatch.from_arrays([*shown, lists], names=[*self.names, ORIGINAL_BASKET])


def _published_schema(records: Any, names: Sequence[str], masked: Sequence[str], column: str) -> Any:
    from pyspark.sql.types import ArrayType, StringType, StructField, StructType

    kinds = {field.name: field.dataType for field in records.schema.fields}
    original = kinds[column]
    kinds |= dict.fromkeys(masked, StringType()) | {column: ArrayType(StringType())}
    fields = [StructField(name, kinds[name]) for name in names]
    return StructType([*fields, StructField(ORIGINAL_BASKET, original)])
