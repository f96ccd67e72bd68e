"""Step 5, promise: k, l, alpha, t and m in plain words, and what each costs."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from kohort.studio.forms import KINDS, MODELS, confidence_of, entry_of, number_of, privacy_of
from kohort.studio.jobs import JobError
from kohort.studio.pages import Page, form_of
from kohort.studio.runs import VALUES_OF_K
from kohort.studio.session import Session
from kohort.studio.source import asked

_RECORDS_AT_ONCE = 100_000  # larger tables get a frontier only when it is asked for


async def facts(session: Session, request: Request) -> dict[str, Any]:
    """What is promised, about which columns, and the frontier so far."""
    privacy = session.spec.get("privacy", {})
    records = (session.profile or {})["records"]
    small = records <= _RECORDS_AT_ONCE
    possible = _has_frontier(session)
    if small and possible:
        session.frontier.want(*_values(session))
    confidence = privacy.get("confidence") or {}
    sensitive = session.having("sensitive")
    return {
        "k": privacy.get("k"),
        "m": privacy.get("m"),
        "items": session.only("items"),
        "baskets": session.of_baskets,
        "suppress": bool((session.spec.get("items") or {}).get("suppress")),
        "sensitive_items": list(map(str, confidence.get("sensitive") or [])),
        "limit": confidence.get("limit"),
        "most_k": min(records, 200),
        "suppression": session.spec.get("suppression", 0.0),
        "kinds": KINDS,
        "models": MODELS,
        "sensitive": [
            {
                "name": name,
                "place": place,
                "kind": entry_of(privacy, "diversity", name).get("kind", "distinct"),
                **{model: entry_of(privacy, model, name).get(key) for model, key in MODELS.items()},
            }
            for place, name in enumerate(sensitive)
        ],
        "check": await check(session),
        "frontier": session.frontier.shown(),
        "frontier_waiting": session.frontier.waiting,
        "frontier_at_once": small,
        "frontier_possible": possible,
    }


def _has_frontier(session: Session) -> bool:
    """Whether there is something to generalize, and every table that the spec asks for is open."""
    if "events" in session.spec and session.events is None:
        return False
    return session.of_baskets or bool(session.having("quasi-identifier"))


def _values(session: Session) -> list[int]:
    k, records = session.spec.get("privacy", {}).get("k"), (session.profile or {})["records"]
    values = {value for value in VALUES_OF_K if value <= records}
    return sorted(values | ({k} if isinstance(k, int) and k > 1 else set()))


async def check(session: Session) -> dict[str, Any]:
    """Whether the spec can be met, and by which algorithm; else why not."""
    assert session.source is not None
    try:
        return await session.desk.ask("check", **asked(session.source, session.events), spec=session.spec)
    except JobError as error:
        return {"possible": False, "kind": error.kind, "reason": str(error)}


async def _choose(session: Session, request: Request) -> None:
    form = await form_of(request)
    before = session.spec.get("privacy", {})
    privacy = privacy_of(form, session.having("sensitive"), before)
    if session.of_baskets:
        privacy.pop("confidence", None)
        privacy |= confidence_of(form, before.get("confidence") or {})
    suppression = (number_of(form, "suppression", "The share of records", float) or 0) / 100

    def change(spec: dict[str, Any]) -> None:
        spec["privacy"] = privacy
        spec.pop("suppression", None)
        if suppression:
            spec["suppression"] = suppression
        if session.of_baskets:
            spec["items"].pop("suppress", None)
            spec["items"].update({"suppress": True} if form.get("suppress") == "yes" else {})

    session.change("the promise", change)


async def _frontier(session: Session, request: Request) -> None:
    """Compute the frontier of a large table, which is not done by itself."""
    if _has_frontier(session):
        session.frontier.want(*_values(session))


PAGE = Page("promise", facts, {"choose": _choose, "frontier": _frontier})
