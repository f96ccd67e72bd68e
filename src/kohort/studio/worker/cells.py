"""Cells of a table as texts for a page, cut where they are long."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kohort.data.column import text_of

FIRST_ROWS = 100
_LONGEST_CELL = 80  # characters


def first_rows(table: pa.Table, first: int = 0, count: int = FIRST_ROWS) -> list[list[str | None]]:
    """Some rows of a table as texts, cut where they are long."""
    part = table.slice(first, count)
    columns = [[_cell(value) for value in part[name].to_pylist()] for name in part.column_names]
    return [list(row) for row in zip(*columns)]


def _cell(value: Any) -> str | None:
    if value is None:
        return None
    return shortened("; ".join(map(str, value)) if isinstance(value, list) else text_of(value))


def shortened(text: str) -> str:
    """A text that is not too long for a cell of a page."""
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"
