"""Columns that are read in batches are those of the whole table: the same kinds, texts and codes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.data import compact_column
from kohort.data.column import code_column
from kohort.data.compact_column import CompactColumn, GrowingValues, StoredValues, compacted
from kohort.errors import InputError, KohortError
from kohort.io.formats import delimited, fitting, json_lines
from kohort.io.tables import FileBatches, open_in_batches, read_table, write_table
from kohort.tables.batches import BatchTable
from kohort.tables.memory import MemoryTable
from strategies import columns

FORMATS = (".parquet", ".arrow", ".csv", ".tsv", ".csv.gz", ".csv.zst", ".csv.bz2", ".jsonl", ".jsonl.gz")
VALUES = {
    "zeros": pa.array([0.0, -0.0, 1.5, None, float("nan"), 1.5, 0.0]),
    "whole floats": pa.array([1.0, 2.0, None, 3.0, 1.0, 1.0, 2.0]),
    "codes": pa.array(["007", "7", "07", None, "7", "", "007"]),
    "spelled numbers": pa.array(["1.50", "1.5", "0", "-0", None, "1.5", "2"]),
    "nothing": pa.nulls(7),
    "decimals": pa.array([1, 2, None, 1, 2, 3, 3]).cast(pa.decimal128(24, 2)),
    "times": pa.array([0, 1, None, 2**40, 5, 5, 0]).cast(pa.timestamp("us", "UTC")),
    "booleans": pa.array([True, False, None, True, True, False, False]),
    "categories": pa.array(["low", "high", None, "low", "mid", "mid", "low"]).dictionary_encode(),
    "ordered": pa.DictionaryArray.from_arrays(
        pa.array([2, 0, None, 1, 1, 0, 0]), pa.array(["low", "mid", "high", "unused"]), ordered=True
    ),
}


def same_columns(found, expected):
    assert (found.kind, found.texts, found.listed) == (expected.kind, expected.texts, expected.listed)
    assert found.codes.dtype == expected.codes.dtype == np.int32
    assert found.codes.tolist() == expected.codes.tolist()
    assert found.counts.tolist() == expected.counts.tolist()
    assert len(found) == len(expected)
    numbers = [None if column.numbers is None else column.numbers.tolist() for column in (found, expected)]
    assert numbers[0] == numbers[1]


def in_parts(array, sizes):
    growing = GrowingValues("x", array.type)
    start = 0
    for size in sizes:
        growing.add(array.slice(start, size))
        start += size
    growing.add(array.slice(start))
    return growing.values()


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("pending", [0, 1 << 20])
def test_parts_make_the_same_column(name, pending, monkeypatch):
    monkeypatch.setattr(compact_column, "_PENDING", pending)
    array = VALUES[name]
    for sizes in ([], [3], [1, 1, 1, 1], [0, 5]):
        stored = in_parts(array, sizes)
        same_columns(stored.column("x"), code_column("x", array))
        plain = array.cast(pa.string()) if pa.types.is_null(array.type) else array
        assert stored.arrow().to_pylist()[:4] == plain.to_pylist()[:4]
        same_columns(stored.sorted().column("x"), code_column("x", array))


@given(st.integers(1, 30).flatmap(columns), st.lists(st.integers(0, 9), max_size=5))
def test_any_column_in_parts_is_the_same(array, sizes):
    same_columns(in_parts(array, sizes).sorted().column("x"), code_column("x", array))


@given(st.integers(1, 24).flatmap(columns), st.sampled_from(FORMATS))
def test_any_file_in_batches_has_the_same_columns(array, ending):
    table = pa.table({"x": array, "y": pa.array([f"text {i % 3}" for i in range(len(array))])})
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "ROWS", 5)
        patch.setattr(delimited, "BATCH_BYTES", 64)
        patch.setattr(json_lines, "BLOCK_BYTES", 64)
        path = Path(folder) / f"table{ending}"
        try:
            write_table(table, path)
            options = {"header": True} if "sv" in ending else {}
            whole = MemoryTable(read_table(path, **options).table)
        except KohortError:
            return  # the format cannot hold it
        opened = open_in_batches(path, **options)
        if "jsonl" in ending and isinstance(opened, str):
            return  # some values of one key are of several kinds
        assert isinstance(opened, FileBatches)
        streamed = BatchTable(opened, ["x", "y"])
        assert (streamed.names, streamed.n_records) == (whole.names, whole.n_records)
        for name in ("x", "y"):
            same_columns(streamed.column(name), whole.column(name))
        assert opened.whole().equals(read_table(path, **options).table)


def test_columns_that_are_not_held_are_read_when_needed(tmp_path):
    table = pa.table({"x": list(range(50)), "y": [f"name {i}" for i in range(50)]})
    write_table(table, path := tmp_path / "table.parquet")
    streamed = BatchTable(open_in_batches(path), ["x"])
    rows = np.array([40, 3, 3, 0])
    assert streamed.taken("y", rows).to_pylist() == [f"name {i}" for i in rows]
    assert streamed.arrow("y").to_pylist() == table["y"].to_pylist()
    assert list(streamed.held) == ["x"]
    same_columns(streamed.column("y"), MemoryTable(table).column("y"))
    assert list(streamed.held) == ["x", "y"]


def test_lists_are_refused_as_in_memory(tmp_path):
    write_table(pa.table({"x": [[1], [2]]}), path := tmp_path / "table.parquet")
    with pytest.raises(InputError, match="holds lists or structures"):
        BatchTable(open_in_batches(path), ["x"])


def test_codes_take_as_few_bytes_as_they_need():
    assert [compacted(np.array([n])).itemsize for n in (255, 256, 65_535, 65_536)] == [1, 2, 2, 4]
    array = pa.array([str(i % 300) for i in range(1000)])
    column = in_parts(array, [100, 100]).column("x")
    assert isinstance(column, CompactColumn)
    assert column.in_order([str(i) for i in reversed(range(300))]).codes.tolist()[:2] == [299, 298]
    assert column.at(np.array([5, 2])).tolist() == column.codes[[5, 2]].tolist()


def test_stored_values_are_those_of_a_dictionary():
    array = pa.array(["a", None, "b", "a"]).dictionary_encode()
    stored = StoredValues.of(array)
    assert stored.arrow().to_pylist() == array.to_pylist()
    assert stored.at(np.array([2, 1])).arrow().to_pylist() == ["b", None]
    assert stored.counts.tolist() == [2, 1, 1]
