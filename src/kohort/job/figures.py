"""What is said about a release besides its verdict: figures with their evidence, notes and cautions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from kohort.algorithms import EVERY_ALGORITHM
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import UnsupportedError, counted
from kohort.job.choose import Choice
from kohort.job.prepare import Prepared
from kohort.job.publish import Published, withheld_notes
from kohort.job.solve import Solution
from kohort.job.two_files import TwoFiles
from kohort.problem.attribute import Attribute
from kohort.problem.items import ItemsProblem
from kohort.problem.problem import Problem
from kohort.problem.proof import PriceProof, Proof
from kohort.recoding.history_groups import HistoryGroups
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


Columns = Mapping[str, pa.Array | None]


def release_notes(
    prepared: Prepared,
    choice: Choice,
    solution: Solution,
    published: Published,
    verdict: Verdict,
) -> tuple[str, ...]:
    """Sentences that the person who signs should read."""
    return (
        *choice.notes,
        *_household_notes(prepared.request),
        *_sample_note(prepared.request, prepared.dataset.n_records),
        *_treatment_notes(prepared, published),
        *([] if prepared.files is None else _file_notes(prepared.files)),
        *withholding_notes(prepared.problem, verdict.withheld),
        *model_notes(prepared.problem),
        *basket_notes(prepared.items if not prepared.attributes else None),
        *withheld_notes(verdict.withheld, published.n_left_out, published.broken),
        *_counterfeit_notes(published.counterfeits),
        *solution.recoding.notes,
        *formula_notes(published, prepared.request),
        *solution.notes,
    )


def _counterfeit_notes(number: int) -> list[str]:
    """A note for readers of the release, who take every record for a person's."""
    if not number:
        return []
    are = counted(number, "published record is a counterfeit", "published records are counterfeits")
    return [
        f"{are}: nobody's, so that no group lacks a sensitive value. Whoever counts records counts them, "
        "too. The figures of loss, risk and utility are about people alone."
    ]


def _sample_note(request: Statement, n_records: int) -> list[str]:
    """A sentence on what was drawn."""
    if request.sample == 1:
        return []
    return [
        f"{n_records:,} records, {request.sample:g} of all, were drawn at random; the others are not "
        "published. Every promise and figure is about those that were drawn."
    ]


def _household_notes(request: Statement) -> list[str]:
    if request.roles.only("household") is None:
        return []
    return ["Households are counted: where figures speak of people, read households."]


def _treatment_notes(prepared: Prepared, published: Published) -> list[str]:
    """Notes of each treatment about all columns that have it."""
    columns: dict[Treatment, list[str]] = {}
    for name, how in prepared.treatments.items():
        columns.setdefault(how, []).append(name)
    return [
        note
        for how, names in columns.items()
        for note in how.notes(names, prepared.dataset, published.columns)
    ]


def _file_notes(files: TwoFiles) -> list[str]:
    """Notes about two tables: how they are counted, and what was left out.

    Numbers are not said, as they may be small; the certificate has them.
    """
    notes = [
        f"People and events are published together. The pseudonyms in {files.key!r} are fresh, and link the "
        "two files and nothing else."
    ]
    if files.items is None:
        notes.append(
            "Where figures speak of records, they are those of the two files joined: one for each event, and "
            "one for each person without any."
        )
    else:
        notes.append(f"Each item of {files.items!r} is published once for a person, however often it came.")
    if files.orphans:
        notes.append("Events of people who are not in the table of people were left out (orphans: drop).")
    return notes


def withholding_notes(problem: Problem, n_withheld: int) -> list[str]:
    """A note where records could have been withheld, and none was."""
    if not problem.attributes or not problem.max_withheld or n_withheld:
        return []
    return [f"Up to {counted(problem.max_withheld, 'record')} could have been withheld; none was."]


