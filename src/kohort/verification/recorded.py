"""Whether a ledger says of a release what the published file and its original say.

Hashes people and values itself, by the definition in the documentation, and shares no code with what wrote
the ledger.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kohort.data.column import whole_number
from kohort.data.ledger import HASH_BYTES, NOBODY, Ledger, LedgerEntry
from kohort.tables.table import Table
from kohort.verification.together import SIGNATURES, promises_of
from kohort.verification.verdict import Check


@dataclass(frozen=True, eq=False)
class GivenRelease:
    """A release that is checked against the ledger.

    sha256     of the published file; None where it is not a file
    published  its records
    original   the records that it was made from, where they are at hand
    rows       per published record the number of its original; None where that is not known
    """

    published: Table
    sha256: str | None = None
    original: Table | None = None
    rows: np.ndarray | None = None


def check_recorded(ledger: Ledger, number: int, given: GivenRelease | None, key: bytes) -> list[Check]:
    """Compare a release with what the ledger says of it; `number` counts from 1."""
    entry = ledger.entries[number - 1]
    if given is None:
        detail = f"Release {number} is not at hand: what the ledger says of it was taken as it is."
        return [_check(number, "", None, detail)]
    checks = [_check_file(number, entry, given), _check_classes(number, entry, given)]
    if given.original is None or given.rows is None:
        detail = (
            f"Who is who in release {number} was taken from the ledger: that needs its original, and the "
            "order file."
        )
        return [*checks, _check(number, "people", None, detail)]
    return [*checks, _check_people(number, ledger, given, key)]


def _check_file(number: int, entry: LedgerEntry, given: GivenRelease) -> Check:
    expected = entry.facts["sha256"].get("output")
    if given.sha256 is None or expected is None:
        return _check(number, "file", None, f"Release {number} is no file, so its hash was not compared.")
    same = given.sha256 == expected
    detail = f"The file of release {number} is {'' if same else 'not '}the one that the ledger names."
    return _check(number, "file", same, detail)


def _check_classes(number: int, entry: LedgerEntry, given: GivenRelease) -> Check:
    """Compare the labels and sizes of classes."""
    recorded = Counter(_labels_of(entry)[place] for place in entry.class_of.tolist())
    same = recorded == Counter(_labels_in(entry, given.published))
    detail = f"The classes of release {number} are {'' if same else 'not '}those of the ledger."
    return _check(number, "classes", same, detail)


def _labels_of(entry: LedgerEntry) -> list[tuple[str | None, ...]]:
    return list(zip(*entry.labels.values()))


def _labels_in(entry: LedgerEntry, published: Table) -> list[tuple[str | None, ...]]:
    """The published labels of each record."""
    columns = [published.column(name) for name in entry.labels if name in published.names]
    texts = [[column.texts[code] for code in column.codes.tolist()] for column in columns]
    return list(zip(*texts))


def _check_people(number: int, ledger: Ledger, given: GivenRelease, key: bytes) -> Check:
    """Compare the class and the sensitive values of everybody who is published."""
    assert given.original is not None and given.rows is not None
    entry, rows = ledger.entries[number - 1], given.rows
    known_rows = np.arange(-1, given.original.n_records)
    if len(rows) != given.published.n_records or not np.isin(rows, known_rows).all():
        return _check(number, "people", False, f"The order file of release {number} is that of another one.")
    labels = _labels_of(entry)
    known = [bytes(row) for row in ledger.people]
    values = [bytes(row) for row in ledger.values]
    recorded = Counter(
        (known[person] if person != NOBODY else None, labels[place], tuple(values[value] for value in row))
        for person, place, row in zip(entry.person.tolist(), entry.class_of.tolist(), entry.value.tolist())
    )
    people = _hashed(_people(given.original, ledger.person), key, f"people of {ledger.person}")
    cells = [_hashed_column(given.published, name, key) for name in entry.facts["sensitive"]]
    found = Counter(
        (people[row] if row >= 0 else None, label, tuple(column[record] for column in cells))
        for record, (row, label) in enumerate(zip(rows.tolist(), _labels_in(entry, given.published)))
    )
    if _replaced_too_early(ledger, number, set(people)):
        detail = f"In release {number} a place was passed on although its holder is in the original."
        return _check(number, "people", False, detail)
    same = found == recorded
    detail = (
        f"{'Everybody is' if same else 'Somebody is not'} in the class of release {number}, with the "
        "sensitive values, that the ledger says."
    )
    return _check(number, "people", same, detail)


def _replaced_too_early(ledger: Ledger, number: int, there: set[bytes]) -> bool:
    """Whether a place was passed on although the one who had it before is still in the table."""
    if ledger.entries[number - 1].facts["again"] == SIGNATURES:
        return False
    holder: dict[int, int] = {}
    for entry in ledger.entries[: number - 1]:
        holder |= dict(zip(entry.place.tolist(), entry.person.tolist()))
    now = zip(ledger.entries[number - 1].place.tolist(), ledger.entries[number - 1].person.tolist())
    gone = [holder[place] for place, person in now if holder.get(place, person) != person]
    return any(bytes(ledger.people[person]) in there for person in gone)


def _people(original: Table, name: str) -> list[str]:
    values = original.arrow(name)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return [_spelled(value) for value in values.to_pylist()]


def _spelled(value: object) -> str:
    """A person as text: whole numbers alike whatever their type, times as Arrow writes them."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else pa.scalar(value).cast(pa.string()).as_py()


def _hashed_column(published: Table, name: str, key: bytes) -> list[bytes]:
    column = published.sensitive_column(name)
    numbers = column.kind in ("integer", "float")
    hashes = _hashed_values(name, column.texts, key, numbers=numbers)
    return [hashes[code] for code in column.codes.tolist()]


def _hashed_values(name: str, texts: Iterable[str | None], key: bytes, *, numbers: bool) -> list[bytes]:
    spelled = (
        "missing" if text is None else f"value {whole_number(text) if numbers else text}" for text in texts
    )
    return _hashed(spelled, key, f"values of {name}")


def _hashed(texts: Iterable[str], key: bytes, purpose: str) -> list[bytes]:
    own = hmac.new(key, f"kohort ledger {purpose}".encode(), hashlib.sha256).digest()
    return [hmac.new(own, text.encode(), hashlib.sha256).digest()[:HASH_BYTES] for text in texts]


def texts_of_values(ledger: Ledger, key: bytes) -> dict[str, list[str | None]]:
    """Per sensitive column a text for each value of the ledger: the true one, where a model names it."""
    place_of = {bytes(row): place for place, row in enumerate(ledger.values)}
    found: dict[str, list[str | None]] = {}
    for model in (model for entry in ledger.entries for model in promises_of(entry)):
        listed = model.parameters.get("values")
        if model.attribute is None or not listed:
            continue
        texts = found.setdefault(model.attribute, [f"\0{number}" for number in range(len(ledger.values))])
        for text, hashed in zip(listed, _hashed_values(model.attribute, listed, key, numbers=True)):
            if hashed in place_of:
                texts[place_of[hashed]] = text
    return found


def _check(number: int, what: str, holds: bool | None, detail: str) -> Check:
    return Check(f"ledger: release {number} {what}".rstrip(), holds, detail)
