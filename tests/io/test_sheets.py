"""Excel workbooks: which sheet is read, and what would be lost on it."""

from __future__ import annotations

import zipfile

import pytest
import xlsxwriter

import kohort as ko
from cli.running import run
from kohort.errors import InputError
from kohort.io.formats import excel
from kohort.io.tables import read_table

ROWS = [["age", "illness"], [21, "flu"], [22, "HIV"], [23, "flu"], [24, "cold"]]


def workbook(path, sheets, *, hidden=(), very_hidden=()):
    with xlsxwriter.Workbook(path) as book:
        for name in sheets:
            sheet = book.add_worksheet(name)
            for y, row in enumerate(ROWS if name == "data" else [[name], [1], [2]]):
                sheet.write_row(y, 0, row)
        for sheet in reversed(book.worksheets()):
            if sheet.name not in (*hidden, *very_hidden):
                sheet.activate()
                sheet.set_first_sheet()
        for sheet in book.worksheets():
            if sheet.name in hidden:
                sheet.hide()
            if sheet.name in very_hidden:
                sheet.very_hidden()
    return path


def refusal(path, **options):
    with pytest.raises(InputError) as caught:
        read_table(path, **options)
    assert "HIV" not in str(caught.value)
    return str(caught.value)


# -- which sheet -----------------------------------------------------------------------------------


def test_hidden_sheets_are_not_read_unless_they_are_named(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["old", "codes", "data"], hidden=["old"], very_hidden=["codes"])
    read = read_table(path)
    assert read.table.column_names == ["age", "illness"]
    assert read.notes == (
        "t.xlsx was read from its sheet 'data', after 2 hidden ones; 2 other sheets were not read. "
        "--sheet chooses another.",
    )
    assert read_table(path, sheet="old").table.column_names == ["old"]
    assert read_table(path, sheet=1).table.column_names == ["codes"]
    assert read_table(path, sheet="old").notes == ()


def test_a_single_sheet_needs_no_note(tmp_path):
    assert read_table(workbook(tmp_path / "t.xlsx", ["data"])).notes == ()


def test_a_workbook_of_hidden_sheets_is_refused(tmp_path):
    workbook(tmp_path / "shown.xlsx", ["data"])
    path = with_hidden_sheets(tmp_path / "shown.xlsx", tmp_path / "t.xlsx")
    assert "every sheet is hidden. Name the one to read (--sheet)." in refusal(path)
    assert read_table(path, sheet="data").table.num_rows == 4


