"""A release tied to the earlier ones of the same people: its entry in the ledger, checked with all others.

It may have counterfeits, records that are nobody's, published among the others. A counterfeit has the
quasi-identifiers of a person of its group, which are published as the group's labels and widen none of them;
and the sensitive value that the group lacks. In any other published column it has a value that at least k of
the published records have, drawn in proportion: no cell that tells of one person, and none by which it would
be recognized as a counterfeit.
"""

from __future__ import annotations

import datetime
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.algorithms import Run, Solver
from kohort.algorithms.again.fresh import Fresh
from kohort.algorithms.again.history_keeping import HistoryKeeping
from kohort.algorithms.again.m_invariance import MInvariance
from kohort.algorithms.again.standing import EarlierValues, Standing
from kohort.algorithms.kernels.costs import costs_by_group
from kohort.data.arrow_values import long_decimals, take_records, value_type
from kohort.data.column import whole_number
from kohort.data.counting import distinct_rows
from kohort.data.ledger import HASH_BYTES, NOBODY, Ledger, LedgerEntry
from kohort.errors import InfeasibleError, InputError, InternalError, UnsupportedError, counted
from kohort.job.prepare import Prepared
from kohort.job.publish import Published
from kohort.job.solve import Clock
from kohort.late import nw
from kohort.recoding.groups import Groups, PlacedGroups
from kohort.recoding.recoding import Recoding
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.treatments import generator_of
from kohort.verification import Caution, Together, verify_together
from kohort.verification.releases import SIGNATURES, texts_of_values


@dataclass(frozen=True, eq=False)
class Tie:
    """A table beside the ledger of earlier releases, before it is published.

    people    keyed hashes of each record's person
    person    the number of each record's person in the ledger, -1 for those it does not know
    value     records by sensitive columns: the number of the value in the ledger, from the number of the
              ledger's values on for new ones
    standing  what earlier releases say of the records
    """

    prepared: Prepared
    ledger: Ledger
    people: np.ndarray
    person: np.ndarray
    value: np.ndarray
    new_values: np.ndarray
    standing: Standing

    @classmethod
    def of(cls, prepared: Prepared) -> Tie:
        """A table tied to the ledger of its request."""
        request, ledger, key = prepared.request, prepared.request.ledger, prepared.request.key
        assert key is not None and ledger is not None
        _refuse_other_promises(prepared, ledger)
        people = hashed_people(prepared.dataset, ledger.person, key)
        person = positions(people, ledger.people)
        value, new_values = _numbered_values(prepared, ledger, key)
        make = _by_signatures if request.again == SIGNATURES else _by_places
        return cls(prepared, ledger, people, person, value, new_values, make(ledger, person, value, key))

    def settled(self, recoding: Recoding, published: Published, *, compared: bool = False) -> TiedRelease:
        """The release in the ledger; raises unless all releases together keep the promise.

        One for comparison only (`compared`) may break it, and cannot be written.
        """
        assert isinstance(recoding, PlacedGroups)
        entry = entry_of(self, published, recoding)
        extended = self.ledger.extended(entry)
        request = self.prepared.request
        assert request.key is not None
        found = verify_together(extended, texts_of_values(extended, request.key))
        if not found.holds and not compared:
            reasons = " ".join(check.detail for check in found.checks if not check.holds)
            if request.again != "fresh":
                raise InternalError(
                    "The release failed its check together with the earlier ones and was not made. "
                    f"{reasons} Please report this."
                )
            raise InfeasibleError(
                "Published afresh, this release gives people away together with the earlier ones: "
                f"{counted(found.exposed, 'person is', 'people are')} left unprotected. {reasons} "
                "Set again: history-keeping."
            )
        before = len(self.ledger.people)
        published_now, in_table = (np.zeros(before + len(entry.people), dtype=bool) for _ in range(2))
        published_now[entry.of_people.person] = True
        in_table[self.person[self.person >= 0]] = True
        people = {
            "new": len(entry.people),
            "kept": int(published_now[:before].sum()),
            "gone": int((~in_table[:before]).sum()),
            **dict.fromkeys(("passed_on", "resting", "waiting"), 0),
            **recoding.told,
        }
        return TiedRelease(extended, found, people, bool(self.prepared.untouched_others))


