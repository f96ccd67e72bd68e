"""The signal of a verdict, the same on the terminal, on the page and in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Signal", "caution_lines", "signal_of"]


@dataclass(frozen=True)
class Signal:
    """Green: all promises hold. Amber: they hold, and leave something unprotected. Red: one is broken."""

    colour: Literal["green", "amber", "red"]
    title: str

    @property
    def terminal_style(self) -> str:
        """The name of the colour for the terminal."""
        return "yellow" if self.colour == "amber" else self.colour


def signal_of(facts: dict[str, Any], *, green: str = "Safe to publish as promised") -> Signal:
    """The signal of these facts; `green` is the title where there is nothing to add."""
    if not facts["holds"]:
        return Signal("red", "The promise does not hold")
    if facts["cautions"]:
        return Signal("amber", "Every promise holds, but not everything is protected")
    return Signal("green", green)


def caution_lines(facts: dict[str, Any]) -> list[str]:
    """What is not protected and what to do about it, a paragraph each."""
    return [f"Not protected: {caution['what']} {caution['advice']}" for caution in facts["cautions"]]
