"""The loop of a worker: one question after another, `stop` at any time, the end when stdin closes.

A question is `{"id": 1, "ask": "profile", "with": {...}}`. Answers have its id: any number of
`{"progress": {...}}`, then one `{"result": ...}` or `{"error": {"kind": ..., "message": ...}}`.
"""

from __future__ import annotations

import json
import os
import sys
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, TextIO

__all__: list[str] = []


class Channel:
    """Writes answers, one line each; whatever else prints to stdout goes to stderr instead."""

    def __init__(self) -> None:
        self._out: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._lock = Lock()

    def write(self, answer: dict[str, Any]) -> None:
        with self._lock:
            self._out.write(json.dumps(answer) + "\n")
            self._out.flush()


def _read(questions: SimpleQueue[dict[str, Any]], stopped: Event) -> None:
    """Hand questions on; when the studio is gone, so is its worker."""
    for line in sys.stdin:
        question = json.loads(line)
        if question["ask"] == "stop":
            stopped.set()
        else:
            questions.put(question)
    os._exit(0)


def _answer(question: dict[str, Any], workplace: Any, channel: Channel, stopped: Event) -> dict[str, Any]:
    from kohort.errors import KohortError
    from kohort.studio.worker.questions import QUESTIONS
    from kohort.studio.worker.workplace import Telling

    number = question["id"]
    workplace.tell = Telling(lambda facts: channel.write({"id": number, "progress": facts}), stopped)
    try:
        return {"result": QUESTIONS[question["ask"]](workplace, **question["with"])}
    except KohortError as error:
        return {"error": {"kind": type(error).__name__, "message": str(error)}}
    except MemoryError:
        return {"error": {"kind": "MemoryError", "message": "There is not enough memory for this."}}
    except BaseException as error:  # Polars panics with one that is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        if os.environ.get("KOHORT_DEBUG"):
            import traceback

            traceback.print_exc()
        # its text could hold a cell of the data, so only its kind is shown
        message = f"This is a bug in Kohort ({type(error).__name__}). Please report it."
        return {"error": {"kind": "InternalError", "message": message}}


def main() -> None:
    """Answer questions until stdin closes."""
    channel, stopped = Channel(), Event()
    questions: SimpleQueue[dict[str, Any]] = SimpleQueue()
    Thread(target=_read, args=(questions, stopped), daemon=True).start()
    from kohort.studio.worker.workplace import Workplace

    workplace = Workplace()
    channel.write({"ready": os.getpid()})
    while True:
        question = questions.get()
        stopped.clear()
        channel.write({"id": question["id"], **_answer(question, workplace, channel, stopped)})


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):  # Ctrl-C reaches the whole group; the studio ends us
        os._exit(0)
