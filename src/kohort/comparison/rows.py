"""The table of a comparison as a CSV file: read back to go on where it stopped."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kohort.errors import InputError
from kohort.files.atomic import replacing
from kohort.files.checked import write_checked

Row = dict[str, Any]

_TEXTS = ("algorithm", "cost", "status", "reason", "made_by", "version", "job")
_WHOLE = ("k", "classes", "smallest_class", "withheld")
COLUMNS = (
    "algorithm", "cost", "k", "l", "alpha", "t", "status", "made_by", "loss", "value", "bound", "gap",
    "solver_bound", "solver_gap",
    "highest_risk", "average_risk", "linked", "best_guess", "query_error", "tkd", "tkd_ml2",
    "pair_error", "classes", "smallest_class", "withheld", "seconds", "cpu_seconds", "memory_mb", "reason",
    "version", "job",
)  # fmt: skip


def read_rows(path: Path, job: str) -> list[Row]:
    """The rows of an earlier run of the same comparison; another one is refused.

    A last line that is cut off, as by a full disk, is left out: its release is made again.
    """
    try:
        text = path.read_bytes().decode("utf-8")
        header, *lines = list(csv.reader(io.StringIO(text, newline="")))
    except (OSError, ValueError, csv.Error):
        header, lines, text = [], [], ""
    if tuple(header) != COLUMNS:
        raise InputError(f"{path} exists and is not a table of a comparison. Choose another output.")
    whole = lines if text.endswith("\n") else lines[:-1]
    rows = [_row(path, number, cells) for number, cells in enumerate(whole, start=1)]
    if any(row["job"] != job for row in rows):
        raise InputError(
            f"{path} holds a comparison of other data, another spec, or with other settings. Choose another "
            "output, or remove it to start over."
        )
    return rows


def _row(path: Path, number: int, cells: list[str]) -> Row:
    try:
        return {name: _value(name, text) for name, text in zip(COLUMNS, cells, strict=True)}
    except ValueError:
        raise InputError(
            f"{path}: row {number} is damaged. Remove that row, so that its release is made again, or choose "
            "another output."
        ) from None


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write all rows to a file, which appears whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _text(row.get(name)) for name in COLUMNS} for row in rows)
    with replacing(path) as draft:
        write_checked(draft, text.getvalue())


def _text(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _value(name: str, text: str) -> Any:
    if text == "" or name in _TEXTS:
        return text or None
    return int(text) if name in _WHOLE else float(text)
