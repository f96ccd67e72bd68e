"""Templates of the studio, and those of the report whose parts it shows."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from kohort.studio.lattice_drawing import drawing_of
from kohort.studio.session import Session
from kohort.studio.words import STEPS, words

__all__ = ["render"]

_SHARE = re.compile(r"(under |almost )?[0-9.,]+ %")


def render(
    name: str, session: Session | None, request: Request, facts: dict[str, Any], *, status: int = 200
) -> Response:
    """A page as HTML; the message of the session is shown once."""
    message = None
    if session is not None:
        message, session.message = session.message, None
    number = request.path_params.get("number")
    text = (
        _templates()
        .get_template(f"{name}.html")
        .render(
            page=name,
            here=name if number is None else f"{name}/{number}",
            session=session,
            message=message,
            w=words(),
            t=words().get(name, {}),
            steps=STEPS,
            **facts,
        )
    )
    return HTMLResponse(text, status)


@cache
def _templates() -> Environment:
    found = Environment(
        loader=ChoiceLoader(
            [PackageLoader("kohort.studio"), PrefixLoader({"report": PackageLoader("kohort.report")})]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["number"] = number_text
    found.filters["percent"] = lambda share: "-" if share is None else f"{100 * share:.1f} %"
    found.filters["unbroken"] = lambda text: str(text).replace(" %", "\u00a0%")
    found.filters["drawing"] = drawing_of
    found.filters["level_text"] = lambda column, words: words.format(
        name=column["name"], level=column["chosen"], of=len(column["labels"]) - 1
    )
    found.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
    found.tests["figure_like"] = lambda value: (
        isinstance(value, (int, float)) or bool(_SHARE.fullmatch(str(value)))
    )
    return found


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
