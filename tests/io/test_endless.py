"""YAML and JSON that would never end, or crash the reader, are refused at once with the line."""

import json
import time

import pytest

import kohort as ko
from kohort.errors import InputError
from kohort.io.certificate import read_certificate
from kohort.io.hierarchies import read_hierarchy
from kohort.io.json_text import parse_json
from kohort.io.maps import read_maps
from kohort.io.read_spec import read_spec

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi")
)
DEEP = "[" * 5000 + "]" * 5000
DEEP_BLOCK = "".join(f"{' ' * depth}a:\n" for depth in range(5000))
ENDLESS = {
    "aliases of aliases": (BOMB, "line [5-9]: its aliases stand for more than 100,000 values"),
    "an alias in itself": ("a: 1\nb: &b\n  c: [*b]\n", "line 3: the alias .b contains itself"),
    "5,000 lists": (f"a: 1\nb: {DEEP}\n", "line 2: it is nested more than 100 deep"),
    "5,000 mappings": (DEEP_BLOCK, "line 101: it is nested more than 100 deep"),
}


@pytest.fixture(autouse=True)
def at_once():
    start = time.process_time()
    yield
    assert time.process_time() - start < 5


@pytest.mark.parametrize("text, message", ENDLESS.values(), ids=ENDLESS)
def test_specs(tmp_path, text, message):
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_spec(path)


@pytest.mark.parametrize("text, message", ENDLESS.values(), ids=ENDLESS)
def test_trees(tmp_path, text, message):
    path = tmp_path / "tree.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_hierarchy(path)


def test_a_few_aliases_are_welcome(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(
        "attributes:\n"
        "  age: {role: quasi-identifier, hierarchy: &years {intervals: [5, 10]}}\n"
        "  stay: {role: quasi-identifier, hierarchy: *years}\n"
        "privacy: {k: 2}\n"
    )
    assert read_spec(path).columns["stay"].hierarchy == ko.intervals(5, 10)


@pytest.mark.parametrize("value", ["!!int x", "9" * 5000, "!!float x", "!!bool x", "!!timestamp x"])
def test_values_that_are_not_what_they_are_said_to_be(tmp_path, value):
    path = tmp_path / "spec.yaml"
    path.write_text(f"attributes: {{}}\nprivacy:\n  k: {value}\n")
    with pytest.raises(InputError, match=r"line 3: .*not of the type"):
        read_spec(path)


@pytest.mark.parametrize("read", [read_certificate, read_maps])
@pytest.mark.parametrize(
    "text, message",
    [
        ('{"a": 1,\n "b": ' + "[" * 100_000, "line 2: it is nested more than 100 deep"),
        ('{"a": 1,\n "b": oops}', "line 2: this is not valid JSON"),
        ('{"a": 1, "a": 2}', "the same key twice"),
        ('{"a": ' + "9" * 5000 + "}", "too many digits"),
    ],
)
def test_json(tmp_path, read, text, message):
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read(path)


def test_brackets_in_texts_are_no_nesting():
    content = {"a": "[" * 500 + '"' + "\\" * 3, "b": [[["{" * 500]]]}
    assert parse_json(json.dumps(content, indent=1), name="x") == content


def test_groups_that_contain_themselves():
    endless: dict = {}
    endless["a"] = endless
    with pytest.raises(InputError, match="contain itself"):
        ko.groups(endless)
