"""Every option of a release is the same in the spec, Python, command line, maps, sklearn and the pages."""

from __future__ import annotations

import inspect
import json
import re
import warnings
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pytest

import kohort as ko
from kohort.algorithms.schemes.scheme_spaces import SCHEMES
from kohort.algorithms.uniting.diversify import WEIGHT
from kohort.cli.app import command_named
from kohort.io.maps import read_maps
from kohort.parameters import fits
from kohort.problem.roles import Roles
from kohort.statement import Statement, words
from kohort.statement.from_keywords import KEYWORDS, from_keywords, spelled_out
from kohort.statement.from_yaml import SPEC_KEYS
from kohort.statement.from_yaml import from_yaml as parse_spec
from kohort.statement.items import Items
from kohort.statement.options import OPTIONS, Options, Scheme, options_of
from kohort.statement.statement import OPTION_KEYS

DOCS = Path(__file__).parents[1] / "docs"
LEAST = {"attributes": {"age": {"role": "quasi-identifier"}}, "privacy": {"k": 2}}
IN_SPEC = [name for name, declared in OPTIONS.items() if declared.option.in_spec]
WRONG = [object(), 1j, b"2", [2], {"a": 1}, float("nan")]
BESIDE = {"counterfeits": {"again": "m-invariance"}}  # options that another one needs
PEOPLE = pa.table({"age": [21, 22, 41, 42]})


@pytest.fixture
def Anonymizer():
    pytest.importorskip("sklearn", reason="kohort[sklearn] is not installed")
    from kohort.sklearn import Anonymizer

    return Anonymizer


def keyword(function, name):
    return inspect.signature(function).parameters[name]


def test_every_field_of_options_is_an_option_with_a_sentence():
    assert list(OPTIONS) == [field.name for field in fields(Options)]
    for declared in (*OPTION_KEYS.values(), *OPTIONS.values()):
        assert declared.option.sentence
        assert declared.default is None or fits(declared.default, declared.annotation)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_request_and_python_have_the_same_default(name):
    default = OPTIONS[name].default
    assert next(field.default for field in fields(Statement) if field.name == name) == default
    assert KEYWORDS[name] == default
    assert re.search(rf"^    (\w+, )*{name}(, \w+)*$", ko.anonymize.__doc__, re.MULTILINE)


def test_every_keyword_is_in_the_signature_or_among_the_typed_options():
    own = {
        name: p for name, p in inspect.signature(ko.anonymize).parameters.items() if p.kind is p.KEYWORD_ONLY
    }
    typed = set(words.Options.__annotations__)
    assert len(own) == 21 and not set(own) & typed
    assert set(own) | typed == {*KEYWORDS, "spec", "progress", "stop", "header"}
    assert {name: p.default for name, p in own.items() if name in KEYWORDS} == {
        name: KEYWORDS[name] for name in own if name in KEYWORDS
    }
    assert set(words.INSTEAD) < typed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"weights": {"age": 2}}, {"quasi_identifiers": {"age": ko.column(weight=2)}}),
        (
            {"orders": {"age": [21, 22]}},
            {"quasi_identifiers": {"age": ko.column(order=[21, 22])}},
        ),
        (
            {"publish": {"age": "mean"}},
            {"quasi_identifiers": {"age": ko.column(publish="mean")}},
        ),
        ({"scheme": {"age": "ops"}}, {"quasi_identifiers": {"age": ko.column(scheme="ops")}}),
        ({"household": "home", "person": "who"}, {"person": ko.Person("who", household="home")}),
        ({"weight": {"w": "keep"}}, {"person": ko.Person(weight={"w": "keep"})}),
        (
            {"history": {"slot": "year"}, "person": {"who": "pseudonym"}},
            {"person": ko.Person("who", linked=True, slot="year")},
        ),
        (
            {"events": PEOPLE, "orphans": "drop", "person": "who"},
            {"events": ko.Events(PEOPLE, orphans="drop"), "person": ko.Person("who")},
        ),
        (
            {"ledger": "l.json", "again": "m-invariance", "counterfeits": 3},
            {"ledger": ko.Ledger("l.json", again="m-invariance", counterfeits=3)},
        ),
        (
            {"identifiers": {"name": "pseudonym"}, "joins": {"name": "people"}},
            {"identifiers": {"name": ko.column(treatment="pseudonym", join="people")}},
        ),
    ],
)
def test_old_keywords_state_what_the_nouns_state_and_say_so(old, new):
    base = {"quasi_identifiers": {"age": None}, "k": 2}
    names = [name for name in old if name in words.INSTEAD]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        before = from_keywords(spelled_out({**base, **old}))
    assert [str(each.message).split("'")[1] for each in told] == names
    assert all(each.category is FutureWarning for each in told)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert from_keywords(spelled_out({**base, **new})) == before


