"""The figures of a release, each checked before anybody sees it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import GlobalRecoding, Recoding
from kohort.verification import check_dual_proof, checked_bound, checked_guarantee, checked_loss

__all__ = ["Figures", "checked_figures", "publishes_what_is_searched", "without_proof"]


@dataclass(frozen=True)
class Figures:
    """Costs by name, the lower bound on the chosen one, and the factor proven, as far as there are any."""

    loss: dict[str, float]
    bound: float | None
    guarantee: float | None


def checked_figures(
    problem: Problem,
    recoding: Recoding,
    loss: dict[str, float],
    bound: float | None,
    own_bound: float | None,
    *,
    guaranteed: bool,
) -> Figures:
    """The figures, or InternalError where they contradict each other or a proof does not hold.

    loss        measured on the published table
    bound       the best there is; `own_bound` is that of the algorithm, on which its guarantee rests
    guaranteed  whether the algorithm's guarantee is about what is published
    """
    cost = checked_loss(loss)[problem.cost.name]
    if own_bound is not None and isinstance(recoding, Groups) and recoding.proof is not None:
        check_dual_proof(problem, recoding.proof, own_bound)
    if isinstance(recoding, GlobalRecoding) and recoding.search:
        checked_bound(recoding.search["bound"], cost)
    guarantee = recoding.guarantee if guaranteed else None
    return Figures(loss, checked_bound(bound, cost), checked_guarantee(guarantee, cost, own_bound))


def publishes_what_is_searched(problem: Problem, null_is_star: bool) -> bool:
    """Whether a value that stays alone costs what the search thinks it does.

    Not where missing values are published as `*`, or where a value of the table or a node below the root is
    `*` itself: they cost as much as any `*`. Then bounds still hold, since nothing costs less than is
    searched, but no factor does.
    """
    return not any(_shows_more_stars(attribute, null_is_star) for attribute in problem.attributes)


def _shows_more_stars(attribute: Attribute, null_is_star: bool) -> bool:
    column, domain = attribute.column, attribute.domain
    below_root = domain.published[1:] if isinstance(domain, Hierarchy) else ()
    return (null_is_star and column.has_null) or STAR in column.texts or STAR in below_root


def without_proof(recoding: Recoding) -> Recoding:
    """The same recoding without the evidence for its bound, which is checked, and large."""
    return replace(recoding, proof=None) if isinstance(recoding, Groups) else recoding
