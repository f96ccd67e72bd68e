"""What verification found: which promises hold, and what was measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from kohort.display import Display, Figures
from kohort.errors import counted
from kohort.verification.caution import Caution
from kohort.verification.promises.promise import Measure

__all__ = ["Check", "ClassRisk", "ModelVerdict", "PeopleFound", "Verdict"]


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
    cautions = [f"Not protected: {caution.what} {caution.advice}" for caution in verdict.cautions]
    parts: list[str | Figures]
    parts = [extent, *verdict.reasons(), *(cautions if verdict.holds else []), _promises(verdict)]
    if not verdict.holds:
        return Display("At least one promise does not hold", parts, "red")
    if any(check.holds is None for check in verdict.checks):
        return Display("What was checked holds, but not everything was checked", parts, "amber")
    if cautions:
        return Display("Every promise holds, but not everything is protected", parts, "amber")
    return Display("Every promise holds", parts, "green")


def _promises(verdict: Verdict) -> Figures:
    rows = [
        [model.promise, _number(model.asked), _number(model.measured), _mark(model.holds)]
        for model in verdict.models
    ]
    rows += [[check.name, "", "", _mark(check.holds)] for check in verdict.checks]
    return Figures(["promised or checked", "asked", "measured", "holds"], rows, left=["promised or checked"])


def _number(value: Measure | None) -> str:
    return "-" if value is None else f"{float(value):.4g}"


def _mark(holds: bool | None) -> str:
    return "not checked" if holds is None else "yes" if holds else "NO"