def test_what_is_said_twice_or_unknown_is_refused():
    with pytest.raises(ko.InputError, match="'household' is said twice"):
        ko.anonymize(PEOPLE, person=ko.Person(household="a"), household="b", k=2)
    with pytest.raises(TypeError, match="Did you mean 'suppression'"):
        ko.anonymize(PEOPLE, quasi_identifiers=["age"], k=2, supression=0.1)
    with pytest.raises(ko.InputError, match="'header' is said twice"):
        ko.anonymize(ko.file("t.csv", header=True), quasi_identifiers=["age"], k=2, header=False)
    with pytest.raises(ko.InputError, match="needs the column"):
        ko.Person(linked=True)


def test_a_file_says_how_it_is_read(tmp_path):
    (tmp_path / "t.csv").write_text("21;f\n22;m\n41;f\n42;m\n", encoding="utf-8")
    file = ko.file(tmp_path / "t.csv", header=False, delimiter=";")
    release = ko.anonymize(file, quasi_identifiers={"column_1": ko.intervals(10)}, others="drop", k=2)
    assert sorted(release.arrow["column_1"].to_pylist()) == ["[20, 30)"] * 2 + ["[40, 50)"] * 2
    spec = {"attributes": {"column_1": {"role": "quasi-identifier"}}, "others": "keep", "privacy": {"k": 2}}
    assert not ko.verify(file, spec=spec).holds
    assert [column.name for column in ko.profile(file).columns] == ["column_1", "column_2"]
    found = ko.compare(file, quasi_identifiers=["column_1"], others="drop", k=[2], algorithms=["mondrian"])
    assert [row["status"] for row in found.rows] == ["done"]


@pytest.mark.parametrize("key", OPTION_KEYS)
def test_the_spec_has_a_key_for_it_with_the_same_default(key):
    found = parse_spec(LEAST)
    assert (found.algorithm_name if key == "algorithm" else getattr(found, key)) == OPTION_KEYS[key].default


def test_the_spec_has_no_other_word_number_or_switch():
    assert set(SPEC_KEYS) - set(OPTION_KEYS) == {
        "attributes",
        "privacy",
        "parameters",
        "weights",
        "history",
        "events",
        "recipients",
        "context",
        "utility",
        "items",
    }
    assert set(OPTION_KEYS) == {
        *IN_SPEC,
        *options_of(Roles),
        *(f"items_{name}" for name in options_of(Items)),
    }


@pytest.mark.parametrize("key", OPTION_KEYS)
def test_the_spec_hands_it_on(key):
    spec = parse_spec({**LEAST, **BESIDE.get(key, {}), key: another(OPTION_KEYS[key])})
    if key in OPTIONS:
        given = getattr(spec, key)
        assert (given if isinstance(given, (str, int, float)) else given.name) == another(OPTION_KEYS[key])
    else:
        assert getattr(spec, key) == another(OPTION_KEYS[key])


def another(declared):
    """A value that is allowed and not the default."""
    words = [
        "mondrian",
        "apriori-items",
        "ncp",
        "drop",
        "tight",
        "star",
        "escape",
        "ops",
        "fresh",
        0.25,
        True,
        7,
    ]
    for value in words:
        try:
            if value != declared.default:
                return declared.check_written(value)
        except ko.InputError:
            continue
    raise AssertionError(declared.name)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
