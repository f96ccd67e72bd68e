"""Is a text file one of baskets, a transaction per line, and what separates their items?"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from kohort.data.basket_cells import split_text
from kohort.io.baskets import BasketShape
from kohort.io.folders import Folder
from kohort.io.tables import source_format
from kohort.io.text_layout import detect_encoding, open_text

_SAMPLE_CHARACTERS, _SAMPLE_LINES, _LEAST_LINES = 1 << 20, 2000, 5
_SEPARATORS = (",", ";", "\t", "|", " ")
_ONE_SIZE = 0.8  # if more than this share of lines have equally many cells, they are rows of a table
_DISTINCT = 0.95  # the least share of baskets that name no item twice
_FEW_WORDS = 0.2  # distinct words among all: people's names and free text have more


def recognized_baskets(path: Path) -> BasketShape | None:
    """The shape of a file or folder with one basket a line; None for everything that may be a table."""
    if source_format(path) != "csv":
        return None
    lines = _first_lines(Folder.at(path).largest if path.is_dir() else path)
    usual = BasketShape().separator_for(path)
    for separator in sorted(_SEPARATORS, key=lambda separator: separator != usual):
        if _hold_baskets(lines, separator):
            return BasketShape(None if separator == usual else separator)
    return None


def _first_lines(path: Path) -> list[str]:
    try:
        with open_text(path, detect_encoding(path)) as stream:
            text = stream.read(_SAMPLE_CHARACTERS)
    except UnicodeError:
        return []
    lines = text.removeprefix("\ufeff").splitlines()
    whole = lines[:-1] if len(text) == _SAMPLE_CHARACTERS else lines
    return [line for line in whole[:_SAMPLE_LINES] if line.strip()]


def _hold_baskets(lines: list[str], separator: str) -> bool:
    """Whether lines look like baskets: many lengths, no item twice, items in different places."""
    baskets = [split_text(" ".join(line.split()) if separator == " " else line, separator) for line in lines]
    sizes = Counter(map(len, baskets))
    if len(baskets) < _LEAST_LINES or max(sizes.values()) > _ONE_SIZE * len(baskets) or max(sizes) < 3:
        return False
    if sum(len(set(basket)) == len(basket) for basket in baskets) < _DISTINCT * len(baskets):
        return False
    return _move_about(baskets) and (separator != " " or _are_items(baskets))


def _move_about(baskets: list[list[str]]) -> bool:
    """Whether most items that occur again stand in several places, as the values of a column never do."""
    places, often = defaultdict(set), Counter(item for basket in baskets for item in basket)
    for basket in baskets:
        for place, item in enumerate(basket):
            places[item].add(place)
    again = [item for item, count in often.items() if count > 1]
    return bool(again) and sum(len(places[item]) > 1 for item in again) * 2 >= len(again)


def _are_items(baskets: list[list[str]]) -> bool:
    """Whether what spaces separate are numbers of items, or few different words."""
    items = [item for basket in baskets for item in basket]
    return all(item.isdecimal() for item in items) or len(set(items)) <= _FEW_WORDS * len(items)
