"""A session: the table that is open, the choices made so far and how to undo them, and the runs.

Every tab that opens the studio gets a session of its own; its address holds the session's number, so that a
reload finds it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kohort.studio.events import WrongEvents, attributes_of, with_events, without_events
from kohort.studio.frontier import Frontier
from kohort.studio.jobs import JobError, Worker, WorkerLost
from kohort.studio.runs import Run, Runs
from kohort.studio.spec_text import spec_text

__all__ = ["Session", "Source", "State"]

Answer = Callable[[], Awaitable[Any]]

_MOST_STATES = 200
_DEFAULT_K = 10


@dataclass(frozen=True)
class Source:
    """The table that is open.

    kind    path (it stays where it is), upload, or builtin
    header  whether the first line names the columns; None: found out
    """

    path: str
    name: str
    kind: str = "path"
    header: bool | None = None
    builtin: str | None = None

    def asked(self) -> dict[str, Any]:
        """The source as workers are asked about it."""
        return {"path": self.path, "header": self.header}


@dataclass(frozen=True)
class State:
    """What Undo goes back to: the table, its events and the spec, and what was done to get here."""

    source: Source | None = None
    spec: dict[str, Any] = field(default_factory=dict)
    said: str = ""
    events: Source | None = None


@dataclass
class Opening:
    """How far the opening of a table is; `error` says why it failed."""

    name: str
    what: str = "starting"
    share: float = 0.0
    error: str | None = None


class Session:
    """One walk from data to publication."""

    def __init__(self, folder: Path) -> None:
        self.id = secrets.token_urlsafe(9)
        self.folder = folder / self.id
        self.folder.mkdir(mode=0o700)
        self.desk = Worker()
        self.states: list[State] = [State()]
        self.place = 0
        self.profile: dict[str, Any] | None = None
        self.opening: Opening | None = None
        self.opening_events: Opening | None = None
        self.project: dict[str, Any] | None = None
        self.message: tuple[str, str] | None = None
        self.runs = Runs(self)
        self.frontier = Frontier(self)
        self._listeners: set[asyncio.Queue[dict[str, Any]]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._profile_of: Source | None = None
        self._profiles_of_events: dict[Source, dict[str, Any]] = {}

    # -- choices and undo ------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self.states[self.place]

    @property
    def source(self) -> Source | None:
        return self.state.source

    @property
    def spec(self) -> dict[str, Any]:
        return self.state.spec

    @property
    def events(self) -> Source | None:
        """The table of events beside that of people, if one is open."""
        return self.state.events

    @property
    def events_profile(self) -> dict[str, Any] | None:
        return None if self.events is None else self._profiles_of_events.get(self.events)

    @property
    def attributes(self) -> dict[str, dict[str, Any]]:
        """The columns that have a role, those of the events among them."""
        return attributes_of(self.spec)

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The profiles of all columns, those of the people first; the key of the events is not among them."""
        people = (self.profile or {})["columns"]
        if self.events_profile is None:
            return people
        key = self.spec.get("events", {}).get("key")
        both = [*people, *({**column, "events": True} for column in self.events_profile["columns"])]
        return [column for column in both if column["name"] != key]

    def suggested_of(self, name: str) -> dict[str, Any]:
        """The role and hierarchy that are suggested for a column of either table."""
        tables = [self.profile, self.events_profile]
        found = [table["attributes"] for table in tables if table is not None]
        return next((attributes[name] for attributes in found if name in attributes), {})

    @property
    def ready(self) -> bool:
        """Whether a table is open and profiled."""
        return self.source is not None and self.profile is not None and self._profile_of == self.source

    def having(self, role: str) -> list[str]:
        """The columns that have a role."""
        return [name for name, entry in self.attributes.items() if entry.get("role") == role]

    def only(self, role: str) -> str | None:
        return next(iter(self.having(role)), None)

    def spec_text(self, *, lines_of_trees: int | None = None) -> str:
        """The spec as it stands, as the command line reads it; to be shown, trees may be cut."""
        name = None if self.source is None else self.source.name
        return spec_text(self.spec, data=name, lines_of_trees=lines_of_trees)

    def change(self, said: str, how: Callable[[dict[str, Any]], None]) -> None:
        """Change the spec; `how` is given a copy of it, and `said` names the change for Undo."""
        spec = deepcopy(self.spec)
        how(spec)
        if spec != self.spec:
            self._push(State(self.source, spec, said, self.events))

    def _push(self, state: State) -> None:
        self.states = [*self.states[: self.place + 1], state][-_MOST_STATES:]
        self.place = len(self.states) - 1
        self.frontier.forget()

    def undo(self) -> None:
        """Go back to the state before the last change."""
        self._move(max(self.place - 1, 0))

    def redo(self) -> None:
        self._move(min(self.place + 1, len(self.states) - 1))

    def _move(self, place: int) -> None:
        before, self.place = self.source, place
        self.frontier.forget()
        if self.source is not None and self.source != before and self._profile_of != self.source:
            self.spawn(self._profile(self.source))

    # -- the table -------------------------------------------------------------------------------------

    def open(self, source: Source, spec: Answer | None = None, before: Answer | None = None) -> None:
        """Open a table in the background.

        spec    asks for the spec to start with; without it, one is suggested
        before  what is to be done first, such as writing a built-in table to its file
        """
        self.opening, self.opening_events = Opening(source.name), None
        self.spawn(self._open(source, spec, before))

    async def _open(self, source: Source, spec: Answer | None, before: Answer | None) -> None:
        waiting = self.project
        try:
            if before is not None:
                await before()
            found = await self._profiled(source)
            self.project = None  # a project whose spec is refused waits no longer
            given = None if spec is None else await spec()
        except WorkerLost as error:
            self.project = self.project or waiting
            self._failed(error)
            return
        except JobError as error:
            self._failed(error)
            return
        start = given or suggested(found)
        self._push(State(source, start, source.name))
        self.profile, self._profile_of, self.opening = found, source, None
        self.tell({"type": "opened"})

    def open_events(self, source: Source) -> None:
        """Open a table of events beside that of people in the background."""
        self.opening_events = Opening(source.name)
        self.spawn(self._open_events(source))

    async def _open_events(self, source: Source) -> None:
        opening, people = self.opening_events, self.source
        assert opening is not None
        try:
            found = await self.desk.ask("open", source=source.asked(), tell=self._tell_events)
            if self.source != people:
                raise JobError(
                    "Changed", "Another table of people was opened meanwhile. Open the events again."
                )
            spec = with_events(self.spec, (self.profile or {}), found)
        except (JobError, WrongEvents) as error:
            opening.error = str(error)
        else:
            self._profiles_of_events[source] = found
            self._push(State(self.source, spec, f"the events {source.name}", source))
            self.opening_events = None
        self.tell({"type": "opened"})

    def close_events(self) -> None:
        """Go on without the table of events; Undo takes that back, too."""
        self.opening_events = None
        if self.events is not None or "events" in self.spec:
            self._push(State(self.source, without_events(self.spec), "no events"))

    def _tell_events(self, facts: dict[str, Any]) -> None:
        if self.opening_events is not None:
            self.opening_events.what, self.opening_events.share = facts["what"], facts["share"]
            self.tell({"type": "opening", **facts})

    async def _profile(self, source: Source) -> None:
        """Look at a table again, because Undo went back to it."""
        self.opening = Opening(source.name)
        try:
            found = await self._profiled(source)
        except JobError as error:
            self._failed(error)
            return
        self.profile, self._profile_of, self.opening = found, source, None
        self.tell({"type": "opened"})

    async def _profiled(self, source: Source) -> dict[str, Any]:
        return await self.desk.ask("open", source=source.asked(), tell=self._tell_opening)

    def _failed(self, error: JobError) -> None:
        assert self.opening is not None
        self.opening.error = str(error)
        self.tell({"type": "opened"})

    def _tell_opening(self, facts: dict[str, Any]) -> None:
        if self.opening is not None:
            self.opening.what, self.opening.share = facts["what"], facts["share"]
            self.tell({"type": "opening", **facts})

    async def ask(self, question: str, **arguments: Any) -> Any:
        """Ask the desk about the open table."""
        assert self.source is not None
        return await self.desk.ask(question, source=self.source.asked(), **arguments)

    async def ask_column(self, question: str, column: str, **arguments: Any) -> Any:
        """Ask the desk about a column of either table."""
        profile, source = self.events_profile, self.source
        if profile is not None and any(found["name"] == column for found in profile["columns"]):
            source = self.events
        assert source is not None
        return await self.desk.ask(question, source=source.asked(), column=column, **arguments)

    # -- those who listen ------------------------------------------------------------------------------

    def listen(self) -> asyncio.Queue[dict[str, Any]]:
        """A queue that gets every event from now on."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._listeners.add(queue)
        return queue

    def leave(self, queue: asyncio.Queue[dict[str, Any]]) -> None:
        self._listeners.discard(queue)

    def tell(self, event: dict[str, Any]) -> None:
        """Send an event to every page that shows this session."""
        for queue in self._listeners:
            queue.put_nowait(event)

    def spawn(self, work: Any) -> None:
        """Do something in the background of this session."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End everything that belongs to this session."""
        for task in list(self._tasks):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
        await asyncio.gather(self.desk.close(), self.frontier.close(), self.runs.close())

    @property
    def run(self) -> Run | None:
        """The run made last."""
        return self.runs.all[-1] if self.runs.all else None


def suggested(profile: dict[str, Any]) -> dict[str, Any]:
    """The spec to start with: suggested roles and hierarchies, and k."""
    return {
        "attributes": deepcopy(profile["attributes"]),
        "privacy": {"k": min(_DEFAULT_K, profile["records"])},
        "cost": "loss",
        "algorithm": "auto",
    }
