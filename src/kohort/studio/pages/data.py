"""Step 1, data: open a table, and see what is in it."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from kohort.errors import InputError
from kohort.io.databases import database
from kohort.studio.pages import Page, form_of
from kohort.studio.session import Session
from kohort.studio.source import Shape, Source, shape_in
from kohort.studio.specs import read_project, spec_text
from kohort.studio.uploads import receive, refuse_bomb

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


async def _open_path(session: Session, request: Request) -> None:
    form = await form_of(request)
    path, said = typed_path(request, form), form.get("header", "")
    open_path(session, path, header=_HEADERS.get(said), baskets=Shape() if said == "baskets" else None)


def typed_path(request: Request, form: dict[str, str]) -> Path:
    """The path that was typed; refused where there is none or paths are not allowed."""
    _refuse_names(request, "Files of this machine")
    if not form.get("path", "").strip():
        raise InputError("Type the path of a file.")
    return Path(form["path"].strip())


def _refuse_names(request: Request, what: str) -> None:
    """Refuse to open what a page names, where others can reach the studio."""
    if not request.app.state.options.paths_allowed:
        raise InputError(f"{what} can only be named on the command line here.")


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


async def _separator(session: Session, request: Request) -> None:
    """Read a file of baskets again, with another separator between its items."""
    chosen = _SEPARATORS.get((await form_of(request)).get("separator", ""))
    if chosen is not None and session.source is not None and session.of_baskets:
        session.open(replace(session.source, baskets=Shape(separator=chosen)), recognize=False)


def _spec_of_project(session: Session) -> Any:
    """How to get the spec of a project that waits for its data; None if there is no project."""
    project = session.project
    if project is None:
        return None
    return lambda: session.desk.ask("read_spec", text=spec_text(project["spec"]), name="the project")


async def _database(session: Session, request: Request) -> None:
    """Open what a query of a database gives; the password is in the environment of the studio."""
    form = await form_of(request)
    _refuse_names(request, "Databases")
    asked = database(form.get("url", "").strip(), query=form.get("query", ""))
    asked.address.refuse_password()
    path = session.new_folder("query") / "query.parquet"
    source = Source(str(path), path.name, "database", url=asked.address.url, query=asked.query)

    async def write() -> None:
        await session.desk.ask("database", url=source.url, query=source.query, path=source.path)

    session.open(source, _spec_of_project(session), before=write)


async def _upload(session: Session, request: Request) -> None:
    _open_with_project(session, await uploaded(session, request))


async def uploaded(session: Session, request: Request) -> Source:
    """The table that was sent, in the private folder."""
    limit = request.app.state.options.upload_limit
    upload = await receive(request, session.new_folder("upload"), limit)
    await run_in_threadpool(refuse_bomb, upload, _EXPANDED * limit)
    return Source(str(upload), upload.name, "upload")


async def _builtin(session: Session, request: Request) -> None:
    name = (await form_of(request)).get("name", "")
    if name in BUILTIN:
        open_builtin(session, name)


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


async def _project(session: Session, request: Request) -> None:
    """Read a project or a spec; it is used for the table that is open, or for the next one."""
    upload = await receive(request, session.new_folder("upload"), _SMALL_UPLOAD)
    try:
        text = upload.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("The file is not UTF-8 text.") from None
    _use_project(session, read_project(text, name=upload.name))


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
