"""The people of a table as the ledger knows them: their numbers, places and sensitive values."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.algorithms.again.standing import EarlierValues, Standing
from kohort.data.arrow_values import long_decimals
from kohort.data.column import Column, whole_number
from kohort.data.counting import distinct_rows
from kohort.data.ledger import HASH_BYTES, Ledger
from kohort.errors import InputError
from kohort.job.prepare import Prepared
from kohort.tables.table import Table
from kohort.verification.releases import SIGNATURES, texts_of_values


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
    values = {name: _hashed_values(s.column, key) for name, s in prepared.sensitive.items()}
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


def hashed_people(dataset: Table, name: str, key: bytes) -> np.ndarray:
    """HMAC-SHA-256 of each record's person, 128 bits; the same person has the same hash in every table.

    Whole numbers are written alike: 1 and 1.0 are one person. Two people of one table must not become one.
    """
    texts = _texts(dataset.arrow(name))
    people = {text: whole_number(text) for text in texts}
    if len(set(people.values())) < len(people):
        raise InputError(
            f"Column {name!r} says who somebody is, and writes some whole numbers in two ways, as 1 and 1.0. "
            "A ledger takes them for one person. Write them in one way."
        )
    return _hashed(map(people.__getitem__, texts), key, f"people of {name}")


def _hashed_values(column: Column, key: bytes) -> np.ndarray:
    """HMAC-SHA-256 of each value of a sensitive column, by its code; a missing value has one of its own."""
    spelled = whole_number if column.kind in ("integer", "float") else str
    texts = ("missing" if text is None else f"value {spelled(text)}" for text in column.texts)
    return _hashed(texts, key, f"values of {column.name}")


def positions(hashes: np.ndarray, among: np.ndarray) -> np.ndarray:
    """The place of each hash among others, -1 where it is not one of them."""
    found = pc.index_in(_binary(hashes), value_set=_binary(among))
    return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)


def _texts(values: pa.ChunkedArray) -> list[str]:
    """The person of each record as text; whole numbers are written alike whatever their type."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_floating(values.type) and pc.all(pc.equal(pc.floor(values), values)).as_py():
        values = values.cast(pa.int64())
    return long_decimals(values).cast(pa.string()).to_pylist()


def _hashed(texts: Iterable[str], key: bytes, purpose: str) -> np.ndarray:
    own = hmac.digest(key, f"kohort ledger {purpose}".encode(), "sha256")
    parts = [hmac.digest(own, text.encode(), "sha256")[:HASH_BYTES] for text in texts]
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(-1, HASH_BYTES)


def _binary(hashes: np.ndarray) -> pa.Array:
    buffer = pa.py_buffer(np.ascontiguousarray(hashes).tobytes())
    return pa.Array.from_buffers(pa.binary(HASH_BYTES), len(hashes), [None, buffer])
