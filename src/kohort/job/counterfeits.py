"""A table with counterfeits after its records: records that are nobody's, to be published among the others.

A counterfeit has the quasi-identifiers of a person of its group, which are published as the group's labels
and widen none of them; and the sensitive value that the group lacks. In any other published column it has a
value that at least k of the published records have, drawn in proportion: no cell that tells of one person,
and none by which it would be recognized as a counterfeit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kohort.data.arrow_values import take_records
from kohort.errors import InputError, UnsupportedError
from kohort.job.prepare import Prepared
from kohort.late import nw
from kohort.recoding.groups import PlacedGroups
from kohort.recoding.recoding import Recoding
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.treatments import generator_of


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
