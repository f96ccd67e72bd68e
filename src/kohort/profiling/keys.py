"""Suggestions of roles from several columns: keys of people, and columns that together tell them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from kohort.data.column import Column
from kohort.data.hierarchies.code_systems import phrases_of, words_of
from kohort.profiling import roles
from kohort.profiling.roles import NO_MEANING, Suggestion, distinct_values, meaning_of
from kohort.profiling.uniqueness import contributions, sampled_rows


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYS = ("a record's own number, name or key", "a personal number")
_TRAITS = ("sex", "origin or language")  # what stays the same of a person
_BIRTH = _words("born birth birthdate birthday birthyear dob yob dateofbirth geburtsdatum naissance")
_PEOPLE = _words(
    """person patient subject participant customer client member user respondent employee pupil student
    kunde mitglied personne paciente cliente empleado versicherte ssn mrn"""
)
_HOUSEHOLD = _words("household hh hhid hhnr hhold famid family haushalt menage hogar")
_NUMBER = _words("id nr no num number nummer numero key code hhid hhnr famid")
_WEIGHTS = _words(
    """fnlwgt wgt wt pweight perwt hhwt finalwt weighting samplingweight designweight surveyweight
    finalweight personweight gewichtung gewichtungsfaktor hochrechnungsfaktor ponderation ponderacion"""
)
_AGREEING = 0.98  # share of the repeated keys whose records agree in a trait: some files have mistakes
_LEAST_REPEATED = 1.1  # records per value of a key that is not one of records


def suggest_keys(columns: Mapping[str, Column], labels: Mapping[str, str]) -> dict[str, Suggestion]:
    """The columns of the roles person, household and weight, one of each at most."""
    found: dict[str, Suggestion] = {}
    repeated = {name: column for name, column in columns.items() if _is_repeated_key(column)}
    for name, column in repeated.items():
        if _names_households(name) and "household" not in _roles(found):
            reason = _reason(column, "of which household a person is", "households")
            found[name] = Suggestion("household", f"{reason} Dropped.")
    people = [name for name in repeated if name not in found and _tells_people(name, repeated[name], columns)]
    for name in sorted(people, key=lambda name: -distinct_values(columns[name]))[:1]:
        reason = _reason(columns[name], "whose record it is", "people")
        found[name] = Suggestion("person", f"{reason} Promises then count people.")
    for name, column in columns.items():
        if _is_weight(column, labels.get(name, "")) and "weight" not in _roles(found):
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
    if column.kind not in ("string", "integer") or column.has_null or len(column) < roles.ENOUGH_RECORDS:
        return False
    meaning = meaning_of(column.name)
    is_key = meaning == NO_MEANING or meaning.about in _KEYS or _names_households(column.name)
    return is_key and roles.mostly_distinct(column) and distinct * _LEAST_REPEATED <= len(column)


def _names_households(name: str) -> bool:
    words = set(words_of(name))
    return bool(words & _HOUSEHOLD) and bool(words & _NUMBER or len(words) == 1)


def _tells_people(name: str, key: Column, columns: Mapping[str, Column]) -> bool:
    """Whether the records of each value agree in sex, origin or birth; without these, what the name says."""
    meanings = {other: meaning_of(other) for other in columns}
    agreeing = [
        _agree(key, columns[other])
        for other, meaning in meanings.items()
        if other != name and meaning != NO_MEANING and distinct_values(columns[other]) > 1
        if meaning.about in _TRAITS or set(words_of(other)) & _BIRTH
    ]
    if agreeing:
        return all(agreeing)
    is_of_people = bool(set(words_of(name)) & _PEOPLE)
    return meanings[name].about == _KEYS[1] or (meanings[name] != NO_MEANING and is_of_people)


def _agree(key: Column, other: Column) -> bool:
    """Whether nearly all values of the key that have several records have one value of the other column."""
    pairs = np.unique(key.codes.astype(np.int64) * len(other.texts) + other.codes)
    values_of_key = np.bincount(pairs // len(other.texts), minlength=len(key.texts))
    several = key.counts > 1
    return bool((values_of_key[several] == 1).mean() >= _AGREEING) if several.any() else False


def _reason(column: Column, says: str, whose: str) -> str:
    return (
        f"It says {says}: {distinct_values(column):,} {whose} have "
        f"{len(column) / distinct_values(column):.1f} records on average and {int(column.counts.max()):,} at "
        "most."
    )


def _is_weight(column: Column, label: str) -> bool:
    if column.kind not in ("integer", "float") or column.numbers is None or distinct_values(column) < 3:
        return False
    names = {part for text in (column.name, label) for part in phrases_of(text, most=2)}
    if names & _WEIGHTS:
        return True
    # weights of surveys lie around one, as kilograms do not
    mean = float(np.average(column.numbers.astype(float), weights=column.counts[: len(column.numbers)]))
    is_relative = column.kind == "float" and float(column.numbers[0]) > 0 and 0.8 <= mean <= 1.25
    return "weight" in names and is_relative


# What others may know, settled for the whole table: which columns in doubt are quasi-identifiers.
DOZEN = 12
"""Quasi-identifiers up to which a release keeps some detail: more are only suggested if others know them."""
_FEWEST = 3  # where fewer columns are known to others by name, numbers and answers count as known, too
_SCALE = range(4, 12)  # different values of an answer on a scale
_BATTERY = 3  # columns with the same scale that make a questionnaire
_LOOKED_AT = 5_000
_TOLD = 0.99  # share of the records whose value in one column follows from another
_NEARLY_CONSTANT = 0.9
_EXACT = (
    "It holds numbers with many values, which others seldom know exactly, and nothing in its name says that "
    "they do."
)
_ANSWER = "It looks like an answer on a scale that other columns have, too, which others seldom know."


def settle(
    columns: Mapping[str, Column], suggestions: Mapping[str, Suggestion], seed: int
) -> dict[str, Suggestion]:
    """The suggestions with the columns in doubt decided, and columns that tell others found.

    Columns that others likely know are quasi-identifiers. Those in doubt join them, the ones that single most
    people out first, as long as there are no more than a dozen; the others are suggested as sensitive.
    """
    found = dict(suggestions)
    asked = {name: s.known for name, s in found.items() if s.role == "quasi-identifier" and name in columns}
    sure = [name for name, known in asked.items() if known == "likely"]
    doubtful = [name for name, known in asked.items() if known == "possible"]
    exact = [name for name, known in asked.items() if known == "hardly"]
    answers = _answers([columns[name] for name in doubtful])
    if len(sure) < _FEWEST:
        doubtful, exact, answers = doubtful + exact, [], set()
    doubtful = [name for name in doubtful if name not in answers]
    kept = set(_singling_out_most(columns, sure, doubtful, seed))
    behind = (
        "Neither its name nor its values say whether others know it, and it singles out fewer people than "
        f"the {len(sure) + len(kept)} quasi-identifiers."
    )
    found |= {name: Suggestion("sensitive", behind) for name in doubtful if name not in kept}
    for name in (*exact, *answers):
        found[name] = Suggestion("sensitive", _ANSWER if name in answers else _EXACT)
    return _with_tellers(columns, found, seed)


def _answers(doubtful: list[Column]) -> set[str]:
    """The columns that look like a questionnaire: several have whole numbers of the same short range."""
    ends = {
        column.name: (int(column.numbers[0]), int(column.numbers[-1]))
        for column in doubtful
        if column.kind == "integer" and column.numbers is not None and distinct_values(column) in _SCALE
    }
    uses = Counter(ends.values())
    return {name for name, pair in ends.items() if uses[pair] >= _BATTERY and pair[1] - pair[0] < _SCALE.stop}


def _singling_out_most(
    columns: Mapping[str, Column], sure: list[str], doubtful: list[str], seed: int
) -> list[str]:
    """As many columns in doubt as there is room for, those that make most records unique first."""
    room = max(0, DOZEN - len(sure))
    if len(doubtful) <= room:
        return doubtful
    codes = {name: columns[name].codes for name in (*sure, *doubtful)}
    adds = contributions(codes, len(next(iter(codes.values()))), seed)
    return sorted(doubtful, key=lambda name: -adds[name])[:room]


def _with_tellers(
    columns: Mapping[str, Column], found: dict[str, Suggestion], seed: int
) -> dict[str, Suggestion]:
    """Make what tells a quasi-identifier one itself: published as it is, it would undo the other."""
    records = len(next(iter(columns.values()))) if columns else 0
    if records < roles.ENOUGH_RECORDS:
        return found
    rows = sampled_rows(records, _LOOKED_AT, seed)
    codes = {name: column.codes[rows] for name, column in columns.items()}
    quasi = [n for n in columns if found[n].role == "quasi-identifier" and distinct_values(columns[n]) > 2]
    for name in columns:
        if found[name].role not in ("sensitive", "insensitive") or distinct_values(columns[name]) < 3:
            continue
        told = next((other for other in quasi if _tells(codes[name], codes[other])), None)
        if told is not None:
            reason = (
                f"Its values tell {told!r}, which others may know: published as it is, it would undo that."
            )
            found[name] = Suggestion("quasi-identifier", reason, "likely")
    return _without_twins(columns, codes, found)


def _without_twins(
    columns: Mapping[str, Column], codes: Mapping[str, np.ndarray], found: dict[str, Suggestion]
) -> dict[str, Suggestion]:
    """Drop a quasi-identifier where another one says the same, such as its logarithm."""
    quasi = [name for name in codes if found[name].role == "quasi-identifier"]
    quasi.sort(key=lambda name: (columns[name].kind == "float", found[name].known != "likely"))
    kept: list[str] = []
    for name in quasi:
        twin = next((other for other in kept if _say_the_same(codes[other], codes[name])), None)
        if twin is None:
            kept.append(name)
            continue
        reason = f"It says the same as {twin!r}, which is published: dropped, as it would cost detail twice."
        found[name] = Suggestion("identifier", reason)
    return found


def _say_the_same(first: np.ndarray, second: np.ndarray) -> bool:
    both_tell = len(np.unique(first)) > 2 and _tells(first, second) and _tells(second, first)
    return both_tell or _same_order(first, second)


def _tells(codes: np.ndarray, other: np.ndarray) -> bool:
    """Whether nearly every record's value in the other column follows from its value in this one."""
    if _same_order(codes, other):
        return True
    values, others = int(codes.max()) + 1, int(other.max()) + 1
    if values > len(codes) / 2 or np.bincount(other).max() > _NEARLY_CONSTANT * len(other):
        return False  # a value that hardly anybody shares tells everything, by chance
    pairs, counts = np.unique(codes.astype(np.int64) * others + other, return_counts=True)
    most = np.zeros(values, dtype=np.int64)
    np.maximum.at(most, pairs // others, counts)
    return bool(most.sum() >= _TOLD * len(codes))


def _same_order(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two columns rank the records alike, from either end: one is a function of the other."""
    ranks, others = (np.unique(codes, return_inverse=True)[1] for codes in (first, second))
    most = int(ranks.max())
    if most != others.max() or most < 2:
        return False
    return bool((ranks == others).all() or (ranks == most - others).all())
