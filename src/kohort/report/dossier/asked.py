"""What may be asked of a dossier: its file. Loads nothing: it is asked before long work."""

from __future__ import annotations

from pathlib import Path

from kohort.errors import InputError
from kohort.report.asked import check_version

_ENDINGS = (".html", ".htm", ".pdf")


def check_dossier(path: str | Path | None, version: str) -> None:
    """Refuse a version that does not exist, and a file that cannot be written."""
    check_version(version)
    if path is not None:
        check_dossier_path(path)


def check_dossier_path(path: str | Path) -> None:
    """Refuse an ending that no dossier has, and PDF where it cannot be made."""
    suffix = Path(path).suffix.lower()
    if suffix not in _ENDINGS:
        raise InputError(f"The name of a dossier must end in .html or .pdf. Got {Path(path).name!r}.")
    if suffix == ".pdf":
        from kohort.report.pdf import require_weasyprint

        require_weasyprint()
