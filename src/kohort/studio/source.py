"""Where the data of a session is, the spec that is suggested to begin with, and what Undo goes back to."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any

_DEFAULT_K, _DEFAULT_M = 10, 2


@dataclass(frozen=True)
class Shape:
    """How a file holds baskets and nothing else.

    separator  between the items of a line; None: that which goes with the name of the file
    id, item   of a table with one item per row: its two columns
    """

    separator: str | None = None
    id: str | None = None
    item: str | None = None


@dataclass(frozen=True)
class Source:
    """The table that is open.

    kind     path (it stays where it is), upload, builtin, or database (what a query gave, in a private file)
    header   whether the first line names the columns; None: found out
    baskets  how the file holds baskets and nothing else; None: it is a table
    url      of a database: its URL, without a password, and the query
    """

    path: str
    name: str
    kind: str = "path"
    header: bool | None = None
    builtin: str | None = None
    baskets: Shape | None = None
    url: str | None = None
    query: str | None = None

    def asked(self) -> dict[str, Any]:
        """The source as workers are asked about it."""
        shape = None if self.baskets is None else asdict(self.baskets)
        return {"path": self.path, "header": self.header, "baskets": shape}


def asked(people: Source, events: Source | None) -> dict[str, Any]:
    """A table and, if there is one, that of events beside it, as workers are asked about both."""
    return {"source": people.asked(), "events": None if events is None else events.asked()}


def shape_in(spec: dict[str, Any]) -> Shape | None:
    """How a spec says that baskets are held; None where it is for a table. Its values are checked later."""
    items = spec.get("items")
    if not isinstance(items, dict):
        return None
    return Shape(**{key: items[key] for key in ("separator", "id", "item") if items.get(key) is not None})


def suggested(profile: dict[str, Any]) -> dict[str, Any]:
    """The spec to start with: suggested roles and hierarchies, and k; of baskets also m."""
    k = min(_DEFAULT_K, profile["records"])
    if profile["baskets"] is None:
        roles = {"attributes": deepcopy(profile["attributes"])}
        return {**roles, "privacy": {"k": k}, "cost": "loss", "algorithm": "auto"}
    shape = {key: value for key, value in profile["shape"].items() if value is not None}
    return {
        "items": {**shape, "hierarchy": {"fanout": 5, "order": "frequency"}},
        "privacy": {"k": k, "m": _DEFAULT_M},
        "algorithm": "apriori-items",
    }


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
