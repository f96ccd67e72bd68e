"""Releases of the same people, checked together: what is left to somebody who has all of them.

The rule of places, for releases whose records may be followed from one to the next: a person has one place
for good; a place is passed on only to somebody with the sensitive values that it was last published with;
every track, the published classes of a place in all releases, is that of at least k places; and in every
release the models that it promised hold over the records that share a track. The rule of signatures, for
releases in which only sensitive values last: in every group each of its values is equally frequent, the
models hold, and the set of values of a person's group is the same in every release. The documentation proves
what follows.

Shares no code with what publishes; `tests/by_definition` has an adversary who tries all assignments.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.column import whole_number
from kohort.data.ledger import HASH_BYTES, NOBODY, Ledger, LedgerEntry
from kohort.errors import counted
from kohort.tables.table import Table
from kohort.verification.promises import OF_CLASSES, Counts, Promise, Values
from kohort.verification.verdict import Check

SIGNATURES = "m-invariance"
"""The way of publishing again that is checked by signatures; all others are by places."""

Labels = Mapping[str, Sequence[str | None]]


@dataclass(frozen=True)
class Together:
    """What all releases leave to somebody who has them.

    candidates  the fewest records among which anybody's is hidden, over all releases
    exposed     how many people are left with fewer than k candidates, or with a broken model
    checks      what was checked, each with a sentence
    """

    releases: int
    people: int
    candidates: int
    exposed: int
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        return all(check.holds is not False for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "releases": self.releases,
            "people": self.people,
            "candidates": self.candidates,
            "exposed": self.exposed,
            "checks": [check.to_dict() for check in self.checks],
        }


def promises_of(entry: LedgerEntry) -> list[Promise]:
    """What a release promised."""
    return [
        Promise(facts["model"], facts.get("attribute"), {n: v for n, v in facts.items() if n != "model"})
        for facts in entry.facts["models"]
    ]


def verify_together(ledger: Ledger, labels: Labels | None = None) -> Together:
    """Check what the releases of a ledger leave to somebody who has all of them.

    labels  per sensitive column the text of each value of the ledger, as far as a model names values
    """
    way = ledger.entries[-1].facts["again"]
    check = _signatures if way == SIGNATURES else _places
    return check(ledger, labels or {})


def _places(ledger: Ledger, labels: Labels) -> Together:
    # places by releases: the published class, -1 where the place is not shown
    n_places = max(int(entry.place.max()) for entry in ledger.entries) + 1
    tracks = np.full((n_places, len(ledger.entries)), -1, dtype=np.int32)
    for number, entry in enumerate(ledger.entries):
        tracks[entry.place, number] = entry.class_of
    cell_of = np.zeros(n_places, dtype=np.int64)  # the same for places with the same track
    for classes in tracks.T:
        _, cell_of = np.unique(cell_of * (int(classes.max()) + 2) + classes + 1, return_inverse=True)
    sizes = np.bincount(cell_of)
    small, broken = np.zeros(len(sizes), dtype=bool), np.zeros(len(sizes), dtype=bool)
    failing: set[str] = set()
    for entry in ledger.entries:
        cells, models = cell_of[entry.place], promises_of(entry)
        small[cells[sizes[cells] < _k(models)]] = True
        for model in models:
            wrong = _breaking(model, entry, cells, len(sizes), labels)
            failing |= {model.name} if wrong.any() else set()
            broken |= wrong
    broken |= small
    exposed = np.zeros(len(ledger.people), dtype=bool)
    for entry in ledger.entries:
        exposed[entry.person[broken[cell_of[entry.place]]]] = True
    few = int(sizes[small].sum())
    return _together(ledger, _one_place_each(ledger), int(sizes.min()), few, failing, int(exposed.sum()))


def _one_place_each(ledger: Ledger) -> Check:
    """Whether everybody has one place for good, nobody shares one, and places are passed on unseen."""
    n_people, n_places = len(ledger.people), max(int(e.place.max()) for e in ledger.entries) + 1
    place_of_person = np.full(n_people, -1, dtype=np.int64)
    holder = np.full(n_places, -1, dtype=np.int64)
    last = np.full((n_places, ledger.entries[0].value.shape[1]), -1, dtype=np.int64)
    shared = moved = seen = 0
    for entry in ledger.entries:
        for numbers in (entry.place, entry.person):
            shared += len(numbers) - int(np.count_nonzero(np.bincount(numbers)))
        before = place_of_person[entry.person]
        moved += int(((before >= 0) & (before != entry.place)).sum())
        passed = (holder[entry.place] >= 0) & (holder[entry.place] != entry.person)
        seen += int((passed & (last[entry.place] != entry.value).any(axis=1)).sum())
        place_of_person[entry.person] = entry.place
        holder[entry.place], last[entry.place] = entry.person, entry.value
    good = "Everybody has one place in all releases, and places are passed on with their values."
    bad = (
        f"{counted(moved, 'time', 'times')} somebody changed places, {counted(seen, 'place', 'places')} "
        f"passed on with other sensitive values, {counted(shared, 'record')} shared a place."
    )
    return Check.of("together: places", shared + moved + seen, good, bad)


def _signatures(ledger: Ledger, labels: Labels) -> Together:
    least = 2**62
    signature_of: dict[int, bytes] = {}
    exposed: set[int] = set()
    failing: set[str] = set()
    uneven = other = small = 0
    for entry in ledger.entries:
        models, people = promises_of(entry), entry.of_people
        sizes = np.bincount(people.place, minlength=int(entry.place.max()) + 1)
        least = min(least, int(sizes.min()))
        wrong = sizes < _k(models)
        small += int(sizes[wrong].sum())
        for model in models:
            breaking = _breaking(model, entry, entry.place, len(sizes), labels)
            failing |= {model.name} if breaking.any() else set()
            wrong |= breaking
        signatures, even = _signatures_of(entry, len(sizes))
        uneven += int((~even).sum())
        wrong |= ~even
        for person, number in zip(people.person.tolist(), people.place.tolist()):
            before = signature_of.setdefault(person, signatures[number])
            other += before != signatures[number]
            if wrong[number] or before != signatures[number]:
                exposed.add(person)
    good = "In every group all values are equally frequent, and everybody's groups have the same values."
    bad = (
        f"In {counted(uneven, 'group')} some value is more frequent than others, and "
        f"{counted(other, 'time', 'times')} the values of somebody's group changed."
    )
    own = Check.of("together: signatures", uneven + other, good, bad)
    return _together(ledger, own, least, small, failing, len(exposed))


def _check_counterfeits(ledger: Ledger) -> list[Check]:
    """Whether as many records are nobody's as each release says; none where records have places."""
    said = [int(entry.facts.get("counterfeits", 0)) for entry in ledger.entries]
    wrong = {entry.number for entry, number in zip(ledger.entries, said) if entry.counterfeits != number}
    wrong |= {e.number for e in ledger.entries if e.counterfeits and e.facts["again"] != SIGNATURES}
    if not wrong and not sum(said):
        return []
    are = counted(sum(said), "record of all releases is", "records of all releases are")
    good = f"{are} nobody's: counterfeits, as many as the releases say."
    bad = f"Release {', '.join(map(str, sorted(wrong)))} has other counterfeits than it says."
    return [Check.of("together: counterfeits", wrong, good, bad)]