@pytest.mark.parametrize("key", OPTION_KEYS)
def test_the_spec_refuses_a_wrong_type_by_name(key, wrong):
    with pytest.raises(ko.InputError, match=f"spec: {key}: this must be"):
        parse_spec({**LEAST, key: wrong})


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
@pytest.mark.parametrize("name", OPTIONS)
def test_python_refuses_a_wrong_type_by_name(name, wrong):
    with pytest.raises(ko.InputError, match=f"'{name}s?' must be"):
        ko.anonymize(PEOPLE, quasi_identifiers=["age"], privacy=ko.KAnonymity(2), **{name: wrong})


@pytest.mark.parametrize("name", ["algorithm", "cost", "engine"])
def test_an_unknown_name_is_refused(name):
    with pytest.raises(ko.InputError, match=f"There is no {name} 'nothing'"):
        Statement(**{name: "nothing"})


@pytest.mark.parametrize("name", OPTIONS)
def test_the_command_line_has_a_flag_where_the_option_says_so(name):
    flags = inspect.signature(command_named("anonymize")).parameters
    option = OPTIONS[name].option
    assert (name in flags) == (option.flag is not None)
    if option.flag is not None:
        assert flags[name].default == (None if option.in_spec else OPTIONS[name].default)
        assert flags[name].annotation.__metadata__[0].help == option.flag


def test_maps_keep_the_options_that_say_so(tmp_path):
    kept = {name: another(declared) for name, declared in OPTIONS.items() if declared.option.in_maps}
    asked = kept | {"seed": 7, "shuffle": False, "nulls": "star", "suppressed": "drop", "formulas": "escape"}
    release = ko.anonymize(
        PEOPLE,
        quasi_identifiers={"age": ko.intervals(10)},
        privacy=ko.KAnonymity(2),
        algorithm="full-domain",
        **asked,
    )
    release.maps(tmp_path / "maps.json")
    written = json.loads((tmp_path / "maps.json").read_text())
    assert {name: written[name] for name in kept} == asked
    assert read_maps(tmp_path / "maps.json").request.kept_by_maps == asked
    assert not set(OPTIONS) - set(kept) - {"algorithm"} & set(written)


@pytest.mark.parametrize("name", [name for name in OPTIONS if name not in ("shuffle", "suppressed")])
def test_the_transformer_takes_it(Anonymizer, name):
    assert Anonymizer().get_params()[name] == OPTIONS[name].default
    assert getattr(Anonymizer(**{name: "something"}), name) == "something"


def test_the_transformer_takes_no_other_option(Anonymizer):
    for name in ("shuffle", "suppressed", "nonsense"):
        with pytest.raises(TypeError, match=name):
            Anonymizer(**{name: "star"})


@pytest.mark.parametrize("key", OPTION_KEYS)
def test_the_spec_page_has_it(key):
    row = next(
        line for line in (DOCS / "spec.md").read_text().splitlines() if line.startswith(f"| [`{key}`]")
    )
    default = OPTION_KEYS[key].default
    assert row.split(" | ")[1] == ("none" if default is None else f"`{default}`")
    assert OPTION_KEYS[key].option.sentence in row


@pytest.mark.parametrize("name", OPTIONS)
def test_the_python_page_has_it(name):
    assert re.search(
        rf"^\| \[?`{name}`.* \| {re.escape(OPTIONS[name].option.sentence)}", python_page(), re.MULTILINE
    )


def python_page():
    return (DOCS / "python.md").read_text(encoding="utf-8")


def test_what_options_repeat_of_algorithms_is_the_same_there():
    """Options import no algorithm, so that the command line answers at once."""
    assert set(get_args(Scheme)) == set(SCHEMES)
    assert OPTIONS["diversify_weight"].default == WEIGHT
