"""What holds as promised and is given away all the same: counted by definition, said with what to add."""

from datetime import date

import pyarrow as pa
import pytest

import kohort as ko
from by_definition import report as by_definition
from report.kinds import people, release

K_2 = (ko.KAnonymity(2),)
DIVERSE = ko.LDiversity("illness", 2, kind="distinct")


def kinds(made):
    return [caution.kind for caution in made.verdict.cautions if caution.kind != "exact-extremes"]


def released(table, *, quasi=("town",), sensitive=("illness",), privacy=K_2, **more):
    asked = {"quasi_identifiers": dict.fromkeys(quasi, ko.flat()), "sensitive": list(sensitive)}
    return ko.anonymize(pa.table(table), **asked, privacy=list(privacy), algorithm="mondrian", **more)


def certain_records(made, names, column):
    published = made.arrow.to_pydict()
    classes = by_definition.classes_of(published, names)
    shares = by_definition.guesses(classes, published[column])
    return sum(len(records) for key, records in classes.items() if shares[key][0] == 1)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("k", [2, 5])
def test_records_that_are_given_away_are_counted_by_definition(seed, k):
    made = release(people(60, seed), k=k)
    [caution] = [found for found in made.verdict.cautions if found.column == "illness"]
    assert caution.kind == "no-promise"
    assert caution.records == certain_records(made, ["age", "animal", "sex"], "illness")
    assert f"{caution.records:,} of 60" in caution.what or not caution.records


def test_k_anonymity_alone_is_amber_and_says_what_to_add():
    made = released({"town": ["a", "a", "b", "b"], "illness": ["flu", "flu", "flu", "cold"]})
    [caution] = made.verdict.cautions
    assert made.verdict.holds  # amber is not red
    assert (caution.kind, caution.column, caution.records) == ("no-promise", "illness", 2)
    assert "2 of 4 records are in classes that reveal it for certain" in caution.what
    entry = {"attribute": "illness", "l": 2, "kind": "distinct"}
    assert caution.add == {"privacy": {"diversity": [entry]}}
    assert "with cautions" in repr(made.verdict)


def test_without_a_promise_a_guess_is_said_where_nothing_is_certain():
    made = released({"town": ["a"] * 4, "illness": ["flu", "flu", "flu", "cold"]})
    [caution] = made.verdict.cautions
    assert caution.records == 0 and "75 % of a class" in caution.what


def test_what_is_promised_of_every_sensitive_column_is_green():
    table = {"town": ["a", "a", "b", "b"], "illness": ["flu", "flu", "flu", "cold"]}
    assert not released(table, privacy=[ko.KAnonymity(2), DIVERSE]).verdict.cautions
    assert not released({"town": ["a", "a"]}, sensitive=()).verdict.cautions


def test_every_sensitive_column_is_looked_at():
    table = {"town": ["a", "a", "b", "b"], "illness": ["flu", "cold"] * 2, "pay": [1, 1, 2, 3]}
    made = released(table, sensitive=["illness", "pay"], privacy=[ko.KAnonymity(2), DIVERSE])
    assert [(found.column, found.records) for found in made.verdict.cautions] == [("pay", 2)]


def test_a_promise_about_other_values_does_not_hide_a_certain_one():
    table = {"town": ["a", "a", "b", "b"], "illness": ["flu", "flu", "HIV", "flu"]}
    alpha = ko.AlphaDeassociation("illness", 0.5, values=["HIV"])
    made = released(table, privacy=[ko.KAnonymity(2), alpha])
    [caution] = made.verdict.cautions
    assert (caution.kind, caution.records) == ("known-for-certain", 2)
    assert "which its promise allows" in caution.what


def test_a_column_of_one_value_cannot_be_hidden_by_a_promise():
    made = released({"town": ["a", "a", "b", "b"], "illness": ["flu"] * 4})
    [caution] = made.verdict.cautions
    assert (caution.kind, caution.records, caution.add) == ("one-value", 4, None)
    assert "leave the column out" in caution.advice


def test_withheld_records_are_in_no_class():
    published = {
        "town": ["a", "a", "b", "b", "*", "*"],
        "illness": ["flu", "cold", "flu", "cold", "flu", "flu"],
    }
    attributes = {"town": {"role": "quasi-identifier"}, "illness": {"role": "sensitive"}}
    spec = {"attributes": attributes, "privacy": {"k": 2}}
    [caution] = ko.verify(pa.table(published), spec=spec | {"suppression": 0.4}).cautions
    assert caution.records == 0
    [caution] = ko.verify(pa.table(published), spec=spec).cautions  # not withheld: a class of its own
    assert caution.records == 2


