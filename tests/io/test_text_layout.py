"""Encodings and delimiters are found out, or asked for; never silently wrong."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from kohort.errors import InputError
from kohort.io.formats import text_layout
from kohort.io.tables import read_table
from kohort.tables.source import Source

SECRET = "Zebulon"
SPANISH = "id,ciudad\n1,Málaga\n2,Logroño\n3,León\n"
JAPANESE = "番号,都市\n1,東京\n2,札幌\n"


def read_bytes(folder: Path, raw: bytes, name: str = "table.csv", **options) -> Source:
    (folder / name).write_bytes(raw)
    return read_table(folder / name, **options)


def refusal(folder: Path, raw: bytes, **options) -> str:
    with pytest.raises(InputError) as caught:
        read_bytes(folder, raw, **options)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_is_recognised(tmp_path, encoding):
    read = read_bytes(tmp_path, JAPANESE.encode(encoding))
    assert read.table.to_pydict() == {"番号": ["1", "2"], "都市": ["東京", "札幌"]}
    assert read.encoding == encoding


def test_big_endian_utf_16_is_recognised_by_its_mark(tmp_path):
    read = read_bytes(tmp_path, "\ufeff".encode("utf-16-be") + JAPANESE.encode("utf-16-be"))
    assert read.table.column_names == ["番号", "都市"]


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
@pytest.mark.parametrize(
    "text",
    [
        SPANISH,
        "id,name\n1,Núñez\n",
        "a,b\n1,café",
        "nom;ville\nHélène;Besançon\nFrançois;Nîmes\nZoë;Orléans\n",
        "name;ort\nJürgen;München\nKäthe;Köln\nGroß;Düsseldorf\n",
        "namn;ort\nÅsa;Malmö\nBjörn;Göteborg\nSøren;Århus\n",
        "nome,cidade\nJoão,São Paulo\nInês,Évora\n",
    ],
)
def test_western_european_text_is_recognised(tmp_path, text, encoding):
    read = read_bytes(tmp_path, text.encode(encoding))
    assert read.encoding == "cp1252"
    expected = read_bytes(tmp_path, text.encode(), encoding="utf-8")
    assert read.table.equals(expected.table)


def test_the_one_accent_may_come_late(tmp_path):
    plain = "".join(f"{n},Ann\n" for n in range(200_000))
    read = read_bytes(tmp_path, ("id,name\n" + plain + "1,José\n").encode("cp1252"))
    assert read.encoding == "cp1252"
    assert read.table.column("name")[-1].as_py() == "José"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("имя;город\nИван;Москва\nАлексей;Новосибирск\nМария;Казань\n", "cp1251"),
        ("όνομα,πόλη\nΓιώργος,Αθήνα\nΜαρία,Θεσσαλονίκη\n", "cp1253"),
        ("ad;sehir\nAyşe;İstanbul\nÇağla;İzmir\nIşık;Muğla\n", "cp1254"),
    ],
)
def test_other_alphabets_are_recognised_where_they_are_clear(tmp_path, text, encoding):
    assert read_bytes(tmp_path, text.encode(encoding)).encoding == encoding


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("imie;miasto\nŁukasz;Łódź\nStanisław;Gdańsk\nMałgorzata;Poznań\n", "cp1250"),
        ("jmeno;mesto\nJiří;Plzeň\nTomáš;Přerov\nŽofie;Ústí\n", "cp1250"),
        ("nafn;staður\nÞór;Reykjavík\nGuðrún;Ísafjörður\n", "cp1252"),
        ("id;sex\n1;муж\n2;жен\n", "cp1251"),
        (JAPANESE, "shift_jis"),
    ],
)
def test_what_is_recognised_is_right_and_else_it_is_asked_for(tmp_path, text, encoding):
    expected = read_bytes(tmp_path, text.encode(encoding), encoding=encoding).table
    assert expected.equals(read_bytes(tmp_path, text.encode()).table)
    try:
        guessed = read_bytes(tmp_path, text.encode(encoding))
    except InputError as error:
        assert "--encoding" in str(error)
    else:
        assert guessed.table.equals(expected)


def test_a_given_encoding_is_taken(tmp_path):
    read = read_bytes(tmp_path, JAPANESE.encode("shift_jis"), encoding="Shift-JIS")
    assert read.table.to_pydict() == {"番号": ["1", "2"], "都市": ["東京", "札幌"]}
    assert read.encoding == "shift_jis"


def test_a_given_encoding_with_a_mark(tmp_path):
    for encoding in ("utf-8", "utf-16-le"):
        read = read_bytes(tmp_path, "\ufeffa,b\nø,2\n".encode(encoding), encoding=encoding)
        assert read.table.to_pydict() == {"a": ["ø"], "b": ["2"]}


@pytest.mark.parametrize("encoding", ["klingon", "hex", "rot13", "", "a\0b"])
def test_an_unknown_encoding(tmp_path, encoding):
    assert "Unknown encoding" in refusal(tmp_path, f"a\n{SECRET}\n".encode(), encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "utf-16", "utf-32"])
def test_a_given_encoding_that_does_not_fit(tmp_path, encoding):
    raw = f"a,b\n{SECRET},ñandú\n".encode("latin-1")
    assert "does not fit the encoding" in refusal(tmp_path, raw, encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "shift_jis"])
def test_a_given_encoding_that_stops_fitting(tmp_path, encoding):
    raw = (f"a,b\n{SECRET},x\n" * 100_000).encode() + b"\xff\xff,\xff\n"
    assert "does not fit the encoding" in refusal(tmp_path, raw, encoding=encoding, header=True)


def test_bytes_that_are_no_text(tmp_path):
    assert "zero bytes" in refusal(tmp_path, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    assert "--encoding utf-16-le" in refusal(tmp_path, f"a,b\n{SECRET},2\n".encode("utf-16-le"))
    assert "--encoding" in refusal(tmp_path, "a,b\n1,2\n".encode("utf-16-le"), encoding="latin-1")
    assert "--encoding" in refusal(tmp_path, b"a,b\n\x81\x8d,\x90\x9d\xff\n")


def test_zero_bytes_beyond_the_first_chunk(tmp_path):
    assert "zero bytes" in refusal(tmp_path, b"a,b\n" + b"1,2\n" * 500_000 + b"\0,2\n")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    rows = [["name", "price", "note"], ["x", "1,5", "a;b"], ["y", "2,5", "c|d"], ["z", "3,5", "e\tf"]]
    text = "\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
    read = read_bytes(tmp_path, text.encode())
    assert read.delimiter == delimiter
    assert read.table.to_pydict()["price"] == ["1,5", "2,5", "3,5"]


def test_decimal_commas_do_not_hide_the_semicolon(tmp_path):
    read = read_bytes(tmp_path, b"height;weight\n1,80;75,5\n1,75;70,1\n")
    assert read.delimiter == ";"
    assert read.table.to_pydict() == {"height": ["1,80", "1,75"], "weight": ["75,5", "70,1"]}


def test_a_header_with_another_delimiter_in_it(tmp_path):
    read = read_bytes(tmp_path, b"name;income, total;age\nx;1;2\ny;3;4\n")
    assert read.table.column_names == ["name", "income, total", "age"]


def test_quoted_line_ends_do_not_disturb_the_count(tmp_path):
    read = read_bytes(tmp_path, b'a;b\n"x, y\nz, w, v";1\n"p, q";2\n')
    assert read.delimiter == ";"


def test_one_column_needs_no_delimiter(tmp_path):
    read = read_bytes(tmp_path, b"name\nAnn\nBo\n")
    assert read.table.to_pydict() == {"name": ["Ann", "Bo"]}


def test_tsv_is_tab_separated_even_with_commas(tmp_path):
    for name in ("table.tsv", "table.TSV"):
        read = read_bytes(tmp_path, b"a,b\tc,d\n1,2\t3,4\n", name)
        assert read.table.to_pydict() == {"a,b": ["1,2"], "c,d": ["3,4"]}


def test_a_given_delimiter_is_taken(tmp_path):
    for given, raw in [("^", b"a^b\n1^2\n"), ("tab", b"a\tb\n1\t2\n"), ("\\t", b"a\tb\n1\t2\n")]:
        assert read_bytes(tmp_path, raw, delimiter=given).table.to_pydict() == {"a": ["1"], "b": ["2"]}


@pytest.mark.parametrize("delimiter", ["", "::", '"', "\n", "§"])
def test_a_delimiter_that_cannot_be(tmp_path, delimiter):
    assert "one ASCII character" in refusal(tmp_path, f"a\n{SECRET}\n".encode(), delimiter=delimiter)


def test_characters_cut_in_two_by_a_chunk_do_not_confuse(tmp_path, monkeypatch):
    raw = "姓名,城市\n张三,北京\n李四,上海\n王五,广州\n".encode("gb18030") * 20
    cut = raw.index(b",", 200) - 1
    with pytest.raises(UnicodeDecodeError):
        raw[:cut].decode("gb18030")
    monkeypatch.setattr(text_layout, "CHUNK_BYTES", cut)
    assert read_bytes(tmp_path, raw).encoding == "gb18030"
