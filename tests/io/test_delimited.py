"""Delimited text: every cell is text, and what was not changed is written as it was read."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import traceback
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.errors import InputError, UnsupportedError
from kohort.io.formats import Layout, delimited
from kohort.io.tables import read_table, write_table

SECRET = "Zebulon"


def file_of(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def columns_of(path: Path, **options) -> dict[str, list[str | None]]:
    return read_table(path, **options).table.to_pydict()


def refusal(path: Path, **options) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path, **options)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        "zip,price\n01234,1.10\n00000,1e5\n",
        "a,b\nx,\n,y\n",
        'a,b\n"",\n,""\n',
        "when,yes\n2020-01-02,TRUE\n1/2/2020,NA\nNULL,nan\n",
        'note,n\n"two\nlines",1\n"say ""hi""",2\n"a,b",3\n',
        'only\nx\n""\n',
        "a, b\n 1 , 2\n",
        "größe,名前\nø,日本\n",
    ],
)
def test_bytes_survive_reading_and_writing(tmp_path, content):
    path = file_of(tmp_path, content)
    write_table(read_table(path).table, tmp_path / "back.csv")
    assert (tmp_path / "back.csv").read_bytes() == content.encode()


CELLS = st.none() | st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=5)


@given(
    rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
)
def test_any_text_survives_writing_and_reading(tmp_path, rows, delimiter):
    table = pa.table({"first": [row[0] for row in rows], "second": [row[1] for row in rows]})
    table = table.cast(pa.schema([("first", pa.string()), ("second", pa.string())]))
    write_table(table, tmp_path / "table.csv", delimiter=delimiter)
    assert columns_of(tmp_path / "table.csv", delimiter=delimiter, encoding="utf-8") == table.to_pydict()


def test_python_reads_what_we_write(tmp_path):
    rows = [["a", 'q"q'], ["new\nline", "re\rturn"], ["d,d", " "]]
    table = pa.table({"x": [row[0] for row in rows], "y,z": [row[1] for row in rows]})
    write_table(table, tmp_path / "table.csv")
    text = (tmp_path / "table.csv").read_bytes().decode()
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["x", "y,z"], *rows]


def test_null_and_the_empty_string_differ(tmp_path):
    path = file_of(tmp_path, 'a,b\n,""\n"",\n')
    assert columns_of(path) == {"a": [None, ""], "b": ["", None]}


def test_types_are_written_in_their_plain_forms(tmp_path):
    row = {
        "float": 1.0,
        "small": 1e-7,
        "int": 2**63 - 1,
        "yes": True,
        "day": datetime.date(2020, 1, 2),
        "time": datetime.datetime(2020, 1, 2, 3, 4, 5),
        "price": decimal.Decimal("1.10"),
        "nothing": None,
    }
    write_table(pa.Table.from_pylist([row]), tmp_path / "table.csv")
    header, line = (tmp_path / "table.csv").read_text().splitlines()
    assert header == "float,small,int,yes,day,time,price,nothing"
    assert line == "1.0,1e-7,9223372036854775807,true,2020-01-02,2020-01-02T03:04:05.000000,1.10,"


@pytest.mark.parametrize(
    "column",
    [
        pa.array([["x"]]),
        pa.array([{"k": 1}]),
        pa.array([b"x"]),
        pa.array([datetime.timedelta(1)]),
        pa.array([b"x"]).dictionary_encode(),
    ],
)
def test_columns_that_have_no_text_are_refused_by_name(tmp_path, column):
    with pytest.raises(UnsupportedError, match="'odd'"):
        write_table(pa.table({"fine": ["x"], "odd": column}), tmp_path / "table.csv")
    assert not (tmp_path / "table.csv").exists()


def test_the_delimiter_of_a_written_file(tmp_path):
    table = pa.table({"a": ["x;y"], "b": ["1"]})
    for name, delimiter, expected in [
        ("a.csv", None, "a,b\nx;y,1\n"),
        ("a.tsv", None, "a\tb\nx;y\t1\n"),
        ("b.csv", ";", 'a;b\n"x;y";1\n'),
        ("c.csv", "tab", "a\tb\nx;y\t1\n"),
    ]:
        write_table(table, tmp_path / name, delimiter=delimiter)
        assert (tmp_path / name).read_text() == expected
    with pytest.raises(InputError, match="one ASCII character"):
        write_table(table, tmp_path / "d.csv", delimiter="::")


def test_windows_and_old_mac_line_ends(tmp_path):
    for ending in ("\r\n", "\r"):
        path = file_of(tmp_path, f"a,b{ending}1,2{ending}3,4{ending}")
        assert columns_of(path) == {"a": ["1", "3"], "b": ["2", "4"]}


def test_blank_lines_are_skipped_where_they_cannot_be_records(tmp_path):
    path = file_of(tmp_path, "\n\na,b\n1,2\n\n3,4\n\n")
    assert columns_of(path) == {"a": ["1", "3"], "b": ["2", "4"]}


def test_a_header_over_two_lines(tmp_path):
    assert columns_of(file_of(tmp_path, '"a\nb",c\n1,2\n')) == {"a\nb": ["1"], "c": ["2"]}


def test_quoted_line_ends_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BATCH_BYTES", 100)
    monkeypatch.setattr(delimited, "SAMPLE_BYTES", 100)
    notes = ["line\n" * (n % 7) + str(n) for n in range(300)]
    write_table(pa.table({"note": notes, "n": [str(n) for n in range(300)]}), tmp_path / "table.csv")
    assert columns_of(tmp_path / "table.csv")["note"] == notes