def test_a_missing_value_is_known_for_certain_like_any_other():
    made = released({"town": ["a", "a", "b", "b"], "illness": [None, None, "flu", "cold"]})
    assert made.verdict.cautions[0].records == 2


def test_k_1_is_amber():
    made = ko.anonymize(pa.table({"age": [21]}), quasi_identifiers=["age"], privacy=[ko.KAnonymity(1)])
    assert kinds(made) == ["k-is-1"]
    baskets = pa.table({"bought": [["a"], ["b"]]})
    assert kinds(ko.anonymize(baskets, items="bought", privacy=ko.KmAnonymity(1, 1))) == ["k-is-1"]


def test_a_sensitive_column_beside_baskets_has_no_promise():
    table = pa.table({"bought": [["a"], ["a"]], "illness": ["flu", "cold"]})
    made = ko.anonymize(table, items="bought", sensitive=["illness"], privacy=ko.KmAnonymity(2, 1))
    [caution] = made.verdict.cautions
    assert (caution.kind, caution.column, caution.records) == ("no-promise", "illness", None)


def test_a_broken_promise_is_said_before_what_no_promise_covers():
    attributes = {"town": {"role": "quasi-identifier"}, "illness": {"role": "sensitive"}}
    spec = {"attributes": attributes, "privacy": {"k": 2}}
    verdict = ko.verify(pa.table({"town": ["a", "b", "b"], "illness": ["flu"] * 3}), spec=spec)
    assert not verdict.holds and not verdict.cautions


@pytest.mark.parametrize("with_original", [False, True])
def test_verify_finds_the_same(with_original):
    table = people(60)
    spec = {
        "attributes": {
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
            "animal": {"role": "quasi-identifier"},
            "sex": {"role": "quasi-identifier"},
            "illness": {"role": "sensitive"},
        },
        "privacy": {"k": 3},
        "algorithm": "mondrian",
    }
    made = ko.anonymize(table, spec=spec)
    found = ko.verify(made.arrow, spec=spec, original=table if with_original else None)
    assert made.verdict.cautions and found.cautions == made.verdict.cautions


def test_cautions_show_no_value():
    secret = [f"SENTINEL{'abc'[i % 3]}" for i in range(12)]
    made = released({"town": ["a", "b"] * 6, "illness": secret})
    assert "SENTINEL" not in str(made.verdict.cautions)


# -- exact extremes --------------------------------------------------------------------------------

AGES = [20, 21, 22, 23, 40, 41, 42, 43, 68, 70, 90, 103]


def extremes(values, quasi=None, **more):
    made = ko.anonymize(
        pa.table({"age": values}),
        quasi_identifiers={"age": quasi},
        privacy=[ko.KAnonymity(4)],
        algorithm="mondrian",
        **more,
    )
    return [found for found in made.verdict.cautions if found.kind == "exact-extremes"]


def test_a_largest_value_of_few_people_is_said_and_how_to_hide_it():
    [caution] = extremes(AGES)
    assert caution.column == "age" and "top: 90" in caution.advice and "103" not in str(caution)
    [caution] = extremes([date(2020, 1, 1 + i) for i in range(12)])
    assert "{date: [month, year]}" in caution.advice


def test_limits_of_ones_own_say_nothing():
    assert not extremes(AGES, ko.intervals(5, 10, 20, top=80, bottom=30))
    assert extremes(AGES, ko.intervals(5, 10, 20), labels="tight")


def test_extremes_that_many_people_have_say_nothing():
    assert not extremes([0] * 6 + [1] * 6)
    assert not extremes([20] * 4)


@pytest.mark.parametrize(
    ("values", "records"),
    [
        (["caf\u00e9", "cafe\u0301"], 4),
        (["flu", "flu "], 4),
        (["flu", "Flu"], 4),
        (["", None], 4),
        (["flu", "cold"], None),
        (["flu ", "cold"], None),
    ],
)
def test_values_that_differ_in_spelling_alone(tmp_path, values, records):
    table = pa.table({"town": ["a", "a", "b", "b"], "illness": [*values, *values]})
    made = released(table, privacy=[*K_2, DIVERSE])
    found = [caution for caution in made.verdict.cautions if caution.kind == "spelled-alike"]
    assert [caution.records for caution in found] == ([] if records is None else [records])
    for caution in found:
        assert "2 values of 'illness', in 4 records" in caution.what
        assert not any(value and value in caution.what + caution.advice for value in values)


def test_without_a_promise_spelling_is_no_matter():
    made = released({"town": ["a", "a", "b", "b"], "illness": ["flu", "Flu", "flu", "Flu"]})
    assert kinds(made) == ["no-promise"]
