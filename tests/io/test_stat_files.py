"""SPSS and Stata files."""

from __future__ import annotations

import datetime
import sys

import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

from kohort.errors import InputError, MissingPackageError, UnsupportedError
from kohort.io.tables import read_table, write_table

SUFFIXES = [".sav", ".zsav", ".dta"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_types_survive(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    table = pa.table(
        {
            "text": ["é", "", "01234"],
            "n": [1, None, -3],
            "big": [2**40, 2, None],
            "share": [1.5, None, 2.0],
            "day": [datetime.date(1901, 1, 2), None, datetime.date(2020, 12, 31)],
            "time": [datetime.datetime(2020, 1, 2, 3, 4, 5), None, datetime.datetime(1999, 12, 31, 23, 59)],
        }
    )
    write_table(table, path)
    back = read_table(path).table
    assert back.to_pydict() == table.to_pydict() | {"text": ["é", None, "01234"]}
    assert [back.schema.field(name).type for name in ("n", "big")] == [pa.int64(), pa.int64()]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_values_these_programs_do_not_know(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    write_table(pa.table({"text": [None, "x"], "number": [2**53 + 1, 1], "yes": [True, False]}), path)
    back = read_table(path).table.to_pydict()
    assert back == {"text": [None, "x"], "number": ["9007199254740993", "1"], "yes": [1, 0]}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_labels_come_back_with_columns_that_are_kept(tmp_path, suffix):
    write = pyreadstat.write_dta if suffix == ".dta" else pyreadstat.write_sav
    read = pyreadstat.read_dta if suffix == ".dta" else pyreadstat.read_sav
    labels = {"sex": {1: "male", 2: "female"}, "region": {1: "north", 2: "south"}}
    frame = pl.DataFrame({"sex": [1, 2], "region": [1, 2]})
    write(frame, tmp_path / f"a{suffix}", column_labels={"sex": "Sex at birth"}, variable_value_labels=labels)
    table = read_table(tmp_path / f"a{suffix}").table
    assert table.to_pydict() == {"sex": [1, 2], "region": [1, 2]}
    published = table.set_column(1, table.schema.field("region").with_type(pa.string()), [["*", "*"]])
    write_table(published, tmp_path / f"b{suffix}")
    _, notes = read(tmp_path / f"b{suffix}", output_format="dict")
    assert notes.column_names_to_labels["sex"] == "Sex at birth"
    assert notes.variable_value_labels == {"sex": {1: "male", 2: "female"}}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_names_these_programs_do_not_take(tmp_path, suffix):
    with pytest.raises(InputError, match="Column names must begin") as caught:
        write_table(pa.table({"my column": ["Zebulon"]}), tmp_path / f"table{suffix}")
    assert "Zebulon" not in str(caught.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nested_columns_are_refused_by_name(tmp_path, suffix):
    with pytest.raises(UnsupportedError, match="'items'"):
        write_table(pa.table({"items": [["x"]]}), tmp_path / f"table{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_package_is_only_needed_when_used(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"table{suffix}"
    write_table(pa.table({"a": [1]}), path)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(MissingPackageError, match=r"pip install .*\[stats\]'"):
        read_table(path)
    with pytest.raises(MissingPackageError, match=r"pip install .*\[stats\]'"):
        write_table(pa.table({"a": [1]}), path)
