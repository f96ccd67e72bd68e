"""The first line: a header, a record, or doubtful; no message shows a cell of it before that is decided."""

import datetime
import os
import random
import sys
import traceback
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import kohort as ko
from kohort.errors import InputError
from kohort.io.tables import read_table, write_table

DATA = Path(os.environ.get("KOHORT_DATA", Path(__file__).parents[3] / "shared" / "data"))
DOUBT = "--no-header"
RECORD = "Zebulon,1951-02-03,f,4350,zeb@example.org"
PEOPLE = [
    "Ada,1970-01-02,f,4301,ada@example.org",
    "Bob,1982-11-12,m,4350,bob@example.org",
    "Cy,1951-05-06,f,4312,cy@example.org",
]


def file_of(folder: Path, lines, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def refusal(path: Path, **options) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path, **options)
    told = "".join(traceback.format_exception(caught.value))
    for secret in RECORD.split(","):
        assert secret not in told or len(secret) == 1
    return str(caught.value)


def is_accepted(path: Path) -> bool:
    try:
        read_table(path)
    except InputError as error:
        assert DOUBT in str(error)
        return False
    return True


# -- records ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(1, 5))  # not a name, which is like any word where it occurs once
def test_a_record_is_refused_by_each_kind_of_cell_alone(tmp_path, place):
    lines = [",".join([line.split(",")[0], line.split(",")[place]]) for line in [RECORD, *PEOPLE]]
    assert DOUBT in refusal(file_of(tmp_path, lines))


RECORDS = {
    "numbers": ["39,77516", "50,83311", "38,215646"],
    "one number": ["Zoe,39", "Ada,50", "Bob,38"],
    "decimal commas": ["Zoe;39,5", "Ada;50,25", "Bob;38,0"],
    "words that come again": ["State-gov,Bachelors", "Private,HS-grad", "State-gov,Bachelors2"],
    "an e-mail": ["zoe@example.org,x", "ada@example.org,y"],
    "codes": ["AB-1234,Zoe", "CD-5678,Ada", "EF-9012,Bob"],
    "dates": ["3.2.1951,Zoe", "4.5.1970,Ada", "5.6.1982,Bob"],
    "spoken dates": ["3 Feb 1951,Zoe", "4 May 1970,Ada"],
    "years of birth": ["1951,1952,1953", "1970,1971,1972", "1982,1983,1984"],
    "answers from 1 to 5": ["1,2,3", "2,2,5", "1,4,3", "5,1,2"],
    "intervals": ["[20 - 30),x", "[30 - 40),y", "[20 - 30),z"],
    "a missing value": ["39,unknown,f", "50,17,m", "38,19,f"],
    "a remark in a column of numbers": ["refused,f,flu", "50,m,cold", "38,f,flu", "41,f,cold"],
    "twice the same": ["f,f", "m,k", "x,f"],
    "nothing twice": ["Zoe,,", "Ada,1,2"],
    "numbers separated by spaces": ["10307 10311", "10307", "12487 10311 5", "12487"],
}


@pytest.mark.parametrize("lines", RECORDS.values(), ids=RECORDS)
def test_records_are_refused(tmp_path, lines):
    message = refusal(file_of(tmp_path, lines))
    assert DOUBT in message and "header=True or header=False" in message


def test_no_header_gives_names_and_keeps_the_record(tmp_path):
    path = file_of(tmp_path, [RECORD, *PEOPLE])
    table = read_table(path, header=False).table
    assert table.column_names == [f"column_{number}" for number in range(1, 6)]
    assert table["column_1"].to_pylist() == ["Zebulon", "Ada", "Bob", "Cy"]


def test_no_header_and_a_single_record(tmp_path):
    assert read_table(file_of(tmp_path, ["", RECORD]), header=False).table.num_rows == 1


def test_an_uneven_line_without_a_header(tmp_path):
    path = file_of(tmp_path, [RECORD, "Ada,1970-01-02"])
    assert "line 2 has 2 fields, but the first line has 5" in refusal(path, header=False)


def test_a_header_that_is_said_to_be_one(tmp_path):
    path = file_of(tmp_path, ["1,2", "3,4"])
    assert read_table(path, header=True).table.column_names == ["1", "2"]


# -- headers ---------------------------------------------------------------------------------------

