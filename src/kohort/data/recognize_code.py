"""Which codes a column holds, by its name and the structure of its values."""

from __future__ import annotations

import re

from kohort.data.code_systems import CODE_SYSTEMS
from kohort.data.column import Column
from kohort.data.profile_names import words_of

_LOOKED_AT = 1000
_ENOUGH_VALUES = 5  # different codes, where the column's name does not say what they are
_SHARE = 0.95

# Words of a column's name that speak for codes of a system. Codes that look like nothing else need no name.
_NAMES = {
    "uk-postcode": "postcode postal postalcode",
    "ca-postcode": "postcode postal postalcode codepostal",
    "us-zip": "zip zipcode zip5 zip9",
    "de-postcode": "plz postleitzahl",
    "fr-postcode": "codepostal cp",
    "icd10": "icd icd10 diagnosis diagnoses diagnose diagnosen diagnostic diagnostico dx cause causeofdeath",
    "country": """country land pays pais nation nationality citizenship nativecountry birthcountry
        countryofbirth nationalite nationalitaet nationalitat nacionalidad staatsangehorigkeit
        staatsangehoerigkeit herkunft""",
    "nace": "nace industry branche wz naf",
    "isco": "isco isco08 isco88",
    "uk-soc": "soc soc2010 soc2020",
    "soc": "soc occupation job onet",
}
_NAMES_OF = {system: frozenset(names.split()) for system, names in _NAMES.items()}
_UNMISTAKABLE = {  # these need several characters of the right kind each in its place
    "uk-postcode": r"[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}",
    "ca-postcode": r"[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]",
    "us-zip": r"[0-9]{5}-[0-9]{4}",
    "icd10": r"[A-Z][0-9][0-9AB]\.[0-9A-Z]{1,4}",
    "soc": r"[1-5][0-9]-[0-9]{4}",
}


def recognized_code(column: Column) -> str | None:
    """The system of codes that a column holds; None if there is none that both name and values speak for.

    >>> import pyarrow as pa
    >>> from kohort.data.column import code_column
    >>> recognized_code(code_column("PLZ", pa.array(["10115", "80331"])))
    'de-postcode'
    """
    if column.kind not in ("string", "integer"):
        return None
    texts = [text for text in column.texts if text is not None]
    some = texts[:: max(1, len(texts) // _LOOKED_AT)]
    if not some:
        return None
    phrases = _phrases(column.name)
    for system, names in _NAMES_OF.items():
        if phrases & names and _fits(system, some, is_number=column.kind == "integer"):
            return system
    return _by_values(some) if len(some) >= _ENOUGH_VALUES else None


def _fits(system: str, texts: list[str], *, is_number: bool) -> bool:
    levels = CODE_SYSTEMS[system].levels
    return sum(levels(text, is_number=is_number) is not None for text in texts) >= _SHARE * len(texts)


def _by_values(texts: list[str]) -> str | None:
    """The system whose codes could hardly be anything else; most of the values are written in full."""
    for system, pattern in _UNMISTAKABLE.items():
        full = re.compile(pattern)
        if sum(full.fullmatch(text.upper().strip()) is not None for text in texts) >= _SHARE * len(texts):
            return system
    return None


def _phrases(name: str) -> set[str]:
    """The words of a name, and each two or three neighbours together: `code_postal` is `codepostal`."""
    words = words_of(name)
    return {"".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words) - n + 1)}
