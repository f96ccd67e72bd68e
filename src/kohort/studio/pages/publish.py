"""Step 8, publish: release, report, certificate, spec, the command and a script, and a closing checklist."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from kohort.errors import InputError
from kohort.io import formats
from kohort.io.source_file import COMPRESSIONS
from kohort.studio.pages import Page, form_of
from kohort.studio.pages.judge import chosen_run
from kohort.studio.rendering import words
from kohort.studio.runs import Run
from kohort.studio.session import Session
from kohort.studio.source import Source

FORMATS = tuple(kind.suffixes[0].lstrip(".") for kind in formats.FORMATS if kind.offered)
_COMPRESSED = (*(suffix.lstrip(".") for suffix in COMPRESSIONS), "zip")


async def facts(session: Session, request: Request) -> dict[str, Any]:
    """The files of a release, how to make it again, and what to check before it goes out."""
    run = chosen_run(session, request)
    made = [other.number for other in session.runs.all if other.made]
    if run is None:
        return {"run": None, "made": made}
    return {
        "run": run.snapshot(),
        "made": made,
        "faults": run.faults(session),
        "files": [{"name": name, **_about(name)} for name in run.files],
        "formats": _formats(run),
        "signed": request.app.state.options.sign is not None,
        "command": command_of(run),
        "script": script_of(run),
        "reproducible": not run.facts["cut_by_time"],
        "checklist": checklist(run, session),
        "builtin": run.source.kind == "builtin",
        "data": run.source.name,
        "events": run.events.name or None,
    }


def _formats(run: Run) -> tuple[str, ...]:
    """The formats of a release; baskets that have a line each stay a text file of the same kind."""
    shape = run.source.baskets
    if shape is None or shape.id is not None:
        return FORMATS
    endings = [ending.lstrip(".") for ending in Path(run.source.name).suffixes]
    kept = [ending for ending in endings if ending.isalnum() and ending not in _COMPRESSED]
    return (kept[-1] if kept else "txt",)


def _about(name: str) -> dict[str, Any]:
    """What a file is for, and whether it stays private."""
    stem = name.partition(".")[0]
    texts = words()["publish"]["files"][stem if stem in ("release", "events") else name]
    return {key: texts[key] for key in ("about", "private")}


def checklist(run: Run, session: Session) -> list[dict[str, Any]]:
    """What to look at before a release goes out; `done` is what the studio can tell by itself."""
    texts, facts = words()["publish"]["checklist"], run.facts
    same = "reproducible_events" if run.events else "reproducible"
    found = [
        {"text": texts["holds"], "done": facts["holds"]},
        {"text": texts["cautions" if facts["cautions"] else "no_cautions"], "done": not facts["cautions"]},
        {"text": texts["same_spec"], "done": "stale" not in run.faults(session)},
        {"text": texts[same], "done": not facts["cut_by_time"]},
        {"text": texts["named"], "done": bool(run.spec.get("title") and run.spec.get("owner"))},
        {"text": texts["written"], "done": bool(run.files)},
    ]
    return found + [{"text": text, "done": None} for text in texts["yours"]]


def _release_name(run: Run) -> str:
    return next((name for name in run.files if name.startswith("release.")), f"release.{_formats(run)[0]}")


def _events_name(release: str) -> str:
    """The file of the published events: that of the release, by another name."""
    return f"events.{release.partition('.')[2]}"


def _where(source: Source) -> str:
    """How a command names a table: by its path, or by its name where the path is the studio's own."""
    if source.url is not None:
        return source.url
    return source.path if source.kind == "path" else source.name