def with_hidden_sheets(path, hidden):
    """A copy in which every sheet is hidden, as some programs save it."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(hidden, "w") as made:
        for entry in source.namelist():
            made.writestr(entry, source.read(entry).replace(b"<sheet name", b'<sheet state="hidden" name'))
    return hidden


def test_a_release_and_every_command_say_which_sheet_was_read(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["old", "data"], hidden=["old"])
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "attributes:\n  age: {role: quasi-identifier}\n  illness: {role: sensitive}\nprivacy: {k: 2}\n"
        "algorithm: mondrian\n"
    )
    release = ko.anonymize(path, spec=spec)
    assert "read from its sheet 'data'" in release.notes[0]
    out = tmp_path / "out.csv"
    for command in (
        ["anonymize", path, "--spec", spec, "--out", out],
        ["verify", out, "--spec", spec, "--original", path],
        ["profile", path],
        ["init", path, "--k", "2", "--out", tmp_path / "new.yaml"],
        ["risk", path, "--spec", spec],
        ["hierarchy", "build", path, "age", "--intervals", "5", "--out", tmp_path / "h.csv"],
    ):
        done = run(*command)
        assert done.exit == 0, done.err
        assert "sheet 'data'" in " ".join(done.err.split()), command


# -- what would be lost ----------------------------------------------------------------------------


def with_flaws(path, *, merge=(), errors=()):
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("data")
        for y, row in enumerate(ROWS):
            sheet.write_row(y, 0, row)
        for area, value in merge:
            sheet.merge_range(*area, value)
        for y, x, error in errors:
            sheet.write_formula(y, x, "=1/0", None, error)
    return path


def test_merged_cells_are_refused_by_their_areas(tmp_path):
    path = with_flaws(tmp_path / "t.xlsx", merge=[((2, 1, 4, 1), "HIV")])
    assert refusal(path) == (
        f"{path}, sheet 'data': 1 area of merged cells (B3:B5), of which only the first cell has the value. "
        "Unmerge them and fill in every cell."
    )
    many = [((y, 3, y, 4), "x") for y in range(5)]
    assert "5 areas of merged cells (D1:E1, D2:E2, D3:E3, ...)" in refusal(
        with_flaws(tmp_path / "t.xlsx", merge=many)
    )


def test_error_cells_are_refused_by_their_number(tmp_path):
    errors = [(1, 0, "#DIV/0!"), (2, 0, "#N/A"), (3, 1, "#REF!")]
    path = with_flaws(tmp_path / "t.xlsx", errors=errors)
    assert refusal(path) == (
        f"{path}, sheet 'data': 3 cells hold an error such as #DIV/0! or #N/A, by column: A (2), B (1). "
        "Correct them, or clear those that mean a missing value."
    )


@pytest.mark.parametrize(
    "written", ["<f>A2</f><v></v>", "<f>A2</f><v/>", "<f>A2</f>", '<f t="shared" si="0"/>']
)
def test_formulas_without_a_result_are_refused_by_their_number(tmp_path, written):
    """Programs that write files without calculating leave the result to Excel; readers find nothing."""
    path = rewritten(formulas(tmp_path / "t.xlsx", 7), "<f>A2</f><v>7</v>", written)
    assert refusal(path) == (
        f"{path}, sheet 'data': 1 cell holds a formula without its result, by column: B (1). Open the file "
        "in a spreadsheet program and save it, so that they are calculated."
    )


def test_formulas_with_a_result_are_read(tmp_path):
    assert read_table(formulas(tmp_path / "t.xlsx", 7)).table["illness"].to_pylist()[1] == "7"
    empty = rewritten(
        tmp_path / "t.xlsx", '<c r="B3"><f>A2</f><v>7</v>', '<c r="B3" t="str"><f>A2</f><v></v>'
    )
    assert read_table(empty).table.num_rows == len(ROWS) - 1


def formulas(path, result):
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("data")
        for y, row in enumerate(ROWS):
            sheet.write_row(y, 0, row)
        sheet.write_formula(2, 1, "=A2", None, result)
    return path


def rewritten(path, old, new):
    with zipfile.ZipFile(path) as source:
        parts = {entry: source.read(entry) for entry in source.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    assert old.encode() in parts[sheet]
    parts[sheet] = parts[sheet].replace(old.encode(), new.encode())
    with zipfile.ZipFile(path, "w") as made:
        for entry, content in parts.items():
            made.writestr(entry, content)
    return path


def test_flaws_of_other_sheets_and_texts_that_look_like_flaws_do_not_matter(tmp_path):
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("data")
        sheet.write_row(0, 0, ["a", 'say t="e" <mergeCell ref="A1:B2"/>'])
        sheet.write_row(1, 0, ["#DIV/0!", 'c t="e"'])
        other = book.add_worksheet("other")
        other.merge_range(0, 0, 3, 3, "HIV")
    assert read_table(path).table.num_rows == 1


def test_a_sheet_of_many_blocks_is_searched_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(excel, "_BLOCK", 80)
    path = with_flaws(tmp_path / "t.xlsx", errors=[(4, 1, "#N/A")])
    assert "1 cell holds an error" in refusal(path)
    path = with_flaws(tmp_path / "t.xlsx", merge=[((2, 1, 4, 1), "HIV")])
    assert "1 area of merged cells" in refusal(path)


def test_prefixes_absolute_targets_and_utf_16_are_understood(tmp_path):
    """Other programs write the same sheet otherwise."""
    plain = with_flaws(tmp_path / "plain.xlsx", merge=[((2, 1, 4, 1), "HIV")])
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w") as made:
        for entry in source.namelist():
            text = source.read(entry).decode()
            if entry.endswith("workbook.xml.rels"):
                text = text.replace('Target="worksheets', 'Target="/xl/worksheets')
            if entry.endswith("sheet1.xml"):
                text = text.replace("<mergeCell ", "<x:mergeCell ").replace(
                    "<worksheet ", '<worksheet xmlns:x="urn:x" '
                )
                made.writestr(entry, text.replace("UTF-8", "UTF-16").encode("utf-16"))
            else:
                made.writestr(entry, text)
    assert excel.sheet_flaws(path, "data").merged == ["B3:B5"]
