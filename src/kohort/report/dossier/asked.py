"""What may be asked of a dossier: its file. Loads nothing: it is asked before long work."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from kohort.errors import InputError
from kohort.extras import missing_package
from kohort.report.asked import check_version

__all__ = ["check_dossier", "check_dossier_path"]

_ENDINGS = (".html", ".htm", ".pdf", ".docx")


def check_dossier(path: str | Path | None, version: str) -> None:
    """Refuse a version that does not exist, and a file that cannot be written."""
    check_version(version)
    if path is not None:
        check_dossier_path(path)


def check_dossier_path(path: str | Path) -> None:
    """Refuse an ending that no dossier has, and PDF or DOCX where they cannot be made."""
    suffix = Path(path).suffix.lower()
    if suffix not in _ENDINGS:
        raise InputError(f"The name of a dossier must end in .html, .pdf or .docx. Got {Path(path).name!r}.")
    if suffix == ".pdf":
        from kohort.report.pdf import require_weasyprint

        require_weasyprint()
    if suffix == ".docx" and find_spec("docx") is None:
        raise missing_package("A dossier as DOCX needs", "docx")
