"""A release tied to the earlier ones of the same people: its entry in the ledger, checked with all others."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.ledger import NOBODY, Ledger, LedgerEntry
from kohort.errors import InfeasibleError, InputError, InternalError, UnsupportedError, counted
from kohort.job.again.standing import Known, known_people, sensitive_names
from kohort.job.prepare import Prepared
from kohort.job.publish import Published
from kohort.recoding.placed_groups import PlacedGroups
from kohort.recoding.recoding import Recoding
from kohort.verification import Caution, Together, verify_together
from kohort.verification.recorded import texts_of_values
from kohort.verification.together import SIGNATURES


@dataclass(frozen=True, eq=False)
class Tie:
    """A table beside the ledger of earlier releases, before it is published."""

    prepared: Prepared
    ledger: Ledger
    known: Known

    def settled(self, recoding: Recoding, published: Published, *, compared: bool = False) -> TiedRelease:
        """The release in the ledger; raises unless all releases together keep the promise.

        compared  whether it is made for comparison only: then it may break it, and cannot be written
        """
        assert isinstance(recoding, PlacedGroups)
        entry = entry_of(self.prepared, published, recoding, self.ledger, self.known)
        extended = self.ledger.extended(entry)
        request = self.prepared.request
        assert request.key is not None
        found = verify_together(extended, texts_of_values(extended, request.key))
        if not found.holds and not compared:
            _refuse(found, request.again)
        return TiedRelease(
            extended, found, self._counts(entry, recoding), bool(self.prepared.untouched_others)
        )

    def _counts(self, entry: LedgerEntry, recoding: PlacedGroups) -> dict[str, int]:
        """How many people are new, kept and gone, and what became of the places."""
        before = len(self.ledger.people)
        published_now = np.zeros(before + len(entry.people), dtype=bool)
        published_now[entry.of_people.person] = True
        in_table = np.zeros(before, dtype=bool)
        in_table[self.known.person[self.known.person >= 0]] = True
        return {
            "new": len(entry.people),
            "kept": int(published_now[:before].sum()),
            "gone": int((~in_table).sum()),
            "passed_on": 0,
            "resting": 0,
            "waiting": 0,
            **recoding.told,
        }


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
        return [Caution("together", what, "Drop such columns with the role identifier, or give them the role "
                        "sensitive.")]  # fmt: skip

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


def tie_to_ledger(prepared: Prepared) -> Tie | None:
    """A table tied to the ledger of its request; None where there is none."""
    request = prepared.request
    if request.ledger is None:
        return None
    assert request.key is not None
    _refuse_other_promises(prepared, request.ledger)
    return Tie(prepared, request.ledger, known_people(prepared, request.ledger, request.key))


def _refuse(found: Together, again: str) -> None:
    reasons = " ".join(check.detail for check in found.checks if not check.holds)
    if again != "fresh":
        raise InternalError(
            f"The release failed its check together with the earlier ones and was not made. {reasons} Please "
            "report this."
        )
    raise InfeasibleError(
        f"Published afresh, this release gives people away together with the earlier ones: "
        f"{counted(found.exposed, 'person is', 'people are')} left unprotected. {reasons} "
        "Set again: history-keeping."
    )


_LARGER = ("k", "l")  # parameters that promise more where they are larger; the others where they are smaller
_MEASURES = (*_LARGER, "alpha", "c")


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
    if sorted(last["sensitive"]) != sorted(prepared.sensitive):
        raise InputError(
            f"The earlier releases have the sensitive columns {_listed(last['sensitive'])}, and this one has "
            f"{_listed(prepared.sensitive)}. What is left of a promise over all releases is about the same "
            "columns: give them the same roles, or begin another ledger for other people."
        )
    way = prepared.request.again
    if (way == SIGNATURES) != (last["again"] == SIGNATURES):
        raise InputError(
            f"The earlier releases were made with again: {last['again']}, and this one asks for {way}, which "
            "promises something else. Use the same, or begin another ledger for other people."
        )
    for entry in ledger.entries:
        for earlier in entry.facts["models"]:
            _refuse_weaker(earlier, promised(prepared), entry.number)


def _refuse_weaker(earlier: Mapping[str, Any], asked: list[dict[str, Any]], number: int) -> None:
    if any(_as_strict(now, earlier) for now in asked):
        return
    about = f" of {earlier['attribute']!r}" if earlier.get("attribute") else ""
    figures = ", ".join(f"{name} = {earlier[name]}" for name in _MEASURES if name in earlier)
    raise InputError(
        f"Release {number} of the ledger promised {earlier['model']}{about} with {figures}, and this spec "
        "promises less. What was promised must hold over all releases: ask for at least as much."
    )


def _as_strict(now: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    """Whether a promise is of the same kind as an earlier one, and asks for at least as much."""
    if {name: now.get(name) for name in (*now, *earlier) if name not in _MEASURES} != {
        name: earlier.get(name) for name in (*now, *earlier) if name not in _MEASURES
    }:
        return False
    for name in _MEASURES:
        if name in earlier:
            before, after = Fraction(str(earlier[name])), Fraction(str(now.get(name, 0)))
            if after < before if name in _LARGER else after > before:
                return False
    return True


def _listed(names: Any) -> str:
    return ", ".join(map(repr, sorted(names))) or "none"


def entry_of(
    prepared: Prepared, published: Published, recoding: PlacedGroups, ledger: Ledger, known: Known
) -> LedgerEntry:
    """What the ledger remembers of a release; the hashes of its files come when they are written."""
    shown = np.sort(published.rows)  # counterfeits are the last ones
    n_records = prepared.dataset.n_records
    of_people = shown[shown < n_records]
    person = np.append(known.person, np.full(published.counterfeits, NOBODY))
    new = of_people[person[of_people] < 0]
    person[new] = len(ledger.people) + np.arange(len(new))
    value = np.concatenate([known.value, known.value[recoding.counterfeits.value]])
    place = recoding.with_counterfeits().place_of_record
    class_of, labels = _classes(prepared, published, shown)
    return LedgerEntry(
        facts=_facts(prepared, ledger, published),
        people=known.people[new],
        values=known.new_values,
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


def _facts(prepared: Prepared, ledger: Ledger, published: Published) -> dict[str, Any]:
    request = prepared.request
    return {
        "number": len(ledger.entries) + 1,
        "date": datetime.date.today().isoformat(),
        "title": request.title,
        "again": request.again,
        "models": promised(prepared),
        "sensitive": sensitive_names(prepared, ledger),
        "quasi_identifiers": [attribute.name for attribute in prepared.attributes],
        "records": prepared.dataset.n_records,
        "published": len(published.rows),
        "counterfeits": published.counterfeits,
        "sha256": {},
    }


def promised(prepared: Prepared) -> list[dict[str, Any]]:
    """The promises of a release as JSON holds them, for later ones to compare theirs with."""
    found: list[dict[str, Any]] = []
    for model in prepared.request.table_models:
        words: Mapping[str, Any] = model.to_dict()
        found.append({"model": model.name, **words})
    return found
