"""The studio as its users have it: the command in a process of its own, and a real Chromium."""

import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from report.chromium import BROWSER, needs_chromium

pytest.importorskip("uvicorn", reason="the studio's packages are not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

__all__ = ["first_page", "needs_chromium", "started_chromium", "started_studio"]


@contextmanager
def started_studio(*arguments):
    """The address of a studio; it is ended by Ctrl-C, which must be clean."""
    command = [sys.executable, "-m", "kohort", "studio", "--no-browser", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            found = re.fullmatch(r"Kohort studio: (http://127\.0\.0\.1:\d+/\?token=[\w-]+)\n", line)
            assert found, line + process.stderr.read()
            yield found.group(1)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
            assert (process.returncode, out, err) == (0, "", "Kohort studio has ended.\n")
        finally:
            process.kill()


@contextmanager
def started_chromium():
    """A Chromium; there can be one at a time."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def first_page(chromium, address, **options):
    """The first page of a studio, once its table is open; every complaint of the browser fails the test."""
    context = chromium.new_context(accept_downloads=True, **options)
    context.set_default_timeout(60_000)
    complaints = []
    context.on("console", lambda message: complaints.append(message.text))
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#loaded")
    yield page
    context.close()
    assert complaints == []
