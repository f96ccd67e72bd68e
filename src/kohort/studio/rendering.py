"""Templates of the studio, and those of the report whose parts it shows."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from kohort.report.html import page_templates
from kohort.studio.session import Session


def render(
    name: str, session: Session | None, request: Request, facts: dict[str, Any], *, status: int = 200
) -> Response:
    """A page as HTML; the message of the session is shown once."""
    message = None
    if session is not None:
        message, session.message = session.message, None
    number, template = request.path_params.get("number"), _templates().get_template(f"{name}.html")
    here, texts = name if number is None else f"{name}/{number}", words().get(name, {})
    known = {"page": name, "here": here, "session": session, "message": message, "steps": STEPS}
    return HTMLResponse(template.render(known, w=words(), t=texts, **facts), status)


@cache
def _templates() -> Environment:
    """The templates of the report with those of the studio, in which its parts are shown."""
    own, report = PackageLoader("kohort.studio"), PackageLoader("kohort.report")
    found = page_templates().overlay(
        loader=ChoiceLoader([own, PrefixLoader({"report": report})]), finalize=_shown
    )
    found.filters = {
        **found.filters,
        "number": number_text,
        "percent": lambda share: "-" if share is None else f"{100 * share:.1f} %",
        "unbroken": lambda text: str(text).replace(" %", "\u00a0%"),
        "drawing": drawing_of,
        "level_text": lambda column, words: words.format(
            name=column["name"], level=column["chosen"], of=len(column["labels"]) - 1
        ),
    }
    return found


_HIDDEN = (0xAD, 0x61C, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A))
_VISIBLE = {code: f"[U+{code:04X}]" for code in _HIDDEN}


def _shown(value: Any) -> Any:
    """A text with the characters that nobody sees, such as those that turn the direction, as what they are.

    >>> _shown("name\u202exslx.")
    'name[U+202E]xslx.'
    """
    plain = isinstance(value, str) and not isinstance(value, Markup) and not value.isascii()
    return value.translate(_VISIBLE) if plain else value


def number_text(value: Any) -> str:
    """A number for people.

    >>> number_text(12345), number_text(0.12345), number_text(None), number_text(True)
    ('12,345', '0.1235', '-', 'yes')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


_GAP, _ROW, _HEIGHT, _EDGE = 10, 64, 26, 10
_CHARACTER, _PADDING = 7, 14  # pixels of a digit, and around the text of a node


def drawing_of(lattice: dict[str, Any]) -> dict[str, Any]:
    """The size of the picture, its boxes with their texts, and its lines between neighbours.

    >>> nodes = [{"levels": [n], "state": "held", "chosen": n == 1} for n in range(2)]
    >>> drawing = drawing_of({"nodes": nodes})
    >>> [(box["text"], box["y"]) for box in drawing["boxes"]], len(drawing["lines"])
    ([('0', 74), ('1', 10)], 1)
    """
    rows: dict[int, list[dict[str, Any]]] = {}
    for node in lattice["nodes"]:
        rows.setdefault(sum(node["levels"]), []).append(node)
    width = max(len(_text(node)) for node in lattice["nodes"]) * _CHARACTER + _PADDING
    most = max(len(row) for row in rows.values())
    whole = most * (width + _GAP) - _GAP + 2 * _EDGE
    highest, lowest = max(rows), min(rows)
    boxes: dict[tuple[int, ...], dict[str, Any]] = {}
    for height, row in rows.items():
        left = (whole - (len(row) * (width + _GAP) - _GAP)) / 2
        for place, node in enumerate(row):
            x, y = left + place * (width + _GAP), _EDGE + (highest - height) * _ROW
            boxes[tuple(node["levels"])] = {**node, "text": _text(node), "x": round(x, 1), "y": y}
    return {
        "width": round(whole),
        "height": (highest - lowest) * _ROW + _HEIGHT + 2 * _EDGE,
        "box": {"width": width, "height": _HEIGHT},
        "boxes": list(boxes.values()),
        "lines": _lines(boxes, width),
    }


def _text(node: dict[str, Any]) -> str:
    return "·".join(map(str, node["levels"]))


def _lines(boxes: dict[tuple[int, ...], dict[str, Any]], width: int) -> list[dict[str, float]]:
    """A line from each node to each one that is a level higher in one column."""
    found = []
    for levels, box in boxes.items():
        for place in range(len(levels)):
            above = boxes.get((*levels[:place], levels[place] + 1, *levels[place + 1 :]))
            if above is not None:
                ends = {"x1": box["x"] + width / 2, "y1": box["y"]}
                found.append({**ends, "x2": above["x"] + width / 2, "y2": above["y"] + _HEIGHT})
    return found


STEPS = ("data", "people", "roles", "hierarchies", "promise", "run", "judge", "publish")


@cache
def words() -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((Path(__file__).parent / "words.yaml").read_text(encoding="utf-8"), Loader=loader)
