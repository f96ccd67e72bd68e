"""Step 7, judge: the report, the riskiest classes, single records, attacks and queries."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kohort.studio.jobs import JobError
from kohort.studio.pages import Page
from kohort.studio.runs import Run
from kohort.studio.session import Session

_TARGETS = 1000
_PLAIN = ("map", "values", "items", "item_map")  # questions without arguments


async def facts(session: Session, request: Request) -> dict[str, Any]:
    """The parts of the report of a run; they are made in the background when they are first looked at."""
    run = chosen_run(session, request)
    made = [other.number for other in session.runs.all if other.made]
    if run is None:
        return {"run": None, "made": made}
    session.runs.judge(run)
    events = None  # how those of a release are published, as linked records or as items
    if run.events:
        events = "linked" if run.spec["events"].get("items") is None else "items"
    return {
        "run": run.snapshot(),
        "made": made,
        "faults": run.faults(session),
        "judging": run.judging,
        "not_judged": run.not_judged,
        "parts": run.parts,
        "facts": run.facts,
        "events": events,
        "baskets": run.source.baskets is not None,
        "m": run.spec.get("privacy", {}).get("m"),
    }


def chosen_run(session: Session, request: Request) -> Run | None:
    """The run with the number in the address, else the latest that made a release."""
    asked = request.path_params.get("number")
    if asked is not None:
        run = session.runs.numbered(asked)
        return run if run is not None and run.made else None
    return next((run for run in reversed(session.runs.all) if run.made), None)


async def _ask(session: Session, request: Request) -> Response:
    """A question about the release, as JSON: records, attack, query, map or values; of baskets, by items."""
    run = chosen_run(session, request)
    if run is None or not run.held:
        return JSONResponse(
            {"error": "This release is no longer in memory. Make it again on the page Run."}, 409
        )
    try:
        asked = await request.json()
        question, arguments = _checked(asked)
    except (KeyError, TypeError, ValueError):
        return JSONResponse({"error": "This question cannot be read."}, 400)
    try:
        return JSONResponse(await session.runs.ask(run, question, **arguments))
    except JobError as error:
        return JSONResponse({"error": str(error)}, 400)


def _checked(asked: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The question and its arguments, nothing else."""
    question = asked["ask"]
    if question in _PLAIN:
        return question, {}
    if question == "records":
        first, klass = max(int(asked.get("first", 0)), 0), asked.get("class")
        return question, {"first": first, "klass": None if klass is None else max(int(klass), 0)}
    if question == "attack":
        return question, {"known": [str(name) for name in asked["known"]], "targets": _TARGETS}
    if question == "query":
        return question, {"conditions": [dict(condition) for condition in asked["conditions"]]}
    if question == "item_attack":
        return question, {"known_items": max(int(asked["known"]), 0), "targets": _TARGETS}
    if question == "item_query":
        return question, {"items": [str(item) for item in asked["items"]]}
    raise ValueError


PAGE = Page("judge", facts, {"ask": _ask}, path="/{number:int}")
