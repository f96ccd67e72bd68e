"""The three criteria: judged as by definition; planted leaks are found, and nothing in a safe table."""

from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.criteria import (
    best_values,
    fitting_originals,
    fitting_records,
    link_shares,
    naive_bayes,
    nearest,
)
from kohort.risk.criteria import (
    _independent,
    guess_from_others,
    guess_from_records,
    matches,
    rarest_predicates,
    three_criteria,
)
from kohort.risk.intruders import near_numbers, nearest_facts
from kohort.risk.seen import of_original, of_release, other_columns

QUASI = {"age": ko.intervals(5, 10), "town": None, "sex": None}
ROWS = st.lists(
    st.tuples(st.integers(20, 39), st.sampled_from("abc"), st.sampled_from("fm"), st.sampled_from("xyz")),
    min_size=4,
    max_size=14,
)


def table_of(rows):
    ages, towns, sexes, ills = zip(*rows)
    return pa.table({"age": ages, "town": towns, "sex": sexes, "ill": ills})


def small_release(rows, **asked):
    options = {"quasi_identifiers": QUASI, "sensitive": ["ill"], "k": 2, "shuffle": False} | asked
    return ko.anonymize(table_of(rows), algorithm="mondrian", **options)


def texts_of(release):
    attributes = {a.name: a for a in release.problem.attributes}
    columns = {a.name: a.column for a in attributes.values()}
    columns["ill"] = release.dataset.column("ill")
    originals = [
        {name: c.texts[c.codes[r]] for name, c in columns.items()} for r in range(release.dataset.n_records)
    ]
    return attributes, originals, release.arrow.to_pylist()


@given(rows=ROWS, seed=st.integers(0, 9), labels=st.sampled_from(["hierarchy", "tight"]))
def test_predicates_are_the_rarest_and_counted_as_by_definition(rows, seed, labels):
    release = small_release(rows, labels=labels)
    attributes, originals, published = texts_of(release)
    sides = release.sides
    table = of_release(sides).beside(other_columns(release))
    rng = np.random.default_rng(seed)
    rarest, predicates = rarest_predicates(table, 30, rng)
    predicates += [_independent(table, chosen, rng) for chosen, _ in predicates[:5]]
    found = matches(table, predicates)
    texts = {c.name: c.texts for c in sides.labels} | {"ill": release.dataset.column("ill").texts}
    for number, (chosen, row) in enumerate(predicates):
        predicate = {table.names[c]: texts[table.names[c]][code] for c, code in zip(chosen, row)}
        assert found[number] == len(fitting_originals(predicate, originals, attributes))
        if number < len(predicates) - 5:
            alike = [r for r in published if all(r[name] == label for name, label in predicate.items())]
            assert len(alike) == rarest
    persons = np.arange(len(rows)) // 2
    of_people = matches(replace(table, persons=persons), predicates)
    for number, (chosen, row) in enumerate(predicates):
        predicate = {table.names[c]: texts[table.names[c]][code] for c, code in zip(chosen, row)}
        assert of_people[number] == len({r // 2 for r in fitting_originals(predicate, originals, attributes)})
    whole = [tuple(r.values()) for r in published]
    assert rarest <= min(whole.count(row) for row in whole)


@given(rows=ROWS, labels=st.sampled_from(["hierarchy", "tight"]))
def test_parts_of_people_are_looked_up_as_by_definition(rows, labels):
    release = small_release(rows, labels=labels)
    attributes, originals, published = texts_of(release)
    table, sides = of_release(release.sides), release.sides
    classes = table.classes
    people = np.arange(len(rows))
    one, other = (np.concatenate([fits for _, fits in table.fitting(part, people)]) for part in ([0], [1, 2]))
    sizes = classes.sizes
    for t, without in product(range(len(rows)), (False, True)):
        known = [{name: o[name] for name in ("age",)} for o in originals][t]
        parts = [{name: o[name] for name in ("town", "sex")} for o in originals]
        own = classes.of_record[t]
        both = (other & one[t]) @ sizes - (without & other[:, own] & one[t, own])
        every = other @ sizes - (without & other[:, own])
        share = np.where(every > 0, both / np.maximum(every, 1), 0.0)
        expected = link_shares(known, parts, published, attributes, without=t if without else None)
        assert share.tolist() == pytest.approx(expected)
    assert sides.published_of.tolist() == people.tolist()


@given(rows=ROWS, seed=st.integers(0, 9))
def test_guesses_are_the_most_frequent_value_of_those_who_fit(rows, seed):
    release = small_release(rows)
    attributes, originals, published = texts_of(release)
    column = release.sides.sensitive[0]
    fitting = of_release(release.sides).records_that_fit(np.arange(len(rows)))
    guesses = guess_from_records(fitting, column.codes, len(column.texts), np.random.default_rng(seed))
    values = [o["ill"] for o in originals]
    for t, o in enumerate(originals):
        known = {name: o[name] for name in QUASI}
        best = best_values(known, published, attributes, values)
        assert column.texts[guesses.value[t]] in best
        fits = fitting_records(known, published, attributes)
        assert sorted(fitting[t].tolist()) == fits
        assert guesses.certain[t] == (len({values[r] for r in fits}) == 1)


@given(rows=ROWS, seed=st.integers(0, 9))
def test_the_control_group_never_sees_the_targets(rows, seed):
    release = small_release(rows)
    column = release.sides.sensitive[0]
    known = [a.column.codes for a in release.sides.attributes]
    targets, everybody = np.arange(0, len(rows), 2), np.arange(len(rows))
    guess = guess_from_others(known, column, targets, np.random.default_rng(seed), everybody)
    changed = column.codes.copy()
    changed[targets] = (changed[targets] + 1) % len(column.texts)
    other = type(column)(column.name, column.kind, changed, column.texts, column.numbers)
    again = guess_from_others(known, other, targets, np.random.default_rng(seed), everybody)
    assert again.tolist() == guess.tolist()
    persons = np.arange(len(rows)) // 3
    mine = np.isin(persons, persons[targets[:1]])
    changed = np.where(mine, (column.codes + 1) % len(column.texts), column.codes)
    other = type(column)(column.name, column.kind, changed, column.texts, column.numbers)
    if not mine.all():
        pair = [
            guess_from_others(known, c, targets[:1], np.random.default_rng(seed), persons).tolist()
            for c in (column, other)
        ]
        assert pair[0] == pair[1]
    others = np.random.default_rng(seed).permutation(np.setdiff1d(np.arange(len(rows)), targets))
    half = len(others) // 2
    lessons, third = others[: -half or None], others[len(others) - half :]
    widths = [int(codes.max()) + 1 for codes in known]

    def likely(person):
        return naive_bayes(known, lessons, column.codes, person, len(column.texts), widths)

    usual = int(np.argmax(np.bincount(column.codes[lessons])))
    learnt = sum(np.argmax(likely(p)) == column.codes[p] for p in third)
    if half and learnt <= (column.codes[third] == usual).sum():
        assert set(guess.tolist()) == {usual}
    else:
        for person, value in zip(targets, guess):
            scores = likely(person)
            assert scores[value] == pytest.approx(max(scores))


def spread_out(n=2000):
    """A safe table: large classes, and the sensitive values in each as in the whole table."""
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "age": rng.choice([20, 30], n),
            "town": rng.choice(["a", "b"], n),
            "sex": rng.choice(["f", "m"], n),
            "ill": np.resize(["x", "y", "z", "z"], n)[rng.permutation(n)],
        }
    )


