"""The frontier of risk and loss, computed in the background while somebody chooses k."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from kohort.studio.jobs import JobError, Worker

if TYPE_CHECKING:
    from kohort.studio.session import Session

VALUES_OF_K = (2, 3, 5, 10, 20, 50, 100)
_SHAPING = ("attributes", "items", "events", "history", "others", "suppression", "labels", "nulls", "weights")


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
        spec = deepcopy(session.spec)
        spec["privacy"] = {**spec.get("privacy", {}), "k": k}
        for name in ("time_limit", "parameters"):  # of the run, which has an algorithm of its own
            spec.pop(name, None)
        events = None if session.events is None else session.events.asked()
        asked: dict[str, Any] = {"source": session.source.asked(), "events": events, "spec": spec, "k": k}
        try:
            return await self._worker.ask("frontier", **asked)
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
