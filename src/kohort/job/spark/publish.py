"""Published records on a cluster, in parts of whole classes: dealt out by class, and put in order.

A part does not depend on where its records come from: only on what is published, and on the seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms import ALGORITHMS, Algorithm, Run
from kohort.data.column import Column
from kohort.errors import UnsupportedError
from kohort.job.choose import Choice
from kohort.job.publish import Published, broken_by, labelled
from kohort.job.spark.prepare import SparkPrepared
from kohort.job.spark.records import ORIGINAL, Coder, counted_values, runs
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem
from kohort.problem.units import Units
from kohort.recoding.recoding import Recoding
from kohort.tables.spark import (
    SparkParts,
    SparkTable,
    compact_dictionary,
    dictionary_of_places,
    hashed_rows,
    joined_tables,
    packed,
    quoted,
    sorted_by,
    unpacked,
)
from kohort.tables.spark_session import give_up, spark_failures
from kohort.treatments.identifiers import MASK

LABELS = pa.dictionary(pa.int32(), pa.string())  # one type, so that labels can be joined
DEALT = "key long, number long, first long, records binary"
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, eq=False, kw_only=True)
class PublishedThere(Published):
    """A table as it is published on a cluster.

    parts        the published records in parts, which were verified, as Spark holds them
    fingerprint  of these records: see `kohort.tables.spark.fingerprint`
    found_formulas  how many texts of each column begin like a formula
    found_extremes  columns that show their least or greatest value although few people have it
    notes        how they were made
    """

    parts: SparkParts
    fingerprint: tuple[int, int]
    found_formulas: Mapping[str, int]
    found_extremes: frozenset[str]
    notes: tuple[str, ...]  # type: ignore[misc]

    @property
    def formulas(self) -> Mapping[str, int]:
        return self.found_formulas

    def extremes(self, attributes: Sequence[Attribute], k: int) -> list[Attribute]:
        return [attribute for attribute in attributes if attribute.name in self.found_extremes]

    @cached_property
    def native(self) -> Any:
        """The published records as a dataframe of Spark's; they are made from the parts that it holds."""
        return self.parts.frame()

    @property
    def originals(self) -> np.ndarray:
        raise UnsupportedError("A release on a cluster does not know which original each record has.")

    def close(self) -> None:
        """Let Spark give up all that it holds of the release and of its original; `native` is gone then."""
        give_up(self.parts.held)
        assert isinstance(self.dataset, SparkTable)
        self.dataset.release()


def dealt(table: pa.Table, number: np.ndarray, keys: Sequence[int], first: int = 0) -> pa.RecordBatch:
    """Records dealt out by a number of each, as rows of DEALT.

    keys   per number the one by which Spark deals it out
    first  where these records belong among others that are dealt out
    """
    rows = [(keys[n], n, first, packed(_compact(part))) for n, part in divided(table, number, len(keys))]
    kinds = {"key": pa.int64(), "number": pa.int64(), "first": pa.int64(), "records": pa.binary()}
    columns = [pa.array([row[n] for row in rows], kind) for n, kind in enumerate(kinds.values())]
    return pa.RecordBatch.from_arrays(columns, names=list(kinds))


def divided(table: pa.Table, number: np.ndarray, n_numbers: int) -> Iterator[tuple[int, pa.Table]]:
    """The records that have each number, in order."""
    order, start = sorted_by(number, n_numbers)
    ordered = table.take(pa.array(order)).combine_chunks()
    for one in np.flatnonzero(np.diff(start)).tolist():
        yield one, ordered.slice(start[one], start[one + 1] - start[one])


def dealt_by_class(
    labels: Mapping[str, pa.DictionaryArray], beside: pa.Table, keys: Sequence[int]
) -> pa.RecordBatch:
    """Some published records, all of a class to one part: labels, and places of values beside them."""
    hashed = hashed_rows((labels[name] for name in sorted(labels)), len(beside))
    part = (hashed >> np.uint64(32)) % np.uint64(len(keys))
    return dealt(pa.table({**labels, **dict(zip(beside.column_names, beside.columns))}), part, keys)


