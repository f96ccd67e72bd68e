"""The job for baskets on a cluster: the same four steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.algorithms import Progress, Run
from kohort.engines.spark.source import SparkSource
from kohort.engines.spark.values import fingerprint, quoted
from kohort.kernels.ahead import compile_ahead
from kohort.pipeline.choose import Choice
from kohort.pipeline.clock import Clock
from kohort.pipeline.notes import basket_notes, formula_sentences
from kohort.pipeline.prepare_items import hierarchy_description
from kohort.pipeline.published_items import ItemsPart
from kohort.pipeline.request import Request
from kohort.pipeline.spark.basket_search import (
    BasketsPrepared,
    prepare_baskets,
    published_baskets,
    solve_baskets,
)
from kohort.pipeline.spark.basket_verifying import FoundBaskets, verify_baskets_on_spark
from kohort.pipeline.spark.release import SparkRelease
from kohort.recoding.groups import Groups
from kohort.recoding.item_nodes import ItemNodes
from kohort.verification import checked_loss

__all__ = ["make_basket_release"]


def make_basket_release(
    source: SparkSource, request: Request, clock: Clock, progress: Progress | None
) -> SparkRelease:
    """Anonymize baskets on a cluster and prove the result, or raise."""
    run = Run(progress=progress)
    with clock("code"):
        run.report("counting items", 0.0)
        prepared = prepare_baskets(source, request)
        before = fingerprint(source.frame, [prepared.column, *prepared.untouched])
    with clock("solve"):
        compile_ahead(("apriori-items",))
        run = Run(time_limit=request.time_limit, progress=progress)
        choice, nodes = solve_baskets(prepared, run)
    with clock("verify"):
        run.report("publishing and verifying", 0.0)
        published = published_baskets(prepared, nodes)
        try:
            found = verify_baskets_on_spark(prepared, published, before)
            checked_loss(found.verified.loss or {})
        except BaseException:
            published.unpersist()  # what failed is not kept anywhere
            raise
    return _release(prepared, choice, nodes, found, published, clock, cut=run.was_cut)


def _release(
    prepared: BasketsPrepared,
    choice: Choice,
    nodes: ItemNodes,
    found: FoundBaskets,
    published: Any,
    clock: Clock,
    *,
    cut: bool,
) -> SparkRelease:
    request, posed = prepared.request, prepared.posed
    assert choice.items is not None and request.items is not None
    ncp = posed.ncp(nodes.node_of_occurrence)
    notes = (
        f"Made on a cluster by Spark: one cut of the hierarchy, found on {len(posed.baskets):,} different "
        "baskets.",
        "The records are published in an order that depends on what is published alone.",
        *choice.notes,
        *nodes.notes,
        *basket_notes(posed),
        *formula_sentences(found.formulas, request),
    )
    return SparkRelease.of(
        prepared,
        choice,
        found.verified,
        clock,
        notes=notes,
        recoding=Groups(np.zeros(0, dtype=np.int32)),
        items=ItemsPart(posed, nodes, choice.items, hierarchy_description(request.items), ncp),
        cut_by_time=cut,
        frame=published.select(*map(quoted, prepared.published_names)),
        fingerprint=found.shown,
        held=(published, prepared.source),
    )
