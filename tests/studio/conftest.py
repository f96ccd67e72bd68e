"""The order of the studio's tests: the longest files first, so that two workers end together."""

from pathlib import Path

LONGEST = ("test_browser_files.py", "test_browser.py", "test_baskets.py", "test_walk.py", "test_events.py")


def pytest_collection_modifyitems(items):
    place = {Path(__file__).with_name(name): number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(LONGEST)))
