"""What a session goes back to with Undo, and how far the opening of a table is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kohort.studio.source import Source


@dataclass(frozen=True)
class State:
    """What Undo goes back to: the table, its events and the spec, and what was done to get here.

    confirmed  the columns that are to be published though they seem to name people
    """

    source: Source | None = None
    spec: dict[str, Any] = field(default_factory=dict)
    said: str = ""
    events: Source | None = None
    confirmed: frozenset[str] = frozenset()


@dataclass
class Opening:
    """How far the opening of a table is; `error` says why it failed."""

    name: str
    what: str = "starting"
    share: float = 0.0
    error: str | None = None
