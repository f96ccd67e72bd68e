"""Suggest what a column is, from its name and its values, and how its values may be generalized.

A suggestion is where a person starts, not a decision. What is said here of a column by itself is settled for
the whole table in `kohort.profiling.keys`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from kohort.data.column import Column
from kohort.data.hierarchies.code_systems import CODE_SYSTEMS, recognized_code, words_of

Role = Literal[
    "identifier", "quasi-identifier", "sensitive", "insensitive", "items", "person", "household", "weight"
]
Known = Literal["likely", "possible", "hardly"]

_IDENTIFYING_VALUES = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    "web addresses": re.compile(r"(https?://|www\.)\S+"),
    "IP addresses": re.compile(r"([0-9]{1,3}\.){3}[0-9]{1,3}|([0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}"),
    "bank accounts (IBAN)": re.compile(r"[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){3,7}( ?[A-Z0-9]{1,3})?"),
    "social security numbers": re.compile(r"[0-9]{3}-[0-9]{2}-[0-9]{4}|756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}"),
    "unique keys (UUID)": re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
}
_PHONE = re.compile(r"(?=.*[ ()/+.-])\+?[0-9(][0-9 ()/.-]{5,18}[0-9]")
_DAY_FIRST_DATE = re.compile(r"[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4}|[0-9]{2})")
_CODE = re.compile(r"(?=.*[0-9])[A-Z0-9 -]{3,12}")
_LOOKED_AT = 1000
_FEW_VALUES = 5
_MANY_VALUES = 20
ENOUGH_RECORDS = 20
_SHORTEST_CODE = 4  # digits
_NOMINAL = ("sex", "origin or language", "work", "a place", "insurance", "where someone was treated")
_FREE_TEXT_LENGTH = 40
_ASTRONOMICAL = 1e15
_WHICH = {
    "identifier": "which identifies a person directly: drop it.",
    "quasi-identifier": "which others may know about a person.",
    "sensitive": "which nobody should learn about a person.",
    "insensitive": "which says nothing about a person.",
}


@dataclass(frozen=True)
class Suggestion:
    """A role suggested for a column, and the reason in a sentence.

    known  how likely others know it about a person
    """

    role: Role
    reason: str
    known: Known = "hardly"


def suggest(column: Column, label: str = "") -> Suggestion:
    """The role suggested for a column, and why, by the first rule that applies."""
    if distinct_values(column) == 0:
        return Suggestion("insensitive", "It is empty.")
    suggestion = next(_rules(column, meaning_of(column.name, label)))
    code = recognized_code(column)
    if code is None or suggestion.role == "identifier":
        return suggestion
    return replace(suggestion, reason=f"{suggestion.reason} Its values look like {CODE_SYSTEMS[code].title}.")


def suggest_hierarchy(column: Column, label: str = "") -> Any:
    """How to generalize a quasi-identifier, as the release spec writes it; None: its value or `*`."""
    if column.kind in ("date", "datetime"):
        return {"date": _periods(column)}
    code = recognized_code(column)
    if code is not None and distinct_values(column) > 1:
        return {"code": code}
    if _holds_codes(column, meaning_of(column.name, label)):
        return "flat" if distinct_values(column) > 2 else None
    if column.listed or distinct_values(column) <= _FEW_VALUES:
        return None
    if _is_code(column):
        return {"mask": "right"}
    if column.numbers is None or _is_numbered_place(column):
        return "auto"
    widths = _round_widths(column.numbers, column.counts, whole=column.kind == "integer")
    return {"intervals": widths} if widths else "auto"


def _rules(column: Column, meaning: Meaning) -> Iterator[Suggestion]:
    """What each rule that applies says of a column, the strongest rule first; the last one always applies."""
    role = meaning.role
    values, distinct = column.kind == "string", mostly_distinct(column)
    if values:
        for what, pattern in _IDENTIFYING_VALUES.items():
            if _match(column, pattern):
                yield Suggestion("identifier", f"Its values look like {what}: drop it.")
        if np.mean([len(text) for text in _some(column)]) > _FREE_TEXT_LENGTH and distinct:
            yield Suggestion("identifier", "It holds free text, which may name people: drop it.")
    yes_or_no = distinct_values(column) <= 2 and len(column) >= ENOUGH_RECORDS
    if role == "identifier" and not yes_or_no and (meaning.certain or distinct):
        yield _named(meaning)
    dates = f"It holds dates, {_WHICH['quasi-identifier']}"
    if column.kind in ("date", "datetime"):
        yield Suggestion("quasi-identifier", dates, "likely")
    if values and _match(column, _DAY_FIRST_DATE):
        hint = "Written as YYYY-MM-DD, they can become months, quarters and years."
        yield Suggestion("quasi-identifier", f"{dates} {hint}", "likely")
    if role == "sensitive":
        yield _named(meaning)
    if len(column) > 1 and len(column.texts) == 1:
        yield Suggestion("insensitive", "It is the same for everybody.")
    varied = role == "insensitive" and distinct_values(column) > _MANY_VALUES
    if role not in ("", "identifier") and not varied:
        codes = " Its whole numbers are codes, not amounts." if _holds_codes(column, meaning) else ""
        named = _named(meaning)
        yield replace(named, reason=named.reason + codes + _singling_out(column))
    if values and distinct and _match(column, _PHONE):
        yield Suggestion("identifier", "Its values look like phone numbers: drop it.")
    near_key = distinct_values(column) >= 0.9 * len(column) >= 0.9 * ENOUGH_RECORDS
    if near_key and column.kind in ("string", "integer"):
        yield Suggestion("identifier", "Nearly every record has a value of its own: drop it.")
    # exact amounts are seldom known, categories may be
    reason = "Others may know it: neither its name nor its values suggest otherwise."
    known: Known = "hardly" if _holds_amounts(column) else "possible"
    yield Suggestion("quasi-identifier", reason + _singling_out(column), known)


def _holds_amounts(column: Column) -> bool:
    """Whether a column holds numbers with many values that are no codes of equal length."""
    if column.kind not in ("integer", "float") or distinct_values(column) <= _MANY_VALUES:
        return False
    lengths = set(map(len, column.present))
    return column.kind == "float" or len(lengths) > 1 or min(lengths) < _SHORTEST_CODE


def _holds_codes(column: Column, meaning: Meaning) -> bool:
    """Whether a column holds a few whole numbers for something that has no order, such as regions."""
    few = column.kind == "integer" and distinct_values(column) <= _MANY_VALUES
    return few and meaning.about in _NOMINAL


def _named(meaning: Meaning) -> Suggestion:
    role = cast(Role, meaning.role)
    known: Known = "likely" if role == "quasi-identifier" else "hardly"
    return Suggestion(role, f"Its name points to {meaning.about}, {_WHICH[meaning.role]}", known)


def _singling_out(column: Column) -> str:
    share = np.count_nonzero(column.counts[: distinct_values(column)] == 1) / len(column)
    if share < 0.05 or len(column) < ENOUGH_RECORDS:
        return ""
    return f" It singles people out: {share:.0%} of the records have a value of their own."


def distinct_values(column: Column) -> int:
    """How many different values a column has, missing ones aside."""
    return len(column.texts) - column.has_null


def mostly_distinct(column: Column) -> bool:
    """Whether the values are as many as those of a key: half of the records, or a hundred and 5 %."""
    distinct = distinct_values(column)
    return distinct >= 0.5 * len(column) or (distinct >= 100 and distinct >= 0.05 * len(column))


def _some(column: Column) -> list[str]:
    step = max(1, distinct_values(column) // _LOOKED_AT)
    return column.present[::step]


def _match(column: Column, pattern: re.Pattern[str]) -> bool:
    some = _some(column)
    return sum(pattern.fullmatch(text.strip()) is not None for text in some) >= 0.9 * len(some)


def _is_code(column: Column) -> bool:
    if column.kind != "string" and not _is_numbered_place(column):
        return False
    if distinct_values(column) < _MANY_VALUES:
        return False
    lengths = set(map(len, column.present))
    return len(lengths) == 1 and all(_CODE.fullmatch(text) for text in _some(column))


def _is_numbered_place(column: Column) -> bool:
    """Whether whole numbers are codes and not quantities: intervals of postcodes mean nothing."""
    return column.kind == "integer" and meaning_of(column.name).about == "a place"


def _periods(column: Column) -> list[str]:
    assert column.numbers is not None
    day = 86_400 if column.kind == "datetime" else 1
    years = np.ptp(column.numbers) / day / 365
    first = ["day"] if column.kind == "datetime" else []
    return first + (["month", "quarter", "year"] if years <= 20 else ["month", "year", "decade"])


def _round_widths(numbers: np.ndarray, counts: np.ndarray, *, whole: bool) -> list[float]:
    """Up to three widths of intervals, each a multiple of the one before; the narrowest make up to 20.

    What matters is where the records are: one in a hundred at either end is left aside. No widths for
    numbers that are infinite, astronomical, or too close together for their size.
    """
    largest = float(np.abs(numbers[[0, -1]].astype(float)).max())
    if not largest < _ASTRONOMICAL:
        return []
    share = np.cumsum(counts[: len(numbers)]) / counts[: len(numbers)].sum()
    low, high = numbers[np.searchsorted(share, [0.01, 0.99])]
    whole_range = float(numbers[-1] - numbers[0])
    least = max(float(high - low or whole_range) / 20, 2 if whole else 0)
    if least < max(largest, 1) / _ASTRONOMICAL:
        return []
    widths = _round_steps(least)
    return [width for width in widths if width < whole_range] or widths[:1]


def _round_steps(least: float) -> list[float]:
    """Round numbers from `least` up.

    >>> _round_steps(3.65), _round_steps(0.013), _round_steps(60)
    ([5, 10, 20], [0.02, 0.1, 0.2], [100, 500, 1000])
    """
    exponent = math.floor(math.log10(least))
    for steps in ((1, 5, 10), (2, 10, 20), (5, 10, 20), (10, 50, 100)):
        scaled = [round(step * 10.0**exponent, max(0, -exponent)) for step in steps]
        if scaled[0] >= least:
            break
    return [int(width) if width.is_integer() else width for width in scaled]


# What a column's name says: the identifiers of the HIPAA list and common attributes of people, in English and
# common German, French and Spanish words. Names are compared word by word (`zip_code`, `zip-code`, `ZipCode`
# and `zipcode` are the same; `stage` holds no age).
_LONGEST_PHRASE = 4


@dataclass(frozen=True)
class Meaning:
    """What some words in a name stand for.

    `certain` is False for words that point to an identifier only where the values are mostly distinct:
    a patient's number, but not a department's.
    """

    about: str
    role: Role | Literal[""]
    certain: bool = True


NO_MEANING = Meaning("", "")


def meaning_of(name: str, label: str = "") -> Meaning:
    """What a column's name, else its label, says: its longest known phrase, of equally long ones the first.

    >>> meaning_of("Date of Birth").about, meaning_of("stage") == NO_MEANING
    ('a date', True)
    """
    words = words_of(name)
    if "".join(words) in _WHOLE_NAMES:
        return _PERSON_NAME
    for length in range(min(len(words), _LONGEST_PHRASE), 0, -1):
        phrases = ["".join(words[i : i + length]) for i in range(len(words) - length + 1)]
        known = (_RANK_OF_PHRASE.keys() & {phrase, phrase.removesuffix("s")} for phrase in phrases)
        if ranks := [_RANK_OF_PHRASE[max(found, key=len)] for found in known if found]:
            return _MEANINGS[min(ranks)][0]
    for stem, phrase in _STEMS.items():
        if any(word.startswith(stem) for word in words):  # educyrs is about education
            return _MEANINGS[_RANK_OF_PHRASE[phrase]][0]
    return meaning_of(label) if label else NO_MEANING


_WORD_OF_STEM = """
    hlth:health diag:diagnosis illn:illness educ:education schl:school occup:occupation emplo:employment
    popul:population resid:residence ethn:ethnicity citiz:citizenship natio:nationality marit:marital
    relig:religion polit:politics salar:salary incom:income einkomm:income
"""
_STEMS = dict(pair.split(":") for pair in _WORD_OF_STEM.split())
"""Beginnings that no other common word has, and the word that they stand for."""
_WHOLE_NAMES = frozenset(("name", "names", "nom", "noms", "nombre", "nombres"))
_PERSON_NAME = Meaning("a person's name", "identifier")


def _read_meanings(text: str) -> list[tuple[Meaning, list[str]]]:
    found: list[tuple[Meaning, list[str]]] = []
    for line in text.splitlines():
        if line.startswith(" "):
            found[-1][1].extend(line.split())
        elif line and not line.startswith("#"):
            role, _, about = line.partition(": ")
            found.append((Meaning(about, cast(Role, role.rstrip("?")), not role.endswith("?")), []))
    return found


_MEANINGS = _read_meanings(Path(__file__).with_name("names.txt").read_text(encoding="utf-8"))
_RANK_OF_PHRASE = {
    phrase: rank for rank, (_, phrases) in reversed(list(enumerate(_MEANINGS))) for phrase in phrases
}
