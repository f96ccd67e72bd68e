"""The job: prepare, choose, solve, publish, verify. A release that fails its own verification is never made.

Each step is told once. What a table on a cluster does in another way are methods of the same names, in
`job.spark.steps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from kohort.algorithms import ALGORITHMS, Progress, Solver, Stop
from kohort.errors import InternalError
from kohort.job.choose import Choice, choose
from kohort.job.columns import ItemsPart
from kohort.job.figures import checked_claims, extreme_caution, release_notes
from kohort.job.order import PublishedOrder, settle_order
from kohort.job.prepare import Prepared, prepare, sample_of
from kohort.job.publish import Published, publish, refuse_dropping
from kohort.job.solve import Attempt, Clock, Solution, solve, solve_within_limits, tries
from kohort.job.verify import verify_published
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding
from kohort.release.origin import Origin
from kohort.release.release import Release
from kohort.statement import Statement
from kohort.tables.source import Source, refuse_cluster
from kohort.tables.table import Table
from kohort.verification import Caution, Verification

if TYPE_CHECKING:
    from kohort.algorithms.again.standing import Standing
    from kohort.job.tie import Tie


def release_of(
    sources: Sequence[Source],
    request: Statement,
    *,
    origin: Origin = Origin(),  # noqa: B008  it is frozen
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
    notes: Sequence[str] = (),
    stop: Stop | None = None,
    compared: bool = False,
) -> Release:
    """Anonymize what was opened, a table, or one of people and one of their events; or raise.

    `seconds` may hold the time of reading, and `origin` names the other files that were read. Notes about the
    sources and those given come before those of the release. Once `stop` returns True, the best solution so
    far is published. A release that is made for comparison only (`compared`) may give people away together
    with earlier ones.
    """
    dataset, *events = (source.dataset for source in sources)
    clock = Clock({} if seconds is None else seconds, progress, stop)
    with _steps(dataset, request, clock) as steps:
        with clock("code"):
            prepared = steps.prepare(dataset, request, events[0] if events else None)
            tie: Tie | Untied = Untied()
            if prepared.request.ledger is not None:
                from kohort.job.tie import Tie  # loads what few releases need

                tie = Tie.of(prepared)
            choice = steps.choose(prepared, tie.standing)
        problem, solution, published = steps.solve(prepared, choice, clock)
        if not published.n_records:
            refuse_dropping(published.broken)
            raise InternalError("Every record would be withheld. Nothing was written.")
        with clock("order"):
            published, order = steps.arrange(prepared, solution, published)
        with clock("verify"):
            published, verified = steps.verify(prepared, published)
            if not verified.verdict.holds:  # which is our bug, unless withheld records would have been needed
                refuse_dropping(published.broken, verified.verdict)
                raise InternalError(
                    "The release failed its own verification and was not made. Please report this.\n"
                    + "\n".join(verified.verdict.reasons())
                )
            loss = verified.loss or {}
            claims = checked_claims(problem, solution, loss, request, choice.name)
            tied = tie.settled(solution.recoding, published, compared=compared)
        tied = tied.beside_alone(prepared, choice.solver, clock)
    extremes = published.extremes(prepared.attributes, prepared.problem.k)
    verified = verified.cautioned(*map(extreme_caution, extremes), *order.cautions, *tied.cautions)
    recoding, about = solution.recoding, [note for source in sources for note in source.notes]
    return Release(
        dataset=prepared.dataset,
        request=prepared.request,
        roles=prepared.roles,
        problem=prepared.problem,
        published=published,
        verdict=verified.verdict,
        loss=loss,
        unweighted_loss=verified.unweighted_loss,
        algorithm=choice.name,
        parameters=choice.parameters,
        claims=claims,
        notes=(*about, *notes, *release_notes(prepared, choice, solution, published, verified.verdict)),
        seconds=clock.seconds,
        items=ItemsPart.of(prepared.problem, recoding, choice.items, prepared.request),
        scheme=dict(recoding.search) or None,
        recoding=replace(recoding, parts=()),
        cut_by_time=solution.was_cut,
        order=order,
        tied=tied,
        origin=replace(origin, sources=tuple(sources)),
    )


def _steps(dataset: Table, request: Statement, clock: Clock) -> AbstractContextManager[Steps]:
    """The steps of the job where the records are."""
    if dataset.in_one_place:
        refuse_cluster(request.engine)
        return nullcontext(Steps())
    from kohort.job.spark.steps import SparkSteps

    steps: Any = SparkSteps(dataset, clock)  # the same steps, of tables and statements of their own kind
    return steps


class Steps:
    """The steps of a job whose records are on this machine, in memory or in batches."""

    def prepare(self, dataset: Table, request: Statement, events: Table | None) -> Prepared:
        """The table, and what is asked of it, in codes."""
        prepared = prepare(sample_of(dataset, request), request, events)
        if request.counterfeits:
            from kohort.job.tie import refuse_counterfeits

            refuse_counterfeits(prepared)
        return prepared

    def choose(self, prepared: Prepared, standing: Standing | None) -> Choice:
        """The algorithm that solves it."""
        return choose(prepared.problem, prepared.request, standing)

    def solve(self, prepared: Prepared, choice: Choice, clock: Clock) -> Attempt:
        """The solution and what it publishes; promises about all classes take several attempts."""
        request, several = prepared.request, bool(prepared.kept_by_k)
        own = ALGORITHMS[choice.name].own_time_limit if several else None
        seconds = own if request.time_limit is None else request.time_limit
        if several and seconds is not None:
            request = replace(request, time_limit=seconds / tries(prepared))

        def attempt(problem: Problem) -> Attempt:
            choice.solver.refuse(problem)  # of another k, if there is one
            solution = solve(problem, choice, request, clock)
            with clock("apply"):
                published = publish(*_filled(prepared, solution.recoding))
            return problem, solution, replace(published, counterfeits=n_counterfeits(solution.recoding))

        return solve_within_limits(prepared, attempt) if several else attempt(prepared.problem)

    def arrange(
        self, prepared: Prepared, solution: Solution, published: Published
    ) -> tuple[Published, PublishedOrder]:
        """The published table in its order."""
        return settle_order(_filled(prepared, solution.recoding)[0], published)

    def verify(self, prepared: Prepared, published: Published) -> tuple[Published, Verification]:
        """The verdict on the published table and its costs."""
        return published, verify_published(prepared, published)


def n_counterfeits(recoding: Recoding) -> int:
    """How many counterfeits a recoding publishes."""
    return len(recoding.counterfeits)


def _filled(prepared: Prepared, recoding: Recoding) -> tuple[Prepared, Recoding]:
    """The table and its recoding with the counterfeits, if there are any."""
    if not len(recoding.counterfeits):
        return prepared, recoding
    from kohort.job.tie import with_counterfeits

    return with_counterfeits(prepared, recoding)


class Untied:
    """A table, and a release of it, without a ledger: what `kohort.job.tie` has of one with a ledger."""

    standing: ClassVar[Standing | None] = None
    cautions: ClassVar[tuple[Caution, ...]] = ()

    def settled(self, recoding: Recoding, published: Published, *, compared: bool = False) -> Untied:
        """The release in the ledger."""
        return self

    def beside_alone(self, prepared: Prepared, solver: Solver, clock: Clock) -> Untied:
        """The same beside the cost of a release on its own."""
        return self

    def facts(self, cost: float) -> dict[str, Any] | None:
        """What the certificate and the report say of all releases together."""
        return None