def command_of(run: Run, release: str | None = None) -> str:
    """The command that makes the same release from the exported spec."""
    header = {None: [], True: ["--header"], False: ["--no-header"]}[run.source.header]
    data = _where(run.source)
    release = _release_name(run) if release is None else release
    second = []
    if run.events:
        second = ["--events", _where(run.events), "--events-out", _events_name(release)]
    files = ["--certificate", "certificate.json", "--report", "report.html", "--order-file", "order.json"]
    query = [] if run.source.query is None else ["--query", run.source.query]
    made = ["--spec", "spec.yaml", "--out", release, *second, *files, *header, *query]
    return shlex.join(["kohort", "anonymize", data, *made])


def script_of(run: Run) -> str:
    """A Python script that makes the same release from the exported spec."""
    data = repr(_where(run.source))
    if run.source.query is not None:
        data = f"ko.database({data}, query={run.source.query!r})"
    header = "" if run.source.header is None else f", header={run.source.header}"
    events = f", events={_where(run.events)!r}" if run.events else ""
    release = _release_name(run)
    second = f'    events="{_events_name(release)}",\n' if run.events else ""
    return (
        '"""Make the release again, as kohort studio made it."""\n\n'
        "import kohort as ko\n\n"
        f'release = ko.anonymize({data}{events}, spec="spec.yaml"{header})\n'
        "print(release.summary())\n"
        "release.write(\n"
        f'    "{release}",\n{second}'
        '    certificate="certificate.json",\n'
        '    report="report.html",\n'
        '    order_file="order.json",\n'
        ")\n"
    )


async def _name(session: Session, request: Request) -> None:
    """Name the data set and its owner, for report and certificate."""
    form = await form_of(request)

    def change(spec: dict[str, Any]) -> None:
        for key in ("title", "owner"):
            spec.pop(key, None)
            if form.get(key, "").strip():
                spec[key] = form[key].strip()

    session.change("title and owner", change)


async def _write(session: Session, request: Request) -> None:
    """Write all files of a release into the private folder, from where they are downloaded."""
    ending = (await form_of(request)).get("format", "")
    run = chosen_run(session, request)
    if run is None or not run.held or ending not in _formats(run):
        raise InputError("This release is no longer in memory. Make it again on the page Run.")
    if run.faults(session):
        raise InputError(words()["publish"]["blocked"])
    folder = run.folder / "files"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    sign = request.app.state.options.sign
    written = await session.runs.ask(
        run,
        "write",
        folder=str(folder),
        release=f"release.{ending}",
        events=f"events.{ending}" if run.events else None,
        sign=None if sign is None else str(sign),
        spec=run.spec_text,
        command=command_of(run, f"release.{ending}"),
    )
    run.files = _with_our_own(run, folder, written["files"])


def _with_our_own(run: Run, folder: Path, written: list[str]) -> list[str]:
    """All files in the order in which they are shown: those of the release, and how to make it again."""
    run.files = written  # the command names the release
    ours = {
        "spec.yaml": run.spec_text,
        "command.sh": f"{command_of(run)}\n",
        "make_release.py": script_of(run),
    }
    for name, text in ours.items():
        (folder / name).write_text(text, encoding="utf-8")
    first = [name for stem in ("release.", "events.") for name in written if name.startswith(stem)]
    certified = ["certificate.json", "certificate.json.sig", "report-public.html"]
    order = [*first, *certified, *ours, "report.html", "order.json"]
    return [name for name in order if name in (*written, *ours)]


async def download(session: Session, request: Request) -> Response:
    """A file of a release; only those that were written for it can be named."""
    run, name = chosen_run(session, request), request.path_params["name"]
    if run is None or name not in run.files:
        return PlainTextResponse("There is no such file.", 404)
    return FileResponse(run.folder / "files" / name, filename=name, media_type="application/octet-stream")


async def download_data(session: Session, request: Request) -> Response:
    """The built-in table that is open, so that the command can be tried on it."""
    if session.source.kind != "builtin":
        return PlainTextResponse("There is no such file.", 404)
    return FileResponse(session.source.path, filename=session.source.name, media_type="text/plain")


PAGE = Page("publish", facts, {"write": _write, "name": _name}, path="/{number:int}")