def model_notes(problem: Problem) -> list[str]:
    """Notes of the models about the sensitive columns of the table."""
    return [
        note
        for model in problem.models
        if model.attribute is not None
        for note in model.notes(problem.sensitive[model.attribute].context)
    ]


def basket_notes(items: ItemsProblem | None) -> list[str]:
    """Notes about baskets without quasi-identifiers."""
    if items is None:
        return []
    baskets, notes = items.baskets, []
    if baskets.repeated:
        notes.append(
            f"Items that a basket names more than once count once ({baskets.repeated:,} of them); "
            "multiset: true keeps the repetitions."
        )
    sensitive = 0 if items.sensitive is None else items.sensitive.sizes
    if (empty := int((baskets.sizes + sensitive == 0).sum())) > 0:
        are = counted(empty, "empty basket is", "empty baskets are")
        notes.append(f"{are} published as such: they hold nothing by which somebody could be recognized.")
    if items.confidence is not None:
        absent = sum(not held.any() for held in items.holds)
        if absent:
            notes.append(f"{counted(absent, 'sensitive item occurs', 'sensitive items occur')} in no basket.")
    if items.model.m > int(baskets.sizes.max(initial=0)):
        notes.append(
            f"m = {items.model.m} is larger than any basket, so the promise holds even if others know a "
            "whole basket."
        )
    return notes


def formula_notes(published: Published, request: Statement) -> list[str]:
    """A note where published cells begin like formulas; the choice is the key `formulas` of the spec."""
    found = published.formulas
    if not found:
        return []
    cells = counted(sum(found.values()), "published cell begins", "published cells begin")
    where = f"{cells} like a formula (= + - @), in {', '.join(map(repr, found))}"
    if request.formulas == "escape":
        return [f"{where}: a CSV file has an apostrophe before each of them (formulas: escape)."]
    return [
        f"{where}: spreadsheet programs may compute them when they open a CSV file. Add formulas: escape to "
        "the spec to have an apostrophe written before each of them."
    ]


def extreme_cautions(attributes: Sequence[Attribute], columns: Columns, k: int) -> list[Caution]:
    """A caution for each column whose least or greatest value, of fewer than k people, is published exactly.

    That is so where intervals end at values of the data: without a hierarchy, and with labels: tight.
    """
    return [extreme_caution(a) for a in attributes if shows_extremes(a, columns[a.name], k)]


def extreme_caution(attribute: Attribute) -> Caution:
    """The caution about a column that shows its least or greatest value."""
    return Caution(
        kind="exact-extremes",
        what=f"The smallest or the largest value of {attribute.name!r}, which few people have, can be "
        "read from the release: its intervals begin and end at values of the data.",
        advice=f"Set limits of your own in the spec: hierarchy: {_limits(attribute)}, and no labels: tight.",
        column=attribute.name,
    )


def _limits(attribute: Attribute) -> str:
    if attribute.column.kind in ("date", "datetime"):
        return "{date: [month, year]}"
    return "{intervals: [5, 10, 20], top: 90, bottom: 20} (with widths and limits that suit the column)"


def shows_extremes(attribute: Attribute, published: pa.Array | None, k: int) -> bool:
    """Whether a published column shows its least or greatest value, which fewer than k people have."""
    column = attribute.column
    known = [text for text in column.texts if text is not None]
    if published is None or not column.ordered or column.listed or len(known) < 2:
        return False
    labels = {None if label is None else str(label) for label in published.unique().to_pylist()}
    least = column.counts[0] < k and any(_begins(label, known[0]) for label in labels)
    greatest = column.counts[len(known) - 1] < k and any(_ends(label, known[-1]) for label in labels)
    return bool(least or greatest)


def _begins(label: str | None, value: str) -> bool:
    return label is not None and (label == value or (label.startswith(f"[{value}, ") and label[-1] == "]"))


def _ends(label: str | None, value: str) -> bool:
    return label is not None and (label == value or (label[0] == "[" and label.endswith(f", {value}]")))
