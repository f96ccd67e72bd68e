"""l-diversity in its four kinds, against the definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition.class_tables import class_tables, counts_of
from by_definition.models import distinct, entropy_reaches, frequency, recursive
from kohort.errors import InputError
from kohort.problem.promises import ClassCounts, LDiversity, exact

ls = st.fractions(min_value=1, max_value=6, max_denominator=6)


@given(class_tables, ls)
def test_frequency(classes, l):  # noqa: E741
    model, counts = LDiversity("s", l), counts_of(classes)
    assert model.holds(counts).tolist() == [frequency(cells) >= l for cells in classes]


@given(class_tables, ls)
def test_distinct(classes, l):  # noqa: E741
    model, counts = LDiversity("s", l, kind="distinct"), counts_of(classes)
    assert model.holds(counts).tolist() == [distinct(cells) >= l for cells in classes]


@given(class_tables, ls)
def test_entropy(classes, l):  # noqa: E741
    model, counts = LDiversity("s", l, kind="entropy"), counts_of(classes)
    assert model.holds(counts).tolist() == [entropy_reaches(cells, l) for cells in classes]


@given(class_tables, st.integers(2, 5), st.fractions(min_value="1/8", max_value=5, max_denominator=8))
def test_recursive(classes, l, c):  # noqa: E741
    model, counts = LDiversity("s", l, kind="recursive", c=c), counts_of(classes)
    assert model.holds(counts).tolist() == [recursive(cells, l) < c for cells in classes]


@pytest.mark.parametrize(
    ("cells", "kind", "just"),
    [
        ([3, 3, 3], "frequency", 3),
        ([3, 1, 5, 1], "frequency", 2),
        ([10, 7], "frequency", 1.7),
        ([2, 2], "entropy", 2),
        ([1, 1, 1, 1], "entropy", 4),
        ([7] * 10, "entropy", 10),
        ([4, 4, 0, 8], "entropy", None),
        ([1, 2, 3], "distinct", 3),
    ],
)
def test_exactly_at_the_bound(cells, kind, just):
    counts = counts_of([cells])
    if just is None:  # the entropy of 1/4, 1/4, 1/2 is log(2 * sqrt 2): never exactly a fraction
        assert LDiversity("s", "2.82842712474", kind).holds(counts).all()
        assert not LDiversity("s", "2.82842712475", kind).holds(counts).any()
        return
    assert LDiversity("s", just, kind).holds(counts).all()
    assert not LDiversity("s", Fraction(str(just)) + Fraction(1, 10**30), kind).holds(counts).any()


def test_recursive_is_strict():
    counts = counts_of([[2, 1, 1]])
    assert not LDiversity("s", 2, "recursive", c=1).holds(counts).any()
    assert LDiversity("s", 2, "recursive", c="1.0000000000000000001").holds(counts).all()


def test_a_nearly_even_class_of_a_billion_records_has_less_than_two():
    counts = ClassCounts.from_cells([0, 0], [0, 1], [500_000_001, 499_999_999], 1, 2)
    assert not LDiversity("s", 2, "entropy").holds(counts).any()
    assert LDiversity("s", "1.99999999999", "entropy").holds(counts).all()


def test_many_classes_at_the_bound_are_decided_by_kind_of_class():
    counts = ClassCounts.from_cells(
        np.repeat(np.arange(500), 2), np.tile([0, 1], 500), np.full(1000, 2), 500, 2
    )
    assert LDiversity("s", 2, "entropy").holds(counts).all()


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(-6, 6)), max_size=5))
def test_product_at_least_one(powers):
    product = math.prod((Fraction(base) ** exponent for base, exponent in powers), start=Fraction(1))
    assert exact.product_at_least_one(powers) == (product >= 1)


def test_nearly_one_is_told_from_one_whatever_the_digits_it_takes():
    large = 10**60
    assert exact.product_at_least_one([(large + 1, 1), (large, -1)])
    assert not exact.product_at_least_one([(large, 1), (large + 1, -1)])


@given(class_tables, ls)
def test_integers_beyond_64_bits_decide_alike(classes, l):  # noqa: E741
    counts = counts_of(classes)
    far = Fraction(l) + Fraction(1, 10**25)
    assert LDiversity("s", far).holds(counts).tolist() == [frequency(cells) >= far for cells in classes]


def test_words():
    assert LDiversity("x", 2.5).describe().endswith("value of 'x' makes up at most 0.4")
    assert LDiversity("x", 3, "distinct").describe() == "every class has at least 3 different values of 'x'"
    assert LDiversity("x", 3, "entropy").describe() == "in every class the entropy of 'x' is at least log(3)"
    assert LDiversity("x", 3, "recursive", 2).describe() == (
        "in every class the most frequent value of 'x' occurs less than 2 times as often as all values but "
        "the 2 most frequent together"
    )
    assert LDiversity("x", 3, "recursive", 0.5).asked == Fraction(1, 2)
    assert LDiversity("x", 3).asked == 3


def test_refusal():
    whole = counts_of([[31, 29, 20, 20]])
    assert LDiversity("x", 3).refusal(whole) is None
    assert LDiversity("x", 9).refusal(whole) == (
        "l = 9 is impossible: the most frequent value of 'x' makes up 0.31 of all records, "
        "so l can be at most 3.22"
    )
    assert LDiversity("x", 5, "distinct").refusal(whole) == (
        "l = 5 is impossible: 'x' has 4 different values in the whole table, so l can be at most 4"
    )
    assert LDiversity("x", 4, "entropy").refusal(whole).endswith("l can be at most 3.91")
    assert LDiversity("x", 3, "recursive", 0.5).refusal(whole).endswith("c must be above 0.775")
    assert LDiversity("x", 5, "recursive", 2).refusal(whole).endswith("so l can be at most 4")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", 0), r"The 'l' parameter of LDiversity must be a number >= 1\. Got 0\."),
        (("x", "many"), r"must be a number >= 1\. Got 'many' \(text\)\."),
        (("x", float("nan")), r"must be a number >= 1\. Got nan\."),
        (("x", True), "Got True"),
        (("x", 3, "often"), "must be one of: frequency, distinct, entropy, recursive. Got 'often'"),
        (("x", 2.5, "recursive", 1), "'l' parameter of LDiversity must be an integer >= 2"),
        (("x", 3, "recursive"), "'c' parameter of LDiversity must be a number > 0. Got None"),
        (("x", 3, "recursive", 0), "'c' parameter of LDiversity must be a number > 0. Got 0"),
        (("x", 3, "entropy", 1), "for kind='recursive' only"),
        (("", 3), "'attribute' parameter of LDiversity must name a column"),
    ],
)
def test_wrong_parameters(arguments, message):
    with pytest.raises(InputError, match=message):
        LDiversity(*arguments)
