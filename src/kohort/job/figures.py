"""What is said about a release besides its verdict: figures with their evidence, notes and cautions."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.algorithms import EVERY_ALGORITHM
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import UnsupportedError, counted
from kohort.job.choose import Choice
from kohort.job.prepare import Prepared
from kohort.job.publish import Published
from kohort.job.solve import Solution
from kohort.problem.attribute import Attribute
from kohort.problem.items import ItemsProblem
from kohort.problem.problem import Problem
from kohort.problem.proof import PriceProof, Proof
from kohort.recoding.recoding import Recoding
from kohort.statement import Statement
from kohort.treatments import Treatment
from kohort.verification import (
    Caution,
    Claim,
    Verdict,
    can_check,
    check_proof,
    checked_bound,
    checked_guarantee,
    checked_loss,
)

_ROUNDING = 1e-9
_PRICES = "prices of records, checked with every group that could pay them"


def checked_claims(
    problem: Problem, solution: Solution, loss: dict[str, float], request: Statement, algorithm: str
) -> dict[str, Claim]:
    """What is known of the least possible value of the chosen cost, given the costs that were measured.

    `bound` (a lower bound that verification proved), `solver_bound` (a higher one that nothing checked) and
    `guarantee` (an approximation factor), those of them that there are. InternalError if figures contradict
    each other or a proof does not hold.
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
    dearer = any(_may_cost_more(attribute, request.nulls == "star") for attribute in problem.attributes)
    factor = checked_guarantee(None if dearer else recoding.guarantee, cost, recoding.bound)
    claims = _bounds(problem, solution, cost)
    if factor is not None:
        theorem = getattr(EVERY_ALGORITHM.get(algorithm), "theorem", "")  # there may be one of the user's own
        claims["guarantee"] = _factor(factor, cost, recoding, theorem)
    return claims


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
    if recoding.parts:
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


def _may_cost_more(attribute: Attribute, null_is_star: bool) -> bool:
    """Whether a value that is published ungeneralized may cost more than the search assumes.

    That is so where missing values are published as `*`, where a value of the table or a node below the root
    is `*` itself, or where a value is spelled like a set or an interval, or called like an inner node, as
    which it may be read. Then bounds still hold, since nothing costs less than is searched, but no factor
    does.
    """
    column, domain = attribute.column, attribute.domain
    ambiguous = isinstance(domain, Hierarchy) and (
        STAR in domain.published[1:]
        or any(len(domain.nodes_of_label.get(text, ())) > 1 for text in column.texts)
    )
    odd = any(text == STAR or (text or " ")[0] in "{[" for text in column.texts)
    return ambiguous or odd or (null_is_star and column.has_null)


def release_notes(
    prepared: Prepared, choice: Choice, solution: Solution, published: Published, verdict: Verdict
) -> tuple[str, ...]:
    """Sentences that the person who signs should read."""
    notes = [*published.notes, *choice.notes]
    if prepared.request.roles.only("household") is not None:
        notes.append("Households are counted: where figures speak of people, read households.")
    if (share := prepared.request.sample) < 1:
        notes.append(
            f"{prepared.dataset.n_records:,} records, {share:g} of all, were drawn at random; the others are "
            "not published. Every promise and figure is about those that were drawn."
        )
    treated: dict[Treatment, list[str]] = {}
    for name, how in prepared.treatments.items():
        treated.setdefault(how, []).append(name)
    for how, names in treated.items():
        notes += how.notes(names, prepared.dataset, published.columns)
    notes += prepared.files.notes
    problem = prepared.problem
    if problem.attributes and problem.max_withheld and not verdict.withheld:
        notes.append(f"Up to {counted(problem.max_withheld, 'record')} could have been withheld; none was.")
    for model in problem.models:
        if model.attribute:
            notes += model.notes(problem.sensitive[model.attribute].context)
    if prepared.items is not None and not prepared.attributes:
        notes += _basket_notes(prepared.items)
    notes += withheld_notes(verdict.withheld, published)
    if published.counterfeits:
        are = counted(
            published.counterfeits, "published record is a counterfeit", "published records are counterfeits"
        )
        notes.append(
            f"{are}: nobody's, so that no group lacks a sensitive value. Whoever counts records counts them, "
            "too. The figures of loss, risk and utility are about people alone."
        )
    formulas = formula_notes(published, prepared.request)
    return (*notes, *solution.recoding.notes, *formulas, *solution.notes)


def withheld_notes(n_withheld: int, published: Published) -> Iterator[str]:
    """How withheld records are published; their number is not said, as it may be small.

    n_withheld  those that are left out, and those that are `*` everywhere and so may be taken for withheld
    """
    if not n_withheld:
        return
    if published.broken:
        yield (
            f"Withheld records are left out. Published as `*` they would not satisfy {published.broken} on "
            "their own, and anybody who fits no class would be known to be one of them."
        )
    elif published.n_left_out:
        yield "Withheld records are left out."
    else:
        yield "Withheld records are published as `*`: together they keep every promise, as a class does."


def _basket_notes(items: ItemsProblem) -> Iterator[str]:
    """Notes about baskets without quasi-identifiers."""
    baskets = items.baskets
    if baskets.repeated:
        yield (
            f"Items that a basket names more than once count once ({baskets.repeated:,} of them); "
            "multiset: true keeps the repetitions."
        )
    sensitive = 0 if items.sensitive is None else items.sensitive.sizes
    if (empty := int((baskets.sizes + sensitive == 0).sum())) > 0:
        are = counted(empty, "empty basket is", "empty baskets are")
        yield f"{are} published as such: they hold nothing by which somebody could be recognized."
    if items.confidence is not None and (absent := sum(not held.any() for held in items.holds)):
        yield f"{counted(absent, 'sensitive item occurs', 'sensitive items occur')} in no basket."
    if items.model.m > int(baskets.sizes.max(initial=0)):
        yield (
            f"m = {items.model.m} is larger than any basket, so the promise holds even if others know a "
            "whole basket."
        )


def formula_notes(published: Published, request: Statement) -> Iterator[str]:
    """A note where published cells begin like formulas; the choice is the key `formulas` of the spec."""
    found = published.formulas
    if not found:
        return
    cells = counted(sum(found.values()), "published cell begins", "published cells begin")
    where = f"{cells} like a formula (= + - @), in {', '.join(map(repr, found))}"
    if request.formulas == "escape":
        yield f"{where}: a CSV file has an apostrophe before each of them (formulas: escape)."
    else:
        yield (
            f"{where}: spreadsheet programs may compute them when they open a CSV file. Add formulas: escape "
            "to the spec to have an apostrophe written before each of them."
        )


def extreme_caution(attribute: Attribute) -> Caution:
    """The caution about a column that shows its least or greatest value."""
    limits = "{intervals: [5, 10, 20], top: 90, bottom: 20} (with widths and limits that suit the column)"
    if attribute.column.kind in ("date", "datetime"):
        limits = "{date: [month, year]}"
    return Caution(
        kind="exact-extremes",
        what=f"The smallest or the largest value of {attribute.name!r}, which few people have, can be "
        "read from the release: its intervals begin and end at values of the data.",
        advice=f"Set limits of your own in the spec: hierarchy: {limits}, and no labels: tight.",
        column=attribute.name,
    )
