"""The roles person, household and weight: how they are given, and what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import kohort as ko
from cli.running import run
from kohort.data.arrow_values import person_codes
from kohort.errors import InfeasibleError, InputError, UnsupportedError
from kohort.job.prepare import prepare
from kohort.problem.roles import Roles
from kohort.statement.from_yaml import from_yaml as parse_spec
from kohort.tables.memory import MemoryTable

SECRET = "Zyxwv"


def visits(n: int = 12, people: int = 6) -> pa.Table:
    return pa.table(
        {
            "patient": [f"{SECRET}{i % people}" for i in range(n)],
            "age": [20 + i % people for i in range(n)],
            "illness": [f"{SECRET}-{'xyz'[i % 3]}" for i in range(n)],
        }
    )


def spec(role: str = "person", **more):
    attributes = {
        "patient": {"role": role} | more,
        "age": {"role": "quasi-identifier"},
        "illness": {"role": "sensitive"},
    }
    return {"attributes": attributes, "privacy": {"k": 2}}


def anonymized(table, **changes):
    options = {
        "quasi_identifiers": ["age"],
        "sensitive": ["illness"],
        "person": "patient",
        "privacy": ko.KAnonymity(2),
    }
    return ko.anonymize(table, **(options | changes))


def test_the_person_of_each_record_is_a_number_of_the_problem():
    prepared = prepare(MemoryTable(visits()), parse_spec(spec()))
    assert prepared.problem.units.persons.tolist() == [0, 1, 2, 3, 4, 5] * 2
    assert prepared.problem.n_people == 6


def test_where_everybody_has_one_record_nothing_is_left_to_count():
    prepared = prepare(MemoryTable(visits(6)), parse_spec(spec()))
    assert not prepared.problem.units.several


def test_a_table_of_one_record_each_is_published_as_without_the_role():
    with_role, without = anonymized(visits(6)), anonymized(visits(6), person=None, identifiers=["patient"])
    assert with_role.arrow.equals(without.arrow)
    assert "patient" not in with_role.arrow.column_names


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([3, 1, 3], [0, 1, 0]),
        ([1.0, float("nan"), None], [0, -1, -1]),
        (["a", "", " "], [0, -1, -1]),
        (pa.array(["b", None, "b"]).dictionary_encode(), [0, -1, 0]),
        (pa.array([1, 2, 1], pa.decimal32(5, 1)), [0, 1, 0]),
        ([], []),
    ],
)
def test_person_codes(values, codes):
    assert person_codes("patient", pa.chunked_array([pa.array(values)])).tolist() == codes


def test_missing_persons_are_refused_with_their_count():
    table = visits().set_column(0, "patient", pa.array([None, "a", "", *"bcdefghij"]))
    with pytest.raises(InputError, match="2 records have no value there"):
        anonymized(table)


def test_one_person_for_all_records_is_refused():
    with pytest.raises(InputError, match="all 12 records are of one person"):
        anonymized(visits(12, people=1))


def test_a_k_above_the_number_of_people_is_named_as_such():
    with pytest.raises(
        InfeasibleError, match="12 records of the table are of 6 people, so k can be at most 6"
    ):
        anonymized(visits(), privacy=ko.KAnonymity(7))


def test_lists_are_no_persons():
    table = visits().set_column(0, "patient", pa.array([[1]] * 12))
    with pytest.raises(InputError, match="says whose record it is, but holds lists"):
        anonymized(table)


def test_a_person_that_is_a_quasi_identifier_is_refused():
    with pytest.raises(InputError, match="two roles"):
        anonymized(visits(), quasi_identifiers=["patient", "age"])


def test_two_columns_of_persons_are_refused():
    with pytest.raises(InputError, match="2 columns have the role person"):
        Roles({"a": "person", "b": "person"})


@pytest.mark.parametrize(("role", "treatment"), [("person", "mask"), ("identifier", "keep")])
def test_treatments_that_a_role_does_not_have_are_refused(role, treatment):
    with pytest.raises(InputError, match=f"treatment {treatment} of 'patient' is impossible"):
        ko.anonymize(visits(), spec=spec(role, treatment=treatment))


def test_persons_beside_items_are_refused():
    items = {"items": {"basket": None}, "privacy": [ko.KmAnonymity(2, 1)]}
    with pytest.raises(UnsupportedError, match="counts records, not people"):
        anonymized(visits().append_column("basket", pa.array([["a"]] * 12)), **items)


def test_python_and_spec_give_the_same_roles():
    by_keywords = anonymized(visits(6), person={"patient": "drop"})
    assert dict(by_keywords.roles.of) == dict(ko.anonymize(visits(6), spec=spec()).roles.of)


# -- the command line ------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.from_arrow(visits(6)).write_csv("visits.csv")
    (tmp_path / "spec.yaml").write_text(
        "attributes:\n  patient: {role: identifier}\n  age: {role: quasi-identifier}\n"
        "  illness: {role: sensitive}\nprivacy: {k: 2}\n"
    )
    return tmp_path


def refused(*words) -> str:
    ran = run("anonymize", "visits.csv", "--spec", "spec.yaml", "--out", "out.csv", *words)
    assert ran.exit == 2
    assert SECRET not in ran.err
    return ran.err


def test_the_flag_makes_a_column_the_person(folder):
    ran = run("anonymize", "visits.csv", "--spec", "spec.yaml", "--out", "out.csv", "--person", "patient")
    assert ran.exit == 0
    assert pl.read_csv("out.csv").columns == ["age", "illness"]


@pytest.mark.parametrize(
    ("column", "words"),
    [("patent", "no column 'patent'"), ("age", "two roles: quasi-identifier in the spec")],
)
def test_wrong_columns_are_refused_and_nothing_is_written(folder, column, words):
    assert words in " ".join(refused("--person", column).split())
    assert not (folder / "out.csv").exists()


def test_the_flag_replaces_the_person_of_the_spec():
    changed = parse_spec(spec(), person="other")
    assert {n: a.role for n, a in changed.columns.items()} == {
        "patient": "identifier",
        "age": "quasi-identifier",
        "illness": "sensitive",
        "other": "person",
    }
    assert np.array_equal(list(parse_spec(spec(), person="patient").columns), ["patient", "age", "illness"])