def sensitive_names(prepared: Prepared, ledger: Ledger) -> list[str]:
    """The sensitive columns in the order of the ledger, whatever order the table has them in."""
    return list(ledger.entries[0].facts["sensitive"] if ledger.entries else prepared.sensitive)


def _numbered_values(prepared: Prepared, ledger: Ledger, key: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The number of each record's value in each sensitive column, and the hashes of values that are new."""
    n_values, new = len(ledger.values), [ledger.values[:0]]
    columns: list[np.ndarray] = []
    for name in sensitive_names(prepared, ledger):
        column = prepared.sensitive[name].column
        spelled = whole_number if column.kind in ("integer", "float") else str
        texts = ("missing" if text is None else f"value {spelled(text)}" for text in column.texts)
        hashes = _hashed(texts, key, f"values of {name}")
        number = positions(hashes, ledger.values)
        unknown = np.flatnonzero(number < 0)
        number[unknown] = n_values + np.arange(len(unknown))
        n_values += len(unknown)
        new.append(hashes[unknown])
        columns.append(number[column.codes])
    n_records = prepared.dataset.n_records
    table = np.column_stack(columns) if columns else np.empty((n_records, 0), dtype=np.int64)
    return table, np.concatenate(new)


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
    texts = texts_of_values(ledger, key)
    unnamed = [f"\0{number}" for number in range(len(ledger.values))]  # for each that no promise names
    earlier = tuple(
        EarlierValues(name, entry.place, numbers.astype(np.int64), tuple(texts.get(name, unnamed)))
        for entry in ledger.entries
        for name, numbers in zip(entry.facts["sensitive"], entry.value.T)
    )
    return Standing(place, holds, of_record, of_place, ledger.cell_of_place, earlier=earlier)


def hashed_people(dataset: Table, name: str, key: bytes) -> np.ndarray:
    """HMAC-SHA-256 of each record's person, 128 bits; the same person has the same hash in every table.

    Whole numbers are written alike: 1 and 1.0 are one person. Two people of one table must not become one.
    """
    values = dataset.arrow(name)
    values = values.cast(value_type(values.type))
    if pa.types.is_floating(values.type) and pc.all(pc.equal(pc.floor(values), values)).as_py():
        values = values.cast(pa.int64())
    texts = long_decimals(values).cast(pa.string()).to_pylist()
    people = {text: whole_number(text) for text in texts}
    if len(set(people.values())) < len(people):
        raise InputError(
            f"Column {name!r} says who somebody is, and writes some whole numbers in two ways, as 1 and 1.0. "
            "A ledger takes them for one person. Write them in one way."
        )
    return _hashed(map(people.__getitem__, texts), key, f"people of {name}")


def positions(hashes: np.ndarray, among: np.ndarray) -> np.ndarray:
    """The place of each hash among others, -1 where it is not one of them."""
    binary = [
        pa.Array.from_buffers(pa.binary(HASH_BYTES), len(some), [None, pa.py_buffer(some.tobytes())])
        for some in (hashes, among)
    ]
    found = pc.index_in(binary[0], value_set=binary[1])
    return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)


def _hashed(texts: Iterable[str], key: bytes, purpose: str) -> np.ndarray:
    own = hmac.digest(key, f"kohort ledger {purpose}".encode(), "sha256")
    parts = [hmac.digest(own, text.encode(), "sha256")[:HASH_BYTES] for text in texts]
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(-1, HASH_BYTES)