def _together(
    ledger: Ledger,
    own: Check,
    candidates: int,
    small: int,
    failing: Collection[str],
    exposed: int,
) -> Together:
    """What the releases leave, with the checks.

    own      the check of the rule by which they are published again
    small    how many records are left with too few candidates
    failing  the models that are broken
    """
    least = candidates
    good = f"Whoever has all releases is left with at least {least:,} records that may be anybody's."
    bad = (
        f"Whoever has all releases is left with fewer than k records for {counted(small, 'place')}, and with "
        f"{least:,} in the worst case."
    )
    broken = f"Over the records that are left, {', '.join(sorted(failing))} does not hold in some release."
    checks = (
        *_check_counterfeits(ledger),
        own,
        Check.of("together: candidates", small, good, bad),
        Check.of(
            "together: models",
            failing,
            "Every model holds over the records that are left, in every release.",
            broken,
        ),
    )
    return Together(len(ledger.entries), len(ledger.people), least, exposed, checks)


def _signatures_of(entry: LedgerEntry, n_groups: int) -> tuple[list[bytes], np.ndarray]:
    """Per group the values in it, and whether each is equally frequent there, in one published class."""
    pairs, times = np.unique(np.column_stack([entry.place, entry.value[:, 0]]), axis=0, return_counts=True)
    starts = np.searchsorted(pairs[:, 0], np.arange(n_groups))
    even = np.minimum.reduceat(times, starts) == np.maximum.reduceat(times, starts)
    in_classes = np.unique(np.column_stack([entry.place, entry.class_of]), axis=0)
    even &= np.bincount(in_classes[:, 0], minlength=n_groups) == 1
    return [part.tobytes() for part in np.split(pairs[:, 1], starts[1:])], even


