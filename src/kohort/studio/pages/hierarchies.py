"""Step 4, hierarchies: for every quasi-identifier a tree that one can see, build and edit."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from kohort.errors import InputError, KohortError
from kohort.studio import forms
from kohort.studio.jobs import JobError
from kohort.studio.pages import Page, form_of
from kohort.studio.pages.roles import column_named
from kohort.studio.session import Session
from kohort.studio.specs import set_hierarchy
from kohort.studio.trees import Node, as_spec, edited, numbered
from kohort.studio.uploads import receive

_MOST_ROWS = 400  # nodes of a tree on a page
_LARGEST_FILE = 10 * 2**20  # bytes of a hierarchy file


async def facts(session: Session, request: Request) -> dict[str, Any]:
    """The quasi-identifiers, and the tree of the one that is looked at."""
    quasi = []
    for number, column in enumerate(session.columns):
        entry = session.attributes.get(column["name"], {})
        if entry.get("role") in ("quasi-identifier", "items"):
            items = entry["role"] == "items" and not column.get("events")  # a cell of which is one item
            kind = forms.kind_of(entry.get("hierarchy"), items=items)
            quasi.append({"number": number, "name": column["name"], "kind": kind, "items": items})
    asked = str(request.path_params.get("number", ""))
    chosen = next((q for q in quasi if str(q["number"]) == asked), quasi[0] if quasi else None)
    found: dict[str, Any] = {
        "quasi_identifiers": quasi,
        "chosen": chosen,
        "builders": list(forms.offered(items=chosen is not None and chosen["items"])),
        "baskets": session.of_baskets,
    }
    if chosen is None:
        return found
    hierarchy = _hierarchy(session, chosen["name"])
    found |= {"parameter": forms.parameter_of(hierarchy)}
    try:
        seen = await session.ask_column("hierarchy", chosen["name"], hierarchy=hierarchy)
    except JobError as error:
        return found | {"error": str(error), "view": None, "rows": []}
    rows = [] if seen["tree"] is None else rows_of(seen["tree"])
    view = {name: value for name, value in seen.items() if name != "tree"}
    return found | {"error": None, "view": view, "rows": rows[:_MOST_ROWS], "hidden": len(rows[_MOST_ROWS:])}


def _hierarchy(session: Session, column: str) -> Any:
    return session.attributes.get(column, {}).get("hierarchy")


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


def _column(session: Session, request: Request) -> str:
    """The column that the address names; refused where it has no role."""
    name = column_named(session, str(request.path_params["number"]))
    if name not in session.attributes:
        raise InputError("This column has no role, so it has no hierarchy.")
    return name


async def _build(session: Session, request: Request) -> None:
    """Use a builder; what it cannot do with the column is said, and the spec stays as it is."""
    name, form = _column(session, request), await form_of(request)
    hierarchy = forms.written(form.get("kind", ""), form.get("parameter", ""))
    await session.ask_column("hierarchy", name, hierarchy=hierarchy)
    _set(session, name, hierarchy)


def _set(session: Session, name: str, hierarchy: Any, said: str = "") -> None:
    session.change(said or f"the hierarchy of {name}", lambda spec: set_hierarchy(spec, name, hierarchy))


async def _edit(session: Session, request: Request) -> Response:
    """Edit the tree by hand: JSON in, JSON out, because the page does it without a reload."""
    asked = await request.json()
    if asked.get("version") != session.version:
        return JSONResponse(
            {"error": "The tree has changed since this page was shown. Look at it again."}, 409
        )
    try:
        name = _column(session, request)
        seen = await session.ask_column("hierarchy", name, hierarchy=_hierarchy(session, name))
        if seen["tree"] is None or not seen["editable"]:
            raise InputError("This column has no tree that can be edited by hand.")
        tree = edited(
            seen["tree"],
            str(asked["edit"]),
            [int(number) for number in asked["nodes"]],
            into=int(asked.get("into") or 0),
            label=str(asked.get("label") or ""),
        )
    except KohortError as error:
        return JSONResponse({"error": str(error)}, 400)
    except (KeyError, TypeError, ValueError):
        return JSONResponse({"error": "This edit cannot be read."}, 400)
    _set(session, name, as_spec(tree), f"{asked['edit']} in the hierarchy of {name}")
    return JSONResponse({"version": session.version})


async def _import(session: Session, request: Request) -> None:
    name = _column(session, request)
    upload = await receive(request, session.new_folder("hierarchy"), _LARGEST_FILE)
    _set(session, name, await session.ask_column("import_hierarchy", name, path=str(upload)))


async def export(session: Session, request: Request) -> Response:
    name = _column(session, request)
    path, hierarchy = session.new_folder("export") / "hierarchy.csv", _hierarchy(session, name)
    await session.ask_column("export_hierarchy", name, hierarchy=hierarchy, path=str(path))
    return FileResponse(path, filename=path.name, media_type="text/csv")


PAGE = Page("hierarchies", facts, {"build": _build, "edit": _edit, "import": _import}, path="/{number:int}")
