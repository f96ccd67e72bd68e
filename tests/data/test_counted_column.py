"""Columns of which only distinct values are at hand, and parts of them."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from kohort.data.column import code_column
from kohort.data.compact_column import counted_column
from kohort.errors import InputError
from kohort.tables.spark import SparkTable

VALUES = {
    "whole numbers": pa.array([3, 1, None, 3, 2]),
    "texts": pa.array(["b", "a", "b", None, "c"]),
    "floats": pa.array([0.5, -0.0, 0.0, math.nan, None, 1.5]),
    "dates": pa.array(["2024-02-01", "2023-01-05", "2024-02-01"]),
    "nothing": pa.array([None, None], pa.string()),
}


def counted(values):
    found = values.value_counts()
    return counted_column("c", found.field("values"), found.field("counts").to_numpy())


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_parts_have_the_codes_and_counts_of_the_whole_column(values):
    whole, column = code_column("c", values), counted(values)
    assert (column.texts, column.kind, len(column)) == (whole.texts, whole.kind, len(whole))
    assert column.counts.tolist() == whole.counts.tolist()
    part = column.part(values.slice(1, 2))
    assert part.codes.tolist() == whole.codes[1:3].tolist()
    assert part.counts.tolist() == whole.counts.tolist()
    assert len(part) == len(values.slice(1, 2))


def test_other_orders_are_kept_by_parts():
    values = VALUES["texts"]
    column = counted(values).in_order(["c", "b", "a"])
    assert column.texts == ("c", "b", "a", None)
    assert column.counts.tolist() == [1, 2, 1, 1]
    assert column.part(values).codes.tolist() == [1, 2, 1, 3, 0]


def test_numbers_that_are_equal_are_merged_in_parts():
    values = pa.array(["1.5", "1.50", "2", "1.5"])
    column = counted(values).with_equal_numbers_merged()
    assert column.counts.tolist() == [3, 1]
    assert column.part(values).codes.tolist() == [0, 0, 1, 0]


def test_a_value_that_was_not_counted_is_refused():
    with pytest.raises(InputError, match="changed while it was read") as refused:
        counted(pa.array(["a"])).part(pa.array(["secret"]))
    assert "secret" not in str(refused.value)


def test_a_dataset_knows_its_columns():
    dataset = SparkTable(None, pa.schema([("c", pa.int64())]), 5)
    dataset._columns["c"] = counted(VALUES["whole numbers"])
    assert dataset.column("c").counts.tolist() == [1, 1, 2, 1]
    assert dataset.field("c").type == pa.int64()
    assert np.isclose(len(dataset.column("c")), dataset.n_records)
