"""The table of a comparison as a CSV file: read back to go on where it stopped."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kohort.checked_write import write_checked
from kohort.errors import InputError
from kohort.io.atomic import replacing

__all__ = ["COLUMNS", "Row", "read_rows", "write_rows"]

Row = dict[str, Any]

_TEXTS = ("algorithm", "cost", "status", "reason", "made_by", "version", "job")
_WHOLE = ("k", "classes", "smallest_class", "withheld")
COLUMNS = (
    "algorithm", "cost", "k", "l", "alpha", "t", "status", "made_by", "loss", "value", "bound", "gap",
    "highest_risk", "average_risk", "linked", "best_guess", "query_error", "classes", "smallest_class",
    "withheld", "seconds", "cpu_seconds", "memory_mb", "reason", "version", "job",
)  # fmt: skip


def read_rows(path: Path, job: str) -> list[Row]:
    """The rows of an earlier run of the same comparison; another one is refused."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows = [{name: _value(name, text) for name, text in row.items()} for row in reader]
            known = reader.fieldnames
    except (OSError, UnicodeDecodeError, ValueError, csv.Error):
        known, rows = None, []
    if known is None or tuple(known) != COLUMNS:
        raise InputError(f"{path} is there already, and is no table of a comparison. Choose another output.")
    if any(row["job"] != job for row in rows):
        raise InputError(
            f"{path} holds a comparison of other data, another spec, or with other settings. Choose another "
            "output, or remove it to begin anew."
        )
    return rows


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """All rows, whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _text(row.get(name)) for name in COLUMNS} for row in rows)
    with replacing(path) as draft:
        write_checked(draft, text.getvalue())


def _text(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _value(name: str | None, text: str) -> Any:
    if text == "" or name in _TEXTS:
        return text or None
    return int(text) if name in _WHOLE else float(text)
