"""How commands talk to people and machines: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from kohort.cli.time_left import TimeLeft, in_words

if TYPE_CHECKING:
    from kohort.io.streamed_files import StreamedFile
    from kohort.io.tables import TableFile

__all__ = ["Output"]

_PATIENCE = 2.0  # seconds before progress is shown
_PLAIN_EVERY = 10.0  # seconds between lines where there is no terminal


class Output:
    """Prints for one command, according to `--json` and `--quiet`."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.console = Console(highlight=False)
        self.errors = Console(stderr=True, highlight=False)

    def show(self, *renderables: Any) -> None:
        """Print something for people, unless --json or --quiet is given."""
        if not (self.as_json or self.quiet):
            self.console.print(*renderables)

    def result(self, facts: Any) -> None:
        """Print the result for machines, if --json is given."""
        if self.as_json:
            sys.stdout.write(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")

    def note(self, text: str) -> None:
        """Print a note besides the result, on stderr."""
        if not self.quiet:
            self.errors.print(f"[dim]{_escaped(text)}[/dim]")

    def notes(self, *files: TableFile | StreamedFile | None) -> None:
        """Print the notes about files that were read."""
        for note in [note for file in files if file is not None for note in file.notes]:
            self.note(note)

    @contextmanager
    def progress(self, *, time_limit: float | None = None) -> Iterator[Callable[[str, float], None]]:
        """A progress bar; it shows how long the current step will still take once that can be estimated.

        Algorithms that run inside are compiled first, where they are not.
        """
        with self._shown_progress(time_limit) as progress, _compiled_first(progress):
            yield progress

    @contextmanager
    def _shown_progress(self, time_limit: float | None) -> Iterator[Callable[[str, float], None]]:
        if self.quiet:
            yield lambda what, share: None
        elif self.errors.is_terminal:
            with _bar(self.errors) as bar:
                yield _Bar(bar, TimeLeft(time_limit=time_limit))
        else:
            yield _PlainLines(self.errors, TimeLeft(time_limit=time_limit))


@contextmanager
def _compiled_first(progress: Callable[[str, float], None]) -> Iterator[None]:
    from kohort.kernels.ahead import ahead_of

    def compile_with_progress(algorithms: Sequence[str]) -> None:
        from kohort.compiling import compile_algorithms

        compile_algorithms(algorithms, progress)

    with ahead_of(compile_with_progress):
        yield


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")


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


class _Bar:
    def __init__(self, bar: Progress, left: TimeLeft) -> None:
        self.bar, self.left = bar, left
        self.task = bar.add_task("starting (the first run compiles its kernels)", total=1.0, left="")

    def __call__(self, what: str, share: float) -> None:
        left = in_words(self.left.after(share)).removeprefix(", ")
        self.bar.update(self.task, description=what, completed=share, left=left)


class _PlainLines:
    def __init__(self, console: Console, left: TimeLeft) -> None:
        self.console, self.left = console, left
        self.start = self.last = time.monotonic()

    def __call__(self, what: str, share: float) -> None:
        now, left = time.monotonic(), self.left.after(share)
        if now - self.start > _PATIENCE and now - self.last > _PLAIN_EVERY:
            self.last = now
            self.console.print(f"{what}: {share:.0%}{in_words(left)}")