HEADERS = {
    "plain": ["name,age", "Ada,50", "Bob,38"],
    "words alone": ["name,town", "Ada,Ayr", "Bob,Ely"],
    "one column": ["age", "50", "38"],
    "one column of words": ["name", "Ada", "Bob"],
    "two years": ["country,2019,2020", "Peru,1.5,2.5", "Chad,3.5,4.5"],
    "many years": ["country,pop,1990,2000,2010,2020", "Peru,3,1.5,2.5,9,8", "Chad,4,3.5,4.5,7,6"],
    "days over counts": ["place,1/22/20,1/23/20", "Peru,5,6", "Chad,7,8"],
    "ages over counts": ["place,0-4,5-9,10-14", "Peru,5,6,7", "Chad,7,8,9"],
    "a nameless index": [",name,age", "0,Ada,50", "1,Bob,38"],
    "numbered columns": ["0,1,2,3,4", "5,1,0,0,4", "0,1,1,1,4"],
    "numbered columns and an index": [",0,1,2,3,4", "0,5,1,0,0,4", "1,0,1,1,1,4"],
    "a few numbered columns": ["0,1,2", "0.5,7.5,3.5", "0.25,1.5,1.75"],
    "one name found below": ["test,age", "blood,50", "test,38"],
    "a header repeated below": [
        "name,town",
        "Ada,Ayr",
        "Bob,Ely",
        "Cy,Ayr",
        "name,town",
        "Di,Ayr",
        "Eve,Ely",
    ],
    "questions": ["Q1. How old are you?,Q2. Where do you live?", "50,Ayr", "38,Ely"],
    "yes and no": ["smoker,Diabetes", "yes,no", "no,no"],
    "missing cells": ["name,age", "Ada,", ",38", "?,NA"],
    "codes under codes": ["ICD10,Q1", "A01.1,A1", "B20,B2"],
    "a sheet of many words and one code": [
        ",".join([f"v{chr(97 + i)}" for i in range(12)] + ["7"]),
        ",".join(["5"] * 12 + ["3"]),
        ",".join(["6"] * 12 + ["2"]),
    ],
}


@pytest.mark.parametrize("lines", HEADERS.values(), ids=HEADERS)
def test_headers_are_accepted(tmp_path, lines):
    assert is_accepted(file_of(tmp_path, lines))


@pytest.mark.parametrize("index", [True, False])
def test_what_pandas_writes_is_accepted(tmp_path, index):
    frames = {
        "people": pd.DataFrame(
            {"name": ["Ada", "Bob"], "born": pd.to_datetime(["1970-01-02", "1982-11-12"])}
        ),
        "described": pd.DataFrame({"age": [50, 38], "pay": [1.5, 2.5]}).describe(),
        "counts": pd.crosstab(pd.Series(["a", "b", "a"], name="x"), pd.Series(["u", "v", "u"], name="y")),
        "levels": pd.DataFrame({("a", "x"): [1, 2], ("b", "y"): [3, 4]}),
        "nothing named": pd.DataFrame([[5, 1, 2, 9, 4], [7, 8, 9, 1, 1]]),
        "years": pd.DataFrame({"who": ["a", "b"], 2018: [1.5, 2], 2019: [3, 4.5], 2020: [5, 6.5]}),
        "dummies": pd.get_dummies(pd.DataFrame({"sex": ["f", "m"], "job": ["a", "b"]})),
    }
    for name, frame in frames.items():
        path = tmp_path / f"{name}.csv"
        frame.to_csv(path, index=index)
        assert is_accepted(path), name


def test_the_tables_of_the_package_are_accepted_and_none_of_their_records_is(tmp_path):
    hospital = ko.datasets.generate_hospital(500, seed=1).drop_columns(["procedures"])  # lists
    tables = [ko.datasets.load_adult(), ko.datasets.load_health(), hospital]
    drawn = random.Random(0)
    for number, table in enumerate(tables):
        path = tmp_path / f"{number}.csv"
        write_table(table, path)
        assert is_accepted(path)
        header, *lines = path.read_text().splitlines()[:400]
        for _ in range(20):
            first = drawn.choice(lines)
            assert not is_accepted(file_of(tmp_path, [first, *lines])), header


@pytest.mark.long
@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="needs the folder of larger data (KOHORT_DATA)")
def test_the_larger_tables_are_accepted_and_none_of_their_records_is(tmp_path):
    drawn = random.Random(0)
    for path in sorted(DATA.glob("*.csv.zst")):
        frame = pl.DataFrame(read_table(path).table.slice(0, 2000))
        rows = frame.rows()
        for _ in range(20):
            frame = pl.DataFrame([drawn.choice(rows), *rows[:400]], schema=frame.schema, orient="row")
            frame.write_csv(tmp_path / "t.csv", include_header=False)
            assert not is_accepted(tmp_path / "t.csv"), path


# -- Excel and others --------------------------------------------------------------------------------


def test_excel_alike(tmp_path):
    rows = [["Zebulon", 39, datetime.date(1951, 2, 3)], ["Ada", 50, datetime.date(1970, 1, 2)]]
    frame = pd.DataFrame([*rows, ["Bob", 38, datetime.date(1982, 11, 12)]], columns=["name", "age", "born"])
    with_header, without = tmp_path / "with.xlsx", tmp_path / "without.xlsx"
    pl.from_pandas(frame).write_excel(with_header)
    pl.from_pandas(frame).write_excel(without, include_header=False)
    assert read_table(with_header).table.column_names == ["name", "age", "born"]
    assert DOUBT in refusal(without)
    table = read_table(without, header=False).table
    assert table.column_names == ["column_1", "column_2", "column_3"]
    assert table["column_2"].to_pylist() == [39, 50, 38]


