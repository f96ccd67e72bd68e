"""A verdict as a person sees it in a notebook: promises, checks and what is not protected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.display import Display, Figures
from kohort.errors import counted

if TYPE_CHECKING:
    from kohort.verification.promises.promise import Measure
    from kohort.verification.verdict import Verdict

__all__ = ["verdict_display"]


def verdict_display(verdict: Verdict) -> Display:
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
