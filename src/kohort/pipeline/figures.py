"""The figures of a release, each checked before anybody sees it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import GlobalRecoding, Recoding
from kohort.verification import check_dual_proof, checked_bound, checked_guarantee, checked_loss

__all__ = ["Figures", "checked_figures", "without_proof"]


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


def without_proof(recoding: Recoding) -> Recoding:
    """The same recoding without the evidence for its bound, which is checked, and large."""
    return replace(recoding, proof=None) if isinstance(recoding, Groups) else recoding
