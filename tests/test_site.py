"""The site builds without a warning, needs nothing from elsewhere, and shows every public name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import kohort as ko
from report.chromium import BROWSER, FLAGS, needs_chromium

pytestmark = pytest.mark.site

ROOT = Path(__file__).parents[1]
ELSEWHERE = re.compile(r"(https?:)?//")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    settings = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class _Loads(HTMLParser):
    """Collects the addresses that a browser fetches by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("script", "img", "iframe", "source", "video"):
            self.found.append(given.get("src", ""))
        if tag == "link" and given.get("rel") not in ("canonical", "prev", "next"):
            self.found.append(given.get("href", ""))


def test_pages_load_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 45
    for page in pages:
        loads = _Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert bool(loads.found) == (page.parent.name != "dossiers")  # a dossier needs nothing at all
        assert not [address for address in loads.found if ELSEWHERE.match(address)], page


def test_styles_load_nothing_from_elsewhere(site):
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"url\(\s*['\"]?(https?:)?//|@import", text), style


def test_the_reference_has_every_public_name(site):
    page = (site / "api.html").read_text(encoding="utf-8")
    for name in set(ko.__all__) - {"datasets", "__version__"}:
        assert f'id="{name.lower()}"' in page.lower(), name


def test_notebooks_are_pages_with_what_their_cells_gave(site):
    for name in ("hospital", "choosing-k", "learning"):
        page = (site / "notebooks" / f"{name}.html").read_text(encoding="utf-8")
        assert 'class="output"' in page and (site / "notebooks" / f"{name}.ipynb").is_file()


def test_the_search_finds_words_of_all_kinds_of_pages(site):
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    places = {entry["location"].partition("#")[0] for entry in found}
    assert {"index.html", "api.html", "coming-from.html", "algorithms/improve.html"} <= places
    assert {f"notebooks/{name}.html" for name in ("hospital", "choosing-k", "learning")} <= places


def test_the_search_also_works_from_the_disk(site):
    """Its index is a script, and the frame that stands in for a worker is loaded by every page."""
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var __index")
    assert '<script src="../iframe-worker.js">' in (site / "algorithms" / "index.html").read_text("utf-8")


@needs_chromium
def test_a_browser_finds_pages_without_a_server(site, tmp_path):
    flags = [*FLAGS, f"--user-data-dir={tmp_path}", "--virtual-time-budget=20000", "--dump-dom"]
    command = [BROWSER, *flags, f"{(site / 'index.html').as_uri()}?q=closeness"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    assert re.search(r'md-search-result__meta">\d+ matching documents', shown)
