"""What a release may ask when there are earlier ones: no less than they promised, of the same columns."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from kohort.data.ledger import Ledger
from kohort.errors import InputError, UnsupportedError
from kohort.pipeline.again.entry import promised
from kohort.pipeline.prepare import Prepared
from kohort.verification.together import SIGNATURES

__all__ = ["refuse_other_promises"]

_LARGER = ("k", "l")  # parameters that promise more where they are larger; the others where they are smaller
_MEASURES = (*_LARGER, "alpha", "c")


def refuse_other_promises(prepared: Prepared, ledger: Ledger) -> None:
    """Raise where a release cannot be added to a ledger: other sensitive columns, weaker promises."""
    if prepared.persons is not None:
        raise UnsupportedError(
            f"With a ledger everybody has one record in a release, and some people of {ledger.person!r} have "
            "several. Keep one record for each person, such as the latest."
        )
    if not ledger.entries:
        return
    last = ledger.entries[-1].facts
    if sorted(last["sensitive"]) != sorted(prepared.sensitive):
        raise InputError(
            f"The earlier releases have the sensitive columns {_listed(last['sensitive'])}, and this one has "
            f"{_listed(prepared.sensitive)}. What is left of a promise over all releases is about the same "
            "columns: give them the same roles, or begin another ledger for other people."
        )
    way = prepared.request.again
    if (way == SIGNATURES) != (last["again"] == SIGNATURES):
        raise InputError(
            f"The earlier releases were made with again: {last['again']}, and this one asks for {way}, which "
            "promises something else. Use the same, or begin another ledger for other people."
        )
    for entry in ledger.entries:
        for earlier in entry.facts["models"]:
            _refuse_weaker(earlier, promised(prepared), entry.number)


def _refuse_weaker(earlier: Mapping[str, Any], asked: list[dict[str, Any]], number: int) -> None:
    if any(_as_strict(now, earlier) for now in asked):
        return
    about = f" of {earlier['attribute']!r}" if earlier.get("attribute") else ""
    figures = ", ".join(f"{name} = {earlier[name]}" for name in _MEASURES if name in earlier)
    raise InputError(
        f"Release {number} of the ledger promised {earlier['model']}{about} with {figures}, and this spec "
        "promises less. What was promised must hold over all releases: ask for at least as much."
    )


def _as_strict(now: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    """Whether a promise is of the same kind as an earlier one, and asks for at least as much."""
    if {name: now.get(name) for name in (*now, *earlier) if name not in _MEASURES} != {
        name: earlier.get(name) for name in (*now, *earlier) if name not in _MEASURES
    }:
        return False
    for name in _MEASURES:
        if name in earlier:
            before, after = Fraction(str(earlier[name])), Fraction(str(now.get(name, 0)))
            if after < before if name in _LARGER else after > before:
                return False
    return True


def _listed(names: Any) -> str:
    return ", ".join(map(repr, sorted(names))) or "none"
