"""JSON lines: nested values are kept, and bad lines are told by number."""

from __future__ import annotations

import datetime
import json
import traceback
from pathlib import Path

import pyarrow as pa
import pytest

from kohort.errors import InputError, UnsupportedError
from kohort.io.tables import read_table, write_table

SECRET = "Zebulon"


def read_text(folder: Path, text: str | bytes) -> pa.Table:
    path = folder / "table.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path).table


def refusal(folder: Path, text: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        read_text(folder, text)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_types_and_nested_values_survive(tmp_path):
    rows = [
        {"id": 1, "zip": "01234", "ratio": 1.5, "yes": True, "items": ["a", "b"], "home": {"city": "Bo"}},
        {"id": 2, "zip": None, "ratio": None, "yes": None, "items": [], "home": None},
        {"id": 3, "zip": "", "ratio": 2.0, "yes": False, "items": None, "home": {"city": None}},
    ]
    table = read_text(tmp_path, "\n".join(json.dumps(row) for row in rows))
    assert table.to_pylist() == rows
    write_table(table, tmp_path / "back.jsonl")
    assert [json.loads(line) for line in (tmp_path / "back.jsonl").read_text().splitlines()] == rows
    assert read_table(tmp_path / "back.jsonl").table.equals(table)


def test_text_that_looks_like_something_else_stays_text(tmp_path):
    row = {"date": "2020-01-02", "time": "2020-01-02T03:04:05", "number": "1.10"}
    assert read_text(tmp_path, json.dumps(row)).to_pylist() == [row]


def test_dates_are_written_as_iso_text(tmp_path):
    write_table(pa.table({"day": [datetime.date(2020, 1, 2)]}), tmp_path / "table.jsonl")
    assert (tmp_path / "table.jsonl").read_text() == '{"day":"2020-01-02"}\n'


def test_types_come_from_all_lines(tmp_path):
    text = '{"a":1}\n' * 5000 + '{"a":1.5,"b":"late"}\n'
    table = read_text(tmp_path, text)
    assert table.schema.field("a").type == pa.float64()
    assert table.column("b")[-1].as_py() == "late"


def test_a_byte_order_mark_and_blank_lines(tmp_path):
    assert read_text(tmp_path, b'\xef\xbb\xbf{"a":"\xc3\xa9"}\n\n{"a":"b"}\n').to_pydict() == {
        "a": ["é", "b"]
    }


@pytest.mark.parametrize(
    "line",
    [f'{{"a":"{SECRET}', f'"{SECRET}"', f'["{SECRET}"]', SECRET, b'{"a":"Zebulon\xe9"}', "17"],
)
def test_a_line_that_is_no_object(tmp_path, line):
    raw = line if isinstance(line, bytes) else line.encode()
    assert "line 3: this is no" in refusal(tmp_path, b'{"a":"x"}\n{"a":"y"}\n' + raw + b"\n")


def test_values_that_do_not_go_together(tmp_path):
    assert "values of different kinds" in refusal(tmp_path, f'{{"a":{{"k":"{SECRET}"}}}}\n{{"a":3}}\n')


@pytest.mark.parametrize("text", ["\n", "{}\n"])
def test_no_records(tmp_path, text):
    refusal(tmp_path, text)


@pytest.mark.parametrize("column", [pa.array([b"x"]), pa.array([[b"x"]]), pa.array([{"k": [b"x"]}])])
def test_bytes_are_refused_by_name(tmp_path, column):
    with pytest.raises(UnsupportedError, match="'odd'"):
        write_table(pa.table({"odd": column}), tmp_path / "table.jsonl")


def test_whole_numbers_beyond_63_bits(tmp_path):
    table = pa.table({"a": pa.array([2**64 - 1, 7, None], pa.uint64())})
    write_table(table, tmp_path / "t.jsonl")
    assert read_table(tmp_path / "t.jsonl").table.equals(table)
    longer = read_text(tmp_path, b'{"a":123456789012345678901234567890}\n{"a":-5}\n')
    assert longer.to_pydict() == {"a": ["123456789012345678901234567890", "-5"]}


@pytest.mark.parametrize(
    "line", ['{"a":1,"b":2,"a":3}', '{"a":1,"\\u0061":3,"b":0}', '{"a":{"x":1,"x":2},"b":1}']
)
def test_a_key_twice(tmp_path, line):
    raw = f'{{"a":1,"b":"{SECRET}"}}\n{line}\n'
    assert "line 2: an object has the same key twice" in refusal(tmp_path, raw)


def test_keys_inside_texts_and_objects_are_no_doubles(tmp_path):
    table = read_text(tmp_path, b'{"a":"\\"a\\": 1","b":{"a":2}}\n')
    assert table.to_pydict() == {"a": ['"a": 1'], "b": [{"a": 2}]}


def test_a_line_that_is_too_deep(tmp_path):
    assert "line 2: it is nested" in refusal(tmp_path, '{"a":1}\n{"a":' + "[" * 5000 + "]" * 5000 + "}\n")
