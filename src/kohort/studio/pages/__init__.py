"""What all pages share: a step is a function that collects its facts; it is shown as HTML and as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from kohort.studio.session import Session

Facts = Callable[[Session, Request], Awaitable[dict[str, Any]]]
Action = Callable[[Session, Request], Awaitable[Response | None]]
"""What is done on a page; then the page is shown again, unless there is another response. A KohortError
says what was refused and why."""


@dataclass(frozen=True)
class Page:
    """A step of the walk.

    name     the last part of its address, and of its template
    facts    what it shows, as plain data
    actions  what can be done on it, by the last part of the address
    path     what follows the name in the address, such as the number of a column
    """

    name: str
    facts: Facts
    actions: dict[str, Action]
    path: str = ""
    needs_table: bool = True


def back_to(session: Session, page: str) -> Response:
    """Show a page of the session after a change."""
    return RedirectResponse(f"/s/{session.id}/{page}", 303)


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, each once."""
    form = await request.form(max_files=0, max_fields=5000)
    return {name: str(value) for name, value in form.items()}
