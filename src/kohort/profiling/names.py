"""What a column's name says: the identifiers of the HIPAA list and common attributes of people.

English names, and common German, French and Spanish ones. Names are compared word by word
(`zip_code`, `zip-code`, `ZipCode` and `zipcode` are the same; `stage` holds no age).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from kohort.data.hierarchies.code_systems import words_of

Role = Literal[
    "identifier", "quasi-identifier", "sensitive", "insensitive", "items", "person", "household", "weight"
]

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
