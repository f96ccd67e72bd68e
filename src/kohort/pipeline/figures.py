"""The figures of a release, each checked before anybody sees it."""

from __future__ import annotations

from dataclasses import dataclass

from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.pipeline.request import Request
from kohort.pipeline.solve import Solution
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem
from kohort.recoding.history_groups import HistoryGroups
from kohort.recoding.recoding import Recoding
from kohort.verification import check_proof, checked_bound, checked_guarantee, checked_loss

__all__ = ["Figures", "checked_figures"]


@dataclass(frozen=True)
class Figures:
    """Costs by name, and for the chosen one its lower bound and approximation factor, if any are known."""

    loss: dict[str, float]
    bound: float | None
    guarantee: float | None


def checked_figures(
    problem: Problem, solution: Solution, loss: dict[str, float], request: Request
) -> Figures:
    """The figures of a release; InternalError if they contradict each other or a proof does not hold.

    loss  the costs, as measured on the published table
    """
    recoding = solution.recoding
    cost = checked_loss(loss)[problem.cost.name]
    bound = solution.bound
    if bound is not None:
        parts = recoding.parts if isinstance(recoding, HistoryGroups) else ()
        bound -= _unchecked(problem, recoding)
        bound -= sum(part.share * _unchecked(part.problem, part.recoding) for part in parts)
    if recoding.search:
        checked_bound(recoding.search["bound"], cost)
    proven = publishes_what_is_searched(problem, request.nulls == "star")
    guarantee = recoding.guarantee if proven else None
    return Figures(loss, checked_bound(bound, cost), checked_guarantee(guarantee, cost, recoding.bound))


def _unchecked(problem: Problem, recoding: Recoding) -> float:
    """How much of a recoding's bound verification had no time to prove again."""
    if recoding.bound is None or recoding.proof is None:
        return 0.0
    return recoding.bound - check_proof(problem, recoding.proof, recoding.bound)


def publishes_what_is_searched(problem: Problem, null_is_star: bool) -> bool:
    """Whether a value that is published ungeneralized costs what the search assumes.

    Not where missing values are published as `*`, where a value of the table or a node below the root is `*`
    itself, or where a value is spelled like a set or an interval, as which it may be read: they cost more.
    Then bounds still hold, since nothing costs less than is searched, but no factor does.
    """
    return not any(_may_cost_more(attribute, null_is_star) for attribute in problem.attributes)


def _may_cost_more(attribute: Attribute, null_is_star: bool) -> bool:
    column, domain = attribute.column, attribute.domain
    below_root = domain.published[1:] if isinstance(domain, Hierarchy) else ()
    if (null_is_star and column.has_null) or STAR in below_root:
        return True
    return any(text == STAR or (text or " ")[0] in "{[" for text in column.texts)
