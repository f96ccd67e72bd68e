"""The figures of a release, each with its evidence, before anybody sees it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kohort.algorithms import EVERY_ALGORITHM
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import UnsupportedError
from kohort.job.solve import Solution
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem
from kohort.problem.proof import PriceProof, Proof
from kohort.recoding.history_groups import HistoryGroups
from kohort.recoding.recoding import Recoding
from kohort.statement import Statement
from kohort.verification import Claim, can_check, check_proof, checked_bound, checked_guarantee, checked_loss

_ROUNDING = 1e-9
_PRICES = "prices of records, checked with every group that could pay them"


@dataclass(frozen=True)
class Figures:
    """Costs by name, and what is known of the least possible value of the chosen one.

    claims  `bound` (a lower bound that verification proved), `solver_bound` (a higher one that nothing
            checked) and `guarantee` (an approximation factor), those of them that there are
    """

    loss: dict[str, float]
    claims: dict[str, Claim]


def checked_figures(
    problem: Problem, solution: Solution, loss: dict[str, float], request: Statement, algorithm: str
) -> Figures:
    """The figures of a release; InternalError if they contradict each other or a proof does not hold.

    loss       the costs, as measured on the published table
    algorithm  the name of the one that found the solution; a paper may prove its factor
    """
    recoding = solution.recoding
    if problem.cost.name not in loss:
        raise UnsupportedError(
            f"Verification has no definition of the cost {problem.cost.name!r}, so nothing can be measured "
            f"by it. Choose from: {', '.join(loss)}."
        )
    cost = checked_loss(loss)[problem.cost.name]
    if recoding.search:
        checked_bound(recoding.search["bound"], cost)
    proven = publishes_what_is_searched(problem, request.nulls == "star")
    factor = checked_guarantee(recoding.guarantee if proven else None, cost, recoding.bound)
    claims = _bounds(problem, solution, cost)
    if factor is not None:
        claims["guarantee"] = _factor(factor, cost, recoding, _theorem_of(algorithm))
    return Figures(loss, claims)


def _bounds(problem: Problem, solution: Solution, cost: float) -> dict[str, Claim]:
    """The lower bound as far as its proofs hold, and all of it where that is more."""
    recoding, said = solution.recoding, checked_bound(solution.bound, cost)
    if said is None:
        return {}
    proofs = list(_proofs(problem, recoding))
    seen = sum(share * check_proof(posed, proof, bound) for share, posed, proof, bound in proofs)
    proven = min(seen, said)
    claims = {"bound": Claim(proven, "checked", _PRICES)} if proofs else {}
    if not proofs or said - proven > _ROUNDING * (1 + said):  # prices are rounded to whole numbers
        claims["solver_bound"] = Claim(said, "solver", _why_unchecked(recoding, bool(proofs)))
    return claims


def _proofs(problem: Problem, recoding: Recoding) -> Iterator[tuple[float, Problem, Proof, float]]:
    """Each proof with the share of the records that it is about, its problem and what it claims to prove."""
    if isinstance(recoding, HistoryGroups) and recoding.parts:
        for part in recoding.parts:
            for share, posed, proof, bound in _proofs(part.problem, part.recoding):
                yield part.share * share, posed, proof, bound
    elif recoding.proof is not None and recoding.bound is not None and can_check(problem, recoding.proof):
        yield 1.0, problem, recoding.proof, recoding.bound


def _why_unchecked(recoding: Recoding, in_part: bool) -> str:
    if isinstance(recoding.proof, PriceProof) and recoding.proof.settled is not None:
        return "integer programming (HiGHS) over the closed records that checked prices leave"
    if in_part:
        return "prices of which verification proved a part in its time"
    if recoding.proof is not None and recoding.bound is not None:
        return "prices of records, by a cost of which the checker has no definition"
    if recoding.bound is not None:
        return "the algorithm's own bound, by a solver or a matching"
    return "distances of nearest records, by the code of the search"


def _theorem_of(algorithm: str) -> str:
    return getattr(EVERY_ALGORITHM.get(algorithm), "theorem", "")  # there may be one of the user's own


def _factor(factor: float, cost: float, recoding: Recoding, theorem: str) -> Claim:
    """The approximation factor: by a theorem, unless it is no more than the cost over a solver's bound."""
    if recoding.bound is not None and (factor == 1.0 or factor * recoding.bound <= cost * (1 + _ROUNDING)):
        return Claim(factor, "solver", "the cost over a bound that nothing checked")
    return Claim(factor, "theorem", theorem) if theorem else Claim(factor, "stated", "by the algorithm")


def gap_to(bound: float | None, cost: float) -> float | None:
    """How far a cost is above a bound, as a share of the bound; 0 where only rounding is between."""
    if bound is None:
        return None
    if cost - bound <= 2 * _ROUNDING * cost:  # bounds are lowered by a part of that, and never lifted above
        return 0.0
    return None if bound == 0 else cost / bound - 1


def publishes_what_is_searched(problem: Problem, null_is_star: bool) -> bool:
    """Whether a value that is published ungeneralized costs what the search assumes.

    Not where missing values are published as `*`, where a value of the table or a node below the root is `*`
    itself, or where a value is spelled like a set or an interval, or called like an inner node, as which it
    may be read: they cost more. Then bounds still hold, since nothing costs less than is searched, but no
    factor does.
    """
    return not any(_may_cost_more(attribute, null_is_star) for attribute in problem.attributes)


def _may_cost_more(attribute: Attribute, null_is_star: bool) -> bool:
    column, domain = attribute.column, attribute.domain
    if null_is_star and column.has_null:
        return True
    if isinstance(domain, Hierarchy):
        shared = any(len(domain.nodes_of_label.get(text, ())) > 1 for text in column.texts)
        if shared or STAR in domain.published[1:]:
            return True
    return any(text == STAR or (text or " ")[0] in "{[" for text in column.texts)
