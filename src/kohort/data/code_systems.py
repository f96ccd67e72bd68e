"""Codes that have levels in them: postcodes, ICD-10, NACE, occupations, countries.

Only the structure of the codes is used, such as which characters of a postcode name its area. There is no
list of the codes that exist; countries are in `countries.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from kohort.data.countries import REGION_OF_COUNTRY

Parts = tuple[str | None, ...]


@dataclass(frozen=True)
class CodeSystem:
    """One kind of code.

    name      as the release spec writes it
    title     what the codes are called, in the plural
    example   a code
    pattern   what a code looks like in capital letters, without spaces at its ends
    above     the labels above a code, the finest first, from the groups of the pattern
    digits    whole numbers shorter than this have lost their first zeros
    """

    name: str
    title: str
    example: str
    pattern: re.Pattern[str]
    above: Callable[[Parts], tuple[str, ...]]
    digits: int = 0

    def levels(self, code: str, *, is_number: bool = False) -> tuple[str, ...] | None:
        """The labels above a code, the finest first and without `*`; None if it does not fit the pattern.

        >>> CODE_SYSTEMS["uk-postcode"].levels("SW1A 1AA")
        ('SW1A 1', 'SW1A', 'SW')
        """
        plain = " ".join(code.upper().split())
        if is_number and plain.isdigit():
            plain = plain.zfill(self.digits)
        found = self.pattern.fullmatch(plain)
        return self.above(found.groups()) if found else None


def _uk_postcode(parts: Parts) -> tuple[str, ...]:
    area, district, sector, unit = parts
    above = (f"{area}{district}", area or "")
    return above if unit is None else (f"{area}{district} {sector}", *above)


def _us_zip(parts: Parts) -> tuple[str, ...]:
    place, addition = parts
    assert place is not None
    above = (f"{place[:3]}**", f"{place[:1]}****")
    return above if addition is None else (place, *above)


def _de_postcode(parts: Parts) -> tuple[str, ...]:
    place = parts[0] or ""
    return f"{place[:3]}**", f"{place[:2]}***", f"{place[:1]}****"


def _fr_postcode(parts: Parts) -> tuple[str, ...]:
    place = parts[0] or ""
    overseas = place.startswith(("97", "98"))
    return (f"{place[:3]}**",) if overseas else (f"{place[:2]}***",)


def _ca_postcode(parts: Parts) -> tuple[str, ...]:
    area = parts[0] or ""
    return area, area[:1]


_ICD10_CHAPTERS = (
    *("A00-B99", "C00-D49", "D50-D89", "E00-E90", "F00-F99", "G00-G99", "H00-H59", "H60-H95", "I00-I99"),
    *("J00-J99", "K00-K95", "L00-L99", "M00-M99", "N00-N99", "O00-O99", "P00-P96", "Q00-Q99", "R00-R99"),
    *("S00-T98", "U00-U99", "V00-Y99", "Z00-Z99"),
)


def _icd10(parts: Parts) -> tuple[str, ...]:
    category, rest = parts
    assert category is not None
    chapter = next(c for c in reversed(_ICD10_CHAPTERS) if c[:2] <= category[:2])
    above = (category, f"{category[:2]}0-{category[:2]}9", chapter)
    return above if rest is None or len(rest) < 2 else (f"{category}.{rest[0]}", *above)


_NACE_SECTIONS = (  # the first division of each section
    *(("A", 1), ("B", 5), ("C", 10), ("D", 35), ("E", 36), ("F", 41), ("G", 45), ("H", 49), ("I", 55)),
    *(("J", 58), ("K", 64), ("L", 68), ("M", 69), ("N", 77), ("O", 84), ("P", 85), ("Q", 86), ("R", 90)),
    *(("S", 94), ("T", 97), ("U", 99)),
)


def _nace(parts: Parts) -> tuple[str, ...]:
    division, group, class_ = parts
    assert division is not None
    section = next(s for s, first in reversed(_NACE_SECTIONS) if first <= int(division))
    above = (division, section)
    if group is None:
        return above
    return above if class_ is None else (f"{division}.{group}", *above)


def _soc(parts: Parts) -> tuple[str, ...]:
    major, detail, addition = parts
    assert detail is not None
    above = (f"{major}-{detail[:3]}0", f"{major}-{detail[:1]}000", f"{major}-0000")
    return above if addition is None else (f"{major}-{detail}", *above)


def _four_digits(parts: Parts) -> tuple[str, ...]:
    code = parts[0] or ""
    return f"{code[:3]}*", f"{code[:2]}**", f"{code[:1]}***"


def _country(parts: Parts) -> tuple[str, ...]:
    return (REGION_OF_COUNTRY[parts[0] or ""],)


_COUNTRIES = re.compile(f"({'|'.join(REGION_OF_COUNTRY)})")

CODE_SYSTEMS = {
    system.name: system
    for system in (
        CodeSystem(
            "uk-postcode",
            "UK postcodes",
            "SW1A 1AA",
            re.compile(r"([A-Z]{1,2})([0-9][A-Z0-9]?)(?: ?([0-9])([A-Z]{2})?)?"),
            _uk_postcode,
        ),
        CodeSystem(
            "us-zip", "US ZIP codes", "94110", re.compile(r"([0-9]{5})(?:-?([0-9]{4}))?"), _us_zip, digits=5
        ),
        CodeSystem(
            "de-postcode",
            "German postcodes",
            "10115",
            re.compile(r"(?:DE?-)?([0-9]{5})"),
            _de_postcode,
            digits=5,
        ),
        CodeSystem(
            "fr-postcode",
            "French postcodes",
            "75001",
            re.compile(r"(?:FR?-)?([0-9]{5})"),
            _fr_postcode,
            digits=5,
        ),
        CodeSystem(
            "ca-postcode",
            "Canadian postcodes",
            "K1A 0B1",
            re.compile(r"([A-Z][0-9][A-Z])(?: ?[0-9][A-Z][0-9])?"),
            _ca_postcode,
        ),
        CodeSystem(
            "icd10",
            "ICD-10 codes",
            "J45.0",
            re.compile(r"([A-Z][0-9][0-9AB])(?:\.?([0-9A-Z]{1,4}))?[*†+!-]?"),
            _icd10,
        ),
        CodeSystem(
            "nace",
            "NACE codes",
            "10.71",
            re.compile(r"(?:[A-U]\.? ?)?(0[1-9]|[1-9][0-9])(?:\.?([0-9])(?:\.?([0-9]))?)?"),
            _nace,
        ),
        CodeSystem(
            "soc",
            "US SOC occupation codes",
            "29-1141",
            re.compile(r"([1-5][0-9])-?([0-9]{4})(\.[0-9]{2})?"),
            _soc,
        ),
        CodeSystem(
            "isco", "ISCO occupation codes", "2221", re.compile(r"([0-9]{4})"), _four_digits, digits=4
        ),
        CodeSystem("uk-soc", "UK SOC occupation codes", "2231", re.compile(r"([1-9][0-9]{3})"), _four_digits),
        CodeSystem("country", "ISO country codes", "FR or FRA", _COUNTRIES, _country),
    )
}
