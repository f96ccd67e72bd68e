"""Parquet and Arrow files keep types."""

from __future__ import annotations

import datetime
import functools

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kohort.errors import InputError
from kohort.io.tables import read_table, write_table

SUFFIXES = [".parquet", ".arrow", ".feather", ".ipc"]


def rich_table() -> pa.Table:
    table = pa.table(
        {
            "text": ["x", None, ""],
            "int": pa.array([1, None, 3], pa.int16()),
            "float": [1.5, None, float("inf")],
            "yes": [True, None, False],
            "day": [datetime.date(1850, 1, 2), None, datetime.date(2020, 1, 2)],
            "time": pa.array([1, None, 3], pa.timestamp("ns", "Europe/Madrid")),
            "bytes": [b"x", None, b""],
            "items": [["a", "b"], [], None],
            "record": [{"k": 1, "l": ["x"]}, None, {"k": None, "l": []}],
            "price": pa.array([1, None, 3]).cast(pa.decimal128(22, 2)),
            "level": pa.array([10, None, 30]).dictionary_encode(),
        }
    )
    return table.append_column("pairs", pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())))


def types_of(table: pa.Table) -> dict[str, str]:
    """Without the names that Parquet has of its own for what is in a list or a map."""
    own = {"element: ": "item: ", " ('pairs')": ""}
    return {
        field.name: functools.reduce(lambda text, name: text.replace(name, own[name]), own, str(field.type))
        for field in table.schema
    }


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_type_survives(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    write_table(rich_table(), path)
    back = read_table(path)
    expected = types_of(rich_table())
    if suffix == ".parquet":  # which knows no dictionaries but of text
        expected["level"] = "int64"
    assert types_of(back.table) == expected
    assert back.table.to_pylist() == rich_table().to_pylist()
    assert back.delimiter is None
    assert back.encoding is None


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("values", [pa.string(), pa.large_string()])
def test_readers_get_plain_text(tmp_path, suffix, values):
    path = tmp_path / f"table{suffix}"
    letters = pa.array(["b", "a", None], values).dictionary_encode()
    write_table(pa.table({"letter": letters}), path)
    back = read_table(path).table
    assert back.schema.field("letter").type == values
    assert back.to_pydict() == {"letter": ["b", "a", None]}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_notes_about_the_original_are_not_published(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    write_table(pa.table({"a": [1]}).replace_schema_metadata({"origin": "Zebulon"}), path)
    assert b"Zebulon" not in path.read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_dictionaries_that_differ_from_chunk_to_chunk(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr("kohort.io.formats.fitting.LEAST_ROWS_PER_SLICE", 1)
    monkeypatch.setattr("kohort.io.formats.fitting.CELLS_PER_SLICE", 1)
    chunks = [pa.array([1, 2]).dictionary_encode(), pa.array([3, 1]).dictionary_encode()]
    write_table(pa.table({"level": pa.chunked_array(chunks)}), tmp_path / f"table{suffix}")
    assert read_table(tmp_path / f"table{suffix}").table.to_pydict() == {"level": [1, 2, 3, 1]}


def test_arrow_streams_are_read_too(tmp_path):
    with pa.ipc.new_stream(tmp_path / "table.arrow", pa.schema([("a", pa.int64())])) as writer:
        writer.write_table(pa.table({"a": [1, 2]}))
    assert read_table(tmp_path / "table.arrow").table.to_pydict() == {"a": [1, 2]}


def test_a_folder_with_an_equals_sign_adds_no_column(tmp_path):
    (tmp_path / "year=2020").mkdir()
    write_table(pa.table({"a": [1]}), tmp_path / "year=2020" / "table.parquet")
    assert read_table(tmp_path / "year=2020" / "table.parquet").table.column_names == ["a"]


def test_two_columns_with_one_name(tmp_path):
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["age", "age"]), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="called 'age'"):
        read_table(tmp_path / "t.parquet")


def test_a_column_of_a_csv_that_is_wholly_empty(tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n1,\n2,\n")
    table = read_table(tmp_path / "in.csv").table
    for suffix in SUFFIXES:
        write_table(table, tmp_path / f"out{suffix}")
        assert read_table(tmp_path / f"out{suffix}").table.to_pydict() == {"a": ["1", "2"], "b": [None, None]}
