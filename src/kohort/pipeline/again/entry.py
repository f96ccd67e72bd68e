"""The entry of a release in the ledger: who was published in which class and place."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.ledger import NOBODY, Ledger, LedgerEntry
from kohort.job.prepare import Prepared
from kohort.job.publish import Published
from kohort.pipeline.again.standing import Known, sensitive_names
from kohort.recoding.placed_groups import PlacedGroups


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