@dataclass(frozen=True, eq=False)
class TiedRelease:
    """A release that was checked together with all earlier ones.

    ledger     with this release as its last entry
    found      what all releases leave to somebody who has them
    people     how many are new, kept, gone; places passed on; people who rest or wait
    passes     whether it publishes columns as they are, beside the sensitive ones
    alone      the cost of a release on its own, where it was measured
    """

    ledger: Ledger
    found: Together
    people: dict[str, int]
    passes: bool
    alone: float | None = None

    def beside_alone(self, prepared: Prepared, solver: Solver, clock: Clock) -> TiedRelease:
        """The same beside the cost of a release on its own, under the same time limit; not for the first one.

        The inner algorithm of the way of publishing again is run on all records.
        """
        problem = prepared.problem
        if len(self.ledger.entries) < 2:
            return self
        with clock("alone"):
            comparable = problem.cost.adds_up and problem.masses.even
            if not comparable or not isinstance(solver, (HistoryKeeping, MInvariance, Fresh)):
                return self
            try:
                groups = solver.inner.solve(problem, Run(time_limit=prepared.request.time_limit))
            except InfeasibleError:
                return self
            if not isinstance(groups, Groups):
                return self
            order = np.argsort(groups.group_of_record, kind="stable")
            order = order[np.count_nonzero(groups.withheld) :]
            sizes = np.bincount(groups.group_of_record[order], minlength=groups.n_groups)
            start, coded = np.concatenate([[0], np.cumsum(sizes)]), problem.coded
            costs = costs_by_group(coded.tables, coded.searched_leaves(), order, start)
            total = float(np.dot(costs, sizes)) + coded.star_cost * int(groups.withheld.sum())
            alone = problem.cost.measure_of_sum(total, problem.n_records, problem.weights)
            return replace(self, alone=alone)

    @property
    def cautions(self) -> list[Caution]:
        """What the promise over all releases does not cover."""
        if self.ledger.entries[-1].facts["again"] == SIGNATURES:
            return [_ONLY_VALUES]
        if not self.passes or len(self.ledger.entries) < 2:
            return []
        what = (
            "Columns that are published as they are, beside the sensitive ones, may tell which records of "
            "two releases are of the same person, and so who has left."
        )
        advice = "Drop such columns with the role identifier, or give them the role sensitive."
        return [Caution("together", what, advice)]

    def facts(self, cost: float) -> dict[str, Any]:
        """What the certificate and the report say of all releases together."""
        entry = self.ledger.entries[-1]
        return {
            "release": entry.number,
            "again": entry.facts["again"],
            "candidates": self.found.candidates,
            "counterfeits": entry.counterfeits,
            "people": self.people,
            "checks": [check.to_dict() for check in self.found.checks],
            "alone": self.alone,
            "ratio": None if not self.alone else cost / self.alone,
        }

    def with_files(self, sha256: dict[str, str | None], certified: dict[str, Any]) -> Ledger:
        """The ledger that is written with the files of the release, whose hashes it remembers."""
        *earlier, last = self.ledger.entries
        facts = {**last.facts, "sha256": sha256, **certified}
        return replace(self.ledger, entries=(*earlier, replace(last, facts=facts)))


_ONLY_VALUES = Caution(
    "together",
    "With m-invariance sensitive values are protected over all releases. Who can tell which records of two "
    "releases are of the same person may find people by their classes in all of them.",
    "Publish no column by which records can be followed, or set again: history-keeping.",
)


_LARGER = {"k": True, "l": True, "alpha": False, "c": False}  # whether a larger one promises more