def _breaking(
    promise: Promise, entry: LedgerEntry, cells: np.ndarray, n_cells: int, labels: Labels
) -> np.ndarray:
    """Per cell whether its records in one release break a model about a sensitive column."""
    broken = np.zeros(n_cells, dtype=bool)
    if promise.attribute is None:
        return broken
    column = list(entry.facts["sensitive"]).index(promise.attribute)
    there, number = np.unique(cells, return_inverse=True)
    values = entry.value[:, column].astype(np.int64)
    texts = labels.get(promise.attribute, ())
    n_values = max(int(values.max()) + 1, len(texts))
    counts = Counts.of_records(number, values, len(there), n_values)
    known = tuple(texts) + tuple(f"\0{value}" for value in range(len(texts), n_values))
    broken[there] = ~OF_CLASSES[promise.name](promise, counts, Values(known)).holds
    return broken


def _k(promises: Sequence[Promise]) -> int:
    return max((int(p.number("k")) for p in promises if p.name == "k-anonymity"), default=1)


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
    entry, name = ledger.entries[number - 1], f"ledger: release {number}"
    if given is None:
        detail = f"Release {number} is not at hand: what the ledger says of it was taken as it is."
        return [Check(name, None, detail)]
    expected = entry.facts["sha256"].get("output")
    if given.sha256 is None or expected is None:
        detail = f"Release {number} is no file, so its hash was not compared."
        file = Check(f"{name} file", None, detail)
    else:
        same = given.sha256 == expected
        detail = f"The file of release {number} is {'' if same else 'not '}the one that the ledger names."
        file = Check(f"{name} file", same, detail)
    labels = _labels_of(entry)
    same = Counter(labels[c] for c in entry.class_of.tolist()) == Counter(_labels_in(entry, given.published))
    detail = f"The classes of release {number} are {'' if same else 'not '}those of the ledger."
    checks = [file, Check(f"{name} classes", same, detail)]
    if given.original is None or given.rows is None:
        detail = (
            f"Who is who in release {number} was taken from the ledger: that needs its original, and the "
            "order file."
        )
        return [*checks, Check(f"{name} people", None, detail)]
    return [*checks, Check(f"{name} people", *_check_people(number, ledger, given, key))]


def _labels_of(entry: LedgerEntry) -> list[tuple[str | None, ...]]:
    return list(zip(*entry.labels.values()))


def _labels_in(entry: LedgerEntry, published: Table) -> list[tuple[str | None, ...]]:
    """The published labels of each record."""
    columns = [published.column(name) for name in entry.labels if name in published.names]
    texts = [[column.texts[code] for code in column.codes.tolist()] for column in columns]
    return list(zip(*texts))


def _check_people(number: int, ledger: Ledger, given: GivenRelease, key: bytes) -> tuple[bool, str]:
    """Compare the class and the sensitive values of everybody who is published, and say what is found."""
    assert given.original is not None and given.rows is not None
    entry, rows = ledger.entries[number - 1], given.rows
    known_rows = np.arange(-1, given.original.n_records)
    if len(rows) != given.published.n_records or not np.isin(rows, known_rows).all():
        return False, f"The order file of release {number} is that of another one."
    labels, known, values = _labels_of(entry), [*map(bytes, ledger.people)], [*map(bytes, ledger.values)]
    recorded = Counter(
        (known[person] if person != NOBODY else None, labels[place], tuple(values[value] for value in row))
        for person, place, row in zip(entry.person.tolist(), entry.class_of.tolist(), entry.value.tolist())
    )
    persons = given.original.arrow(ledger.person)
    if pa.types.is_dictionary(persons.type):
        persons = persons.cast(persons.type.value_type)
    people = _hashed(map(_spelled, persons.to_pylist()), key, f"people of {ledger.person}")
    cells = []
    for name in entry.facts["sensitive"]:
        column = given.published.sensitive_column(name)
        hashes = _hashed_values(name, column.texts, key, numbers=column.kind in ("integer", "float"))
        cells.append([hashes[code] for code in column.codes.tolist()])
    found = Counter(
        (people[row] if row >= 0 else None, label, tuple(column[record] for column in cells))
        for record, (row, label) in enumerate(zip(rows.tolist(), _labels_in(entry, given.published)))
    )
    if _replaced_too_early(ledger, number, set(people)):
        return False, f"In release {number} a place was passed on although its holder is in the original."
    same = found == recorded
    return same, (
        f"{'Everybody is' if same else 'Somebody is not'} in the class of release {number}, with the "
        "sensitive values, that the ledger says."
    )


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


def _spelled(value: object) -> str:
    """A person as text: whole numbers alike whatever their type, times as Arrow writes them."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else pa.scalar(value).cast(pa.string()).as_py()


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
