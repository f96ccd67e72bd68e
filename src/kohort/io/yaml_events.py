"""Refuse YAML that is nested too deep or repeats too much by aliases, before anything is built from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

DEEPEST = 100  # nested mappings and lists
MOST_REPEATED = 100_000  # values that aliases may repeat

Refusal = Callable[[int, str], Exception]


def refuse_endless(text: str, refuse: Refusal, *, loader: Any = yaml.SafeLoader) -> None:
    """Raise what `refuse` makes of a line and a reason, where a text is nested too deep or repeats too much.

    Only the events of the parser are looked at, one after another: nothing is built and nothing repeated.
    """
    seen = _Seen()
    event: Any  # what PyYAML's stubs say of its marks differs from version to version
    for event in yaml.parse(text, Loader=loader):
        reason = seen.next(event)
        if reason is not None:
            raise refuse(event.start_mark.line + 1, reason)


@dataclass
class _Seen:
    """What was seen of a text so far.

    open      per mapping or list that is not closed yet: its anchor, and the values in it so far
    sizes     values below each anchor; None while it is open
    repeated  values that aliases stood for
    """

    open: list[tuple[str | None, int]] = field(default_factory=list)
    sizes: dict[str | None, int | None] = field(default_factory=dict)
    repeated: int = 0

    def next(self, event: Any) -> str | None:
        """Take the next event; returns the reason to stop here, or None."""
        if isinstance(event, yaml.CollectionStartEvent):
            if len(self.open) == DEEPEST:
                return f"it is nested more than {DEEPEST} deep"
            self.open.append((event.anchor, 1))
            self.sizes[event.anchor] = None
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size = self.open.pop()
            self._add(anchor, size)
        elif isinstance(event, yaml.ScalarEvent):
            self._add(event.anchor, 1)
        elif isinstance(event, yaml.AliasEvent):
            return self._repeat(event.anchor)
        return None

    def _repeat(self, anchor: str | None) -> str | None:
        size = self.sizes.get(anchor, 0)  # an unknown one is refused when the text is read
        if size is None:
            return f"the alias *{anchor} contains itself"
        self.repeated += size
        if self.repeated > MOST_REPEATED:
            return f"its aliases stand for more than {MOST_REPEATED:,} values. Write them out"
        self._add(None, size)
        return None

    def _add(self, anchor: str | None, size: int) -> None:
        if anchor is not None:
            self.sizes[anchor] = size
        if self.open:
            outer, so_far = self.open[-1]
            self.open[-1] = (outer, so_far + size)
