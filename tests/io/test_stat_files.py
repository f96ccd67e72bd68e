"""SPSS and Stata files."""

from __future__ import annotations

import datetime
import sys

import polars as pl
import pyarrow as pa
import pytest

import kohort as ko
from kohort.errors import InputError, MissingPackageError, UnsupportedError
from kohort.io.tables import read_table, write_table
from kohort.tables.memory import MemoryTable

pyreadstat = pytest.importorskip("pyreadstat", reason="kohort[stats] is not installed")

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


# -- labels and missing codes ----------------------------------------------------------------------

LABELS = {
    "sex": {1: "male", 2: "female", 9: "refused"},
    "educ": {1: "low", 2: "middle", 3: "high", 98: "don't know", 99: "refused"},
    "age": {999: "unknown"},
    "region": {1: "north", 2: "south", 3: "south"},
}


def survey(path, n=40):
    """A file with labels, measures and missing codes, as SPSS writes it."""
    frame = pl.DataFrame(
        {
            "sex": [[1, 2, 2, 9][i % 4] for i in range(n)],
            "educ": [[1, 2, 3, 98, 99, None][i % 6] for i in range(n)],
            "age": [[20, 30, 40, 999][i // 2 % 4] for i in range(n)],
            "region": [i % 3 + 1 for i in range(n)],
        }
    )
    pyreadstat.write_sav(
        frame,
        path,
        column_labels={"sex": "Sex at birth", "age": "Age in years"},
        variable_value_labels=LABELS,
        missing_ranges={"sex": [9], "educ": [{"lo": 90, "hi": 99}], "age": [999]},
        variable_measure={"sex": "nominal", "educ": "ordinal", "age": "scale", "region": "nominal"},
    )
    return frame


def stored(path):
    """The table and notes of a file, with its missing codes."""
    read = pyreadstat.read_dta if path.suffix == ".dta" else pyreadstat.read_sav
    return read(path, output_format="polars", user_missing=True)


def test_labels_are_the_values(tmp_path):
    survey(tmp_path / "a.sav", 8)
    table = read_table(tmp_path / "a.sav").table
    assert table.to_pydict() == {
        "sex": ["male", "female", "female", "refused"] * 2,
        "educ": ["low", "middle", "high", "don't know", "refused", None, "low", "middle"],
        "age": [20, 20, 30, 30, 40, 40, None, None],
        "region": [
            "north",
            "south (2)",
            "south (3)",
            "north",
            "south (2)",
            "south (3)",
            "north",
            "south (2)",
        ],
    }
    assert not table.schema.field("sex").type.ordered and table.schema.field("educ").type.ordered
    column = MemoryTable(table).column("educ")
    assert column.texts == ("low", "middle", "high", "don't know", "refused", None)
    assert column.ordered and column.loners == 3
    assert not MemoryTable(table).column("sex").ordered


@pytest.mark.parametrize("suffix", [".sav", ".zsav"])
def test_all_that_spss_says_comes_back(tmp_path, suffix):
    frame = survey(tmp_path / "a.sav")
    write_table(read_table(tmp_path / "a.sav").table, tmp_path / f"b{suffix}")
    back, notes = stored(tmp_path / f"b{suffix}")
    _, before = stored(tmp_path / "a.sav")
    assert back.cast(pl.Float64).equals(frame.cast(pl.Float64))
    for part in ("column_names_to_labels", "variable_value_labels", "variable_measure", "missing_ranges"):
        assert getattr(notes, part) == getattr(before, part), part


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_a_release_has_codes_and_labels_for_generalized_values(tmp_path, suffix):
    survey(tmp_path / "a.sav")
    release = ko.anonymize(
        tmp_path / "a.sav",
        quasi_identifiers=["educ", "age", "region"],
        insensitive=["sex"],
        privacy=[ko.KAnonymity(8)],
        algorithm="mondrian",
        shuffle=False,
    )
    published = release.arrow.to_pydict()
    release.write(tmp_path / f"b{suffix}")
    back, notes = stored(tmp_path / f"b{suffix}")
    labels = notes.variable_value_labels
    assert notes.column_names_to_labels["sex"] == "Sex at birth"
    assert notes.column_names_to_labels["age"] == "Age in years"
    new = set(labels["educ"].values()) - set(LABELS["educ"].values())
    assert new and all(text == "*" or text.startswith("[") for text in new)
    assert not any(code in (98, 99) for code, text in labels["educ"].items() if text in new)
    texts = [None if code is None else labels["educ"][code] for code in back["educ"].to_list()]
    assert texts == published["educ"]
    again = read_table(tmp_path / f"b{suffix}").table.to_pydict()
    assert again["educ"] == published["educ"] and again["sex"] == published["sex"]
    assert release.verdict.holds


def test_reasons_for_no_answer_are_in_no_interval(tmp_path):
    survey(tmp_path / "a.sav", 60)
    release = ko.anonymize(
        tmp_path / "a.sav",
        quasi_identifiers=["educ", "age"],
        others="drop",
        privacy=[ko.KAnonymity(6)],
        algorithm="agglomerative",
    )
    intervals = {text for text in release.arrow["educ"].to_pylist() if text and text.startswith("[")}
    assert intervals and not any("know" in text or "refused" in text for text in intervals)


def test_missing_codes_go_from_one_program_to_the_other(tmp_path):
    survey(tmp_path / "a.sav")
    values = read_table(tmp_path / "a.sav").table.to_pydict()
    write_table(read_table(tmp_path / "a.sav").table, tmp_path / "b.dta")
    frame, notes = stored(tmp_path / "b.dta")
    assert notes.missing_user_values["educ"] == ["a", "b"]
    assert notes.variable_value_labels["educ"]["a"] == "don't know"
    assert frame["educ"].to_list()[3:6] == ["a", "b", None]
    assert read_table(tmp_path / "b.dta").table.to_pydict() == values
    write_table(read_table(tmp_path / "b.dta").table, tmp_path / "c.sav")
    assert read_table(tmp_path / "c.sav").table.to_pydict() == values
    assert stored(tmp_path / "c.sav")[1].missing_ranges["sex"]


def test_codes_that_are_texts(tmp_path):
    labels = {"sex": {"m": "male", "f": "female"}}
    pyreadstat.write_sav(
        pl.DataFrame({"sex": ["m", "f", ""]}), tmp_path / "a.sav", variable_value_labels=labels
    )
    table = read_table(tmp_path / "a.sav").table
    assert table.to_pydict() == {"sex": ["male", "female", None]}
    write_table(table, tmp_path / "b.sav")
    back, notes = stored(tmp_path / "b.sav")
    assert back["sex"].to_list() == ["m", "f", ""] and notes.variable_value_labels == labels


def test_numbers_with_a_few_labels_stay_numbers(tmp_path):
    labels = {"visits": {0: "none", 99: "many"}}
    pyreadstat.write_dta(
        pl.DataFrame({"visits": [0, 1, 2, 99]}), tmp_path / "a.dta", variable_value_labels=labels
    )
    table = read_table(tmp_path / "a.dta").table
    assert table.to_pydict() == {"visits": [0, 1, 2, 99]}
    write_table(table, tmp_path / "b.dta")
    assert stored(tmp_path / "b.dta")[1].variable_value_labels == labels


def test_pseudonyms_of_a_labelled_column_get_no_labels(tmp_path):
    survey(tmp_path / "a.sav")
    release = ko.anonymize(
        tmp_path / "a.sav",
        quasi_identifiers=["age"],
        identifiers={"region": "mask"},
        others="drop",
        privacy=[ko.KAnonymity(2)],
        algorithm="mondrian",
    )
    release.write(tmp_path / "b.sav")
    assert "region" not in stored(tmp_path / "b.sav")[1].variable_value_labels


def test_labels_too_long_for_the_format_make_a_text_column(tmp_path):
    survey(tmp_path / "a.sav", 4)
    table = read_table(tmp_path / "a.sav").table
    long = "{" + ", ".join(f"place {i}" for i in range(40)) + "}"
    place = table.schema.get_field_index("region")
    field = table.schema.field(place).with_type(pa.string())
    write_table(table.set_column(place, field, [[long, "north", "*", None]]), tmp_path / "b.sav")
    assert read_table(tmp_path / "b.sav").table["region"].to_pylist() == [long, "north", "*", None]


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
