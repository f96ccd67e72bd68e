"""Step 1, data: open a table, and see what is in it."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from kohort.errors import KohortError
from kohort.io.databases import database
from kohort.studio.pages.page import Page, back_to, form_of
from kohort.studio.session import Session
from kohort.studio.source import Shape, Source, shape_in
from kohort.studio.spec_text import read_project
from kohort.studio.uploads import Refused, receive, refuse_bomb

__all__ = ["BUILTIN", "PAGE", "open_builtin", "open_path", "typed_path", "uploaded"]

BUILTIN = ("health", "adult", "hospital", "baskets")
_SMALL_UPLOAD = 10 * 2**20  # bytes of a spec, a project or a hierarchy
_EXPANDED = 4  # times the limit of uploads that an upload may hold when it is unpacked
_HEADERS = {"": None, "yes": True, "no": False}
_SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "space": " "}


async def facts(session: Session, request: Request) -> dict[str, Any]:
    """The table that is open, or how far its opening is."""
    options = request.app.state.options
    return {
        "opening": None if session.opening is None else asdict(session.opening),
        "profile": session.profile if session.ready else None,
        "project": session.project,
        "builtin": BUILTIN,
        "separators": _SEPARATORS,
        "paths_allowed": options.paths_allowed,
        "upload_limit": options.upload_limit,
    }


async def _open_path(session: Session, request: Request) -> Response:
    form = await form_of(request)
    path = typed_path(session, request, form)
    if path is not None:
        said = form.get("header", "")
        open_path(session, path, header=_HEADERS.get(said), baskets=Shape() if said == "baskets" else None)
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


def open_path(
    session: Session,
    path: Path,
    *,
    header: bool | None = None,
    spec: Path | None = None,
    baskets: Shape | None = None,
) -> None:
    """Open a file where it is; with the spec of a file, or of the project that waits for its data."""
    whole = path.expanduser().absolute()
    source = Source(str(whole), whole.name, "path", header, baskets=baskets)
    if spec is None:
        _open_with_project(session, source)
    else:
        _open_with_spec(session, source, str(spec.absolute()))


def _open_with_spec(session: Session, source: Source, spec: str) -> None:
    """Open a file with the spec in another one, which says whether the file holds baskets."""
    found: list[Source] = []

    async def shaped() -> Source:
        shape = await session.desk.ask("shape_in_spec", path=spec)
        found.append(source if shape is None else replace(source, baskets=Shape(**shape)))
        return found[0]

    async def read() -> Any:
        return await session.desk.ask("read_spec_file", path=spec, source=found[0].asked())

    session.open(source, read, before=shaped)


def _open_with_project(session: Session, source: Source) -> None:
    """Open a file; a project or a spec that waits for it says whether it holds baskets."""
    spec = _spec_of_project(session)
    if session.project is not None:
        source = replace(source, baskets=shape_in(session.project["spec"]))
    session.open(source, spec)


async def _separator(session: Session, request: Request) -> Response:
    """Read a file of baskets again, with another separator between its items."""
    chosen = _SEPARATORS.get((await form_of(request)).get("separator", ""))
    if chosen is not None and session.source is not None and session.of_baskets:
        shape = Shape(separator=chosen)
        session.open(replace(session.source, baskets=shape), recognize=False)
    return back_to(session, "data")


def _spec_of_project(session: Session) -> Any:
    """How to get the spec of a project that waits for its data; None if there is no project."""
    project = session.project
    if project is None:
        return None

    from kohort.studio.spec_text import spec_text

    return lambda: session.desk.ask("read_spec", text=spec_text(project["spec"]), name="the project")


async def _database(session: Session, request: Request) -> Response:
    """Open what a query of a database gives; the password is in the environment of the studio."""
    form = await form_of(request)
    if not request.app.state.options.paths_allowed:
        session.message = ("error", "Databases can only be named on the command line here.")
        return back_to(session, "data")
    try:
        asked = database(form.get("url", "").strip(), query=form.get("query", ""))
        asked.address.refuse_password()
    except KohortError as error:
        session.message = ("error", str(error))
        return back_to(session, "data")
    path = session.folder / f"query-{len(list(session.folder.iterdir()))}.parquet"
    source = Source(str(path), path.name, "database", url=asked.address.url, query=asked.query)

    async def write() -> None:
        await session.desk.ask("database", url=source.url, query=source.query, path=source.path)

    session.open(source, _spec_of_project(session), before=write)
    return back_to(session, "data")


async def _upload(session: Session, request: Request) -> Response:
    source = await uploaded(session, request)
    if source is not None:
        _open_with_project(session, source)
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
    """Open a built-in table with its example spec, or with a suggested one where it has none."""
    path = session.folder / (f"{name}.txt" if name == "baskets" else f"{name}.csv")
    shape = Shape() if name == "baskets" else None
    if session.project is not None:
        shape = shape_in(session.project["spec"])
    source = Source(str(path), path.name, "builtin", builtin=name, baskets=shape)
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
    elif session.source is not None and not _is_of_another_file(session.source, project):
        _open_with_project(session, session.source)


def _is_of_another_file(source: Source, project: dict[str, Any]) -> bool:
    """Whether a project names another file, and is for baskets while a table is open, or the other way."""
    name = project.get("data", {}).get("name")
    alike = (source.baskets is None) == (shape_in(project["spec"]) is None)
    return name is not None and name != source.name and not alike


PAGE = Page(
    "data",
    facts,
    {
        "open": _open_path,
        "upload": _upload,
        "builtin": _builtin,
        "database": _database,
        "project": _project,
        "separator": _separator,
    },
    needs_table=False,
)
