"""Step 2, people: who is protected?"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kohort.studio.jobs import JobError
from kohort.studio.pages.page import Page, back_to, form_of
from kohort.studio.session import Session

__all__ = ["PAGE"]

_UNITS = ("record", "person", "household")


async def facts(session: Session, request: Request) -> dict[str, Any]:
    """Whose records these are, and how many people there are."""
    unit, column = unit_of(session)
    linked = column is not None and session.attributes[column].get("treatment") == "pseudonym"
    try:
        counted = await session.ask("people", column=column)
    except JobError as error:
        counted = {"error": str(error)}
    return {
        "unit": unit,
        "column": column,
        "linked": linked,
        "slot": (session.spec.get("history") or {}).get("slot"),
        "counted": counted,
        "columns": list(session.attributes),
        "records": (session.profile or {}).get("records"),
        "suggested": [c["name"] for c in (session.profile or {})["columns"] if c["role"] == "person"],
    }


def unit_of(session: Session) -> tuple[str, str | None]:
    """Who is protected, and by which column."""
    for unit in ("household", "person"):
        column = session.only(unit)
        if column is not None:
            return unit, column
    return "record", None


async def _choose(session: Session, request: Request) -> Response:
    form = await form_of(request)
    unit, column = form.get("unit", "record"), form.get("column", "")
    if unit not in _UNITS or (unit != "record" and column not in session.attributes):
        session.message = ("error", "Choose the column that says whose record it is.")
        return back_to(session, "people")
    linked, slot = form.get("linked") == "yes", form.get("slot", "")

    def choose(spec: dict[str, Any]) -> None:
        for entry in spec["attributes"].values():
            if entry["role"] in ("person", "household"):
                entry.clear()
                entry["role"] = "identifier"
        spec.pop("history", None)
        if unit == "record":
            return
        pseudonym = {"treatment": "pseudonym"} if unit == "household" or linked else {}
        spec["attributes"][column] = {"role": unit, **pseudonym}
        if unit == "person" and linked and slot in spec["attributes"] and slot != column:
            spec["history"] = {"slot": slot}

    session.change("who is protected", choose)
    return back_to(session, "people")


PAGE = Page("people", facts, {"choose": _choose})
