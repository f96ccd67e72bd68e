"""Risk of people with several records: the attack is on people, and counted by definition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition import people as slow
from kohort.errors import InfeasibleError, InputError


def released(persons, ages, ills, k=2, **options):
    table = pa.table({"patient": persons, "age": ages, "ill": ills})
    given = {
        "quasi_identifiers": {"age": ko.intervals(2, 4, 8)},
        "sensitive": ["ill"],
        "person": "patient",
        "privacy": ko.KAnonymity(k),
        "algorithm": "mondrian",
        "shuffle": False,
    }
    return ko.anonymize(table, **(given | options))


columns = st.integers(4, 14).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.integers(0, 9), min_size=n, max_size=n),
        st.lists(st.sampled_from("xyz"), min_size=n, max_size=n),
    )
)


@given(case=columns)
def test_nobody_is_found_with_a_better_chance_than_one_in_k_people(case):
    persons, ages, ills = case
    try:
        release = released(persons, ages, ills)
    except (InfeasibleError, InputError):
        return
    risk = release.risk()
    distinct = len(set(persons))
    if risk["counted"] == "records":  # everybody has one record
        assert distinct == len(persons)
        return
    assert risk["people"] == risk["linkage"]["targets"] == distinct
    assert risk["linkage"]["after"]["maximum"] <= 1 / 2
    assert risk["prosecutor"]["after"]["maximum"] <= 1 / 2
    shown = release.arrow["age"].to_pylist()
    seen = [len(slow.people(records, persons)) for records in slow.classes(shown)]
    assert risk["prosecutor"]["after"]["maximum"] == pytest.approx(1 / min(seen))
    worst = dict.fromkeys(persons, 0.0)
    for records in slow.classes(ages):
        for person in slow.people(records, persons):
            worst[person] = max(worst[person], 1 / len(slow.people(records, persons)))
    before = risk["prosecutor"]["before"]
    assert before["maximum"] == pytest.approx(max(worst.values()))
    assert before["average"] == pytest.approx(sum(worst.values()) / distinct)
    assert risk["uniqueness"]["before"] == pytest.approx(sum(w == 1 for w in worst.values()) / distinct)
    guessed = risk["attribute_disclosure"][0]["after"]["maximum"]
    expected = max(
        len(who) / len(slow.people(records, persons))
        for records in slow.classes(shown)
        for who in slow.having(records, persons, ills).values()
    )
    assert guessed == pytest.approx(expected)


def test_a_release_that_counts_records_gives_people_away():
    """Ten records of two people: k = 5 records is kept, and each person is found with a chance of 1/2."""
    persons, ages = ["a"] * 5 + ["b"] * 5 + list("cdefghijkl"), [1] * 10 + [8] * 10
    by_records = released(persons, ages, ["x"] * 20, k=5, person=None, identifiers=["patient"])
    by_people = released(persons, ages, ["x"] * 20, k=5)
    of_records = [len(slow.people(r, persons)) for r in slow.classes(by_records.arrow["age"].to_pylist())]
    of_people = [len(slow.people(r, persons)) for r in slow.classes(by_people.arrow["age"].to_pylist())]
    assert sorted(of_records) == [2, 10]
    assert min(of_people) == by_people.verdict.people.smallest_class >= 5
    assert by_people.risk()["linkage"]["before"]["maximum"] == 1 / 2


def test_the_attack_finds_a_person_by_any_record_that_fits():
    release = released([1, 1, 2, 3], [0, 1, 0, 1], list("xyzx"), k=3)
    found = release.risk()["linkage"]
    assert found["targets"] == 3
    assert found["after"]["maximum"] == 1 / 3
    assert "somebody with a record that fits" in found["sentence"]


def test_one_person_may_have_most_records_of_a_class():
    release = released([1] * 8 + [2, 3], [0] * 10, ["x"] * 10, k=3)
    assert release.risk()["dominance"]["after"] == pytest.approx(0.8)
    assert "80 %" in release.risk()["dominance"]["sentence"]


def test_withheld_records_are_in_no_class():
    persons = [*range(8), 8, 8, 8]
    ages = np.array([0] * 8 + [9] * 3)
    options = {"algorithm": "full-domain", "suppression": 0.3, "suppressed": "drop"}
    release = released(persons, ages, ["x"] * 11, k=4, **options)
    risk = release.risk()
    assert release.verdict.withheld == 3
    assert risk["prosecutor"]["after"]["maximum"] == 1 / 8
    assert risk["dominance"]["after"] == 1 / 8
