"""The runs of a session: each makes a release in a process of its own, which then answers questions on it.

And the frontier of risk and loss, which is computed in the background while somebody chooses k.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.studio.jobs import JobError, Worker, WorkerLost
from kohort.studio.source import Source, asked

if TYPE_CHECKING:
    from kohort.studio.session import Session

_OPEN = 2  # runs whose releases stay in memory: two can be compared
_MOST_POINTS = 600
_OF_RUN = ("number", "status", "what", "share", "seconds", "points", "error", "held", "asked_to_stop")
_OF_RELEASE = ("cost", "bound", "gap", "solver_gap", "classes", "smallest_class", "suppressed")
_ABOUT = ("title", "owner")  # what a release is called changes nothing of it


@dataclass
class Run:
    """A release in the making, or made.

    status  running, done, stopped (by hand, with a release), failed or lost
    points  (seconds, cost, bound) as the search went on
    parts   the parts of the report, once somebody looked at them; not_judged says why there are none
    """

    number: int
    source: Source
    events: Source | None
    spec: dict[str, Any]
    spec_text: str
    folder: Path
    worker: Worker = field(default_factory=Worker)
    status: str = "running"
    what: str = "starting"
    share: float = 0.0
    seconds: float = 0.0
    points: list[tuple[float, float, float | None]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    parts: dict[str, Any] | None = None
    judging: bool = False
    not_judged: str | None = None
    files: list[str] = field(default_factory=list)
    held: bool = False
    asked_to_stop: bool = False

    @property
    def made(self) -> bool:
        """Whether there is a release."""
        return bool(self.facts)

    def faults(self, session: Session) -> dict[str, list[str]]:
        """Why it is not to be published: it is `stale`, columns are `unconfirmed`, or a promise `fails`."""
        specs = (self.spec, session.spec)
        one, other = ({key: spec[key] for key in spec if key not in _ABOUT} for spec in specs)
        same = one == other and (self.source, self.events) == (session.source, session.events)
        found = {
            "stale": [] if same else [str(self.number)],
            "unconfirmed": session.unconfirmed(self.spec) if self.source == session.source else [],
            "fails": [] if self.facts.get("holds", True) else [str(self.number)],
        }
        return {fault: names for fault, names in found.items() if names}

    @property
    def spec_path(self) -> Path:
        return self.folder / "spec.yaml"

    @property
    def tables(self) -> dict[str, Any]:
        """The tables as workers are asked about them."""
        return asked(self.source, self.events)

    def snapshot(self) -> dict[str, Any]:
        """The run as plain data for the page and its events."""
        facts = self.facts
        return {
            **{name: getattr(self, name) for name in _OF_RUN},
            **{name: facts.get(name) for name in _OF_RELEASE},
            "algorithm": facts.get("algorithm", self.spec.get("algorithm")),
            "loss": facts["loss"][facts["cost"]] if facts else None,
            "privacy": self.spec.get("privacy", {}),
        }


class Runs:
    """The runs of a session, the latest last; one at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.all: list[Run] = []

    def numbered(self, number: int | str) -> Run | None:
        return next((run for run in self.all if str(run.number) == str(number)), None)

    @property
    def running(self) -> Run | None:
        return next((run for run in self.all if run.status == "running"), None)

    def start(self) -> Run:
        """Begin a run of the spec as it stands."""
        session = self._session
        assert session.source is not None
        number = len(self.all) + 1
        folder = session.folder / f"run-{number}"
        folder.mkdir(mode=0o700)
        run = Run(number, session.source, session.events, deepcopy(session.spec), session.spec_text(), folder)
        run.spec_path.write_text(run.spec_text, encoding="utf-8")
        self.all.append(run)
        session.spawn(self._make(run))
        return run

    def again(self, run: Run) -> None:
        """Make the release of an earlier run once more, because it is no longer in memory."""
        run.status, run.error, run.asked_to_stop, run.points = "running", None, False, []
        run.not_judged = None
        run.worker = Worker()
        self._session.spawn(self._make(run))

    async def _make(self, run: Run) -> None:
        await self._close_old(run)
        try:
            spec, tell = str(run.spec_path), partial(self._told, run)
            made = await run.worker.ask("release", **run.tables, spec=spec, tell=tell)
        except JobError as error:
            run.status = "lost" if isinstance(error, WorkerLost) else "failed"
            run.error = str(error)
            await run.worker.close()
        else:
            self._done(run, made)
        self._session.tell({"type": "run", **run.snapshot()})

    def _told(self, run: Run, facts: dict[str, Any]) -> None:
        run.what, run.share, run.seconds = facts["what"], facts["share"], facts["seconds"]
        if "cost" in facts and len(run.points) < _MOST_POINTS:
            run.points.append((facts["seconds"], facts["cost"], facts["bound"]))
        self._session.tell({"type": "run", **run.snapshot()})

    def _done(self, run: Run, made: dict[str, Any]) -> None:
        run.status = "stopped" if made["stopped"] else "done"
        run.facts, run.summary, run.held = made["facts"], made["summary"], True
        run.seconds, run.share, run.what = made["wall_seconds"], 1.0, "done"
        run.points.append((run.seconds, run.facts["loss"][run.facts["cost"]], run.facts["bound"]))

    async def _close_old(self, newest: Run) -> None:
        """Let go of the releases of older runs, so that memory stays bounded; their figures stay."""
        held = [run for run in self.all if run.held and run is not newest]
        for run in held[: max(len(held) - _OPEN + 1, 0)]:
            run.held = False
            await run.worker.close()

    async def stop(self, run: Run) -> None:
        """Ask a run for the best release so far."""
        run.asked_to_stop = True
        await run.worker.stop()
        self._session.tell({"type": "run", **run.snapshot()})

    def judge(self, run: Run) -> None:
        """Make the parts of the report in the background, unless they are there or on their way."""
        if run.parts is None and run.held and not run.judging and run.not_judged is None:
            run.judging = True
            self._session.spawn(self._judge(run))

    async def _judge(self, run: Run) -> None:
        session = self._session
        try:
            run.parts = await self.ask(
                run, "report", tell=lambda facts: session.tell({"type": "judging", **facts})
            )
        except JobError as error:
            run.not_judged = str(error)  # and not again by itself: it would fail in the same way
        run.judging = False
        session.tell({"type": "judged"})

    async def ask(self, run: Run, question: str, **arguments: Any) -> Any:
        """Ask about the release of a run; a worker that died says so, and the run can be made again."""
        if run.worker.pid is None:  # a new process would know nothing of the release
            run.held = False
            raise WorkerLost
        try:
            return await run.worker.ask(question, **arguments)
        except WorkerLost:
            run.held = False
            raise

    async def close(self) -> None:
        for run in self.all:
            await run.worker.close()


