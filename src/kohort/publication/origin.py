"""The files that a release was made from: what is needed to write others like them, and never over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kohort.io.baskets import BasketShape
from kohort.io.tables import TableFile

__all__ = ["DATAFRAME", "Origin"]


@dataclass(frozen=True)
class Origin:
    """Where the original came from.

    file         the file of the original as it was read; None for a dataframe
    shape        how that file holds baskets; None for a table
    reads        all files that were read, none of which is ever written
    spec_sha256  the SHA-256 of the spec's file, or None
    making       for the report: the `command`, the text of the `spec`, and the original's file name, `data`
    """

    file: TableFile | None = None
    shape: BasketShape | None = None
    reads: tuple[Path, ...] = ()
    spec_sha256: str | None = None
    making: Mapping[str, str] = field(default_factory=dict)

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of the original's file, or None for a dataframe."""
        return None if self.file is None else self.file.sha256

    @property
    def delimiter(self) -> str | None:
        """The delimiter of the original's file, if it is delimited text."""
        return None if self.file is None else self.file.delimiter


DATAFRAME = Origin()
