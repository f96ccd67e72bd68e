"""The whole job: prepare, solve, publish, verify. A release that fails its own verification is never made."""

from __future__ import annotations

from kohort.algorithms import Progress, Stop
from kohort.data.dataset import Dataset
from kohort.errors import InternalError
from kohort.pipeline.choose import Choice, choose
from kohort.pipeline.clock import Clock
from kohort.pipeline.figures import Figures, checked_figures
from kohort.pipeline.notes import extreme_cautions, release_notes
from kohort.pipeline.order import PublishedOrder, settle_order
from kohort.pipeline.prepare import Prepared, prepare
from kohort.pipeline.publish import Published, publish
from kohort.pipeline.published_items import ItemsPart
from kohort.pipeline.release import VerifiedRelease
from kohort.pipeline.request import Request
from kohort.pipeline.solve import Solution, solve
from kohort.pipeline.withheld import refuse_dropping
from kohort.verification import Original, Verification, verify

__all__ = ["make_release"]


def make_release(
    dataset: Dataset,
    request: Request,
    *,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
    stop: Stop | None = None,
) -> VerifiedRelease:
    """Anonymize a table and prove the result, or raise. `seconds` may hold the time of earlier phases.

    stop  once it returns True, the best solution so far is published
    """
    clock = Clock({} if seconds is None else seconds)
    with clock("code"):
        prepared = prepare(dataset, request)
        choice = choose(prepared.problem, request)
    solution = solve(prepared.problem, choice, request, clock, progress, stop)
    with clock("apply"):
        published = publish(prepared, solution.recoding)
    with clock("verify"):
        verified = _verified(prepared, published)
        figures = checked_figures(prepared.problem, solution, verified.loss or {}, request)
    with clock("order"):
        order = settle_order(prepared, published)
    return _release(prepared, choice, solution, published, verified, figures, order, clock)


def _verified(prepared: Prepared, published: Published) -> Verification:
    """The verdict on the published table and its costs; a verdict that does not hold is our bug."""
    if not len(published.rows):
        refuse_dropping(published.broken)
        raise InternalError("Every record would be withheld. Nothing was written.")
    original = Original(
        prepared.dataset,
        prepared.roles,
        prepared.attributes,
        prepared.items,
        rows=published.rows,
        treatments=prepared.request.treatments,
    )
    table = Dataset(published.arrow)
    found = verify(table, prepared.request, original, hierarchies=prepared.sensitive_hierarchies)
    if not found.verdict.holds:
        refuse_dropping(published.broken, found.verdict)
        raise InternalError(
            "The release failed its own verification and was not made. Please report this.\n"
            + "\n".join(found.verdict.reasons())
        )
    return found


def _release(
    prepared: Prepared,
    choice: Choice,
    solution: Solution,
    published: Published,
    verified: Verification,
    figures: Figures,
    order: PublishedOrder,
    clock: Clock,
) -> VerifiedRelease:
    recoding, request = solution.recoding, prepared.request
    extremes = extreme_cautions(prepared.attributes, published.columns, prepared.problem.k)
    verdict = verified.verdict.cautioned(*extremes, *order.cautions)
    return VerifiedRelease(
        dataset=prepared.dataset,
        request=request,
        roles=prepared.roles,
        problem=prepared.problem,
        columns=published.columns,
        rows=order.rows,
        verdict=verdict,
        loss=figures.loss,
        weighted_loss=verified.weighted_loss,
        algorithm=choice.name,
        parameters=choice.parameters,
        guarantee=figures.guarantee,
        bound=figures.bound,
        notes=release_notes(prepared, choice, solution, published, verdict, order),
        seconds=clock.seconds,
        items=ItemsPart.of(prepared.problem, recoding, choice.items, request),
        scheme=dict(recoding.search) or None,
        recoding=recoding.without_proof(),
        cut_by_time=solution.was_cut,
        order=order,
    )