def _refuse_other_promises(prepared: Prepared, ledger: Ledger) -> None:
    """Raise where a release cannot be added to a ledger: other sensitive columns, weaker promises."""
    if prepared.units.several:
        raise UnsupportedError(
            f"With a ledger everybody has one record in a release, and some people of {ledger.person!r} have "
            "several. Keep one record for each person, such as the latest."
        )
    if not ledger.entries:
        return
    last = ledger.entries[-1].facts
    before, now = sorted(last["sensitive"]), sorted(prepared.sensitive)
    if before != now:
        had, has = (", ".join(map(repr, names)) or "none" for names in (before, now))
        raise InputError(
            f"The earlier releases have the sensitive columns {had}, and this one has {has}. What is left of "
            "a promise over all releases is about the same columns: give them the same roles, or begin "
            "another ledger for other people."
        )
    way = prepared.request.again
    if (way == SIGNATURES) != (last["again"] == SIGNATURES):
        raise InputError(
            f"The earlier releases were made with again: {last['again']}, and this one asks for {way}, which "
            "promises something else. Use the same, or begin another ledger for other people."
        )
    for entry in ledger.entries:
        for earlier in entry.facts["models"]:
            if not any(_as_strict(now, earlier) for now in promised(prepared)):
                about = f" of {earlier['attribute']!r}" if earlier.get("attribute") else ""
                figures = ", ".join(f"{name} = {earlier[name]}" for name in _LARGER if name in earlier)
                raise InputError(
                    f"Release {entry.number} of the ledger promised {earlier['model']}{about} with "
                    f"{figures}, and this spec promises less. What was promised must hold over all releases: "
                    "ask for at least as much."
                )