def test_nothing_beyond_chance_is_found_in_a_safe_table():
    release = ko.anonymize(
        spread_out(), quasi_identifiers=QUASI, sensitive=["ill"], k=100, algorithm="mondrian"
    )
    for seed in range(3):
        found = three_criteria(release, seed=seed)
        attacks = [entry["after"] for entry in found["singling_out"]]
        attacks += [found["linkability"]["after"], *(entry["after"] for entry in found["inference"])]
        assert not any(attack["beyond_chance"] for attack in attacks)
        assert found["singling_out"][0]["after"]["attack"]["hits"] == 0


def test_a_planted_unique_record_is_singled_out():
    table = spread_out()
    notes = np.array(["usual"] * table.num_rows, dtype=object)
    notes[7:47] = [f"only {i}" for i in range(40)]  # an insensitive column gives forty people away
    release = ko.anonymize(
        table.append_column("note", pa.array(notes)), quasi_identifiers=QUASI, sensitive=["ill"],
        insensitive=["note"], k=100, algorithm="mondrian",
    )  # fmt: skip
    by_quasi, by_all = three_criteria(release)["singling_out"]
    assert not by_quasi["after"]["beyond_chance"]
    assert by_all["after"]["beyond_chance"] and by_all["after"]["rarest"] == 1
    assert by_all["after"]["attack"]["rate"] == 1 and "more than chance explains" in by_all["sentence"]


