"""What may be asked of a report or dossier: file and version. Loads nothing: asked before long work."""

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


def check_page(path: str | Path, what: str) -> None:
    """Refuse an ending that no such page has, and PDF where it cannot be made."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".html", ".htm", ".pdf"):
        raise InputError(f"The name of a {what} must end in .html or .pdf. Got {Path(path).name!r}.")
    if suffix == ".pdf":
        from kohort.report.html import require_weasyprint

        require_weasyprint()