VALUES_OF_K = (2, 3, 5, 10, 20, 50, 100)
_SHAPING = ("attributes", "items", "events", "history", "others", "suppression", "labels", "nulls", "weights")
_OF_THE_RUN = ("time_limit", "parameters")  # which has an algorithm of its own


class Frontier:
    """Points of risk and loss by k, for the spec as it stands but its k, cost and algorithm."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._worker = Worker()
        self._wanted: list[int] = []
        self._busy = False
        self._of: Any = None
        self.points: dict[int, dict[str, Any]] = {}

    def forget(self) -> None:
        """Drop what is no longer about the spec; a change of k alone keeps the points."""
        key = self._key()
        if key != self._of:
            self._of, self.points, self._wanted = key, {}, []

    def _key(self) -> Any:
        spec, sources = self._session.spec, (self._session.source, self._session.events)
        privacy = {name: value for name, value in spec.get("privacy", {}).items() if name != "k"}
        kept = {name: spec.get(name) for name in _SHAPING}
        return deepcopy((sources, privacy, kept))

    def want(self, *values: int) -> None:
        """Ask for points; those that are there or on their way are not computed again."""
        self.forget()
        self._wanted += [k for k in values if k not in self.points and k not in self._wanted]
        if self._wanted and not self._busy:
            self._busy = True
            self._session.spawn(self._compute())

    async def _compute(self) -> None:
        session = self._session
        try:
            while self._wanted and session.runs.running is None:  # a run needs all cores
                k, of = self._wanted[0], self._of
                point = await self._point(k)
                if of == self._of and self._wanted[:1] == [k]:
                    self.points[k] = point
                    self._wanted.pop(0)
                    session.tell({"type": "frontier", "points": self.shown(), "waiting": len(self._wanted)})
        finally:
            self._busy = False
        await self._worker.close()  # its table is not needed any more

    async def _point(self, k: int) -> dict[str, Any]:
        session = self._session
        assert session.source is not None
        # what is left out is of the run, which has an algorithm of its own
        spec = {
            name: value for name, value in session.spec.items() if name not in ("time_limit", "parameters")
        }
        spec["privacy"] = {**spec.get("privacy", {}), "k": k}
        try:
            return await self._worker.ask("frontier", **asked(session.source, session.events), spec=spec, k=k)
        except JobError as error:
            return {"k": k, "status": "failed", "reason": str(error)}

    def shown(self) -> list[dict[str, Any]]:
        """The points in the order of k."""
        return [self.points[k] for k in sorted(self.points)]

    @property
    def waiting(self) -> int:
        return len(self._wanted)

    async def close(self) -> None:
        self._wanted = []
        await self._worker.close()
