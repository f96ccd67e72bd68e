"""Is the first line of a table a header, or a record? A record as column names would publish a person.

Every column is asked alone. Its first cell looks like a value if it is of the same kind as the cells below
it (both numbers, both dates), or if it is itself found below. It looks like a name if the cells below are
numbers or dates and it is a word. What the columns say together decides; in doubt, the user must say
which it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kohort.errors import InputError, counted

_MISSING = frozenset(
    ["", "?", "-", ".", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "missing", "unknown", "*"]
)
_NUMBER = re.compile(r"[-+]?[$€£]?\s?(\d[\d.,']*|\.\d+)([eE][-+]?\d+)?\s?[%€$£]?")
_YEAR = re.compile(r"(18|19|20)\d\d")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d\d)"
    rf"|\d{{1,2}}[- ]{_MONTH}[- ,]+\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})"
    r"([T ]+\d{1,2}:\d\d.*)?",
    re.IGNORECASE,
)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
_SAME_KIND = 0.8  # share of the cells below a first cell that must be of its kind
_LONG_RUN = 5  # names 0, 1, 2, 3, 4: what programs call columns without names
_FEW = 10  # names for one that looks like a value, such as a single code among many words


def invented_names(n_columns: int) -> list[str]:
    """Names for the columns of a table without a header.

    >>> invented_names(2)
    ['column_1', 'column_2']
    """
    return [f"column_{number}" for number in range(1, n_columns + 1)]


def refuse_doubtful_header(
    first: Sequence[str | None], below: Sequence[Sequence[str | None]], where: str, option: str
) -> None:
    """Raise InputError, without showing a cell, where the first line may be a record.

    first   the cells of the first line
    below   for each column, the cells below it (some hundred are enough)
    option  how the command line asks for the answer: `header` stands for --header and --no-header
    """
    names = ["" if name is None else name.strip() for name in first]
    reason = _doubled([name or "" for name in first]) or _reason(names, [_texts(cells) for cells in below])
    if reason is not None:
        word = option.replace("-", "_")
        raise InputError(
            f"{where}: {reason} If it names the columns, pass --{option}. If it is a record, pass "
            f"--no-{option}; then the columns are called column_1, column_2, and so on. (In Python: "
            f"{word}=True or {word}=False.)"
        )


def _texts(cells: Sequence[str | None]) -> list[str]:
    texts = (cell.strip() for cell in cells if cell is not None)
    return [text for text in texts if text.lower() not in _MISSING]


def _doubled(names: list[str]) -> str | None:
    doubled = {name for name, count in Counter(names).items() if count > 1}
    if not doubled:
        return None
    places = ", ".join(str(place) for place, name in enumerate(names, start=1) if name in doubled)
    return f"the first line has the same text in several columns ({places}), so it may not be a header."


@dataclass(frozen=True)
class _Says:
    """What the columns say of the first line; each is a list of places."""

    values: list[int]
    """The first cell is of the kind of the cells below it, or nothing but a value."""
    repeated: list[int]
    """The first cell is found again below it, or written just like the cells below it."""
    names: list[int]
    """The cells below are numbers or dates, and the first one is a word."""


def _reason(names: list[str], below: list[list[str]]) -> str | None:
    """Why the first line may be a record, in words; None where it is a header."""
    if not names or _are_numbered(names):
        return None
    says = _asked(names, _without_repeated_headers(names, below))
    if len(says.values) * _FEW > len(says.names):
        return _in_words(len(says.values), "of the same kind as the values below, such as numbers or dates")
    if len(says.repeated) > len(says.names):
        return _in_words(len(says.repeated), "found again among the values below, or written just like them")
    return None


def _in_words(places: int, what: str) -> str:
    cells = "1 of its cells is" if places == 1 else f"{counted(places, 'cell')} of it are"
    return f"the first line may be a record instead of a header: {cells} {what}."


def _are_numbered(names: list[str]) -> bool:
    """Whether the names count 0, 1, 2, ... or 1, 2, 3, ..., with or without a nameless index before them."""
    counted_names = names[1:] if names[0] == "" else names
    return len(counted_names) >= _LONG_RUN and any(
        counted_names == [str(number + start) for number in range(len(counted_names))] for start in (0, 1)
    )


def _without_repeated_headers(names: list[str], below: list[list[str]]) -> list[list[str]]:
    """The cells below; a first line that files put together repeat whole counts for nothing.

    Then every name is found below as often as all others, and rarely.
    """
    often = [cells.count(name) for name, cells in zip(names, below) if name]
    if len(often) > 1 and len(set(often)) == 1 and 0 < often[0] * 4 <= max(map(len, below)):
        return [[cell for cell in cells if cell != name] for name, cells in zip(names, below)]
    return below


def _asked(names: list[str], below: list[list[str]]) -> _Says:
    years = _are_years(names, below)
    says = _Says([], [], [])
    for place, (name, cells) in enumerate(zip(names, below)):
        if name.lower() in _MISSING:
            continue
        kind, kinds = _kind(name), _kinds(cells)
        mostly = {found for found, count in kinds.items() if count >= _SAME_KIND * len(cells)}
        if kind == "email" or (_is_kind_of(kinds, kind, len(cells)) and place not in years):
            says.values.append(place)
        elif kind == "text" and (name in cells or _is_written_alike(name, cells)):
            says.repeated.append(place)
        elif kind == "text" and mostly & {"number", "date"}:
            says.names.append(place)
    return says


def _is_kind_of(kinds: Counter[str], kind: str, cells: int) -> bool:
    """Whether the cells below a first cell are of its kind; of lists of numbers, some are single numbers."""
    if kind == "text":
        return False
    alike = kinds["number"] + kinds["signs"] if kind in ("number", "signs") else kinds[kind]
    return alike >= _SAME_KIND * cells and kinds[kind] >= (1 - _SAME_KIND) * cells > 0


def _kinds(cells: list[str]) -> Counter[str]:
    """How many cells are of each kind; cells that repeat are looked at once."""
    kinds: Counter[str] = Counter()
    for text, count in Counter(cells).items():
        kinds[_kind(text)] += count
    return kinds


def _kind(text: str) -> str:
    if _DATE.fullmatch(text):
        return "date"
    if _NUMBER.fullmatch(text):
        return "number"
    if _EMAIL.fullmatch(text):
        return "email"
    has_letter = any(character.isalpha() for character in text)
    return "text" if has_letter or not any(map(str.isdigit, text)) else "signs"  # such as 20-29 or 555 1234


def _are_years(names: list[str], below: list[list[str]]) -> set[int]:
    """Places of columns that are called 2019, 2020, 2021, ... and do not hold years themselves.

    The same goes for other whole numbers that follow each other in equal steps, three at least.
    """
    places = [place for place, name in enumerate(names) if name.isdecimal()]
    numbers = [int(names[place]) for place in places]
    steps = {b - a for a, b in pairwise(numbers)}
    enough = 2 if all(_YEAR.fullmatch(names[place]) for place in places) else 3
    if len(places) < enough or len(steps) != 1 or 0 in steps:
        return set()
    for place in places:
        cells = below[place]
        years = sum(_YEAR.fullmatch(cell) is not None for cell in cells)
        if names[place] in cells or years * 2 > len(cells):
            return set()
    return set(places)


def _is_written_alike(name: str, cells: list[str]) -> bool:
    """Whether a code, with digits in it, is built just as the cells below: AB-1234 above CD-5678."""
    shape = _shape(name)
    return (
        len(name) > 3
        and shape.count("9") > 1
        and len(cells) > 1
        and sum(_shape(cell) == shape for cell in cells) >= _SAME_KIND * len(cells)
    )


def _shape(text: str) -> str:
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", text))
