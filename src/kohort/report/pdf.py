"""The report as a printed page: WeasyPrint sets the same HTML, with the styles for print."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from kohort.extras import missing_package
from kohort.files.checked import write_checked

_MORE = (
    ". It also needs Pango, which Linux desktops have (see the installation page of WeasyPrint). "
    "You can also write HTML and print it from a browser: its layout is made for paper as well."
)


def write_pdf(page: str, path: Path) -> None:
    """Write a page as PDF. Nothing is fetched: the page needs nothing."""
    weasyprint = require_weasyprint()
    write_checked(path, weasyprint.HTML(string=page, url_fetcher=_refuse).write_pdf())


def require_weasyprint() -> Any:
    """The WeasyPrint package; raises MissingPackageError with instructions if it is not installed."""
    try:
        import weasyprint
    except (ImportError, OSError):  # OSError: Pango, a system library that it stands on, is missing
        raise missing_package("A report as PDF needs", "pdf", more=_MORE) from None
    logging.getLogger("weasyprint").setLevel(logging.ERROR)  # it warns of CSS for screens, which it skips
    return weasyprint


def _refuse(url: str, *_: Any, **__: Any) -> Any:
    raise ValueError(f"A report fetches nothing, not even {url}.")
