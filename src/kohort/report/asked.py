"""What may be asked of a report: its file and its version. Loads nothing: it is asked before long work."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from kohort.errors import InputError

Version = Literal["internal", "public"]


def check_version(version: str) -> None:
    """Raise InputError unless the version of a report is one that exists."""
    if version not in get_args(Version):
        raise InputError(
            f"The version of a report or certificate must be internal or public. Got {version!r}."
        )


def check_report_path(path: str | Path) -> None:
    """Refuse an ending that no report has, and PDF where it cannot be made: best asked before long work."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".html", ".htm", ".pdf"):
        raise InputError(f"The name of a report must end in .html or .pdf. Got {Path(path).name!r}.")
    if suffix == ".pdf":
        from kohort.report.pdf import require_weasyprint

        require_weasyprint()
