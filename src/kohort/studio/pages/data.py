"""Step 1, data: open a table, and see what is in it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from kohort.errors import KohortError
from kohort.studio.pages.page import Page, back_to, form_of
from kohort.studio.session import Session, Source
from kohort.studio.spec_text import read_project
from kohort.studio.uploads import Refused, receive, refuse_bomb

__all__ = ["BUILTIN", "PAGE", "open_builtin", "open_path", "typed_path", "uploaded"]

BUILTIN = ("health", "adult", "hospital")
_SMALL_UPLOAD = 10 * 2**20  # bytes of a spec, a project or a hierarchy
_EXPANDED = 4  # times the limit of uploads that an upload may hold when it is unpacked
_HEADERS = {"": None, "yes": True, "no": False}


async def facts(session: Session, request: Request) -> dict[str, Any]:
    """The table that is open, or how far its opening is."""
    options = request.app.state.options
    return {
        "opening": None if session.opening is None else asdict(session.opening),
        "profile": session.profile if session.ready else None,
        "project": session.project,
        "builtin": BUILTIN,
        "paths_allowed": options.paths_allowed,
        "upload_limit": options.upload_limit,
    }


async def _open_path(session: Session, request: Request) -> Response:
    form = await form_of(request)
    path = typed_path(session, request, form)
    if path is not None:
        open_path(session, path, header=_HEADERS.get(form.get("header", "")))
    return back_to(session, "data")


def typed_path(session: Session, request: Request, form: dict[str, str]) -> Path | None:
    """The path that was typed; None, with a message, where there is none or paths are not allowed."""
    if not request.app.state.options.paths_allowed:
        session.message = ("error", "Files of this machine can only be named on the command line here.")
        return None
    if not form.get("path", "").strip():
        session.message = ("error", "Type the path of a file.")
        return None
    return Path(form["path"].strip())


def open_path(session: Session, path: Path, *, header: bool | None = None, spec: Path | None = None) -> None:
    """Open a file where it is; with the spec of a file, or of the project that waits for its data."""
    whole = path.expanduser().absolute()
    source = Source(str(whole), whole.name, "path", header)
    if spec is None:
        session.open(source, _spec_of_project(session))
        return
    session.open(
        source,
        lambda: session.desk.ask("read_spec_file", path=str(spec.absolute()), source=source.asked()),
    )


def _spec_of_project(session: Session) -> Any:
    """How to get the spec of a project that waits for its data; None if there is no project."""
    project = session.project
    if project is None:
        return None

    from kohort.studio.spec_text import spec_text

    return lambda: session.desk.ask("read_spec", text=spec_text(project["spec"]), name="the project")


async def _upload(session: Session, request: Request) -> Response:
    source = await uploaded(session, request)
    if source is not None:
        session.open(source, _spec_of_project(session))
    return back_to(session, "data")


async def uploaded(session: Session, request: Request) -> Source | None:
    """The table that was sent, in the private folder; None, with a message, where it is refused."""
    limit = request.app.state.options.upload_limit
    folder = session.folder / f"upload-{len(list(session.folder.iterdir()))}"
    folder.mkdir(mode=0o700)
    try:
        upload = await receive(request, folder, limit)
        assert upload.path is not None
        await run_in_threadpool(refuse_bomb, upload.path, _EXPANDED * limit)
    except Refused as error:
        session.message = ("error", str(error))
        return None
    return Source(str(upload.path), upload.name, "upload")


async def _builtin(session: Session, request: Request) -> Response:
    name = (await form_of(request)).get("name", "")
    if name in BUILTIN:
        open_builtin(session, name)
    return back_to(session, "data")


def open_builtin(session: Session, name: str) -> None:
    """Open a built-in table with its example spec."""
    path = session.folder / f"{name}.csv"
    source = Source(str(path), path.name, "builtin", builtin=name)
    example: list[Any] = []

    async def write() -> None:
        example.append(await session.desk.ask("builtin", name=name, path=str(path)))

    async def example_spec() -> Any:
        return example[0]

    session.open(source, _spec_of_project(session) or example_spec, before=write)


async def _project(session: Session, request: Request) -> Response:
    """Read a project or a spec; it is used for the table that is open, or for the next one."""
    folder = session.folder / f"upload-{len(list(session.folder.iterdir()))}"
    folder.mkdir(mode=0o700)
    try:
        upload = await receive(request, folder, _SMALL_UPLOAD)
        assert upload.path is not None
        text = upload.path.read_text(encoding="utf-8-sig")
        project = _read(text, upload.name)
    except (Refused, KohortError) as error:
        session.message = ("error", str(error))
    except UnicodeDecodeError:
        session.message = ("error", "The file is not UTF-8 text.")
    else:
        _use_project(session, project)
    return back_to(session, "data")


def _read(text: str, name: str) -> dict[str, Any]:
    """A project, also where the file is a bare spec."""
    from kohort.io.yaml_text import load_yaml

    content, _ = load_yaml(text, name=name)
    if isinstance(content, dict) and "kohort" not in content and "privacy" in content:
        return {"data": {}, "spec": content}
    return read_project(text, name=name)


def _use_project(session: Session, project: dict[str, Any]) -> None:
    session.project = project
    known = project.get("data", {}).get("builtin")
    if known in BUILTIN:
        open_builtin(session, known)
    elif session.source is not None:
        session.open(session.source, _spec_of_project(session))


PAGE = Page(
    "data",
    facts,
    {"open": _open_path, "upload": _upload, "builtin": _builtin, "project": _project},
    needs_table=False,
)
