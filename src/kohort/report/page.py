"""The parts of a report page: headings, sentences, figures and tables, all made from facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kohort.charts import svg_of


@dataclass(frozen=True)
class Table:
    """Rows under a head. Numbers among the cells are set as such; texts are escaped by the template.

    `folded` is the summary under which the table is hidden until a reader opens it.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    folded: str | None = None


@dataclass(frozen=True)
class Figure:
    """A chart with a heading, the sentence that says what it shows, and its figures as a table."""

    heading: str
    svg: str
    sentence: str
    table: Table


def drawn(heading: str, chart: dict[str, Any], sentence: str, table: Table, *, shape: str = "Bars") -> Figure:
    """A figure with its chart drawn; the text alternative says its shape and the sentence."""
    return Figure(heading, svg_of(chart, alternative=f"{shape}. {sentence}"), sentence, table)


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    name: str
    heading: str
    sentences: Sequence[str] = ()
    points: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    code: Sequence[tuple[str, str]] = field(default=())
