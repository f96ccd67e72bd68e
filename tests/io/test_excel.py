"""Excel workbooks."""

from __future__ import annotations

import datetime
import traceback
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
import xlsxwriter

from kohort.errors import InputError, UnsupportedError
from kohort.io.formats import excel
from kohort.io.tables import read_table, write_table

SECRET = "Zebulon"


def workbook(path: Path, **sheets: list[list]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return path


def refusal(path: Path, **options) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path, **options)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_types_survive(tmp_path):
    table = pa.table(
        {
            "text": ["01234", None, "=1+1"],
            "link": ["http://example.org", "mailto:a@b.c", "1.10"],
            "int": [1, None, -3],
            "float": [1.5, None, 2.0],
            "yes": [True, None, False],
            "day": [datetime.date(1901, 1, 2), None, datetime.date(2020, 12, 31)],
            "time": [datetime.datetime(2020, 1, 2, 3, 4, 5), None, datetime.datetime(1999, 12, 31, 23, 59)],
            "clock": [datetime.time(3, 4, 5), None, datetime.time(23, 59)],
            "empty": pa.array([None, None, None], pa.string()),
        }
    )
    write_table(table, tmp_path / "table.xlsx")
    assert read_table(tmp_path / "table.xlsx").table.to_pydict() == table.to_pydict()


def test_a_workbook_does_not_tell_when_it_was_made(tmp_path):
    write_table(pa.table({"a": [1]}), tmp_path / "table.xlsx")
    with zipfile.ZipFile(tmp_path / "table.xlsx") as book:
        assert b"2000-01-01T00:00:00Z" in book.read("docProps/core.xml")
        assert {entry.date_time[0] for entry in book.infolist()} == {1980}


def test_values_that_excel_has_no_cell_for(tmp_path):
    table = pa.table(
        {
            "number": [2**53 + 1, -1],
            "float": [float("nan"), float("inf")],
            "born": [datetime.date(1850, 1, 2), datetime.date(1999, 1, 1)],
            "nanos": pa.array([1, 2], pa.timestamp("ns")),
            "zoned": pa.array([0, 3600], pa.timestamp("s", "Europe/Madrid")),
            "text": ["", "x"],
        }
    )
    write_table(table, tmp_path / "table.xlsx")
    back = read_table(tmp_path / "table.xlsx").table.to_pydict()
    assert back["number"] == ["9007199254740993", "-1"]
    assert back["float"] == [None, "inf"]
    assert back["born"][0] == "1850-01-02"
    assert back["zoned"] == ["1970-01-01 01:00:00+01:00", "1970-01-01 02:00:00+01:00"]
    assert back["text"] == ["", "x"]


def test_the_sheet_can_be_chosen(tmp_path):
    path = workbook(tmp_path / "t.xlsx", one=[["a"], [1]], two=[["b"], [2]])
    assert read_table(path).table.to_pydict() == {"a": [1]}
    assert read_table(path, sheet="two").table.to_pydict() == {"b": [2]}
    assert read_table(path, sheet=1).table.to_pydict() == {"b": [2]}
    assert refusal(path, sheet="tow").endswith("Did you mean 'two'?")
    assert "has 2 sheets" in refusal(path, sheet=2)
    assert "has 2 sheets" in refusal(path, sheet=-1)


def test_blank_rows_and_nameless_blank_columns_are_skipped(tmp_path):
    path = workbook(tmp_path / "t.xlsx", one=[["a", "", "b"], ["x", "", "y"], ["", "", ""], ["z", "", ""]])
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        shaded = book.add_format({"bg_color": "red"})
        sheet.write_row(0, 0, ["a", None, "b"])
        sheet.write_row(1, 0, ["x", None, "y"])
        sheet.write_row(3, 0, ["z"])
        sheet.write_blank(9, 4, None, shaded)
    assert read_table(path).table.to_pydict() == {"a": ["x", "z"], "b": ["y", None]}


def test_a_column_with_values_needs_a_name(tmp_path):
    path = workbook(tmp_path / "t.xlsx", one=[["a", None, "b"], ["x", SECRET, "y"]])
    assert "column 2 has values but no name" in refusal(path)


def test_columns_of_mixed_values_become_text_however_late(tmp_path):
    path = workbook(tmp_path / "t.xlsx", one=[["a"], *[[n] for n in range(3000)], ["late"]])
    column = read_table(path).table.to_pydict()["a"]
    assert column[0] == "0"
    assert column[-1] == "late"


def test_two_columns_with_one_name(tmp_path):
    path = workbook(tmp_path / "t.xlsx", one=[["age", "sex", "age"], [1, 2, 3]])
    assert "called 'age'" in refusal(path, header=True)
    assert "several columns (1, 3)" in refusal(path)


def test_an_empty_sheet(tmp_path):
    assert "no records" in refusal(workbook(tmp_path / "t.xlsx", one=[]))


def test_nothing_is_said_about_empty_columns(tmp_path, capfd):
    path = workbook(tmp_path / "t.xlsx", one=[["a", "b"], ["x", None]])
    assert read_table(path).table.to_pydict() == {"a": ["x"], "b": [None]}
    assert capfd.readouterr() == ("", "")


def test_what_does_not_fit_on_a_sheet_is_refused(tmp_path, monkeypatch):
    with pytest.raises(UnsupportedError, match="'items'"):
        write_table(pa.table({"items": [["x"]]}), tmp_path / "t.xlsx")
    with pytest.raises(UnsupportedError, match="Column 'note'"):
        write_table(pa.table({"note": ["x" * 40_000]}), tmp_path / "t.xlsx")
    monkeypatch.setattr(excel, "MOST_RECORDS", 2)
    with pytest.raises(UnsupportedError, match="records"):
        write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "t.xlsx")
    assert not (tmp_path / "t.xlsx").exists()
