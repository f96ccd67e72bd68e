"""Recodings that publish a value in one way wherever it occurs: solved on the driver, applied on the cluster.

The driver gathers the distinct rows with their counts, if they fit, and the same search runs on them as on
one machine. What comes of it is a label for each value, and the rows that are withheld.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms import Run
from kohort.data.column import Column
from kohort.errors import UnsupportedError
from kohort.job.choose import Choice
from kohort.job.publish import labelled
from kohort.job.withheld import broken_by
from kohort.pipeline.spark.arranging import dealt_by_class
from kohort.pipeline.spark.coding import ORIGINAL, Coder, counted_values, runs
from kohort.pipeline.spark.prepare import SparkPrepared
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem
from kohort.problem.units import Units
from kohort.recoding.recoding import Recoding
from kohort.tables.spark import quoted
from kohort.tables.spark_cells import dictionary_of_places
from kohort.tables.spark_session import spark_failures

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

    def publish(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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
    labels = {a.name: _labels(recoding, a, null_is_star) for a in prepared.attributes}
    withheld = np.zeros(0, dtype=np.int64)
    if recoding.withheld.any():
        _refuse_leaving_out(prepared, problem, recoding, labels)
        codes = [attribute.column.codes[recoding.withheld] for attribute in problem.attributes]
        withheld = np.unique(row_numbers(prepared.attributes, codes))
    return GlobalJob(coder, labels, withheld, keys), recoding


def _gathered(prepared: SparkPrepared) -> Problem:
    """The problem on the driver: its distinct rows, each as many times as it occurs."""
    problem, n = prepared.problem, prepared.problem.n_records
    asked = {model.attribute for model in problem.models}
    sensitive = {name: s for name, s in prepared.sensitive.items() if name in asked}
    names = list(dict.fromkeys([*(a.name for a in problem.attributes), *sensitive]))
    _refuse_many(n, None)
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


def _refuse_many(n_records: int, n_rows: int | None) -> None:
    if n_records <= MOST_RECORDS and (n_rows is None or n_rows <= MOST_ROWS):
        return
    rows = "" if n_rows is None else f" and more than {MOST_ROWS:,} distinct rows"
    raise UnsupportedError(
        f"The table has {n_records:,} records{rows}: too many for a search that publishes a value in one way "
        f"wherever it occurs (up to {MOST_RECORDS:,} records in {MOST_ROWS:,} distinct rows fit the driver). "
        "Choose mondrian or improve, which work region by region."
    )


def _labels(recoding: Recoding, attribute: Attribute, null_is_star: bool) -> list[str | None]:
    """The published value of each code."""
    codes = np.arange(len(attribute.column.texts), dtype=np.int32)
    shown = recoding.apply(replace(attribute, column=_coded(attribute.column, codes)))
    return labelled(shown, np.zeros(len(codes), dtype=bool), null_is_star).to_pylist()


def _coded(column: Column, codes: np.ndarray) -> Column:
    """A column of other records with the same values."""
    return Column(column.name, column.kind, codes, column.texts, column.numbers, column.listed, column.apart)


def _refuse_leaving_out(
    prepared: SparkPrepared, problem: Problem, recoding: Recoding, labels: Mapping[str, Sequence[str | None]]
) -> None:
    """Refuse where withheld records would have to be left out, and where they cannot be told apart."""
    size = 1
    for attribute in prepared.attributes:
        size *= len(attribute.column.texts)
    starred = np.ones(problem.n_records, dtype=bool)
    for attribute in problem.attributes:
        is_star = np.array([label == "*" for label in labels[attribute.name]], dtype=bool)
        starred &= is_star[attribute.column.codes]
    broken = broken_by(problem.models, problem.sensitive, Units(), starred | recoding.withheld)
    if size > _LARGEST_KEY or broken is not None or prepared.request.suppressed == "drop":
        raise UnsupportedError(
            "The Spark engine does not leave out records, which withheld ones would have to be here. Set "
            "suppression: 0, choose mondrian, or use engine: local."
        )
