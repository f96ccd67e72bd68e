"""Which files hold one basket a line, and what init and profile make of them."""

import json
import random
import sys
from pathlib import Path

import pytest

import kohort as ko
from kohort.cli.app import main
from kohort.io.data_files import recognized_baskets
from kohort.io.read_spec import read_spec
from kohort.io.tables import write_table
from kohort.statement.items import BasketShape

WORDS = ["milk", "bread", "citrus fruit", "tea", "salt", "soap", "whole rice", "beans"]


def baskets(separator: str, words=WORDS, n: int = 60) -> str:
    drawn = random.Random(0)
    return "".join(separator.join(drawn.sample(words, drawn.randint(1, 5))) + "\n" for _ in range(n))


def file_of(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


NUMBERS = [str(number) for number in range(100, 108)]
BASKETS = {
    "numbers and spaces": (baskets(" ", NUMBERS), "b.txt", None),
    "words and commas": (baskets(","), "b.csv", None),
    "words and semicolons": (baskets(";"), "b.csv", ";"),
    "words and tabs": (baskets("\t"), "b.tsv", None),
    "short words and spaces": (baskets(" ", ["milk", "tea", "salt", "soap", "rice"]), "b.txt", None),
}
TABLES = {
    "a table": "name,age\nAda,50\nBob,38\nCy,41\nDi,17\nEve,28\n",
    "a ragged table": "name,age,town\nAda,50\nBob,38,Ely\nCy\nDi,17,Ayr\nEve,28\nFay\n",
    "names": "name\nAda King\nBob\nCy van der Berg\nDi Ray\nEve\nFay May Ray\n",
    "remarks": "remark\nfell off the horse and the dog\nflu\nfell on the ice on the road\nno pain no cold\n",
    "one column": "age\n50\n38\n41\n17\n28\n",
}


@pytest.mark.parametrize("text, name, separator", BASKETS.values(), ids=BASKETS)
def test_baskets_are_recognized(tmp_path, text, name, separator):
    shape = recognized_baskets(file_of(tmp_path, text, name))
    assert shape is not None and shape.separator == separator


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_tables_are_not(tmp_path, text):
    assert recognized_baskets(file_of(tmp_path, text, "t.csv")) is None
    assert recognized_baskets(file_of(tmp_path, text, "t.txt")) is None


def test_built_in_tables_are_not(tmp_path):
    write_table(ko.datasets.load_health(year=1), tmp_path / "t.csv")
    assert recognized_baskets(tmp_path / "t.csv") is None


def run(monkeypatch, capsys, *words) -> str:
    monkeypatch.setattr(sys, "argv", ["kohort", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    told = capsys.readouterr()
    assert not stop.value.code, told.err
    return told.out


def test_init_writes_a_spec_that_works(tmp_path, monkeypatch, capsys):
    data = file_of(tmp_path, baskets(";", n=300), "b.csv")
    spec, release = tmp_path / "spec.yaml", tmp_path / "release.csv"
    told = run(monkeypatch, capsys, "init", data, "--out", spec, "--k", 3)
    assert "one basket per line" in told and "release.csv" in told
    read = read_spec(spec)
    assert (read.km, read.shape) == (ko.KmAnonymity(3, 2), BasketShape(";"))
    run(monkeypatch, capsys, "anonymize", data, "--spec", spec, "--out", release)
    run(monkeypatch, capsys, "verify", release, "--spec", spec, "--original", data)


def test_profile_counts_and_names_no_item(tmp_path, monkeypatch, capsys):
    data = file_of(tmp_path, baskets(" ", NUMBERS) + "100 101 999\n", "b.txt")
    told = run(monkeypatch, capsys, "profile", data)
    assert "61 baskets" in told and "999" not in told
    facts = json.loads(run(monkeypatch, capsys, "profile", data, "--json"))["baskets"]
    assert (facts["records"], facts["items"], facts["rare_items"]) == (61, 9, 1)
    assert facts["unique_share"] == pytest.approx(1 / 61)