def test_repeated_values_share_one_dictionary_and_unique_ones_are_plain(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BATCH_BYTES", 2000)
    rows = "".join(f"{n},{n % 3},{min(n, 1200)},{max(n, 1200)}\n" for n in range(3000))
    table = read_table(file_of(tmp_path, "id,class,late,early\n" + rows)).table
    assert table.schema.field("id").type == pa.string()
    assert table.schema.field("class").type == pa.dictionary(pa.int32(), pa.string())
    assert table.column("class").num_chunks > 1
    assert all(chunk.dictionary.to_pylist() == ["0", "1", "2"] for chunk in table.column("class").chunks)
    assert table.column("id").to_pylist() == [str(n) for n in range(3000)]
    assert table.column("early").to_pylist() == [str(max(n, 1200)) for n in range(3000)]


def test_a_column_that_stops_repeating_becomes_plain_text(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "SAMPLE_BYTES", 10_000)
    rows = [str(max(n, 3000)) for n in range(30_000)]
    path = file_of(tmp_path, "n,b\n" + "".join(f"{row},x\n" for row in rows))
    table = read_table(path).table
    assert table.schema.field("n").type == pa.string()
    assert table.column("n").to_pylist() == rows


@pytest.mark.parametrize("where", [3, 3000, 30_000])
def test_a_record_with_too_many_fields(tmp_path, where):
    lines = ["a,b", *["1,2"] * 30_000]
    lines[where - 1] = f"{SECRET},2,3"
    message = refusal(file_of(tmp_path, "\n".join(lines)))
    assert f"line {where} has 3 fields, but the header has 2" in message


def test_lines_are_counted_as_an_editor_does(tmp_path):
    path = file_of(tmp_path, f'a,b\n"x\ny\nz",2\n\n{SECRET}\n')
    assert "line 6 has 1 field, but the header has 2" in refusal(path)


@pytest.mark.parametrize("ending", ["", "\n"])
def test_a_quote_that_is_never_closed(tmp_path, ending):
    assert "quote" in refusal(file_of(tmp_path, f'a,b\n1,2\n"{SECRET},2\n3,4\n5,6{ending}'))
    assert "quote" in refusal(file_of(tmp_path, f'a,b\n1,2\n1,"{SECRET}\n3,4\n5,6{ending}'))
    assert "quote" in refusal(file_of(tmp_path, f'a\n1\n"{SECRET}\n3\n5{ending}'))


def test_a_last_cell_with_line_ends_is_no_open_quote(tmp_path):
    for ending in ("", "\n", "\r\n\r\n"):
        assert columns_of(file_of(tmp_path, f'a,b\n1,"x\ny\n"{ending}'))["b"] == ["x\ny\n"]


def test_a_cell_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BATCH_BYTES", 1000)
    path = file_of(tmp_path, f"a,b\n1,2\n{SECRET * 50_000},2\n")
    assert "line 3 is too long" in refusal(path)


def test_columns_with_one_name_are_named(tmp_path):
    path = file_of(tmp_path, f"age,sex,age,zip,sex\n{SECRET},1,2,3,4\n")
    assert "called 'age', 'sex'" in refusal(path, header=True)
    assert "several columns (1, 2, 3, 5)" in refusal(path)  # they may be somebody's values


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "\na,b\n\n\n", "a\n"])
def test_a_header_alone(tmp_path, content):
    assert "a header but no records" in refusal(file_of(tmp_path, content))


def test_blank_lines_alone(tmp_path):
    assert "no header" in refusal(file_of(tmp_path, "\n\n\n"))


@pytest.mark.parametrize("suffix", [".gz", ".zst", ".bz2", ".xz"])
def test_errors_in_compressed_files(tmp_path, suffix):
    path = tmp_path / f"table.csv{suffix}"
    write_table(pa.table({"a;b": ["1;2", f"{SECRET};2;3"]}), path)
    assert "line 3 has 3 fields" in refusal(path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("rows", [1, 2, 3000])
def test_a_missing_value_at_the_very_end_is_missing(tmp_path, rows, end):
    path = file_of(tmp_path, "a,b" + end + end.join(['"q",'] * rows))
    assert columns_of(path, header=True)["b"] == [None] * rows
    layout = Layout("utf-8", ",", ["a", "b"], 0)
    types, _ = delimited._column_types(path, layout)
    for names in (["b", "a"], ["a"], ["b"]):
        batches = list(delimited._batches(layout, types, path, names))
        assert [batch.schema.names for batch in batches] == [names] * len(batches)
        read = [value for batch in batches for value in batch.column(names[0]).to_pylist()]
        assert read == [None if names[0] == "b" else "q"] * rows


def test_an_empty_text_at_the_very_end_is_a_text(tmp_path):
    assert columns_of(file_of(tmp_path, 'a,b\n"q",""\n"q",""'), header=True)["b"] == ["", ""]


@pytest.mark.parametrize("values", [["x", None], [None], [1, None], [None, None, None]])
def test_a_missing_value_in_the_only_column_is_refused_since_its_line_would_be_blank(tmp_path, values):
    with pytest.raises(UnsupportedError, match=r"hold missing values of 'a', the only column.*Write Parquet"):
        write_table(pa.table({"a": values}), tmp_path / "out.csv")


def test_no_line_is_blank_in_a_file_of_one_column(tmp_path):
    path = tmp_path / "out.csv"
    write_table(pa.table({"a": ["", "x", " ", "\t"]}), path)
    assert path.read_text() == '"a"\n""\n"x"\n" "\n"\t"\n'  # pandas skips lines of spaces, too
    assert columns_of(path) == {"a": ["", "x", " ", "\t"]}
    assert len(pd.read_csv(path)) == 4
    write_table(pa.table({"a": [1, 2]}), path)
    assert path.read_text() == "a\n1\n2\n"
