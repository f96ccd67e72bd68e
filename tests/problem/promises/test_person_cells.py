"""People in classes: each rule against its definition, and which rules survive unions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition import people as slow
from kohort.problem.promises import PersonCells, ValueContext, spread_overall
from kohort.verification.people import CountedPeople
from kohort.verification.promises import Values, stated

VALUES = "abcd"


@st.composite
def tables(draw, most=12):
    """Classes, persons and values of some records; every class has one."""
    n = draw(st.integers(1, most))
    n_classes = draw(st.integers(1, min(3, n)))
    rest = st.lists(st.integers(0, n_classes - 1), min_size=n - n_classes, max_size=n - n_classes)
    persons = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    values = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return [*range(n_classes), *draw(rest)], persons, values, n_classes


def cells_of(table):
    class_of, persons, values, n_classes = table
    return PersonCells.from_records(np.array(class_of), np.array(persons), np.array(values), n_classes, 4)


def records_of(table):
    return [[i for i, c in enumerate(table[0]) if c == number] for number in range(table[3])]


MODELS = [
    ko.KAnonymity(2),
    ko.LDiversity("ill", 2),
    ko.LDiversity("ill", "4/3"),
    ko.LDiversity("ill", 2, kind="distinct"),
    ko.LDiversity("ill", 2, kind="entropy"),
    ko.LDiversity("ill", "3/2", kind="entropy"),
    ko.LDiversity("ill", 2, kind="recursive", c=2),
    ko.AlphaDeassociation("ill", 0.5),
    ko.AlphaDeassociation("ill", 0.5, values=["a", "b"]),
    ko.AlphaDeassociation("ill", 0.5, values=["a", "b"], combine=False),
    ko.AlphaDeassociation("ill", 0.5, values=["a"], rounding="ceiling"),
    ko.TCloseness("ill", 0.3),
    ko.DeltaDisclosure("ill", 2),
    ko.BetaLikeness("ill", 1),
]


def context_of(table):
    overall = spread_overall(np.array(table[1]), np.array(table[2]), 4)
    return ValueContext(labels=tuple(VALUES), order=np.arange(4), overall=overall)


@given(table=tables())
def test_people_and_values_are_counted_as_defined(table):
    cells, groups = cells_of(table), records_of(table)
    assert cells.people.tolist() == [len(slow.people(records, table[1])) for records in groups]
    having, spread = cells.having(), cells.spread()
    for counts, slowly in ((having, slow.having), (spread, slow.spread)):
        for number, records in enumerate(groups):
            here = counts.class_of == number
            expected = slowly(records, table[1], table[2])
            found = dict(zip(counts.value_of[here].tolist(), counts.count[here].tolist()))
            if counts is having:
                assert found == {value: len(who) for value, who in expected.items()}
            else:
                unit = Fraction(int(counts.sizes[number]), len(slow.people(records, table[1])))
                assert {value: count / unit for value, count in found.items()} == expected


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name} {model.to_dict()}")
@given(table=tables())
def test_every_model_holds_where_its_definition_says_so(model, table):
    context, labels = context_of(table), [VALUES[value] for value in table[2]]
    everybody = list(range(len(labels)))
    expected = [slow.keeps(model, records, table[1], labels, everybody) for records in records_of(table)]
    counts = cells_of(table).counts_for(model, context)
    assert model.holds(counts, context).tolist() == expected
    assert (model.deficit(counts, context) == 0).tolist() == expected


@pytest.mark.parametrize("model", MODELS[1:], ids=lambda model: f"{model.name} {model.to_dict()}")
@given(table=tables())
def test_verification_counts_the_same_by_other_code(model, table):
    class_of, persons, values, n_classes = (np.array(part) for part in table)
    counted = CountedPeople(class_of, persons, int(n_classes))
    context = context_of(table)
    mine, its = (
        cells_of(table).counts_for(model, context),
        counted.counts_for(stated([model])[0], Values(context.labels), values),
    )
    assert counted.in_classes.tolist() == cells_of(table).people.tolist()
    assert mine.class_of.tolist() == its.class_of.tolist()
    assert mine.value_of.tolist() == its.value_of.tolist()
    shares = [(c.count / c.sizes[c.class_of]).tolist() for c in (mine, its)]
    assert shares[0] == pytest.approx(shares[1])


@pytest.mark.parametrize(
    "model", [m for m in MODELS if m.survives_unions_of_people], ids=lambda m: f"{m.name} {m.to_dict()}"
)
@given(table=tables())
def test_what_is_said_to_survive_unions_does(model, table):
    groups, labels = records_of(table), [VALUES[value] for value in table[2]]
    for first in groups:
        for second in groups:
            if first is not second:
                assert slow.survives_union(model, first, second, table[1], labels, list(range(len(labels))))


SAME_TWO = ([0, 1], [2, 3], [1, 2, 1, 2], ["a", "b", "b", "a"])  # of one and the same two people
SHARED = ([0, 1], [2, 3], [1, 2, 1, 3], ["a", "b", "a", "b"])  # one person is in both


@pytest.mark.parametrize(
    ("model", "example"),
    [
        (ko.LDiversity("ill", 2), SAME_TWO),
        (ko.AlphaDeassociation("ill", 0.5, values=["a"]), SAME_TWO),
        (ko.LDiversity("ill", 2, kind="entropy"), SHARED),
        (ko.LDiversity("ill", 2, kind="recursive", c="3/2"), SHARED),
    ],
    ids=["frequency", "alpha", "entropy", "recursive"],
)
def test_shares_of_people_do_not_survive_unions(model, example):
    first, second, persons, values = example
    assert not model.survives_unions_of_people
    assert not slow.survives_union(model, first, second, persons, values, first + second)


def test_closeness_of_people_does_not_survive_unions():
    persons, values = [1, 2, 1, 3, 4, 5], ["a", "b", "a", "b", "a", "a"]
    everybody = list(range(6))  # 5 people: a 1 + 1 + 1, b 1 + 1
    model = ko.TCloseness("ill", "1/10")
    assert not model.survives_unions_of_people
    assert not slow.survives_union(model, [0, 1], [2, 3], persons, values, everybody)


def test_numbers_of_records_without_a_small_common_multiple_are_exact():
    primes = [p for p in range(2, 80) if all(p % q for q in range(2, p))]
    persons = np.repeat(np.arange(len(primes)), primes)
    values = np.zeros(len(persons), dtype=np.int64)
    values[np.cumsum(primes) - 1] = 1  # one record of each person
    counts = PersonCells.from_records(np.zeros(len(persons)), persons, values, 1, 2).spread()
    assert counts.count.dtype == object
    share = Fraction(counts.count[1], counts.sizes[0]) * len(primes)
    assert share == sum(Fraction(1, p) for p in primes)
    context = ValueContext(labels=("a", "b"), order=np.arange(2), overall=spread_overall(persons, values, 2))
    for model in (
        ko.TCloseness("ill", 0),
        ko.TCloseness("ill", 0, distance="ordered"),
        ko.LDiversity("ill", 1, kind="entropy"),
        ko.LDiversity("ill", 2, kind="recursive", c=100),
    ):
        assert model.holds(counts, context).all()
        assert (model.deficit(counts, context) == 0).all()
