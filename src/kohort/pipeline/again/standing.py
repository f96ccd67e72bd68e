"""The people of a table as the ledger knows them: their numbers, places and sensitive values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kohort.algorithms.again.standing import EarlierValues, Standing
from kohort.data.dataset import distinct_rows
from kohort.data.ledger import Ledger
from kohort.pipeline.again.keyed import hashed_people, hashed_values, positions
from kohort.pipeline.prepare import Prepared
from kohort.verification.recorded import texts_of_values
from kohort.verification.together import SIGNATURES

__all__ = ["Known", "known_people", "sensitive_names"]


@dataclass(frozen=True, eq=False)
class Known:
    """The records of a table beside the ledger.

    people    keyed hashes of each record's person
    person    the number of each record's person in the ledger, -1 for those it does not know
    values    per sensitive column the keyed hash of each of its values, by code
    value     records by sensitive columns: the number of the value in the ledger, from the number of the
              ledger's values on for new ones
    standing  the same as an algorithm takes it
    """

    people: np.ndarray
    person: np.ndarray
    values: Mapping[str, np.ndarray]
    value: np.ndarray
    new_values: np.ndarray
    standing: Standing


def known_people(prepared: Prepared, ledger: Ledger, key: bytes) -> Known:
    """What the ledger knows of the people of a table."""
    people = hashed_people(prepared.dataset, ledger.person, key)
    person = positions(people, ledger.people)
    values = {name: hashed_values(s.column, key) for name, s in prepared.sensitive.items()}
    value, new_values = _numbered_values(prepared, ledger, values)
    make = _by_signatures if prepared.request.again == SIGNATURES else _by_places
    return Known(people, person, values, value, new_values, make(ledger, person, value, key))


def sensitive_names(prepared: Prepared, ledger: Ledger) -> list[str]:
    """The sensitive columns in the order of the ledger, whatever order the table has them in."""
    return list(ledger.entries[0].facts["sensitive"] if ledger.entries else prepared.sensitive)


def _numbered_values(
    prepared: Prepared, ledger: Ledger, values: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The number of each record's value in each sensitive column, and the hashes of values that are new."""
    n_values, new, columns = len(ledger.values), [], []
    for name in sensitive_names(prepared, ledger):
        sensitive = prepared.sensitive[name]
        number = positions(values[name], ledger.values)
        unknown = np.flatnonzero(number < 0)
        number[unknown] = n_values + np.arange(len(unknown))
        n_values += len(unknown)
        new.append(values[name][unknown])
        columns.append(number[sensitive.column.codes])
    n_records = prepared.dataset.n_records
    table = np.column_stack(columns) if columns else np.empty((n_records, 0), dtype=np.int64)
    return table, np.concatenate([ledger.values[:0], *new])


def _by_signatures(ledger: Ledger, person: np.ndarray, value: np.ndarray, _: bytes) -> Standing:
    """What m-invariance needs: the set of values in the group that somebody was last published in."""
    number_of: dict[tuple[int, ...], int] = {}
    of_person = np.full(len(ledger.people), -1, dtype=np.int64)
    last_group, n_groups = of_person.copy(), 0
    for entry in ledger.entries:
        pairs = np.unique(np.column_stack([entry.place, entry.value[:, 0]]), axis=0)
        starts = np.searchsorted(pairs[:, 0], np.arange(int(entry.place.max()) + 1))
        sets = [tuple(part.tolist()) for part in np.split(pairs[:, 1], starts[1:])]
        numbers = np.array([number_of.setdefault(values, len(number_of)) for values in sets])
        of_person[entry.of_people.person] = numbers[entry.of_people.place]
        last_group[entry.of_people.person] = n_groups + entry.of_people.place
        n_groups += len(sets)
    known = person >= 0
    signature, group = np.full(len(person), -1, dtype=np.int64), np.full(len(person), -1, dtype=np.int64)
    signature[known], group[known] = of_person[person[known]], last_group[person[known]]
    no_places = np.empty(0, dtype=np.int64)
    place = np.where(known, 0, -1)
    return Standing(place, known, value[:, 0], no_places, no_places, signature, tuple(number_of), group)


def _by_places(ledger: Ledger, person: np.ndarray, value: np.ndarray, key: bytes) -> Standing:
    """Who has or had which place, and what it was last published with."""
    known = person >= 0
    place = np.full(len(person), -1, dtype=np.int64)
    holds = np.zeros(len(person), dtype=bool)
    if known.any():
        place[known] = ledger.place_of_person[person[known]]
        holds[known] = ledger.last_holder[place[known]] == person[known]
    both = np.concatenate([value, ledger.last_value.reshape(ledger.n_places, value.shape[1])])
    kind = distinct_rows(both)[2] if value.shape[1] else np.zeros(len(both), dtype=np.int64)
    of_record, of_place = kind[: len(value)], kind[len(value) :]
    earlier = tuple(_earlier(ledger, key))
    return Standing(place, holds, of_record, of_place, ledger.cell_of_place, earlier=earlier)


def _earlier(ledger: Ledger, key: bytes) -> Iterator[EarlierValues]:
    """The sensitive values of every earlier release; a text stands for each that no promise names."""
    texts = texts_of_values(ledger, key)
    unnamed = [f"\0{number}" for number in range(len(ledger.values))]
    for entry in ledger.entries:
        for name, numbers in zip(entry.facts["sensitive"], entry.value.T):
            yield EarlierValues(name, entry.place, numbers.astype(np.int64), tuple(texts.get(name, unnamed)))
