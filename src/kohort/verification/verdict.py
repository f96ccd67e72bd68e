"""What verification found: which promises hold, and what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any, Literal

import pyarrow as pa

from kohort.display import Display, Figures
from kohort.errors import InternalError, counted
from kohort.verification.promises.promise import Measure


@dataclass(frozen=True)
class ModelVerdict:
    """One privacy model: what was asked, what was measured, how many classes fail it."""

    model: str
    attribute: str | None
    promise: str
    asked: Measure
    measured: Measure | None
    failing_classes: int
    parameters: dict[str, Any]

    @property
    def holds(self) -> bool:
        return self.failing_classes == 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "attribute": self.attribute,
            "promise": self.promise,
            "parameters": self.parameters,
            "asked": as_number(self.asked),
            "measured": as_number(self.measured),
            "failing_classes": self.failing_classes,
            "holds": self.holds,
        }


@dataclass(frozen=True)
class Check:
    """A check against the original: `holds` is None where it could not be made, and `detail` says why."""

    name: str
    holds: bool | None
    detail: str

    @classmethod
    def of(cls, name: str, wrong: object, good: str, bad: str) -> Check:
        """The check that nothing is wrong, with the sentence for what was found."""
        return cls(name, not wrong, bad if wrong else good)

    def to_dict(self) -> dict[str, Any]:
        return {"check": self.name, "holds": self.holds, "detail": self.detail}


@dataclass(frozen=True)
class PeopleFound:
    """How many people the published records are of, and how many the class with the fewest has."""

    number: int
    smallest_class: int | None


@dataclass(frozen=True)
class ClassRisk:
    """The chance that a record, or where they are counted a person, is found by all quasi-identifiers."""

    maximum: float
    average: float

    def to_dict(self) -> dict[str, float]:
        return {"maximum": self.maximum, "average": self.average}


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """Whether a published table keeps its promises.

    records     published records, withheld ones that are still in the table among them, and counterfeits
    counterfeits  published records that are known to be nobody's
    withheld    records with `*` in every quasi-identifier that form no valid class
    classes     classes of the other records; smallest_class is the size of the smallest, in records
    people      the people that were counted; None where records were
    risk        the chance that somebody is found by their class; None where there are no classes
    violations  the classes that fail a model: their published values, sizes and the models they fail
    cautions    what the promises do not cover, although they hold: with one of these a verdict is amber
    """

    records: int
    withheld: int
    classes: int
    smallest_class: int | None
    models: tuple[ModelVerdict, ...]
    checks: tuple[Check, ...]
    violations: pa.Table
    cautions: tuple[Caution, ...] = ()
    people: PeopleFound | None = None
    risk: ClassRisk | None = None
    counterfeits: int = 0

    @property
    def holds(self) -> bool:
        return all(model.holds for model in self.models) and all(c.holds is not False for c in self.checks)

    def cautioned(self, *cautions: Caution) -> Verdict:
        """This verdict with more cautions added."""
        return replace(self, cautions=(*self.cautions, *cautions))

    def __repr__(self) -> str:
        held = "holds, with cautions" if self.cautions else "holds"
        found = held if self.holds else " ".join(self.reasons())
        classes = counted(self.classes, "class", "classes")
        return f"<Verdict on {counted(self.records, 'record')} in {classes}: {found}>"

    def _repr_html_(self) -> str:
        """How a notebook shows a verdict, without any value of the table."""
        return _verdict_display(self).html()

    def reasons(self) -> list[str]:
        """Why the verdict does not hold: a sentence for each reason."""
        failing = [
            f"{counted(model.failing_classes, 'class breaks', 'classes break')} the promise that "
            f"{model.promise} (asked {as_number(model.asked)}, measured {as_number(model.measured)})."
            for model in self.models
            if not model.holds
        ]
        return failing + [check.detail for check in self.checks if check.holds is False]

    def to_dict(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "records": self.records,
            "suppressed": self.withheld,
            "counterfeits": self.counterfeits,
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "counted": "records" if self.people is None else "people",
            "people": None if self.people is None else self.people.number,
            "smallest_class_people": None if self.people is None else self.people.smallest_class,
            "risk": None if self.risk is None else self.risk.to_dict(),
            "models": [model.to_dict() for model in self.models],
            "checks": [check.to_dict() for check in self.checks],
            "cautions": [caution.to_dict() for caution in self.cautions],
        }


def as_number(value: Measure | None) -> int | float | None:
    """A number that JSON can hold; infinity, which it cannot, is None."""
    if value is None or value == float("inf"):
        return None
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return value


def _verdict_display(verdict: Verdict) -> Display:
    """The promises with what was asked and measured; no value of the table, not even of failing classes."""
    smallest = "" if verdict.smallest_class is None else f", the smallest with {verdict.smallest_class:,}"
    extent = (
        f"{counted(verdict.records, 'record')} in {counted(verdict.classes, 'class', 'classes')}{smallest}; "
        f"{verdict.withheld:,} withheld."
    )
    marks = {None: "not checked", True: "yes", False: "NO"}
    rows = [
        [m.promise, *("-" if n is None else f"{float(n):.4g}" for n in (m.asked, m.measured)), marks[m.holds]]
        for m in verdict.models
    ]
    rows += [[check.name, "", "", marks[check.holds]] for check in verdict.checks]
    table = Figures(["promised or checked", "asked", "measured", "holds"], rows, left=["promised or checked"])
    cautions = [f"Not protected: {caution.what} {caution.advice}" for caution in verdict.cautions]
    parts: list[str | Figures]
    parts = [extent, *verdict.reasons(), *(cautions if verdict.holds else []), table]
    if not verdict.holds:
        return Display("At least one promise does not hold", parts, "red")
    if any(check.holds is None for check in verdict.checks):
        return Display("What was checked holds, but not everything was checked", parts, "amber")
    if cautions:
        return Display("Every promise holds, but not everything is protected", parts, "amber")
    return Display("Every promise holds", parts, "green")


@dataclass(frozen=True)
class Caution:
    """Something that the promises do not cover, although every one of them holds.

    It is public: certificate and report show it. So it says only what anybody can count in the release.

    kind     a short name for machines, such as `no-promise`
    what     a sentence: what is not protected; it names columns and counts, never a value
    advice   a sentence: what to do about it
    add      what to add to the spec for that, as in the spec, or None
    column   the column that it is about, or None
    records  how many published records it is about, or None where that cannot be counted
    """

    kind: str
    what: str
    advice: str
    column: str | None = None
    records: int | None = None
    add: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        return {n: getattr(self, n) for n in ("kind", "column", "records", "what", "advice", "add")}


_ROUNDING = 1e-6  # relative: solvers of linear programs are no more exact
_TINY = 1e-9


@dataclass(frozen=True)
class Claim:
    """A figure and what speaks for it.

    evidence  checked: verification proved it again, by code of its own; solver: a solver or the search says
              so, and nothing checked it; theorem: a paper proves it of the algorithm; stated: it is only said
    reason    which proof, solver or paper that is, in words
    """

    figure: float
    evidence: Literal["checked", "solver", "theorem", "stated"]
    reason: str

    def to_dict(self) -> dict[str, str | float]:
        return asdict(self)


def checked_loss(loss: Mapping[str, float]) -> dict[str, float]:
    """The measured costs, or InternalError where one is negative or no finite number."""
    for name, value in loss.items():
        if not (isfinite(value) and value >= -_TINY):
            raise _contradiction(f"the {name} measured on the published table is {value}")
    return dict(loss)


def checked_bound(bound: float | None, cost: float, what: str = "cost") -> float | None:
    """A lower bound on a cost; InternalError where it is above the cost by more than rounding."""
    if bound is None:
        return None
    if not (isfinite(bound) and bound >= -_TINY):
        raise _contradiction(f"the lower bound on the {what} is {bound}")
    if bound > cost + _ROUNDING * abs(cost) + _TINY:
        raise _contradiction(f"the lower bound on the {what}, {bound:.9g}, is above the {what}, {cost:.9g}")
    return min(max(bound, 0.0), cost)


def checked_guarantee(guarantee: float | None, cost: float, bound: float | None) -> float | None:
    """The approximation factor of the cost; InternalError where other figures contradict it.

    bound  a lower bound that the same algorithm proved, on which the factor rests: cost / bound is no more
           than the factor. None where there is none; a bound from elsewhere may be weaker than the factor.
    """
    if guarantee is None:
        return None
    if not (isfinite(guarantee) and guarantee >= 1 - _TINY):
        raise _contradiction(f"the guarantee is {guarantee}, and no cost is below the least cost")
    if bound is not None and cost > guarantee * bound * (1 + _ROUNDING) + _TINY:
        raise _contradiction(
            f"a cost of at most {guarantee:.6g} times the least cost is guaranteed, but the cost is "
            f"{cost:.9g} and only {bound:.9g} is proven"
        )
    return guarantee


def _contradiction(what: str) -> InternalError:
    return InternalError(f"A figure cannot be right: {what}. The release was not made. Please report this.")
