"""Worker processes: ask one a question, hear of its progress, stop it, survive its death."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

from kohort.errors import KohortError

Tell = Callable[[dict[str, Any]], None]

_LONGEST_LINE = 256 * 2**20  # bytes of an answer
_PATIENCE = 5.0  # seconds for a worker to end by itself


class JobError(KohortError):
    """A question that a worker could not answer; the message is for people and shows no cell."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class WorkerLost(JobError):
    """The process ended in the middle of its work."""

    def __init__(self) -> None:
        super().__init__(
            "WorkerLost",
            "The process that did this work has ended, perhaps for want of memory. Your choices are kept: "
            "try again.",
        )


class Worker:
    """A process that answers questions, one after another. It starts with the first one, or with `start`."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._numbers = count(1)
        self._waiting: dict[int, tuple[asyncio.Future[Any], Tell | None]] = {}
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The number of the process; None while there is none."""
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    async def start(self) -> None:
        """Start the process, or another one if it has ended."""
        async with self._starting:
            if self.pid is not None:
                return
            quiet = subprocess.DEVNULL if not os.environ.get("KOHORT_DEBUG") else None
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "kohort.studio.worker",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=quiet,
                limit=_LONGEST_LINE,
            )
            self._reading = asyncio.create_task(self._read(self._process))

    async def ask(self, question: str, *, tell: Tell | None = None, **arguments: Any) -> Any:
        """The answer to a question; raises JobError, or WorkerLost if the process dies."""
        await self.start()
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = (answer, tell)
        await self._send({"id": number, "ask": question, "with": arguments})
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)

    async def stop(self) -> None:
        """Ask for the best result so far."""
        if self.pid is not None:
            await self._send({"ask": "stop"})

    async def close(self) -> None:
        """End the process, whatever it is doing."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), _PATIENCE)
        if self._reading is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._reading

    async def _send(self, message: dict[str, Any]) -> None:
        assert self._process is not None and self._process.stdin is not None
        with contextlib.suppress(ConnectionError):  # a dead worker is noticed by its reader
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            self._hear(json.loads(line))
        await process.wait()
        for answer, _ in list(self._waiting.values()):
            if not answer.done():
                answer.set_exception(WorkerLost())

    def _hear(self, message: dict[str, Any]) -> None:
        answer, tell = self._waiting.get(message.get("id", 0), (None, None))
        if answer is None or answer.done():
            return
        if "progress" in message:
            if tell is not None:
                tell(message["progress"])
        elif "error" in message:
            answer.set_exception(JobError(**message["error"]))
        else:
            answer.set_result(message["result"])
