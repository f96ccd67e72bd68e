"""A session: the table that is open, the choices made so far and how to undo them, and the runs.

Every tab that opens the studio gets a session of its own; its address holds the session's number, so that a
reload finds it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import tempfile
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from kohort.errors import InputError, KohortError
from kohort.studio.jobs import Worker, WorkerLost
from kohort.studio.runs import Frontier, Run, Runs
from kohort.studio.source import Opening, Shape, Source, State, suggested
from kohort.studio.specs import ITEMS, attributes_of, refuse_baskets, spec_text, with_events, without_events

Answer = Callable[[], Awaitable[Any]]
Event = dict[str, Any]

_MOST_STATES = 200
_AS_THEY_ARE = ("insensitive", "sensitive")  # roles whose values are published
_WHO = ("identifier", "person", "household")  # roles of columns that say who somebody is
_FEW = 20  # records below which a column without repeated values means nothing
_NEARLY = 0.9  # the share of distinct values above which a column is nearly a key


class Session:
    """One walk from data to publication."""

    def __init__(self, folder: Path) -> None:
        self.id = secrets.token_urlsafe(9)
        self.folder = folder / self.id
        self.folder.mkdir(mode=0o700)
        self.desk = Worker()
        self.states: list[State] = [State()]
        self.place = 0
        self.version = 0  # of the choices: every form tells from which one it was drawn
        self.profile: dict[str, Any] | None = None
        self.opening: Opening | None = None
        self.opening_events: Opening | None = None
        self.project: dict[str, Any] | None = None
        self.message: tuple[str, str] | None = None
        self.runs = Runs(self)
        self.frontier = Frontier(self)
        self.listeners: set[asyncio.Queue[Event]] = set()  # one for each page that shows the session
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
    def of_baskets(self) -> bool:
        """Whether the file that is open holds nothing but baskets."""
        return self.source is not None and self.source.baskets is not None

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The profiles of all columns, those of the people first; the key of the events is not among them.

        A file of nothing but baskets has one, that of the items.
        """
        if self.of_baskets:
            return [{"name": ITEMS}]
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
            self._push(replace(self.state, spec=spec, said=said))

    def confirm(self, name: str) -> None:
        """Publish a column although it seems to name people."""
        confirmed = self.state.confirmed | {name}
        self._push(replace(self.state, said=f"{name} is published as it is", confirmed=confirmed))

    def naming(self, spec: dict[str, Any]) -> list[str]:
        """The columns that a spec publishes as they are though they seem to name people.

        These are those that are suggested as identifiers or persons (keys, names, free text), and those in
        which nearly every value is another one.
        """
        entries = attributes_of(spec)
        return [
            column["name"]
            for column in ([] if self.of_baskets else self.columns)
            if entries.get(column["name"], {}).get("role") in _AS_THEY_ARE
            and self._seems_to_name(column, entries[column["name"]]["role"])
        ]

    def _seems_to_name(self, column: dict[str, Any], role: str) -> bool:
        suggested = self.suggested_of(column["name"]).get("role", column["role"])
        profile = self.events_profile if column.get("events") else self.profile
        present = (profile or {})["records"] - column["nulls"]
        nearly_unique = role == "insensitive" and present >= _FEW and column["distinct"] > _NEARLY * present
        return suggested in _WHO or nearly_unique

    def unconfirmed(self, spec: dict[str, Any]) -> list[str]:
        """Those of them that nobody confirmed."""
        return [name for name in self.naming(spec) if name not in self.state.confirmed]

    def _push(self, state: State) -> None:
        self.states = [*self.states[: self.place + 1], state][-_MOST_STATES:]
        self.place = len(self.states) - 1
        self.version += 1
        self.frontier.forget()

    def undo(self) -> None:
        """Go back to the state before the last change."""
        self._move(max(self.place - 1, 0))

    def redo(self) -> None:
        self._move(min(self.place + 1, len(self.states) - 1))

    def _move(self, place: int) -> None:
        before, self.place = self.source, place
        self.version += 1
        self.frontier.forget()
        if self.source is not None and self.source != before and self._profile_of != self.source:
            self.spawn(self._profile(self.source))

    # -- the table -------------------------------------------------------------------------------------

    def open(
        self,
        source: Source,
        spec: Answer | None = None,
        before: Answer | None = None,
        *,
        recognize: bool = True,
    ) -> None:
        """Open a table in the background.

        spec       asks for the spec to start with; without it, one is suggested
        before     what is to be done first, such as writing a built-in table to its file; its answer, if it
                   has one, is the source to open instead
        recognize  whether a file of nothing but baskets is found out, unless there is a spec that says it
        """
        self.opening, self.opening_events = Opening(source.name), None
        self.spawn(self._open(source, spec, before, recognize and spec is None))

    async def _open(
        self, source: Source, spec: Answer | None, before: Answer | None, recognize: bool
    ) -> None:
        waiting = self.project
        try:
            if before is not None:
                source = await before() or source
            found = await self._profiled(source, "opening", recognize=recognize)
            if found["shape"] is not None:
                source = replace(source, header=None, baskets=Shape(**found["shape"]))
            self.project = None  # a project whose spec is refused waits no longer
            given = None if spec is None else await spec()
        except KohortError as error:
            if isinstance(error, WorkerLost):
                self.project = self.project or waiting
            self._opened("opening", str(error))
            return
        self._push(State(source, given or suggested(found), source.name))
        self.profile, self._profile_of = found, source
        self._opened("opening")

    def open_events(self, source: Source) -> None:
        """Open a table of events beside that of people in the background."""
        self.opening_events = Opening(source.name)
        self.spawn(self._open_events(source))

    async def _open_events(self, source: Source) -> None:
        people = self.source
        try:
            found = await self._profiled(source, "opening_events", recognize=True)
            refuse_baskets(found)
            if self.source != people:
                raise InputError("Another table of people was opened meanwhile. Open the events again.")
            spec = with_events(self.spec, (self.profile or {}), found)
        except KohortError as error:
            self._opened("opening_events", str(error))
            return
        self._profiles_of_events[source] = found
        self._push(replace(self.state, spec=spec, said=f"the events {source.name}", events=source))
        self._opened("opening_events")

    def close_events(self) -> None:
        """Go on without the table of events; Undo takes that back, too."""
        self.opening_events = None
        if self.events is not None or "events" in self.spec:
            self._push(replace(self.state, spec=without_events(self.spec), said="no events", events=None))

    async def _profile(self, source: Source) -> None:
        """Look at a table again, because Undo went back to it."""
        self.opening = Opening(source.name)
        try:
            found = await self._profiled(source, "opening", recognize=False)
        except KohortError as error:
            self._opened("opening", str(error))
            return
        self.profile, self._profile_of = found, source
        self._opened("opening")

    async def _profiled(self, source: Source, opening: str, *, recognize: bool) -> dict[str, Any]:
        """The profile of a table; `opening` is told how far its making is."""

        def tell(facts: dict[str, Any]) -> None:
            if (found := getattr(self, opening)) is not None:
                found.what, found.share = facts["what"], facts["share"]
                self.tell({"type": "opening", **facts})

        return await self.desk.ask("open", source=source.asked(), recognize=recognize, tell=tell)

    def _opened(self, opening: str, error: str | None = None) -> None:
        """A table is open, or there is a reason why it is not."""
        if error is None:
            setattr(self, opening, None)
        else:
            getattr(self, opening).error = error
        self.tell({"type": "opened"})

    async def ask(self, question: str, **arguments: Any) -> Any:
        """Ask the desk about the open table."""
        assert self.source is not None
        return await self.desk.ask(question, source=self.source.asked(), **arguments)

    async def ask_column(self, question: str, column: str, **arguments: Any) -> Any:
        """Ask the desk about a column of either table, or about the items of baskets."""
        profile, source, items = self.events_profile, self.source, self._items_asked(column)
        if profile is not None and any(found["name"] == column for found in profile["columns"]):
            source, items = self.events, None  # there, every row is one item
        assert source is not None
        return await self.desk.ask(question, source=source.asked(), column=column, items=items, **arguments)

    def _items_asked(self, column: str) -> dict[str, Any] | None:
        """How to read a column that holds sets of items: their separator, and those that are sensitive."""
        entry = self.attributes.get(column, {})
        if entry.get("role") != "items":
            return None
        privacy = self.spec.get("privacy", {})
        promised = privacy.get("confidence") or privacy.get("uncertainty") or {}
        separator = None if self.of_baskets else entry.get("separator")
        return {"separator": separator, "without": list(map(str, promised.get("sensitive") or []))}

    def new_folder(self, kind: str) -> Path:
        """A new folder for something that is sent or fetched, which only its owner may enter."""
        return Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=self.folder))

    # -- in the background ------------------------------------------------------------------------------

    def tell(self, event: Event) -> None:
        """Send an event to every page that shows the session."""
        for queue in self.listeners:
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
