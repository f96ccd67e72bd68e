"""Take the pictures of the studio's pages for the documentation, in headless Chromium through Playwright.

Run it after a change of a page: `python docs/studio_pictures.py`, and look at the pictures.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

PICTURES = Path(__file__).parent / "pictures"
WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}

# name, page, size, light or dark, and the part of the page to begin with
OF_DEMO = [
    ("data-dark", "data", WIDE, "dark", None),
    ("people", "people", WIDE, "light", None),
    ("roles", "roles", WIDE, "light", None),
    ("hierarchies", "hierarchies/6", WIDE, "light", None),
    ("promise-dark", "promise", WIDE, "dark", None),
    ("run-phone", "run", PHONE, "light", None),
    ("judge", "judge/1", WIDE, "light", None),
    ("lattice", "judge/2", WIDE, "light", "#lattice"),
    ("publish-dark", "publish/1", WIDE, "dark", None),
]
OF_BASKETS = [("baskets", "data", WIDE, "light", None)]


@contextmanager
def studio(*arguments: str) -> Iterator[str]:
    """The address of a studio."""
    command = [sys.executable, "-m", "kohort", "studio", "--no-browser", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().partition(": ")[2].strip()
        finally:
            process.send_signal(signal.SIGINT)


def main() -> None:
    """Take every picture."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"), args=["--no-sandbox"]
        )
        with studio("--demo") as address:
            page = browser.new_context(viewport=WIDE).new_page()
            page.goto(address)
            page.wait_for_selector("#loaded")
            base = page.url.rpartition("/")[0]
            release(page, base, "mondrian", 1)
            wait_for_frontier(page, base)
            release_with_few_columns(page, base)
            take(browser, page, base, OF_DEMO)
        with studio() as address:
            page = browser.new_context(viewport=WIDE).new_page()
            page.goto(address)
            page.select_option("#builtin", "baskets")
            page.click("#open-builtin")
            page.wait_for_selector("#loaded")
            take(browser, page, page.url.rpartition("/")[0], OF_BASKETS)
        browser.close()


def release(page: Any, base: str, algorithm: str, number: int) -> None:
    """Make a release, the run with this number, judge it, and write its files."""
    show(page, f"{base}/run")
    page.select_option("#algorithm", algorithm)
    page.wait_for_selector(f"#spec:has-text('algorithm: {algorithm}')")
    page.click("#start")
    page.wait_for_selector(f"#latest h2:has-text('({number}): done')", timeout=120_000)
    show(page, f"{base}/judge")
    page.wait_for_selector("#verdict", timeout=120_000)
    show(page, f"{base}/publish")
    page.click("#write")
    page.wait_for_selector("#files", timeout=120_000)


def wait_for_frontier(page: Any, base: str) -> None:
    show(page, f"{base}/promise")
    page.wait_for_selector("#frontier-waiting:empty", state="attached", timeout=120_000)


def release_with_few_columns(page: Any, base: str) -> None:
    """A release by full-domain with four quasi-identifiers; the roles are as before afterwards."""
    show(page, f"{base}/roles")
    for name in ("race", "education", "family_size", "income"):
        row = page.locator("[data-role-row]", has=page.locator(f"h2:text-is('{name}')"))
        row.locator("button:text-is('insensitive')").click()
        row.locator("button[aria-pressed=true]:text-is('insensitive')").wait_for()
    release(page, base, "full-domain", 2)
    for _ in range(5):
        page.click("#undo")
        page.wait_for_load_state("networkidle")


def show(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("html[data-ready]")


def take(browser: Any, page: Any, base: str, pictures: list[tuple]) -> None:
    """Take pictures of pages, each in a window of its own size and scheme."""
    for name, step, size, scheme, part in pictures:
        context = browser.new_context(viewport=size, color_scheme=scheme)
        context.add_cookies(page.context.cookies())
        window = context.new_page()
        show(window, f"{base}/{step}")
        if part is not None:
            window.locator(part).evaluate("part => part.scrollIntoView()")
        window.wait_for_timeout(800)
        window.screenshot(path=PICTURES / f"studio-{name}.png")
        context.close()


if __name__ == "__main__":
    main()
