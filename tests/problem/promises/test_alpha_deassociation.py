"""alpha-deassociation: the paper's examples, the definitions, and what can be had under the ceiling."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition.class_tables import class_tables, counts_of, shares
from by_definition.models import deassociated, most_sensitive
from kohort.errors import InputError, InternalError
from kohort.problem.promises import (
    AlphaDeassociation,
    ClassCounts,
    KAnonymity,
    ValueContext,
    largest_feasible_sensitive,
)

ILLNESS = ["HIV", "HIV", "flu", "fever", "flu", "fever"]
LABELS = ("HIV", "fever", "flu")
CLASSES = {  # of the six records in Tables 1 to 4
    "Table 1": [0, 1, 2, 2, 3, 3],
    "Table 2": [0, 0, 1, 1, 2, 2],
    "Table 3": [0, 1, 2, 2, 1, 0],
    "Table 4": [0, 0, 1, 1, 0, 0],
}


def counts_of_table(table):
    class_of = CLASSES[table]
    codes = [LABELS.index(illness) for illness in ILLNESS]
    return ClassCounts.from_records(class_of, codes, max(class_of) + 1, len(LABELS))


@pytest.mark.parametrize(
    ("table", "two_anonymous", "hiv", "every_illness"),
    [
        ("Table 1", False, False, False),
        ("Table 2", True, False, False),
        ("Table 3", True, True, True),
        ("Table 4", True, True, True),
    ],
)
def test_tables_of_the_paper(table, two_anonymous, hiv, every_illness):
    counts, context = counts_of_table(table), ValueContext(labels=LABELS)
    assert KAnonymity(2).holds(counts).all() == two_anonymous
    assert AlphaDeassociation("Illness", 0.5, ["HIV"]).holds(counts, context).all() == hiv
    assert AlphaDeassociation("Illness", 0.5).holds(counts, context).all() == every_illness


@given(
    class_tables,
    shares.filter(bool),
    st.none() | st.sets(st.integers(0, 5), min_size=1),
    st.booleans(),
    st.sampled_from(["none", "ceiling"]),
)
def test_definition(classes, alpha, listed, combine, rounding):
    m = len(classes[0])
    values = None if listed is None else [f"v{value}" for value in sorted(listed)]
    model = AlphaDeassociation("s", alpha, values, combine, rounding)
    known = [value for value in range(m) if listed is None or value in listed]
    groups = [known] if listed and combine else [[value] for value in known]
    context, counts = ValueContext(labels=tuple(f"v{value}" for value in range(m))), counts_of(classes)
    expected = [deassociated(cells, groups, alpha, rounding) for cells in classes]
    assert model.holds(counts, context).tolist() == expected
    unknown = sum(v >= m for v in listed or ())
    assert [note.split()[0] for note in model.notes(context)] == [str(unknown)] * bool(unknown)


@pytest.mark.parametrize(
    ("cells", "alpha"),
    [([1, 1, 1], "1/3"), ([1, 1, 1], Fraction(1, 3)), ([1] * 10, 0.1), ([3, 7], 0.7), ([29, 71], 0.71)],
)
def test_exactly_at_the_bound(cells, alpha):
    counts = counts_of([cells])
    assert AlphaDeassociation("s", alpha).holds(counts).all()
    below = Fraction(alpha if isinstance(alpha, Fraction) else str(alpha)) - Fraction(1, 10**30)
    assert not AlphaDeassociation("s", below).holds(counts).any()


def test_ceiling_allows_one_of_two():
    counts = counts_of([[1, 1]])
    assert not AlphaDeassociation("s", 0.1).holds(counts).any()
    assert AlphaDeassociation("s", 0.1, rounding="ceiling").holds(counts).all()


def test_under_the_ceiling_a_union_of_valid_classes_may_fail():
    model = AlphaDeassociation("s", 0.5, ["c"], rounding="ceiling")
    context = ValueContext(labels=("c", "n"))
    assert model.holds(counts_of([[2, 1], [2, 1]]), context).all()
    assert not model.holds(counts_of([[4, 2]]), context).any()
    assert not model.survives_unions
    assert AlphaDeassociation("s", 0.5).survives_unions


def test_equal_labels_are_all_sensitive():
    context = ValueContext(labels=("1", "1", None))
    for value in (1, None):
        for alpha, kept in ((0.5, True), (0.49, False)):
            model = AlphaDeassociation("s", alpha, [value])
            assert model.holds(counts_of([[1, 1, 2]]), context).all() == kept


def test_listed_values_without_labels_never_pass_unseen():
    with pytest.raises(InternalError, match="labels of 's' are needed"):
        AlphaDeassociation("s", 0.5, ["HIV"]).holds(counts_of([[1, 1]]))


@given(st.integers(0, 22), st.integers(1, 7), shares.filter(bool))
def test_largest_feasible_sensitive(n, k, alpha):
    assert largest_feasible_sensitive(n, k, alpha) == most_sensitive(n, k, alpha)


@given(st.integers(1, 5), shares.filter(bool))
def test_classes_set_aside_lose_nothing(k, alpha):
    room = [0] + [-1] * 300  # the plain recursion of the reading notes, far beyond the range of the twin
    for n in range(k, 301):
        fits = [size for size in range(k, n + 1) if room[n - size] >= 0]
        room[n] = max(-(-alpha.numerator * size // alpha.denominator) + room[n - size] for size in fits)
    for n in range(k, 301, 7):
        assert largest_feasible_sensitive(n, k, alpha) == room[n]


def test_a_million_records_do_best_in_classes_of_61():
    most = largest_feasible_sensitive(1_000_000, 50, Fraction("0.05"))
    assert 4 * (1_000_000 // 61) <= most <= Fraction(4, 61) * 1_000_000


def test_refusal():
    whole, context = counts_of([[31, 69]]), ValueContext(labels=("HIV", "flu"))
    assert AlphaDeassociation("x", 0.31, ["HIV"]).refusal(whole, context) is None
    assert AlphaDeassociation("x", 0.3, ["HIV"]).refusal(whole, context) == (
        "alpha = 0.3 is impossible: the listed values make up 0.31 of 'x' in the whole table, "
        "so alpha must be at least 0.31"
    )
    separately = AlphaDeassociation("x", 0.3, ["HIV", "flu"], combine=False).refusal(whole, context)
    assert "a listed value makes up 0.69" in separately
    assert "the most frequent value makes up 0.69" in AlphaDeassociation("x", 0.3).refusal(whole, context)
    assert "flu" not in AlphaDeassociation("x", 0.3).refusal(whole, context)


def test_refusal_under_the_ceiling_knows_k():
    model = AlphaDeassociation("x", 0.5, ["c"], rounding="ceiling")
    whole, context = counts_of([[4, 2]]), ValueContext(labels=("c", "n"))
    assert model.refusal(whole, context, k=3) is None
    assert model.refusal(whole, context) is None
    assert model.refusal(whole, context, k=4).endswith("alpha must be at least 0.667, or k must be below 4")
    assert model.refusal(counts_of([[3, 3]]), context, k=4) is None


def test_words():
    assert (
        AlphaDeassociation("x", "1/3").describe() == "in every class each value makes up at most 1/3 of 'x'"
    )
    both = AlphaDeassociation("x", 0.5, ["a", "b"], rounding="ceiling").describe()
    assert both == "in every class 'a', 'b' together make up at most 0.5 of 'x', rounded up to whole records"
    apart = AlphaDeassociation("x", 0.5, ["a", "b"], combine=False).describe()
    assert apart == "in every class each of 'a', 'b' makes up at most 0.5 of 'x'"


def test_a_text_is_one_value_and_values_are_listed_once():
    assert AlphaDeassociation("x", 1, "HIV").values == ("HIV",)
    assert AlphaDeassociation("x", 1, ["a", "b", "a"]).values == ("a", "b")
    assert (
        AlphaDeassociation("x", 0.5)
        == AlphaDeassociation("x", "1/2")
        == AlphaDeassociation("x", np.float64(0.5))
    )


@pytest.mark.parametrize("alpha", [0, -0.1, 1.5, "half", None, "1/0", float("inf")])
def test_wrong_alpha(alpha):
    with pytest.raises(
        InputError, match=r"'alpha' parameter of AlphaDeassociation must be a number > 0 and <= 1"
    ):
        AlphaDeassociation("x", alpha)


def test_wrong_options():
    with pytest.raises(InputError, match=r"must be one of: none, ceiling\. Got 'floor'"):
        AlphaDeassociation("x", 0.5, rounding="floor")
    with pytest.raises(InputError, match="'values' parameter of AlphaDeassociation must list a value"):
        AlphaDeassociation("x", 0.5, values=[])