def test_other_formats_have_a_header(tmp_path):
    path = file_of(tmp_path, ['{"39": 5}', '{"39": 6}'], "t.jsonl")
    assert read_table(path).table.column_names == ["39"]
    assert "other formats have one" in refusal(path, header=False)


# -- commands and Python -------------------------------------------------------------------------------

SPEC = """\
attributes:
  column_1: {role: identifier}
  column_2: {role: insensitive}
  column_3: {role: quasi-identifier}
  column_4: {role: quasi-identifier}
  column_5: {role: identifier}
privacy: {k: 2}
algorithm: mondrian
"""


def run(*words, capsys) -> tuple[int, str]:
    from kohort.cli.app import main

    sys.argv = ["kohort", *map(str, words)]
    try:
        main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    told = capsys.readouterr()
    return code, told.out + told.err


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["kohort"])
    data = file_of(tmp_path, [RECORD, *PEOPLE])
    spec = file_of(tmp_path, [SPEC], "spec.yaml")
    return data, spec, tmp_path


def test_every_command_refuses_a_record(files, capsys):
    data, spec, folder = files
    good = file_of(folder, ["a,b,c,d,e", *PEOPLE], "good.csv")
    commands = [
        ("anonymize", data, "--spec", spec, "--out", folder / "r.csv"),
        ("verify", data, "--spec", spec),
        ("profile", data),
        ("init", data, "--out", folder / "new.yaml"),
        ("compare", data, "--spec", spec, "--out", folder / "c.csv"),
        ("frontier", data, "--spec", spec),
        ("risk", data, "--spec", spec),
        ("hierarchy", "build", data, "age", "--out", folder / "h.csv"),
    ]
    others = [
        ("verify", good, "--spec", spec, "--original", data),
        ("risk", good, "--spec", spec, "--population", data),
        ("hierarchy", "show", good, "--data", data, "--column", "a"),
    ]
    for command in commands + others:
        code, told = run(*command, capsys=capsys)
        assert code == 2 and "header" in told, command
        assert "Zebulon" not in told and "zeb@" not in told and "1951-02-03" not in told
    told = run(*others[0], capsys=capsys)[1]
    assert "--no-original-header" in told
    assert "--no-population-header" in run(*others[1], capsys=capsys)[1]
    assert "--no-data-header" in run(*others[2], capsys=capsys)[1]


def test_the_whole_job_without_a_header(files, capsys):
    data, spec, folder = files
    release, certificate = folder / "release.csv", folder / "c.json"
    words = ("anonymize", data, "--spec", spec, "--out", release, "--no-header", "--certificate", certificate)
    code, told = run(*words, capsys=capsys)
    assert code == 0, told
    assert release.read_text().splitlines()[0] == "column_2,column_3,column_4"
    assert "1951-02-03" in release.read_text().splitlines()[1:].__str__()
    checked = ("verify", release, "--spec", spec, "--original", data, "--no-original-header", "--header")
    code, told = run(*checked, capsys=capsys)
    assert code == 0, told


def test_init_tells_the_next_command_with_the_option(files, capsys):
    data, _, folder = files
    code, told = run("init", data, "--out", folder / "new.yaml", "--k", 2, "--no-header", capsys=capsys)
    assert code == 0 and "--no-header" in told
    assert "column_1" in (folder / "new.yaml").read_text()


def test_python_asks_too(files):
    data, spec, _ = files
    for call in (
        lambda **given: ko.profile(data, **given),
        lambda **given: ko.anonymize(data, spec=spec, **given),
        lambda **given: ko.anonymize(data, quasi_identifiers=["column_3"], others="keep",
                                     privacy=ko.KAnonymity(2), algorithm="mondrian", **given),
        lambda **given: ko.mine_closed_records(data, quasi_identifiers={"column_3": ko.flat()}, k=2, **given),
    ):  # fmt: skip
        with pytest.raises(InputError, match="header=False"):
            call()
        call(header=False)
    with pytest.raises(InputError, match="original_header=True"):
        ko.verify(pd.DataFrame({"a": [1]}), spec=spec, original=data)
    with pytest.raises(InputError, match="'header' is for files"):
        ko.profile(pd.DataFrame({"a": [1]}), header=True)
    with pytest.raises(InputError, match="'header' must be true or false"):
        ko.profile(data, header="no")


def test_a_record_that_looks_like_a_header_is_not_quoted_by_a_spec_for_other_columns(tmp_path):
    path = file_of(tmp_path, ["Zebulon,Zurich", "Ada,Ayr", "Bob,Ely"])
    spec = {"attributes": {"name": {"role": "identifier"}, "town": {"role": "quasi-identifier"}}}
    with pytest.raises(InputError, match="none of the 2 columns") as caught:
        ko.anonymize(path, spec=spec | {"privacy": {"k": 2}})
    assert "Z" not in str(caught.value)
