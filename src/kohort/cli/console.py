"""How commands talk to people and machines: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from kohort.tables.source import Source

_PATIENCE = 2.0  # seconds before progress is shown
_PLAIN_EVERY = 10.0  # seconds between lines where there is no terminal


class Output:
    """Prints for one command, according to `--json` and `--quiet`."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.console = Console(highlight=False)
        self.errors = Console(stderr=True, highlight=False)

    def show(self, *renderables: Any, **more: Any) -> None:
        """Print something for people, unless --json or --quiet is given."""
        if not (self.as_json or self.quiet):
            self.console.print(*renderables, **more)

    def say(self, *sentences: str) -> None:
        """Print sentences for people, as they are, each on a line of its own."""
        for sentence in sentences:
            self.show(Text(sentence))

    def say_whole(self, text: str) -> None:
        """Print a command or a path that is to be copied: lines are not folded."""
        self.show(Text(text), soft_wrap=True)

    def written(self, *paths: Any) -> None:
        """Say what was written; None was not asked for."""
        if given := [*map(str, filter(None, paths))]:
            self.say_whole(f"Written: {', '.join(given)}")

    def result(self, facts: Any) -> None:
        """Print the result for machines, if --json is given."""
        if self.as_json:
            sys.stdout.write(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")

    def note(self, *notes: str) -> None:
        """Print notes besides the result, on stderr."""
        for note in () if self.quiet else notes:
            self.errors.print(Text(note, style="dim"))

    def complain(self, *sentences: str) -> None:
        """Print what is wrong, on stderr, unless --quiet is given."""
        for sentence in () if self.quiet else sentences:
            sys.stderr.write(f"{sentence}\n")

    def notes(self, *files: Source | None) -> None:
        """Print the notes about files that were read."""
        self.note(*(note for file in filter(None, files) for note in file.notes))

    @contextmanager
    def progress(self, *, time_limit: float | None = None) -> Iterator[Callable[[str, float], None]]:
        """A progress bar; it shows how long the current step will still take once that can be estimated.

        Algorithms that run inside are compiled first, where they are not.
        """
        with self._shown_progress(time_limit) as progress, _compiled_first(progress):
            yield progress

    @contextmanager
    def _shown_progress(self, time_limit: float | None) -> Iterator[Callable[[str, float], None]]:
        left = TimeLeft(time_limit=time_limit)
        if self.quiet:
            yield lambda what, share: None
        elif self.errors.is_terminal:
            with _bar(self.errors) as bar:
                task = bar.add_task("starting (the first run compiles its kernels)", total=1.0, left="")

                def move(what: str, share: float) -> None:
                    words = _in_words(left.after(share)).removeprefix(", ")
                    bar.update(task, description=what, completed=share, left=words)

                yield move
        else:
            yield _PlainLines(self.errors, left)


@contextmanager
def _compiled_first(progress: Callable[[str, float], None]) -> Iterator[None]:
    from kohort.kernels.compile_time import ahead_of

    def compile_with_progress(algorithms: Sequence[str]) -> None:
        from kohort.compiling import compile_algorithms

        compile_algorithms(algorithms, progress)

    with ahead_of(compile_with_progress):
        yield


def table(
    headings: Sequence[str | Column],
    rows: Iterable[Sequence[Any]],
    *,
    figures: Sequence[str] = (),
    **style: Any,
) -> Table:
    """A table for a terminal; columns of figures are set to the right. Texts are shown as they are."""
    columns = [Column(h, justify="right") if isinstance(h, str) and h in figures else h for h in headings]
    made = Table(*columns, **style)
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=console,
        transient=True,
    )


class _PlainLines:
    def __init__(self, console: Console, left: TimeLeft) -> None:
        self.console, self.left = console, left
        self.start = self.last = time.monotonic()

    def __call__(self, what: str, share: float) -> None:
        now, left = time.monotonic(), self.left.after(share)
        if now - self.start > _PATIENCE and now - self.last > _PLAIN_EVERY:
            self.last = now
            self.console.print(f"{what}: {share:.0%}{_in_words(left)}")


_LEAST_SECONDS = 3.0  # of the step, before anything is said
_LEAST_SHARE = 0.1  # of the step, before anything is said
_MOST_DISAGREEMENT = 1.5  # between the pace of the whole step and that of its later half
_APART = 0.2  # seconds between two points that are kept


class TimeLeft:
    """Estimates the rest of a step from its reports; a step ends when the share that is done falls back.

    Nothing is estimated before three seconds and a tenth of the step have passed, nor while the pace of the
    later half of that time differs much from the pace of all of it. An estimate never exceeds `time_limit`.

    >>> now = iter([0.0, 2.0, 4.0, 8.0])
    >>> left = TimeLeft(clock=lambda: next(now))
    >>> [_in_words(left.after(share)) for share in (0.0, 0.1, 0.2, 0.4)][2:]
    [', about 16 s left for this step', ', about 12 s left for this step']
    """

    def __init__(
        self, *, time_limit: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._time_limit = time_limit
        self._clock = clock
        self._points: list[tuple[float, float]] = []  # when, and the share that was done

    def after(self, share: float) -> float | None:
        """Seconds that the step will still take when this share of it is done; None if it is too early."""
        now = self._clock()
        if self._points and share < self._points[-1][1]:
            self._points.clear()
        if not self._points or now - self._points[-1][0] >= _APART:
            self._points.append((now, share))
        return self._estimate(now, share)

    def _estimate(self, now: float, share: float) -> float | None:
        (start, first), (middle, then) = self._points[0], self._point_at(self._points[0][0], now)
        if now - start < _LEAST_SECONDS or share - first < _LEAST_SHARE or share <= then:
            return None
        overall = (now - start) * (1 - share) / (share - first)
        lately = (now - middle) * (1 - share) / (share - then)
        if max(overall, lately) > _MOST_DISAGREEMENT * min(overall, lately):
            return None
        left = (overall + lately) / 2
        return left if self._time_limit is None else min(left, self._time_limit)

    def _point_at(self, start: float, now: float) -> tuple[float, float]:
        """The last point in the first half of the step so far."""
        half = (start + now) / 2
        return max((point for point in self._points if point[0] <= half), default=self._points[0])


def _in_words(seconds: float | None) -> str:
    """The rest of a step in words, to be added to a line; empty if it is unknown.

    >>> _in_words(12.4), _in_words(200), _in_words(None)
    (', about 12 s left for this step', ', about 3 min left for this step', '')
    """
    if seconds is None:
        return ""
    much = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    return f", about {much} left for this step"
