"""The whole job on a cluster: prepare, solve, publish, verify; the driver gets counts, never records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kohort.algorithms import Progress, Run
from kohort.algorithms.uniting.counting_people import kept_by_whole_table
from kohort.engines.spark.failures import give_up
from kohort.engines.spark.source import SparkSource
from kohort.engines.spark.values import fingerprint
from kohort.kernels.ahead import compile_ahead
from kohort.pipeline.choose import Choice, choose
from kohort.pipeline.notes import extreme_caution, formula_sentences, model_notes, withholding_notes
from kohort.pipeline.order import PublishedOrder
from kohort.pipeline.publish import Published
from kohort.pipeline.request import Request
from kohort.pipeline.solve import Clock
from kohort.pipeline.spark.people import counting_people
from kohort.pipeline.spark.prepare import SparkPrepared, prepare_on_spark
from kohort.pipeline.spark.solving import Made, largest_region, solve_on_spark
from kohort.pipeline.spark.verifying import (
    Found,
    opened_frame,
    original_columns,
    verified_parts,
    verify_on_spark,
)
from kohort.publication import DATAFRAME, Origin
from kohort.recoding.groups import Groups
from kohort.release.on_spark import SparkRelease
from kohort.verification import checked_loss

RECORDS_PER_REGION = 2_000_000


def make_spark_release(
    source: SparkSource,
    request: Request,
    *,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
    records_per_region: int = RECORDS_PER_REGION,
    origin: Origin = DATAFRAME,
) -> SparkRelease:
    """Anonymize a table on a cluster and prove the result, or raise.

    records_per_region  a region with at most as many records is solved by one worker
    """
    clock, run = Clock({} if seconds is None else seconds), Run(progress=progress)
    with clock("code"):
        run.report("counting values", 0.0)
        prepared = prepare_on_spark(source, request)
        choice = _choice(prepared)
        if prepared.person is not None:
            largest = largest_region(choice, records_per_region)
            choice = counting_people(choice, prepared.problem, request, largest)
        before = fingerprint(prepared.frame, original_columns(prepared))
    with clock("solve"):
        compile_ahead(choice.names)
        made = solve_on_spark(prepared, choice, records_per_region, run)
    try:
        with clock("verify"):
            run.report("solving, publishing and verifying", 0.0)
            parts = verified_parts(prepared, made.pieces, made.arrangement)
            try:
                found = verify_on_spark(prepared, parts, made.arrangement, before, n_regions=made.n_regions)
                checked_loss(found.verified.loss or {})
            except BaseException:
                give_up(parts)  # what failed is not kept anywhere
                raise
    finally:
        made.release()
    return replace(_release(prepared, choice, made, found, parts, clock), origin=origin)


def _choice(prepared: SparkPrepared) -> Choice:
    """The algorithm that solves the regions; without one that is asked for, mondrian."""
    request, problem = prepared.request, prepared.problem
    if prepared.person is not None:  # promises to people that the whole table breaks are kept by uniting
        problem = kept_by_whole_table(problem)
    if request.algorithm == "auto":
        choice = choose(problem, replace(request, algorithm="mondrian"))
        return replace(choice, notes=("mondrian was chosen: it is for tables of any size.",))
    return choose(problem, request)


def _release(
    prepared: SparkPrepared, choice: Choice, made: Made, found: Found, parts: Any, clock: Clock
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
    frame = opened_frame(prepared, parts, made.arrangement, found.digests, hidden=False)
    return SparkRelease(
        dataset=prepared.dataset,
        request=request,
        roles=prepared.roles,
        problem=prepared.problem,
        published=Published(prepared.dataset, {}),
        verdict=verified.verdict.cautioned(*extremes),
        loss=verified.loss or {},
        algorithm=choice.name,
        parameters=choice.parameters,
        claims={},
        seconds=clock.seconds,
        order=PublishedOrder(request.shuffle),
        input_files=prepared.source.files,
        notes=notes,
        recoding=made.recoding or Groups(np.zeros(0, dtype=np.int32)),
        scheme=made.scheme,
        cut_by_time=made.limited is not None,
        frame=frame,
        fingerprint=found.shown,
        held=(parts, prepared.source),
        with_originals=opened_frame(prepared, parts, made.arrangement, found.digests, hidden=True),
        digests=found.digests,
    )
