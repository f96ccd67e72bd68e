"""Automatic attempts to find people: each as by definition, with a seed, and leaks are found."""

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from by_definition.criteria import fitting_records
from kohort.risk.intruders import automatic_attempts, intruder_facts

QUASI = {"age": ko.intervals(5, 10), "town": None}


def released(n=60, k=4, **asked):
    rng = np.random.default_rng(2)
    table = pa.table(
        {
            "age": rng.integers(20, 50, n),
            "town": rng.choice(["a", "b", "c"], n),
            "visits": [i if i < 8 else 0 for i in range(n)],
        }
    )
    options = {"quasi_identifiers": QUASI, "insensitive": ["visits"], "k": k, "algorithm": "mondrian"}
    return ko.anonymize(table, **(options | asked))


def test_every_attempt_is_as_by_definition():
    release = released()
    attributes = {a.name: a for a in release.problem.attributes}
    published, rows = release.arrow.to_pylist(), release.original_rows.tolist()
    attempts = automatic_attempts(release, targets=60)
    assert len(attempts) == 60 and len({a.method for a in attempts}) == 3
    for attempt in attempts:
        person = attempt.original - 1
        known = {
            name: attributes[name].column.texts[attributes[name].column.codes[person]]
            for name in attempt.known
            if name in attributes
        }
        fits = fitting_records(known, published, attributes)
        if "visits" in attempt.known:
            fits = [r for r in fits if published[r]["visits"] == (person if person < 8 else 0)]
        assert attempt.candidates == len(fits)
        assert attempt.suspected == (len(fits) == 1)
        assert attempt.confirmed == ([rows[r] for r in fits] == [person])


def test_a_leak_is_confirmed_and_nothing_else():
    facts = intruder_facts(automatic_attempts(released()), seed=0)
    by = {entry["method"]: entry for entry in facts["by_method"]}
    assert by["all quasi-identifiers"]["suspected"] == by["some quasi-identifiers"]["suspected"] == 0
    assert by["all quasi-identifiers"]["fewest_candidates"] >= 4
    assert by["all quasi-identifiers and other columns"]["confirmed"] > 0
    assert facts["sentence"] == (
        f"Automatic attempts: 60 people looked for, {facts['suspected']} suspected, "
        f"{facts['confirmed']} confirmed. By quasi-identifiers alone, 0 of 40 were found."
    )


def test_the_same_seed_looks_for_the_same_people():
    release = released()
    one, other = (automatic_attempts(release, targets=20, seed=3) for _ in range(2))
    assert one == other != automatic_attempts(release, targets=20, seed=4)


@pytest.mark.parametrize("targets", [1, 7])
def test_few_targets(targets):
    assert len(automatic_attempts(released(), targets=targets)) == targets


def test_people_are_counted_where_they_have_several_records():
    table = pa.table(
        {"town": ["a", "a", "a", "b", "b", "b"], "who": [1, 1, 2, 3, 4, 4], "note": list("xxyzvv")}
    )
    release = ko.anonymize(table, quasi_identifiers=["town"], insensitive=["note"], person="who", k=2,
                           algorithm="mondrian")  # fmt: skip
    attempts = automatic_attempts(release, targets=6)
    for attempt in attempts:
        person = attempt.original - 1
        same = [r for r in range(6) if table["town"][r] == table["town"][person]]
        if "note" in attempt.known:
            same = [r for r in same if table["note"][r] == table["note"][person]]
        assert attempt.candidates == len({table["who"][r].as_py() for r in same})
    found = [attempt for attempt in attempts if "note" in attempt.known]
    assert found and all(attempt.confirmed for attempt in found)
