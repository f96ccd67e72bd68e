"""Figures that contradict each other end in an InternalError, before there is a certificate."""

import math
from dataclasses import replace

import pyarrow as pa
import pytest

import kohort as ko
from kohort.algorithms.graph.forest import Forest
from kohort.algorithms.mondrian.mondrian import Mondrian
from kohort.errors import InternalError
from kohort.verification import checked_bound, checked_guarantee, checked_loss
from kohort.verification.measure import _OF_TABLES

PEOPLE = pa.table({"age": [21, 22, 23, 41, 42, 43], "town": list("aabbcc")})
ASKED = {"quasi_identifiers": {"age": ko.intervals(10, 20), "town": ko.flat()}, "privacy": [ko.KAnonymity(2)]}


def with_result(monkeypatch, algorithm, **changes):
    """Let an algorithm return its groups with other figures."""
    honest = algorithm.solve
    monkeypatch.setattr(algorithm, "solve", lambda *a: replace(honest(*a), **changes))


@pytest.mark.parametrize("bound", [math.nan, math.inf, -1.0, 1_146_322.0, 1.0001])
def test_a_bound_that_cannot_be_right_is_our_bug(monkeypatch, bound):
    with_result(monkeypatch, Mondrian, bound=bound)
    with pytest.raises(InternalError, match="lower bound"):
        ko.anonymize(PEOPLE, algorithm="mondrian", **ASKED)


@pytest.mark.parametrize("guarantee", [math.nan, 0.5, 1.0])
def test_a_guarantee_below_cost_over_bound_is_our_bug(monkeypatch, guarantee):
    with_result(monkeypatch, Forest, guarantee=guarantee, bound=0.001)
    with pytest.raises(InternalError, match="guarante"):
        ko.anonymize(PEOPLE, algorithm="forest", **ASKED)


@pytest.mark.parametrize("measured", [math.nan, math.inf, -0.25])
def test_a_cost_that_cannot_be_right_is_our_bug(monkeypatch, measured):
    monkeypatch.setitem(_OF_TABLES, "ambiguity", lambda table: measured)
    with pytest.raises(InternalError, match="ambiguity"):
        ko.anonymize(PEOPLE, algorithm="mondrian", **ASKED)


def test_rounding_is_no_contradiction():
    assert checked_bound(0.3 + 1e-12, 0.3) == 0.3
    assert checked_bound(-1e-15, 0.3) == 0.0
    assert checked_bound(None, 0.3) is None
    assert checked_guarantee(1.0, 0.3, 0.3 - 1e-12) == 1.0
    assert checked_loss({"entropy": -1e-17}) == {"entropy": -1e-17}


def test_a_factor_may_be_better_than_a_bound_from_elsewhere():
    assert checked_guarantee(6.0, 1.0, None) == 6.0


@pytest.mark.parametrize("algorithm", ["forest", "optimal"])
def test_no_factor_is_claimed_where_missing_values_are_stars(algorithm):
    """Seen: a factor of 1 for a release that costs something where a bound of 0 was proven."""
    table = pa.table({"a": ["x", "x", None, None], "b": ["u", "u", "v", "v"]})
    asked = {"quasi_identifiers": dict.fromkeys("ab", ko.flat()), "privacy": [ko.KAnonymity(2)]}
    starred = ko.anonymize(table, algorithm=algorithm, nulls="star", **asked)
    assert starred.cost > starred.solver_bound
    assert starred.guarantee is None
    assert ko.anonymize(table, algorithm=algorithm, nulls="value", **asked).guarantee == 1.0


def test_the_bound_of_items_is_checked(monkeypatch):
    from kohort.algorithms.items.optimal import OptimalItems

    with_result(monkeypatch, OptimalItems, bound=2.0)
    baskets = pa.table({"items": [["a", "b"], ["a"], ["b", "c"], ["c"]]})
    with pytest.raises(InternalError, match="lower bound"):
        ko.anonymize(
            baskets, items=ko.Items("items", algorithm="optimal-items"), privacy=[ko.KmAnonymity(2, 2)]
        )


@pytest.mark.parametrize("spelled", ["{a, b}", "*"])
def test_no_factor_is_named_where_a_value_may_be_read_as_more_than_itself(spelled):
    """It costs more than the search assumes: with k = 1 nothing is generalized, and yet something is lost."""
    release = ko.anonymize(
        pa.table({"q": ["a", spelled]}),
        quasi_identifiers=["q"],
        privacy=[ko.KAnonymity(1)],
        algorithm="forest",
        labels="tight",
    )
    assert release.guarantee is None
    assert release.cost > release.solver_bound == 0