def test_a_class_with_one_sensitive_value_is_inferred():
    table = spread_out()
    ills = np.where(np.array(table["age"]) == 20, "w", np.array(table["ill"].to_pylist()))
    leaking = table.set_column(3, "ill", pa.array(ills))
    release = ko.anonymize(
        leaking, quasi_identifiers=["town"], sensitive=["ill"], others="drop", k=100, algorithm="mondrian"
    )
    [safe] = three_criteria(release)["inference"]
    assert not safe["after"]["beyond_chance"]
    # the same leak, in a column of codes about which other people say nothing
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(400), 5)
    codes = pa.table({"who": group, "ill": rng.choice(list("abcdefgh"), 400)[group]})
    release = ko.anonymize(
        codes, quasi_identifiers={"who": None}, sensitive=["ill"], k=5, algorithm="mondrian"
    )
    [found] = three_criteria(release, targets=1500)["inference"]
    assert found["after"]["attack"]["rate"] == 1 and found["after"]["beyond_chance"]
    assert found["after"]["certain_and_right"] == 1500
    assert {entry["value"] for entry in found["by_value"]} <= set("abcdefgh")


def test_people_who_are_unique_are_linked_in_the_original_only():
    rng = np.random.default_rng(3)
    table = pa.table({name: rng.integers(0, 40, 600) for name in "abcd"})
    release = ko.anonymize(table, quasi_identifiers=list("abcd"), k=50, algorithm="mondrian")
    found = three_criteria(release)["linkability"]
    assert found["before"]["beyond_chance"] and found["before"]["attack"]["rate"] > 0.9
    assert found["after"]["attack"]["rate"] < 0.5
    assert found["before"]["control"]["rate"] < 0.3


def test_the_control_group_of_linking_has_no_record_of_the_person():
    rng = np.random.default_rng(8)
    each = rng.integers(0, 1000, (150, 4))
    table = pa.table({name: np.repeat(each[:, c], 2) for c, name in enumerate("abcd")})
    table = table.append_column("who", pa.array(np.repeat(np.arange(150), 2)))
    asked = {"quasi_identifiers": list("abcd"), "person": "who", "k": 50, "algorithm": "mondrian"}
    found = three_criteria(ko.anonymize(table, **asked), targets=200)["linkability"]["before"]
    assert found["attack"]["rate"] == 1 and found["control"]["rate"] < 0.3
    sides = ko.anonymize(table, **asked).sides
    for r in (0, 1, 299):
        classes = of_release(sides).own_classes(r)
        same = np.flatnonzero(sides.units.of(sides.rows) == sides.units.persons[r])
        assert sorted(classes) == sorted(sides.after.of_record[same])


@given(
    points=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12),
    shift=st.tuples(st.integers(-2, 2), st.integers(-2, 2)),
    groups=st.lists(st.integers(0, 1), min_size=12, max_size=12),
)
def test_the_nearest_record_is_found_as_by_definition(points, shift, groups):
    records = np.array(points, dtype=float)
    moved, own, of_class = records + np.array(shift), np.arange(len(points)), np.array(groups[: len(points)])
    for classes in (np.zeros(len(points), dtype=int), of_class):
        found = nearest_facts(moved, records, own, classes)
        near = []
        for t in own:
            same = [r for r in own if classes[r] == classes[t]]
            near.append([same[place] for place in nearest(moved[t], records[same])])
        assert found["nearest"] == sum(t in some for t, some in zip(own, near))
        assert found["nearest_alone"] == sum(some == [t] for t, some in zip(own, near))
        expected = sum(1 / len(some) for t, some in zip(own, near) if t in some)
        assert found["expected_hits"] == pytest.approx(expected)


def test_a_copied_rare_number_is_found():
    table = spread_out(400)
    same = table.append_column("income", pa.array([1000, 2000, 3000, 4000] * 100))
    rare = table.append_column("income", pa.array([10_000 + 37 * i for i in range(400)]))
    asked = {"quasi_identifiers": QUASI, "sensitive": ["ill"], "k": 20, "algorithm": "mondrian"}
    safe = near_numbers(ko.anonymize(same, insensitive=["income"], **asked))
    leak = near_numbers(ko.anonymize(rare, insensitive=["income"], **asked))
    assert safe["exactly"]["rate"] == 0 and leak["exactly"]["rate"] == 1
    assert leak["exactly_in_class"]["rate"] == 1 > leak["roughly"]["rate"]
    assert leak["roughly_in_class"]["rate"] >= leak["roughly"]["rate"]
    assert near_numbers(ko.anonymize(table, **asked)) is None


def test_the_same_seed_gives_the_same_facts():
    asked = {"quasi_identifiers": QUASI, "sensitive": ["ill"], "k": 5, "algorithm": "mondrian"}
    release = ko.anonymize(spread_out(300), **asked)
    assert three_criteria(release, seed=4, targets=50) == three_criteria(release, seed=4, targets=50)
    assert of_original(release.sides).rows.tolist() == list(range(300))
