"""Step 6, run: make the release, watch it, stop it, compare it with others."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from kohort.studio.forms import number_of
from kohort.studio.jobs import JobError
from kohort.studio.pages import Page, form_of
from kohort.studio.pages.promise import check
from kohort.studio.runs import Run
from kohort.studio.session import Session

_SETTINGS = ("algorithm", "cost", "time_limit", "seed", "suppression", "labels")
_DEFAULTS = {"algorithm": "auto", "cost": "loss", "labels": "hierarchy"}
_COUNTS = ("holds", "records", "suppressed", "classes", "smallest_class")
_FIGURES = (*_COUNTS, "bound", "gap", "solver_bound", "solver_gap", "algorithm")


async def facts(session: Session, request: Request) -> dict[str, Any]:
    """The settings, the run that is going on, and those before."""
    try:
        known = await session.desk.ask("algorithms", for_items=session.of_baskets)
    except JobError:
        known = {"algorithms": [], "costs": []}
    compared = [session.runs.numbered(number) for number in request.query_params.getlist("run")]
    chosen = [run for run in compared if run is not None and run.made]
    return {
        **known,
        "baskets": session.of_baskets,
        "usual": "apriori-items" if session.of_baskets else "auto",
        "settings": {name: session.spec.get(name) for name in _SETTINGS},
        "runs": [run.snapshot() for run in reversed(session.runs.all)],
        "running": session.runs.running is not None,
        "latest": None if session.run is None else session.run.snapshot(),
        "unchanged": session.run is not None and session.run.spec == session.spec,
        "check": await check(session),
        "comparison": comparison(chosen[0], chosen[1]) if len(chosen) == 2 else None,
    }


def comparison(one: Run, other: Run) -> dict[str, Any]:
    """Two runs side by side: what was asked differently, and what came of it."""
    first, second = _flat(one.spec), _flat(other.spec)
    losses = [name for name in one.facts["loss"] if name in other.facts["loss"]]
    of_one, of_other = ({c["name"]: c["loss"] for c in run.summary["columns"]} for run in (one, other))
    return {
        "runs": [one.number, other.number],
        "asked": [
            [key, first.get(key), second.get(key)]
            for key in sorted({*first, *second})
            if first.get(key) != second.get(key)
        ],
        "figures": [
            *([name, one.facts[name], other.facts[name]] for name in _FIGURES),
            *([name, one.facts["loss"][name], other.facts["loss"][name]] for name in losses),
            ["seconds", round(one.seconds, 2), round(other.seconds, 2)],
        ],
        "columns": [[name, of_one.get(name), of_other.get(name)] for name in {**of_one, **of_other}],
    }


def _flat(spec: dict[str, Any], above: str = "") -> dict[str, str]:
    """The settings of a spec by their dotted names; trees are not spread."""
    found: dict[str, str] = {}
    for key, value in spec.items():
        name = f"{above}{key}"
        if isinstance(value, dict) and key not in ("tree", "groups"):
            found |= _flat(value, f"{name}.")
        else:
            found[name] = "edited by hand" if key in ("tree", "groups") else str(value)
    return found


async def _choose(session: Session, request: Request) -> None:
    form = await form_of(request)
    seconds = number_of(form, "time_limit", "The time limit", float)
    numbers = {
        "time_limit": int(seconds) if seconds is not None and seconds == int(seconds) else seconds,
        "seed": number_of(form, "seed", "The seed, a whole number,", int),
    }

    def change(spec: dict[str, Any]) -> None:
        if form.get("algorithm", spec.get("algorithm")) != spec.get("algorithm"):
            spec.pop("parameters", None)
        for name, default in _DEFAULTS.items():
            if form.get(name, default) != spec.get(name, default):  # a default need not be written
                spec[name] = form[name]
        for name, value in numbers.items():
            spec.pop(name, None)
            if value is not None:
                spec[name] = value

    session.change("the search", change)


async def _start(session: Session, request: Request) -> None:
    if session.runs.running is None:
        session.runs.start()


async def _stop(session: Session, request: Request) -> None:
    running = session.runs.running
    if running is not None:
        await session.runs.stop(running)


async def _again(session: Session, request: Request) -> None:
    run = session.runs.numbered((await form_of(request)).get("run", ""))
    if run is not None and session.runs.running is None:
        session.runs.again(run)


async def _restore(session: Session, request: Request) -> None:
    """Go back to the settings of an earlier run; Undo takes that back, too."""
    run = session.runs.numbered((await form_of(request)).get("run", ""))
    if run is not None and (run.source, run.events) == (session.source, session.events):

        def change(spec: dict[str, Any]) -> None:
            spec.clear()
            spec.update(run.spec)

        session.change(f"the settings of run {run.number}", change)


PAGE = Page(
    "run", facts, {"choose": _choose, "start": _start, "stop": _stop, "again": _again, "restore": _restore}
)
