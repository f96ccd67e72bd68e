"""The pages that listen to what happens in a session."""

from __future__ import annotations

import asyncio
from typing import Any

Event = dict[str, Any]


class Listeners:
    """Queues, one for each page that shows a session."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[Event]] = set()

    def listen(self) -> asyncio.Queue[Event]:
        """A queue that gets every event from now on."""
        queue: asyncio.Queue[Event] = asyncio.Queue()
        self._queues.add(queue)
        return queue

    def leave(self, queue: asyncio.Queue[Event]) -> None:
        self._queues.discard(queue)

    def tell(self, event: Event) -> None:
        """Send an event to every page that shows the session."""
        for queue in self._queues:
            queue.put_nowait(event)
