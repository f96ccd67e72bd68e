"""A real browser, where one is installed."""

import shutil
import subprocess

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=2000",
]

needs_chromium = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


def chromium(page, folder, *flags):
    """What Chromium prints about a page, and its messages."""
    command = [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}", *flags, page.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr
