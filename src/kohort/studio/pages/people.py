"""Step 2, people: who is protected?"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kohort.errors import InputError
from kohort.studio.jobs import JobError
from kohort.studio.pages import Action, Page, form_of
from kohort.studio.pages.data import typed_path, uploaded
from kohort.studio.pages.roles import drop_lost_promises
from kohort.studio.session import Session
from kohort.studio.source import Source
from kohort.studio.specs import keys_of, with_key, without_events

_DEFAULT_M = 2
_UNITS = ("record", "person", "household")


async def facts(session: Session, request: Request) -> dict[str, Any]:
    """Whose records these are, and how many people there are."""
    if session.of_baskets:  # every basket is that of another person: such a file says no more
        counted = {"people": session.profile["records"]}
        return {"unit": "basket", "counted": counted, "opening": None, "events": None}
    opening = session.opening_events
    if opening is not None and opening.error is None:
        return {"opening": asdict(opening), "events": None, "unit": None, "counted": None}
    if session.events:
        return await _facts_of_events(session)
    place = session.place
    unit, column = unit_of(session)
    linked = column is not None and session.attributes[column].get("treatment") == "pseudonym"
    try:
        counted = await session.ask("people", column=column)
    except JobError as error:
        counted = {"error": str(error)}
    if session.place != place:  # something was chosen or opened meanwhile
        return await facts(session, request)
    return {
        "unit": unit,
        "column": column,
        "linked": linked,
        "slot": (session.spec.get("history") or {}).get("slot"),
        "counted": counted,
        "columns": list(session.spec["attributes"]),
        "records": session.profile["records"],
        "suggested": [c["name"] for c in session.profile["columns"] if c["role"] == "person"],
        "events": None,
        "waits": "events" in session.spec,
        "opening": None if session.opening_events is None else asdict(session.opening_events),
        "paths_allowed": request.app.state.options.paths_allowed,
        "upload_limit": request.app.state.options.upload_limit,
    }


def _of_tables(action: Action) -> Action:
    """An action that needs columns; for a file of nothing but baskets it is refused."""

    async def refused_for_baskets(session: Session, request: Request) -> Response | None:
        if session.of_baskets:
            raise InputError("A file of baskets has no columns: every basket is that of one person.")
        return await action(session, request)

    return refused_for_baskets


async def _facts_of_events(session: Session) -> dict[str, Any]:
    """The two tables, what links them, and how many people have how many events."""
    asked = session.spec["events"]
    try:
        counted = await session.ask("people_and_events", events=session.events.asked(), key=asked["key"])
    except JobError as error:
        counted = {"error": str(error)}
    columns = [column["name"] for column in session.events_profile["columns"]]
    return {
        "unit": "events",
        "opening": None,
        "events": session.events.name,
        "key": asked["key"],
        "keys": keys_of(session.profile, session.events_profile),
        "items": asked.get("items"),
        "slot": (session.spec.get("history") or {}).get("slot"),
        "orphans": asked.get("orphans", "error"),
        "columns": [name for name in columns if name != asked["key"]],
        "counted": counted,
    }


def unit_of(session: Session) -> tuple[str, str | None]:
    """Who is protected, and by which column."""
    for unit in ("household", "person"):
        column = session.only(unit)
        if column is not None:
            return unit, column
    return "record", None


async def _choose(session: Session, request: Request) -> None:
    form = await form_of(request)
    unit, column = form.get("unit", "record"), form.get("column", "")
    if unit not in _UNITS or (unit != "record" and column not in session.attributes):
        raise InputError("Choose the column that says whose record it is.")
    if "events" in session.spec:
        raise InputError("People and events are linked by their key. Go on without events first.")
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


async def _open_events(session: Session, request: Request) -> None:
    whole = typed_path(request, await form_of(request)).expanduser().absolute()
    session.open_events(_read_alike(session, Source(str(whole), whole.name)))


async def _upload_events(session: Session, request: Request) -> None:
    session.open_events(_read_alike(session, await uploaded(session, request)))


def _read_alike(session: Session, source: Source) -> Source:
    """The events with the header of the people: a command has one --header for both."""
    return replace(source, header=session.source.header)


async def _choose_events(session: Session, request: Request) -> None:
    """Choose the key, and whether events are linked records or items."""
    form = await form_of(request)
    people, events = session.profile, session.events_profile
    if form.get("key", "") not in keys_of(people, events):
        raise InputError("Choose the column that both tables have.")
    found = _chosen(session.spec, form, people, events)

    def change(spec: dict[str, Any]) -> None:
        spec.clear()
        spec.update(found)
        drop_lost_promises(spec)

    session.change("people and events", change)


def _chosen(
    spec: dict[str, Any], form: dict[str, str], people: dict[str, Any], events: dict[str, Any]
) -> dict[str, Any]:
    """The spec with what the form says of the events."""
    key, before = form["key"], spec["events"]
    found = with_key(spec if before["key"] == key else without_events(spec), key, people, events)
    asked = found["events"]
    asked.pop("orphans", None)
    if form.get("orphans") == "drop":
        asked["orphans"] = "drop"
    found.pop("others", None)
    items, slot = form.get("items", ""), form.get("slot", "")
    if items in asked["attributes"]:
        hierarchy = before.get("hierarchy") if before.get("items") == items else None
        asked.pop("attributes")
        asked |= {"items": items, **({} if hierarchy is None else {"hierarchy": hierarchy})}
        found["others"] = "drop"
        found["privacy"].setdefault("m", _DEFAULT_M)
    elif slot in asked["attributes"]:
        asked["attributes"][slot] = {"role": "insensitive"}
        found["history"] = {"slot": slot}
    return found


async def _close_events(session: Session, request: Request) -> None:
    session.close_events()


PAGE = Page(
    "people",
    facts,
    {
        "choose": _of_tables(_choose),
        "open-events": _of_tables(_open_events),
        "upload-events": _of_tables(_upload_events),
        "choose-events": _of_tables(_choose_events),
        "close-events": _of_tables(_close_events),
    },
)