def _as_strict(now: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    """Whether a promise is of the same kind as an earlier one, and asks for at least as much."""
    kind, before = (
        {n: word for n, word in words.items() if n not in _LARGER and word is not None}
        for words in (now, earlier)
    )
    figures = [(Fraction(str(earlier[n])), Fraction(str(now.get(n, 0))), n) for n in _LARGER if n in earlier]
    return kind == before and all(b >= a if _LARGER[n] else b <= a for a, b, n in figures)


def entry_of(tie: Tie, published: Published, recoding: PlacedGroups) -> LedgerEntry:
    """What the ledger remembers of a release; the hashes of its files come when they are written."""
    prepared, ledger, request = tie.prepared, tie.ledger, tie.prepared.request
    shown = np.sort(published.rows)  # counterfeits are the last ones
    n_records = prepared.dataset.n_records
    of_people = shown[shown < n_records]
    person = np.append(tie.person, np.full(published.counterfeits, NOBODY))
    new = of_people[person[of_people] < 0]
    person[new] = len(ledger.people) + np.arange(len(new))
    value = np.concatenate([tie.value, tie.value[recoding.counterfeits.value]])
    place = recoding.with_counterfeits().place_of_record
    class_of, labels = _classes(prepared, published, shown)
    facts = {
        "number": len(ledger.entries) + 1,
        "date": datetime.date.today().isoformat(),
        "title": request.title,
        "again": request.again,
        "models": promised(prepared),
        "sensitive": sensitive_names(prepared, ledger),
        "quasi_identifiers": [attribute.name for attribute in prepared.attributes],
        "records": n_records,
        "published": len(published.rows),
        "counterfeits": published.counterfeits,
        "sha256": {},
    }
    return LedgerEntry(
        facts=facts,
        people=tie.people[new],
        values=tie.new_values,
        person=person[shown].astype(np.int32),
        place=place[shown].astype(np.int32),
        class_of=class_of.astype(np.int32),
        value=value[shown].astype(np.int32),
        labels=labels,
    )


def _classes(
    prepared: Prepared, published: Published, shown: np.ndarray
) -> tuple[np.ndarray, dict[str, list[str | None]]]:
    """The class of each published record, by its labels, and the labels of each class."""
    columns: dict[str, Any] = {a.name: published.columns[a.name] for a in prepared.attributes}
    number = np.zeros(len(shown), dtype=np.int64)
    for column in columns.values():
        assert isinstance(column, pa.DictionaryArray)
        codes = column.indices.fill_null(len(column.dictionary)).to_numpy(zero_copy_only=False)[shown]
        number = np.unique(number * (len(column.dictionary) + 1) + codes, return_inverse=True)[1]
    first = np.unique(number, return_index=True)[1]
    rows = pa.array(shown[first])
    labels = {name: column.take(rows).cast(pa.string()).to_pylist() for name, column in columns.items()}
    return number, labels


def promised(prepared: Prepared) -> list[dict[str, Any]]:
    """The promises of a release as JSON holds them, for later ones to compare theirs with."""
    return [{"model": model.name, **model.to_dict()} for model in prepared.request.table_models]


def refuse_counterfeits(prepared: Prepared) -> None:
    """Raise where counterfeits are allowed, and could not be published unrecognized."""
    request = prepared.request
    if request.ledger is None:
        raise InputError(
            "'counterfeits' are for releases that are tied to earlier ones: name the ledger (--ledger, in "
            "Python: ledger=), or set counterfeits: 0."
        )
    if request.shuffle is False:
        raise InputError(
            "Counterfeits would be recognized in the original order of the records. Set shuffle: auto, or "
            "counterfeits: 0."
        )
    for name, how in prepared.treatments.items():
        raise UnsupportedError(
            f"Column {name!r} is published with the treatment {how.name}, and a counterfeit has no value "
            "for that. Drop the column, or set counterfeits: 0."
        )
    for name in prepared.untouched_others:
        if not _common(prepared, name, np.arange(prepared.dataset.n_records)).any():
            raise InputError(
                f"No value of {name!r} is that of k = {request.k} records or more, so a counterfeit would "
                "have a cell of somebody's, or be recognized. Drop the column with the role identifier, or "
                "set counterfeits: 0."
            )


def with_counterfeits(prepared: Prepared, recoding: Recoding) -> tuple[Prepared, Recoding]:
    """The table and its recoding with the counterfeits as further records."""
    assert isinstance(recoding, PlacedGroups)
    false = recoding.counterfeits
    copied = {attribute.name: false.like for attribute in prepared.attributes}
    copied |= dict.fromkeys(prepared.sensitive, false.value)
    copied |= {name: _drawn(prepared, recoding, name) for name in prepared.untouched_others}
    n_records = prepared.dataset.n_records
    rows = {
        name: np.concatenate([np.arange(n_records), copied.get(name, false.like)])
        for name in prepared.dataset.names
    }
    attributes = tuple(
        replace(a, column=replace(a.column, codes=a.column.codes[rows[a.name]])) for a in prepared.attributes
    )
    sensitive = {
        name: replace(s, column=replace(s.column, codes=s.column.codes[rows[name]]))
        for name, s in prepared.sensitive.items()
    }
    dataset = _taken(prepared.dataset, rows)
    filled = replace(prepared, dataset=dataset, attributes=attributes, sensitive=sensitive)
    return filled, recoding.with_counterfeits()


def _common(prepared: Prepared, name: str, published: np.ndarray) -> np.ndarray:
    """Per published record whether at least k of them have its value."""
    codes = prepared.dataset.value_codes(name)[published]
    _, number, times = np.unique(codes, return_inverse=True, return_counts=True)
    return (times >= prepared.request.k)[number]


def _drawn(prepared: Prepared, recoding: PlacedGroups, name: str) -> np.ndarray:
    """Per counterfeit a published record whose value in a column it has; drawn under the secret key."""
    published = np.flatnonzero(~recoding.withheld)
    common = published[_common(prepared, name, published)]
    if not len(common):
        raise InputError(
            f"No value of {name!r} is that of k = {prepared.request.k} published records or more, so a "
            "counterfeit would have a cell of somebody's. Drop the column with the role identifier, or set "
            "counterfeits: 0."
        )
    rng = generator_of(prepared.request.key, prepared.request.seed, f"counterfeits of {name}")
    return rng.choice(common, len(recoding.counterfeits))


def _taken(dataset: Table, rows: Mapping[str, np.ndarray]) -> Table:
    """A table of the same kind with the given records, column by column."""
    native = dataset.frame.to_native()
    if isinstance(native, pa.Table):
        columns = [take_records(native.column(name), rows[name]) for name in native.column_names]
        return MemoryTable(pa.Table.from_arrays(columns, schema=native.schema))
    series = [nw.maybe_reset_index(dataset.frame[name][rows[name].tolist()]) for name in dataset.names]
    first = nw.maybe_reset_index(dataset.frame[rows[dataset.names[0]].tolist()])
    return MemoryTable(first.with_columns(*series).to_native())
