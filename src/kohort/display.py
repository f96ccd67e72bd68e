"""A title, sentences and small tables, as plain text for a terminal and as HTML for a notebook.

Colours are left to the notebook, light or dark: only the bar at the left edge has one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill

__all__ = ["Display", "Figures"]

_BARS = {"green": "#0b6b3a", "amber": "#b26a00", "red": "#a40e26", None: "#7f7f7f"}
_WIDTH = 80  # characters of a line in a terminal
_MOST_LETTERS = 40  # of a cell in a terminal
_CELL = "padding: .15em 1em .15em 0; vertical-align: top"


@dataclass(frozen=True)
class Figures:
    """A small table of texts. `wide` columns, such as reasons, are shown in notebooks only.

    left  the columns that are set to the left; the others hold numbers
    """

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[str]
    wide: Sequence[str] = ()

    def text(self) -> str:
        """The table in lines, its columns two spaces apart.

        >>> print(Figures(["column", "distinct"], [["age", "87"], ["sex", "2"]], ["column"]).text())
        column  distinct
        age           87
        sex            2
        """
        shown = [place for place, name in enumerate(self.heading) if name not in self.wide]
        lines = [[_cut(row[place]) for place in shown] for row in (self.heading, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines)]
        is_left = [self.heading[place] in self.left for place in shown]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if left else cell.rjust(width)
                for cell, width, left in zip(line, widths, is_left)
            ).rstrip()
            for line in lines
        )

    def html(self) -> str:
        """The table as HTML, every cell escaped."""
        aligned = ["left" if name in self.left or name in self.wide else "right" for name in self.heading]
        heading = "".join(_cell("th", *both) for both in zip(self.heading, aligned))
        body = "".join(
            f"<tr>{''.join(_cell('td', *both) for both in zip(row, aligned))}</tr>" for row in self.rows
        )
        return (
            '<table style="border-collapse: collapse; margin: .6em 0">'
            f"<thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>"
        )


@dataclass(frozen=True)
class Display:
    """What a person sees of an object: a title, then sentences and tables in this order.

    colour  of the bar at the left edge in a notebook: green, amber, red, or None for grey
    """

    title: str
    parts: Sequence[str | Figures]
    colour: str | None = None

    def text(self) -> str:
        """Everything as plain text of up to 80 columns; a table may be wider."""
        parts = [part.text() if isinstance(part, Figures) else fill(part, _WIDTH) for part in self.parts]
        return "\n".join([self.title, *_spaced(self.parts, parts)])

    def html(self) -> str:
        """Everything as HTML that needs no style sheet or script; all texts are escaped."""
        parts = "".join(
            part.html() if isinstance(part, Figures) else f'<p style="margin: .4em 0">{escape(part)}</p>'
            for part in self.parts
        )
        return (
            f'<div style="max-width: 60rem; overflow-x: auto; padding: .4rem 1rem; '
            f'border-left: .4rem solid {_BARS[self.colour]}"><strong>{escape(self.title)}</strong>'
            f"{parts}</div>"
        )


def _spaced(parts: Sequence[str | Figures], texts: Sequence[str]) -> list[str]:
    """The texts, tables with an empty line around them."""
    lines: list[str] = []
    for part, text in zip(parts, texts):
        after_table = bool(lines) and lines[-1] == ""
        lines += [text] if isinstance(part, str) else [text, ""] if after_table else ["", text, ""]
    return lines[:-1] if lines and lines[-1] == "" else lines


def _cell(tag: str, text: str, align: str) -> str:
    return f'<{tag} style="{_CELL}; text-align: {align}">{escape(text)}</{tag}>'


def _cut(text: str) -> str:
    text = " ".join(text.split())  # a name may hold line ends
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"
