"""Show people how far a long job is: in a notebook by itself, in a terminal when asked."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from threading import RLock, Timer
from typing import Any

from kohort.algorithms import Progress
from kohort.errors import InputError
from kohort.parameters import shown

__all__ = ["ShowProgress", "shown_progress"]

ShowProgress = Progress | bool | None

_PATIENCE = 2.0  # seconds before anything is shown
_STARTING = "starting (the first run compiles its kernels)"


@contextmanager
def shown_progress(progress: ShowProgress) -> Iterator[Progress | None]:
    """Yield the function that a job is to call with what is being done and the share that is done.

    A function is taken as it is. None: a display in a notebook, nothing elsewhere. True: a display in a
    notebook, a line on stderr elsewhere. False: nothing.
    """
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise InputError(
            "'progress' must be True, False, or a function that is called with what is being done and the "
            "share "
            f"that is done. Got {shown(progress)}."
        )
    if callable(progress):
        yield progress
        return
    screen = _screen(progress)
    if screen is None:
        yield None
        return
    display = _Throttled(screen)
    try:
        yield display
    finally:
        display.close()


def _screen(progress: bool | None) -> _Line | None:
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    in_notebook = getattr(shell, "kernel", None) is not None  # IPython in a terminal has none
    if progress is False or not (in_notebook or progress):
        return None
    if in_notebook:
        return _Notebook()
    return _Line() if sys.stderr.isatty() else _Lines()


class _Throttled:
    """Draws the latest state: the first after two seconds, then a few a second."""

    def __init__(self, screen: _Line) -> None:
        self.screen = screen
        self.what, self.share = _STARTING, 0.0
        self.start = time.monotonic()
        self.drawn: float | None = None
        self.closed = False
        self.lock = RLock()  # several threads may report
        self.timer = Timer(_PATIENCE, self._draw)  # compiling may take long and reports nothing
        self.timer.daemon = True
        self.timer.start()

    def __call__(self, what: str, share: float) -> None:
        with self.lock:
            self.what, self.share = what, share
            if self.drawn is not None and time.monotonic() - self.drawn >= self.screen.every:
                self._draw()

    def close(self) -> None:
        self.timer.cancel()
        with self.lock:
            self.closed = True
            if self.drawn is not None:
                self.screen.clear()

    def _draw(self) -> None:
        with self.lock:
            if not self.closed:
                self.drawn = time.monotonic()
                self.screen.draw(self.what, self.share, self.drawn - self.start)


class _Line:
    """One line of a terminal, written over and over."""

    every = 0.3  # seconds between two states

    def draw(self, what: str, share: float, seconds: float) -> None:
        sys.stderr.write(f"\r\x1b[K{_state(what, share, seconds)}")
        sys.stderr.flush()

    def clear(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


class _Lines(_Line):
    """A line now and then, for stderr that goes to a file."""

    every = 10.0

    def draw(self, what: str, share: float, seconds: float) -> None:
        sys.stderr.write(f"{_state(what, share, seconds)}\n")

    def clear(self) -> None:
        pass


class _Notebook(_Line):
    """A bar in the output of a cell, replaced in place; it needs no widgets."""

    handle: Any = None

    def draw(self, what: str, share: float, seconds: float) -> None:
        text = _state(what, share, seconds)
        bar = f'<progress value="{min(max(share, 0.0), 1.0):.3f}" max="1"></progress>'
        self._show(text, f"<div>{bar} {escape(text)}</div>")

    def clear(self) -> None:
        self._show("", "")

    def _show(self, text: str, html: str) -> None:
        from IPython.display import display

        data = {"text/plain": text, "text/html": html}
        if self.handle is None:
            self.handle = display(data, raw=True, display_id=True)
        else:
            self.handle.update(data, raw=True)


def _state(what: str, share: float, seconds: float) -> str:
    """What is being done, how much of it is done, and for how long.

    >>> _state("searching", 0.25, 7.9)
    'searching: 25 %, 7 s'
    """
    return f"{what}: {100 * share:.0f} %, {int(seconds)} s"
