"""The web app: every page as HTML and as JSON, what can be done on it, events, downloads."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from kohort.errors import KohortError
from kohort.studio.pages import (
    Action,
    Page,
    back_to,
    data,
    form_of,
    hierarchies,
    judge,
    people,
    promise,
    publish,
    roles,
    run,
)
from kohort.studio.rendering import render, words
from kohort.studio.security import Access, Guard, HidingErrors
from kohort.studio.session import Event, Session
from kohort.studio.specs import project_text

PAGES: dict[str, Page] = {
    module.PAGE.name: module.PAGE
    for module in (data, people, roles, hierarchies, promise, run, judge, publish)
}
_MOST_SESSIONS = 12
_PING = 15  # seconds between signs of life of an event stream

Handler = Callable[[Session, Request], Awaitable[Response]]


@dataclass(frozen=True)
class Options:
    """What the command line said.

    paths_allowed  whether a page may name a file of this machine: not where others can reach the studio
    """

    folder: Path
    file: Path | None = None
    spec: Path | None = None
    demo: bool = False
    header: bool | None = None
    sign: Path | None = None
    upload_limit: int = 2**30
    paths_allowed: bool = True


def make_app(access: Access, options: Options) -> Starlette:
    app = Starlette(
        routes=_routes(),
        middleware=[Middleware(HidingErrors), Middleware(Guard, access=access)],
        lifespan=_lifespan,
    )
    app.state.access, app.state.options = access, options
    app.state.sessions = {}
    return app


@contextlib.asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    yield
    await asyncio.gather(*(session.close() for session in app.state.sessions.values()))


def _routes() -> list[Any]:
    session = "/s/{session}"
    export = _shown_again(hierarchies.PAGE, hierarchies.export)
    pages = [route for page in PAGES.values() for route in _routes_of(page, f"{session}/{page.name}")]
    return [
        Route("/", _home),
        Route("/login", _login, methods=["GET", "POST"]),
        Route("/sessions", _sessions),
        Route("/sessions.json", _sessions),
        *pages,
        *(
            Route(f"{session}/{move}", _of_session(_if_current(partial(_move, move))), methods=["POST"])
            for move in ("undo", "redo")
        ),
        Route(f"{session}/close", _of_session(_close), methods=["POST"]),
        Route(f"{session}/events", _of_session(_events)),
        Route(f"{session}/spec.yaml", _of_session(_spec)),
        Route(f"{session}/project.kohort.yaml", _of_session(_project)),
        Route(f"{session}/hierarchies/{{number:int}}/hierarchy.csv", _of_session(export)),
        Route(f"{session}/files/{{number:int}}/{{name}}", _of_session(publish.download)),
        Route(f"{session}/data.csv", _of_session(publish.download_data)),
        Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
    ]


def _routes_of(page: Page, address: str) -> list[Route]:
    """A page and its JSON twin, with and without what follows its name, and its actions."""
    shown, twin = partial(_show, page, as_json=False), partial(_show, page, as_json=True)
    addresses = [address, address + page.path] if page.path else [address]
    return [
        *(Route(f"{found}.json", _of_session(twin)) for found in addresses),
        *(Route(found, _of_session(shown)) for found in addresses),
        *(
            Route(f"{found}/{name}", _of_session(_if_current(_shown_again(page, action))), methods=["POST"])
            for name, action in page.actions.items()
            for found in addresses
        ),
    ]


def _of_session(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        found = request.app.state.sessions.get(request.path_params["session"])
        if found is None:
            if request.method == "GET" and not request.url.path.endswith(".json"):
                return RedirectResponse("/sessions", 303)
            return PlainTextResponse("There is no such session.", 404)
        return await handler(found, request)

    return handle


def _shown_again(page: Page, action: Action) -> Handler:
    """What is done on a page, after which it is shown again; it says why something was refused."""

    async def handle(session: Session, request: Request) -> Response:
        answer = None
        try:
            answer = await action(session, request)
        except KohortError as error:
            session.message = ("error", str(error))
        number = request.path_params.get("number")
        return answer or back_to(session, page.name if number is None else f"{page.name}/{number}")

    return handle


def _if_current(action: Handler) -> Handler:
    """The action, unless its form was drawn before the choices changed, as by another tab: then nothing."""

    async def handle(session: Session, request: Request) -> Response:
        if request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            drawn = (await form_of(request)).get("version", str(session.version))
            if drawn != str(session.version):
                session.message = ("error", words()["app"]["changed_elsewhere"])
                return await _back_to_page(session, request)
        return await action(session, request)

    return handle


async def _show(page: Page, session: Session, request: Request, *, as_json: bool) -> Response:
    if page.needs_table and not session.ready:
        if as_json:
            return JSONResponse({"error": "Open a table first."}, 409)
        return back_to(session, "data")
    facts = await page.facts(session, request)
    if as_json:
        return JSONResponse(facts | {"spec": session.spec, "version": session.version})
    return render(page.name, session, request, facts)


# -- sessions --------------------------------------------------------------------------------------


async def _home(request: Request) -> Response:
    """Every tab that begins here gets a session of its own."""
    sessions, options = request.app.state.sessions, request.app.state.options
    if len(sessions) >= _MOST_SESSIONS:
        return RedirectResponse("/sessions", 303)
    session = Session(options.folder)
    sessions[session.id] = session
    if options.demo:
        data.open_builtin(session, "health")
    elif options.file is not None:
        data.open_path(session, options.file, header=options.header, spec=options.spec)
    else:
        session.spawn(session.desk.start())
    return back_to(session, "data")


async def _sessions(request: Request) -> Response:
    """The sessions that are open, to go back to one or to close it."""
    listed = [
        {"id": found.id, "name": found.source.name or None, "runs": len(found.runs.all)}
        for found in request.app.state.sessions.values()
    ]
    facts = {"sessions": listed, "most": _MOST_SESSIONS}
    if request.url.path.endswith(".json"):
        return JSONResponse(facts)
    return render("sessions", None, request, facts)


async def _close(session: Session, request: Request) -> Response:
    request.app.state.sessions.pop(session.id, None)
    await session.close()
    return RedirectResponse("/sessions", 303)


async def _login(request: Request) -> Response:
    access: Access = request.app.state.access
    if access.password is None:
        return RedirectResponse("/", 303)
    wrong = False
    if request.method == "POST":
        if await access.is_password((await form_of(request)).get("password", "")):
            return access.let_in(RedirectResponse("/", 303))
        wrong = True
    return render("login", None, request, {"wrong": wrong}, status=403 if wrong else 200)


# -- what every page has ---------------------------------------------------------------------------


async def _move(move: str, session: Session, request: Request) -> Response:
    getattr(session, move)()
    return await _back_to_page(session, request)


async def _back_to_page(session: Session, request: Request) -> Response:
    """The page where the button was, with the number that it had."""
    sent_by = request.url.path.removeprefix(f"/s/{session.id}/").rpartition("/")[0] or "data"
    page, _, number = (await form_of(request)).get("page", sent_by).partition("/")
    known = page if page in PAGES else "data"
    return back_to(session, f"{known}/{number}" if number.isdigit() else known)


async def _spec(session: Session, request: Request) -> Response:
    return _attachment(session.spec_text(), "spec.yaml")


async def _project(session: Session, request: Request) -> Response:
    source = session.source
    about: dict[str, Any] | None = None
    if source:
        path = source.path if source.kind == "path" else None
        about = {"name": source.name, "path": path, "builtin": source.builtin, "header": source.header}
        if session.events:
            about["events"] = session.events.name
    return _attachment(project_text(session.spec, about), "project.kohort.yaml")


def _attachment(text: str, name: str) -> Response:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return PlainTextResponse(text, headers=disposition, media_type="application/yaml")


async def _events(session: Session, request: Request) -> Response:
    """What happens in a session, as server-sent events; the first one says how things stand."""

    async def events() -> AsyncIterator[dict[str, str]]:
        queue: asyncio.Queue[Event] = asyncio.Queue()
        session.listeners.add(queue)
        try:
            for event in _standing(session):
                yield {"data": json.dumps(event)}
            while True:
                yield {"data": json.dumps(await queue.get())}
        finally:
            session.listeners.discard(queue)

    return EventSourceResponse(events(), ping=_PING)


def _standing(session: Session) -> list[dict[str, Any]]:
    """The events that a page needs which has just been loaded."""
    found: list[dict[str, Any]] = []
    opening = session.opening or session.opening_events
    if opening is not None and opening.error is None:
        found.append({"type": "opening", "what": opening.what, "share": opening.share})
    if session.run is not None:
        found.append({"type": "run", **session.run.snapshot()})
    if session.frontier.points:
        points, waiting = session.frontier.shown(), session.frontier.waiting
        found.append({"type": "frontier", "points": points, "waiting": waiting})
    return found