def _compact(table: pa.Table) -> pa.Table:
    """The same records with dictionaries of those labels alone that occur."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = compact_dictionary(table.column(place).chunk(0)).cast(LABELS)
            table = table.set_column(place, field.name, column)
    return table


def gathered(batches: Batches) -> Iterator[tuple[int, pa.Table]]:
    """The records of each number that was dealt out to a partition, in order."""
    pieces: dict[int, list[tuple[int, Any]]] = defaultdict(list)
    for batch in batches:
        for number, first, records in zip(*(batch.column(name) for name in ("number", "first", "records"))):
            pieces[number.as_py()].append((first.as_py(), records.as_buffer()))
    for number in sorted(pieces):
        in_order = sorted(pieces.pop(number), key=lambda piece: piece[0])
        yield number, joined_tables([unpacked(records) for _, records in in_order])


def arranged(coder: Coder, batches: Batches) -> Iterator[tuple[int, pa.Table]]:
    """The parts that were dealt out to a partition, in order: published columns, and hidden ones."""
    places = coder.originals
    for part, table in gathered(batches):
        columns: dict[str, Any] = {}
        for name in [*coder.shown, *coder.hidden]:
            if name in coder.masked:
                zeros = pa.array(np.zeros(len(table), dtype=np.uint8))
                columns[name] = pa.DictionaryArray.from_arrays(zeros, pa.array([MASK]))
            elif name in places:
                columns[name] = dictionary_of_places(table.column(name).to_numpy(), places[name].given)
            else:
                whole = table.column(name).combine_chunks()
                columns[name] = whole if isinstance(whole, pa.Array) else whole.chunk(0)
        shown = (columns[name] for name in coder.shown)
        order = np.argsort(hashed_rows(shown, len(table), coder.seed), kind="stable")
        yield part, pa.table(columns).take(pa.array(order)).combine_chunks()


MOST_ROWS, MOST_RECORDS = 2_000_000, 20_000_000
_LARGEST_KEY = 2**62
_AT_ONCE = 1 << 17  # records: values are looked up in a table that is made for each


@dataclass(frozen=True, eq=False)
class GlobalJob:
    """What workers need to know to publish records by maps.

    labels    per quasi-identifier the published value of each code
    withheld  keys of the rows that are withheld, sorted
    keys      per part of published records the number by which Spark deals it out
    """

    coder: Coder
    labels: Mapping[str, Sequence[str | None]]
    withheld: np.ndarray
    keys: Sequence[int]

    def publish(self, batches: Batches) -> Batches:
        """The published records, dealt out by class."""
        for table in runs(batches, _AT_ONCE):
            beside = self.coder.beside(table)
            places = (beside.column(f"{ORIGINAL}{n}").to_numpy() for n in range(len(self.labels)))
            attributes = self.coder.attributes
            codes = [counted_values(a).codes[of_record] for a, of_record in zip(attributes, places)]
            hidden = np.isin(row_numbers(attributes, codes), self.withheld)
            columns = {}
            for attribute, of_record in zip(attributes, codes):
                labels = pa.array([*self.labels[attribute.name], "*"], pa.string())
                place = np.where(hidden, len(labels) - 1, of_record)
                columns[attribute.name] = dictionary_of_places(place, labels)
            yield dealt_by_class(columns, beside, self.keys)


def row_numbers(attributes: Sequence[Attribute], codes: Sequence[np.ndarray]) -> np.ndarray:
    """A number for each row of codes; equal for equal rows."""
    key = np.zeros(len(codes[0]), dtype=np.int64)
    for attribute, of_record in zip(attributes, codes):
        key = key * len(attribute.column.texts) + of_record
    return key


def global_recoding(
    prepared: SparkPrepared, choice: Choice, coder: Coder, keys: Sequence[int], run: Run
) -> tuple[GlobalJob, Recoding]:
    """Solve a problem on the distinct rows of a table, and say how workers publish its records."""
    problem = _gathered(prepared)
    recoding = choice.solver.solve(problem, run)
    null_is_star = prepared.request.nulls == "star"
    labels = {}
    for attribute in prepared.attributes:
        codes = np.arange(len(attribute.column.texts), dtype=np.int32)
        shown = recoding.apply(replace(attribute, column=_coded(attribute.column, codes)))
        labels[attribute.name] = labelled(shown, np.zeros(len(codes), dtype=bool), null_is_star).to_pylist()
    withheld = np.zeros(0, dtype=np.int64)
    if recoding.withheld.any():
        stars = (
            np.array([label == "*" for label in labels[a.name]], dtype=bool)[a.column.codes]
            for a in problem.attributes
        )
        shown = np.logical_and.reduce(list(stars)) | recoding.withheld
        size = prod(len(attribute.column.texts) for attribute in prepared.attributes)
        broken = broken_by(problem.models, problem.sensitive, Units(), shown)
        if size > _LARGEST_KEY or broken or prepared.request.suppressed == "drop":
            raise UnsupportedError(
                "The Spark engine does not leave out records, which withheld ones would have to be here. Set "
                f"suppression: 0, choose {of_any_size()}, or use engine: local."
            )
        rows = [attribute.column.codes[recoding.withheld] for attribute in problem.attributes]
        withheld = np.unique(row_numbers(prepared.attributes, rows))
    return GlobalJob(coder, labels, withheld, keys), recoding


def _gathered(prepared: SparkPrepared) -> Problem:
    """The problem on the driver: its distinct rows, each as many times as it occurs."""
    problem, n = prepared.problem, prepared.problem.n_records
    asked = {model.attribute for model in problem.models}
    sensitive = {name: s for name, s in prepared.sensitive.items() if name in asked}
    names = list(dict.fromkeys([*(a.name for a in problem.attributes), *sensitive]))
    _refuse_many(n, 0)
    with spark_failures("gather the distinct rows"):
        parts = prepared.frame.groupBy(*map(quoted, names)).count()
        found = parts.limit(MOST_ROWS + 1).toArrow()
    _refuse_many(n, found.num_rows)
    times = found.column(found.num_columns - 1).to_numpy()

    def expanded(column: Any) -> Column:
        return _coded(column, np.repeat(column.codes_of(found.column(names.index(column.name))), times))

    attributes = tuple(replace(a, column=expanded(a.column)) for a in problem.attributes)
    held = {name: replace(s, column=expanded(s.column)) for name, s in sensitive.items()}
    return replace(problem, attributes=attributes, sensitive=held)


def _refuse_many(n_records: int, n_rows: int) -> None:
    if n_records > MOST_RECORDS or n_rows > MOST_ROWS:
        able = [name for name, a in ALGORITHMS.items() if a.largest_region > Algorithm.largest_region]
        able.sort(key=lambda name: not ALGORITHMS[name].in_regions)
        rows = f" and more than {MOST_ROWS:,} distinct rows" if n_rows else ""
        raise UnsupportedError(
            f"The table has {n_records:,} records{rows}: too many for a search that publishes a value in one "
            f"way wherever it occurs (up to {MOST_RECORDS:,} records in {MOST_ROWS:,} distinct rows fit the "
            f"driver). Choose {' or '.join(able)}, which work region by region."
        )


def of_any_size() -> str:
    """The name of the algorithm whose groups are the same where a table is cut into regions."""
    return next(name for name, algorithm in ALGORITHMS.items() if algorithm.in_regions)


def _coded(column: Column, codes: np.ndarray) -> Column:
    """A column of other records with the same values."""
    return Column(column.name, column.kind, codes, column.texts, column.numbers, column.listed, column.apart)
