"""Step 3, roles: what each column is for, and who stands out by the chosen quasi-identifiers."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from kohort.errors import InputError
from kohort.studio.jobs import JobError
from kohort.studio.pages import Page, form_of
from kohort.studio.rendering import words
from kohort.studio.session import Session
from kohort.studio.specs import attributes_of

OF_EVENTS = ("identifier", "quasi-identifier", "sensitive", "insensitive")
_OF_ONE_COLUMN = ("person", "household", "weight", "items")
_BESIDE_EVENTS = (*OF_EVENTS, "weight")
ROLES = (*OF_EVENTS, *_OF_ONE_COLUMN)


async def facts(session: Session, request: Request) -> dict[str, Any]:
    """Every column with its role and the reason of the suggestion; how many people are unique."""
    if session.of_baskets:
        return {"baskets": (session.profile or {})["baskets"]}
    quasi = session.having("quasi-identifier")
    columns = session.columns
    of_people = [column["name"] for column in columns if not column.get("events")]
    counted = [name for name in quasi if name in of_people]
    try:
        unique = await session.ask("uniqueness", columns=counted, person=session.only("person"))
    except JobError as error:
        unique = {"error": str(error)}
    attributes = session.attributes
    return {
        "baskets": None,
        "columns": [
            {
                **column,
                "number": place,
                "suggested": session.suggested_of(column["name"]).get("role", column["role"]),
                "role": attributes.get(column["name"], {}).get("role"),
                "roles": _offered(session, column["name"]),
                "events": bool(column.get("events")),
            }
            for place, column in enumerate(columns)
        ],
        "roles": ROLES,
        "unique": unique,
        "naming": {name: name in session.state.confirmed for name in session.naming(session.spec)},
        "person_lost": _person_lost(session),
        "quasi_identifiers": counted,
        "key": None if session.events is None else session.spec["events"]["key"],
        "items_of_events": session.spec.get("events", {}).get("items"),
    }


def _person_lost(session: Session) -> list[str]:
    """The columns that seem to say whose record it is, or once did, where records are counted."""
    if session.only("person") or session.only("household") or session.events is not None:
        return []
    once = [
        name
        for state in session.states[: session.place + 1]
        if state.source == session.source
        for name, entry in attributes_of(state.spec).items()
        if entry.get("role") == "person"
    ]
    return list(dict.fromkeys([*(c["name"] for c in session.columns if c["role"] == "person"), *once]))


async def _choose(session: Session, request: Request) -> None:
    form = await form_of(request)
    name, role = column_named(session, form.get("column", "")), form.get("role", "")
    if role in _offered(session, name):
        session.change(f"the role of {name}", lambda spec: give_role(session, spec, name, role))


async def _confirm(session: Session, request: Request) -> None:
    """Publish a column that seems to name people, once its name is typed."""
    form = await form_of(request)
    name = column_named(session, form.get("column", ""))
    if form.get("typed", "").strip() != name.strip():
        raise InputError(words()["roles"]["confirm_wrong"])
    session.confirm(name)


def _offered(session: Session, name: str) -> tuple[str, ...]:
    """The roles that a column may have; with events, the key says whose record it is."""
    if session.of_baskets:
        return ()
    if session.events is None:
        return ROLES
    if not _is_of_events(session, name):
        return _BESIDE_EVENTS
    return OF_EVENTS if session.spec["events"].get("items") is None else ()


def _is_of_events(session: Session, name: str) -> bool:
    return any(column["name"] == name and column.get("events") for column in session.columns)


def column_named(session: Session, number: str) -> str:
    """The column with a number."""
    columns = session.columns
    if not number.isdigit() or int(number) >= len(columns):
        raise InputError("There is no such column.")
    return columns[int(number)]["name"]


def give_role(session: Session, spec: dict[str, Any], name: str, role: str) -> None:
    """Give a column a role; of some roles there can be only one column, and the other one is dropped then."""
    attributes = spec["attributes"]
    if role in _OF_ONE_COLUMN:
        for other, given in attributes.items():
            if other != name and given["role"] == role:
                attributes[other] = {"role": "identifier"}
    entry: dict[str, Any] = {"role": role}
    hierarchy = _hierarchy_before(session, name) if role == "quasi-identifier" else None
    if hierarchy is not None:
        entry["hierarchy"] = hierarchy
    if role == "household":
        entry["treatment"] = "pseudonym"
    if _is_of_events(session, name):
        spec["events"].setdefault("attributes", {})[name] = entry
    else:
        attributes[name] = entry
    drop_lost_promises(spec)


def _hierarchy_before(session: Session, name: str) -> Any:
    """The hierarchy that a column had when it was a quasi-identifier last, else the suggested one."""
    for state in reversed(session.states[: session.place + 1]):
        entry = attributes_of(state.spec).get(name, {})
        if entry.get("role") == "quasi-identifier":
            return entry.get("hierarchy")
    return session.suggested_of(name).get("hierarchy")


def drop_lost_promises(spec: dict[str, Any]) -> None:
    """Drop the promises about columns that are no longer sensitive, or of items that are no longer there."""
    roles = {name: entry["role"] for name, entry in attributes_of(spec).items()}
    privacy = spec.get("privacy", {})
    for key, promised in list(privacy.items()):
        if key in ("k", "m", "confidence", "uncertainty"):
            continue
        entries = promised if isinstance(promised, list) else [promised]
        kept = [entry for entry in entries if roles.get(entry.get("attribute", "")) == "sensitive"]
        if len(kept) < len(entries):
            privacy.pop(key)
            privacy.update({key: kept} if kept else {})
    if "items" not in roles.values():
        privacy.pop("m", None)


PAGE = Page("roles", facts, {"choose": _choose, "confirm": _confirm})
