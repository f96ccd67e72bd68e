"""Step 4, hierarchies: for every quasi-identifier a tree that one can see, build and edit."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from kohort.studio import builders
from kohort.studio.events import set_hierarchy
from kohort.studio.jobs import JobError
from kohort.studio.pages.page import Page, back_to, form_of
from kohort.studio.pages.roles import column_named
from kohort.studio.session import Session
from kohort.studio.trees import Node, WrongEdit, as_spec, edited, numbered
from kohort.studio.uploads import Refused, receive

_MOST_ROWS = 400  # nodes of a tree on a page
_LARGEST_FILE = 10 * 2**20  # bytes of a hierarchy file


async def facts(session: Session, request: Request) -> dict[str, Any]:
    """The quasi-identifiers, and the tree of the one that is looked at."""
    columns = session.columns
    quasi = [
        {
            "number": number,
            "name": column["name"],
            "kind": builders.kind_of(
                _hierarchy(session, column["name"]), items=_holds_items(session, column)
            ),
            "items": _holds_items(session, column),
        }
        for number, column in enumerate(columns)
        if _has_tree(session, column)
    ]
    asked = str(request.path_params.get("number", ""))
    chosen = next((q for q in quasi if str(q["number"]) == asked), quasi[0] if quasi else None)
    found: dict[str, Any] = {
        "quasi_identifiers": quasi,
        "chosen": chosen,
        "builders": list(builders.offered(items=chosen is not None and chosen["items"])),
        "baskets": session.of_baskets,
    }
    if chosen is None:
        return found
    hierarchy = _hierarchy(session, chosen["name"])
    found |= {"parameter": builders.parameter_of(hierarchy)}
    try:
        seen = await session.ask_column("hierarchy", chosen["name"], hierarchy=hierarchy)
    except JobError as error:
        return found | {"error": str(error), "view": None, "rows": []}
    rows = [] if seen["tree"] is None else rows_of(seen["tree"])
    view = {name: value for name, value in seen.items() if name != "tree"}
    return found | {"error": None, "view": view, "rows": rows[:_MOST_ROWS], "hidden": len(rows[_MOST_ROWS:])}


def _has_tree(session: Session, column: dict[str, Any]) -> bool:
    """Whether a column is generalized: it is a quasi-identifier of either table, or holds items."""
    return session.attributes.get(column["name"], {}).get("role") in ("quasi-identifier", "items")


def _holds_items(session: Session, column: dict[str, Any]) -> bool:
    """Whether a cell of a column is a set of items; in a table of events, it is one item."""
    role = session.attributes.get(column["name"], {}).get("role")
    return role == "items" and not column.get("events")


def _hierarchy(session: Session, column: str) -> Any:
    return session.attributes[column].get("hierarchy") if column in session.attributes else None


def rows_of(root: Node) -> list[dict[str, Any]]:
    """The nodes of a tree as rows: number, depth, label, records, whether it is a group."""
    depth_of = {id(root): 1}
    for node in numbered(root):
        for child in node["children"]:
            depth_of[id(child)] = depth_of[id(node)] + 1
    return [
        {
            "number": number,
            "depth": depth_of[id(node)],
            "label": node["label"],
            "records": node.get("records"),
            "group": bool(node["children"]),
            "children": len(node["children"]) + node.get("more", 0),
            "more": node.get("more", 0),
        }
        for number, node in enumerate(numbered(root))
    ]


async def _build(session: Session, request: Request) -> Response:
    """Use a builder; what it cannot do with the column is said, and the spec stays as it is."""
    form = await form_of(request)
    name = column_named(session, str(request.path_params["number"]))
    if name not in session.attributes:
        return back_to(session, "hierarchies")
    try:
        hierarchy = builders.written(form.get("kind", ""), form.get("parameter", ""))
        await session.ask_column("hierarchy", name, hierarchy=hierarchy)
    except (JobError, builders.WrongForm) as error:
        session.message = ("error", str(error))
    else:
        _set(session, name, hierarchy)
    return _shown_again(session, request)


def _set(session: Session, name: str, hierarchy: Any, said: str = "") -> None:
    session.change(said or f"the hierarchy of {name}", lambda spec: set_hierarchy(spec, name, hierarchy))


def _shown_again(session: Session, request: Request) -> Response:
    return back_to(session, f"hierarchies/{int(request.path_params['number'])}")


async def _edit(session: Session, request: Request) -> Response:
    """Edit the tree by hand: JSON in, JSON out, because the page does it without a reload."""
    name = column_named(session, str(request.path_params["number"]))
    asked = await request.json()
    if name not in session.attributes or asked.get("version") != session.version:
        return JSONResponse(
            {"error": "The tree has changed since this page was shown. Look at it again."}, 409
        )
    try:
        seen = await session.ask_column("hierarchy", name, hierarchy=_hierarchy(session, name))
        if seen["tree"] is None or not seen["editable"]:
            return JSONResponse({"error": "This column has no tree that can be edited by hand."}, 400)
        tree = edited(
            seen["tree"],
            str(asked["edit"]),
            [int(number) for number in asked["nodes"]],
            into=int(asked.get("into") or 0),
            label=str(asked.get("label") or ""),
        )
    except (WrongEdit, JobError) as error:
        return JSONResponse({"error": str(error)}, 400)
    except (KeyError, TypeError, ValueError):
        return JSONResponse({"error": "This edit cannot be read."}, 400)
    _set(session, name, as_spec(tree), f"{asked['edit']} in the hierarchy of {name}")
    return JSONResponse({"version": session.version})


async def _import(session: Session, request: Request) -> Response:
    name = column_named(session, str(request.path_params["number"]))
    folder = session.folder / f"hierarchy-{len(list(session.folder.iterdir()))}"
    folder.mkdir(mode=0o700)
    if name not in session.attributes:
        return back_to(session, "hierarchies")
    try:
        upload = await receive(request, folder, _LARGEST_FILE)
        hierarchy = await session.ask_column("import_hierarchy", name, path=str(upload.path))
    except (Refused, JobError) as error:
        session.message = ("error", str(error))
    else:
        _set(session, name, hierarchy)
    return _shown_again(session, request)


async def export(session: Session, request: Request) -> Response:
    """The hierarchy of a column as a file to download."""
    name = column_named(session, str(request.path_params["number"]))
    if name not in session.attributes:
        return back_to(session, "hierarchies")
    path = session.folder / f"export-{session.place}-{int(request.path_params['number'])}.csv"
    try:
        hierarchy = _hierarchy(session, name)
        await session.ask_column("export_hierarchy", name, hierarchy=hierarchy, path=str(path))
    except JobError as error:
        session.message = ("error", str(error))
        return _shown_again(session, request)
    return FileResponse(path, filename="hierarchy.csv", media_type="text/csv")


PAGE = Page("hierarchies", facts, {"build": _build, "edit": _edit, "import": _import}, path="/{number:int}")
