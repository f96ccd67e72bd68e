"""delta-disclosure and beta-likeness: by definition, at the limit, and with huge numbers."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition.class_tables import class_tables, context_of, counts_of
from by_definition.models import disclosure_within, likeness_within
from kohort.errors import InputError, InternalError
from kohort.problem.promises import BetaLikeness, ClassCounts, DeltaDisclosure, exact
from kohort.problem.promises.share_bands import _gain_at_most_log

limits = st.fractions(min_value=Fraction(1, 8), max_value=4, max_denominator=8)


@given(class_tables, limits)
def test_disclosure_is_by_definition(classes, delta):
    context, counts = context_of(classes), counts_of(classes)
    model, overall = DeltaDisclosure("s", delta), context.overall.tolist()
    expected = [disclosure_within(cells, overall, delta) for cells in classes]
    assert model.holds(counts, context).tolist() == expected


@given(class_tables, limits, st.sampled_from(["basic", "enhanced"]))
def test_likeness_is_by_definition(classes, beta, kind):
    context, counts = context_of(classes), counts_of(classes)
    model, overall = BetaLikeness("s", beta, kind), context.overall.tolist()
    expected = [likeness_within(cells, overall, beta, kind) for cells in classes]
    assert model.holds(counts, context).tolist() == expected


@pytest.mark.parametrize(
    "model", [DeltaDisclosure("s", 1), BetaLikeness("s", 1), BetaLikeness("s", 1, "enhanced")]
)
@given(classes=class_tables)
def test_integers_beyond_64_bits_change_nothing(model, classes):
    context, counts = context_of(classes), counts_of(classes)
    expected = model.holds(counts, context).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "INT64_MAX", 3)
        assert model.holds(counts, context).tolist() == expected


def test_disclosure_asks_for_less_than_delta():
    """A share that is exactly twice that of the table, or half of it, lies 1 away: delta must be above 1."""
    context = context_of([[4, 4], [0, 8]])  # shares 1/4 and 3/4
    class_ = counts_of([[2, 2]])  # 1/2 and 1/2
    assert not DeltaDisclosure("s", 1).holds(class_, context).any()
    assert DeltaDisclosure("s", "1.0000000000000000001").holds(class_, context).all()


def test_a_value_that_a_class_lacks_breaks_disclosure_and_not_likeness():
    context, class_ = context_of([[3, 3, 1], [3, 3, 0]]), counts_of([[3, 3, 0]])
    assert not DeltaDisclosure("s", 50).holds(class_, context).any()
    assert BetaLikeness("s", 0.1).holds(class_, context).all()


def test_enhanced_likeness_bounds_frequent_values():
    """A value with a share of a half may gain ln 2 at most: to a share of 0.846."""
    context = context_of([[50, 50]])
    assert BetaLikeness("s", 1, "basic").holds(counts_of([[10, 0]]), context).all()
    assert not BetaLikeness("s", 1, "enhanced").holds(counts_of([[10, 0]]), context).any()
    assert BetaLikeness("s", 1, "enhanced").holds(counts_of([[84, 16]]), context).all()
    assert not BetaLikeness("s", 1, "enhanced").holds(counts_of([[85, 15]]), context).any()
    assert (84 - 50) / 50 < log(2) < (85 - 50) / 50


def test_a_gain_nearer_to_the_logarithm_than_floats_can_tell():
    """Of two fractions that enclose 1 + ln 2, one is below and the other above."""
    below = Fraction("1.693147180559945309417232121458176567")
    assert _gain_at_most_log(below, Fraction(2))
    assert not _gain_at_most_log(below + Fraction(1, 10**30), Fraction(2))
    assert _gain_at_most_log(Fraction(1), Fraction(1))


@pytest.mark.parametrize("model", [DeltaDisclosure("s", 1), BetaLikeness("s", 1)])
def test_the_whole_table_keeps_it_and_another_one_is_refused_with_what_would_do(model):
    assert model.refusal(counts_of([[3, 4]]), context_of([[3, 4]])) is None
    assert "is impossible" in model.refusal(counts_of([[9, 1]]), context_of([[1, 9]]))
    with pytest.raises(InternalError, match="in the whole table are needed"):
        model.holds(counts_of([[1, 1]]))


def test_classes_of_billions_do_not_overflow():
    counts = ClassCounts.from_cells([0, 0], [0, 1], np.array([7, 1]) * 10**9, 1, 2)
    context = context_of([[7 * 10**9, 10**9], [10**9, 7 * 10**9]])
    for beta, delta, kept in (("3/4", 2.01, True), ("0.7499999999", 1.99, False)):
        assert BetaLikeness("s", beta).holds(counts, context).all() == kept
        assert DeltaDisclosure("s", delta).holds(counts, context).all() == kept


@pytest.mark.parametrize("wrong", [0, -1, "a", None, float("nan"), True])
def test_parameters_that_mean_nothing_are_refused(wrong):
    with pytest.raises(InputError, match="'delta' parameter of DeltaDisclosure must be a number > 0"):
        DeltaDisclosure("s", wrong)
    with pytest.raises(InputError, match="'beta' parameter of BetaLikeness must be a number > 0"):
        BetaLikeness("s", wrong)


def test_kinds():
    with pytest.raises(InputError, match="must be one of: basic, enhanced"):
        BetaLikeness("s", 1, "better")
