"""The whole job: prepare, solve, publish, verify. A release that fails its own verification is never made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kohort.algorithms import ALGORITHMS, Progress, Run, Stop
from kohort.algorithms.again.fresh import Fresh
from kohort.algorithms.again.history_keeping import HistoryKeeping
from kohort.algorithms.again.m_invariance import MInvariance
from kohort.algorithms.kernels.costs import costs_by_group
from kohort.algorithms.solver import Solver
from kohort.errors import InfeasibleError, InternalError
from kohort.job.again.counterfeits import n_counterfeits, refuse_counterfeits, with_counterfeits
from kohort.job.again.tie import TiedRelease, tie_to_ledger
from kohort.job.choose import Choice, choose
from kohort.job.figures import Figures, checked_figures
from kohort.job.items import ItemsPart
from kohort.job.notes import extreme_cautions, release_notes
from kohort.job.order import PublishedOrder, settle_order
from kohort.job.prepare import Prepared, prepare, sample_of
from kohort.job.publish import Published, publish
from kohort.job.solve import Clock, Solution, solve
from kohort.job.table_limits import Attempt, promised_by_k, solve_within_limits, tries
from kohort.job.two_files import refuse_no_events
from kohort.job.withheld import refuse_dropping
from kohort.pipeline.verify_release import verify_published, verify_release
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding
from kohort.release.origin import DATAFRAME, Origin
from kohort.release.release import Release
from kohort.statement import Statement
from kohort.tables.memory import MemoryTable
from kohort.tables.places import refuse_cluster
from kohort.tables.source import Source, records_of
from kohort.tables.table import Table
from kohort.verification import Verification


def release_of(
    data: Any,
    request: Statement,
    *,
    events: Any = None,
    dataset: Table | None = None,
    origin: Origin = DATAFRAME,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
    notes: Sequence[str] = (),
    stop: Stop | None = None,
) -> Release:
    """Make the release of a dataframe or of a file that was read; `seconds` may hold the time of reading it.

    `events` is the table of events, where `data` is that of people: a dataframe, or a file that was read.
    `dataset` holds the same records, where somebody looked at them already; `origin` names the other files
    that were read. Notes about the file and those given come before those of the release. Once `stop` returns
    True, the best solution so far is published.
    """
    file = data if isinstance(data, Source) else None
    events_file = events if isinstance(events, Source) else None
    if dataset is None:
        dataset = records_of(data)
    second = None
    if events is not None:
        second = records_of(events)
    made = make_release(dataset, request, events=second, progress=progress, seconds=seconds, stop=stop)
    about_files = [note for found in (file, events_file) if found is not None for note in found.notes]
    origin = replace(origin, file=file, events_file=events_file)
    return replace(made, notes=(*about_files, *notes, *made.notes), origin=origin)


def make_release(
    dataset: Table,
    request: Statement,
    *,
    events: Table | None = None,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
    stop: Stop | None = None,
    compared: bool = False,
) -> Release:
    """Anonymize a table and prove the result, or raise. `seconds` may hold the time of earlier phases.

    events  the table of events, where the other one is that of the people
    stop    once it returns True, the best solution so far is published
    compared  whether it is made for comparison only, although it gives people away with earlier releases
    """
    if not dataset.in_one_place:
        from kohort.release.on_spark import make_spark_release

        return make_spark_release(dataset, request, progress=progress, seconds=seconds, stop=stop)
    refuse_cluster(request.engine)
    clock = Clock({} if seconds is None else seconds)
    with clock("code"):
        prepared = prepare(sample_of(dataset, request), request, events)
        refuse_counterfeits(prepared)
        tie = tie_to_ledger(prepared)
        choice = choose(prepared.problem, request, None if tie is None else tie.known.standing)
    problem, solution, published = _solved(prepared, choice, clock, progress, stop)
    if not published.n_records:
        refuse_dropping(published.broken)
        raise InternalError("Every record would be withheld. Nothing was written.")
    with clock("order"):
        published, order = settle_order(with_counterfeits(prepared, solution.recoding)[0], published)
    with clock("verify"):
        verified = _verified(prepared, published)
        figures = checked_figures(problem, solution, verified.loss or {}, request, choice.name)
        tied = None if tie is None else tie.settled(solution.recoding, published, compared=compared)
    if tied is not None:
        tied = _beside_alone(tied, prepared, choice, clock)
    cautions = extreme_cautions(prepared.attributes, published.columns, prepared.problem.k)
    verified = verified.cautioned(*cautions, *order.cautions, *([] if tied is None else tied.cautions))
    return release_from(prepared, choice, solution, published, verified, figures, order, clock, tied)


def _beside_alone(tied: TiedRelease, prepared: Prepared, choice: Choice, clock: Clock) -> TiedRelease:
    """The same beside the cost of a release on its own, under the same time limit; not for the first one."""
    if len(tied.ledger.entries) < 2:
        return tied
    with clock("alone"):
        run = Run(time_limit=prepared.request.time_limit)
        return replace(tied, alone=_cost_alone(prepared.problem, choice.solver, run))


def _solved(
    prepared: Prepared, choice: Choice, clock: Clock, progress: Progress | None, stop: Stop | None
) -> Attempt:
    """The solution and what it publishes; promises about all classes take several attempts."""
    request, several = prepared.request, bool(promised_by_k(prepared))
    own = ALGORITHMS[choice.name].own_time_limit if several else None
    seconds = own if request.time_limit is None else request.time_limit
    if several and seconds is not None:
        request = replace(request, time_limit=seconds / tries(prepared))

    def attempt(problem: Problem) -> Attempt:
        choice.solver.refuse(problem)  # of another k, if there is one
        solution = solve(problem, choice, request, clock, progress, stop)
        with clock("apply"):
            return problem, solution, _published(prepared, solution.recoding)

    return solve_within_limits(prepared, attempt) if several else attempt(prepared.problem)


def _published(prepared: Prepared, recoding: Recoding) -> Published:
    """The table that a recoding publishes, with its counterfeits."""
    filled = with_counterfeits(prepared, recoding)
    return replace(publish(*filled), counterfeits=n_counterfeits(recoding))


def _verified(prepared: Prepared, published: Published) -> Verification:
    """The verdict on the published table and its costs; a verdict that does not hold is our bug."""
    measured = verify_published if prepared.files is None else _files_measured
    found = measured(prepared, published)
    if not found.verdict.holds:
        refuse_dropping(published.broken, found.verdict)
        raise InternalError(
            "The release failed its own verification and was not made. Please report this.\n"
            + "\n".join(found.verdict.reasons())
        )
    return found


def _files_measured(prepared: Prepared, published: Published) -> Verification:
    """What is found in the two published files: the verifier joins them, and their originals, itself."""
    assert prepared.files is not None
    people, events = published.parted
    assert events is not None
    refuse_no_events(events)
    return verify_release(
        MemoryTable(people),
        prepared.request,
        original=prepared.files.people,
        events=MemoryTable(events),
        original_events=prepared.files.events,
        rows=published.rows,
    )


def release_from(
    prepared: Prepared,
    choice: Choice,
    solution: Solution,
    published: Published,
    verified: Verification,
    figures: Figures,
    order: PublishedOrder,
    clock: Clock,
    tied: TiedRelease | None = None,
) -> Release:
    """The release of a table that was solved, published and verified."""
    recoding, request, verdict = solution.recoding, prepared.request, verified.verdict
    return Release(
        dataset=prepared.dataset,
        request=request,
        roles=prepared.roles,
        problem=prepared.problem,
        published=published,
        verdict=verdict,
        loss=figures.loss,
        unweighted_loss=verified.unweighted_loss,
        algorithm=choice.name,
        parameters=choice.parameters,
        claims=figures.claims,
        notes=release_notes(prepared, choice, solution, published, verdict),
        seconds=clock.seconds,
        items=ItemsPart.of(prepared.problem, recoding, choice.items, request),
        scheme=dict(recoding.search) or None,
        recoding=recoding.without_parts(),
        cut_by_time=solution.was_cut,
        order=order,
        files=prepared.files,
        tied=tied,
    )


def _cost_alone(problem: Problem, solver: Solver, run: Run) -> float | None:
    """The cost that the same algorithm reaches for the table by itself; None where it cannot be compared.

    solver  the way of publishing again, whose inner algorithm is run on all records
    """
    if (
        not isinstance(solver, (HistoryKeeping, MInvariance, Fresh))
        or not problem.cost.adds_up
        or problem.masses is not None
    ):
        return None
    try:
        groups = solver.inner.solve(problem, run)
    except InfeasibleError:
        return None
    return _cost(problem, groups) if isinstance(groups, Groups) else None


def _cost(problem: Problem, groups: Groups) -> float | None:
    order = np.argsort(groups.group_of_record, kind="stable")
    order = order[np.count_nonzero(groups.withheld) :]
    sizes = np.bincount(groups.group_of_record[order], minlength=groups.n_groups)
    start = np.concatenate([[0], np.cumsum(sizes)])
    coded = problem.coded
    total = float(np.dot(costs_by_group(coded.tables, coded.searched_leaves(), order, start), sizes))
    total += coded.star_cost * int(groups.withheld.sum())
    return problem.cost.measure_of_sum(total, problem.n_records, problem.weights)
