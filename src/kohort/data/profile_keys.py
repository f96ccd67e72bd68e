"""Columns that say whose record it is, of which household, and how many people it stands for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kohort.data.column import Column
from kohort.data.profile_names import meaning_of, words_of
from kohort.data.profile_roles import ENOUGH_RECORDS, Suggestion, distinct_values, mostly_distinct

_KEYS = ("a record's own number, name or key", "a personal number")
_TRAITS = ("sex", "origin or language")  # what stays the same of a person
_BIRTH = {
    "born",
    "birth",
    "birthdate",
    "birthday",
    "birthyear",
    "dob",
    "yob",
    "dateofbirth",
    "geburtsdatum",
    "naissance",
}
_PEOPLE = {
    "person",
    "patient",
    "subject",
    "participant",
    "customer",
    "client",
    "member",
    "user",
    "respondent",
    "employee",
    "pupil",
    "student",
    "kunde",
    "mitglied",
    "personne",
    "paciente",
    "cliente",
    "empleado",
    "versicherte",
    "ssn",
    "mrn",
}
_HOUSEHOLD = {"household", "hh", "hhid", "hhnr", "hhold", "famid", "family", "haushalt", "menage", "hogar"}
_NUMBER = {"id", "nr", "no", "num", "number", "nummer", "numero", "key", "code", "hhid", "hhnr", "famid"}
_WEIGHTS = {
    "fnlwgt",
    "wgt",
    "wt",
    "pweight",
    "perwt",
    "hhwt",
    "finalwt",
    "weighting",
    "samplingweight",
    "designweight",
    "surveyweight",
    "finalweight",
    "personweight",
    "gewichtung",
    "gewichtungsfaktor",
    "hochrechnungsfaktor",
    "ponderation",
    "ponderacion",
}
_AGREEING = 0.98  # share of the repeated keys whose records agree in a trait: some files have mistakes
_LEAST_REPEATED = 1.1  # records per value of a key that is not one of records


def suggest_keys(columns: Mapping[str, Column], labels: Mapping[str, str | None]) -> dict[str, Suggestion]:
    """The columns of the roles person, household and weight, one of each at most.

    labels  what a file calls the columns besides their names
    """
    found: dict[str, Suggestion] = {}
    repeated = {name: column for name, column in columns.items() if _is_repeated_key(column)}
    for name, column in repeated.items():
        if _names_households(name) and "household" not in _roles(found):
            found[name] = Suggestion("household", _household_reason(column))
    people = [name for name in repeated if name not in found and _tells_people(name, repeated[name], columns)]
    for name in sorted(people, key=lambda name: -distinct_values(columns[name]))[:1]:
        found[name] = Suggestion("person", _person_reason(columns[name]))
    for name, column in columns.items():
        if _is_weight(column, labels.get(name)) and "weight" not in _roles(found):
            found[name] = Suggestion("weight", _WEIGHT_REASON)
    return found


_WEIGHT_REASON = (
    "It is a weight: how many people of the population the record stands for. Dropped, since a weight may "
    "tell where and who somebody is."
)


def _roles(found: Mapping[str, Suggestion]) -> set[str]:
    return {suggestion.role for suggestion in found.values()}


def _is_repeated_key(column: Column) -> bool:
    """Whether a column has many values, most of them several times, and one for every record."""
    distinct = distinct_values(column)
    if column.kind not in ("string", "integer") or column.has_null or len(column) < ENOUGH_RECORDS:
        return False
    meaning = meaning_of(column.name)
    is_key = meaning is None or meaning.about in _KEYS or _names_households(column.name)
    return is_key and mostly_distinct(column) and distinct * _LEAST_REPEATED <= len(column)


def _names_households(name: str) -> bool:
    words = set(words_of(name))
    return bool(words & _HOUSEHOLD) and bool(words & _NUMBER or len(words) == 1)


def _tells_people(name: str, key: Column, columns: Mapping[str, Column]) -> bool:
    """Whether the records of each value agree in sex, origin or birth; without these, what the name says."""
    agreeing = [
        _agree(key, other)
        for other in columns.values()
        if other.name != name and _is_trait(other) and distinct_values(other) > 1
    ]
    if agreeing:
        return all(agreeing)
    meaning = meaning_of(name)
    return meaning is not None and (meaning.about == _KEYS[1] or bool(set(words_of(name)) & _PEOPLE))


def _is_trait(column: Column) -> bool:
    meaning = meaning_of(column.name)
    if meaning is None:
        return False
    return meaning.about in _TRAITS or bool(set(words_of(column.name)) & _BIRTH)


def _agree(key: Column, other: Column) -> bool:
    """Whether nearly all values of the key that have several records have one value of the other column."""
    pairs = np.unique(key.codes.astype(np.int64) * len(other.texts) + other.codes)
    values_of_key = np.bincount(pairs // len(other.texts), minlength=len(key.texts))
    several = key.counts > 1
    return bool((values_of_key[several] == 1).mean() >= _AGREEING) if several.any() else False


def _person_reason(column: Column) -> str:
    return (
        f"It says whose record it is: {distinct_values(column):,} people have "
        f"{len(column) / distinct_values(column):.1f} records on average and {int(column.counts.max()):,} at "
        "most. Promises then count people."
    )


def _household_reason(column: Column) -> str:
    return (
        f"It says of which household a person is: {distinct_values(column):,} households have "
        f"{len(column) / distinct_values(column):.1f} records on average and {int(column.counts.max()):,} at "
        "most. Dropped."
    )


def _is_weight(column: Column, label: str | None) -> bool:
    if column.kind not in ("integer", "float") or column.numbers is None or distinct_values(column) < 3:
        return False
    names = {part for text in (column.name, label or "") for part in _phrases(text)}
    if names & _WEIGHTS:
        return True
    return "weight" in names and column.kind == "float" and _is_relative(column)


def _phrases(text: str) -> set[str]:
    words = words_of(text)
    return {*words, *("".join(words[i : i + 2]) for i in range(len(words) - 1))}


def _is_relative(column: Column) -> bool:
    """Whether numbers lie around one, as weights of surveys do and kilograms do not."""
    assert column.numbers is not None
    counts = column.counts[: len(column.numbers)]
    mean = float(np.average(column.numbers.astype(float), weights=counts))
    return float(column.numbers[0]) > 0 and 0.8 <= mean <= 1.25
