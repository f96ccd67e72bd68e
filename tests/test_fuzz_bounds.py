"""The attack on lower bounds with random problems: it draws every kind, and sees a bound that is too high."""

import collections
import random
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent))  # fuzz/ is beside tests/

from fuzz import bounds


@pytest.fixture(scope="module")
def drawn():
    return [problem for seed in range(6) for problem in bounds.draw_problems(random.Random(seed))]


def test_no_bound_is_above_the_least_cost(drawn):
    seen = collections.Counter()
    assert [found for problem in drawn for found in bounds.complaints(problem, seen)] == []
    names = ("boxes", "cells", "prices", "prices that know the model", "nearest records", "sets of columns")
    assert all(seen[f"{name}, above 0"] for name in names)


def test_problems_of_every_kind_are_drawn(drawn):
    assert {problem.cost.name for problem in drawn} >= {"loss", "ncp", "tree", "suppressions"}
    assert {problem.tight for problem in drawn} == {False, True}
    assert {problem.max_withheld > 0 for problem in drawn} == {False, True}
    assert {problem.units.several for problem in drawn} == {False, True}
    assert len({type(model).__name__ for problem in drawn for model in problem.models}) == 4


def test_a_bound_that_is_too_high_is_noticed(drawn, monkeypatch):
    problem = next(p for p in drawn if (bounds.least_cost(p) or 0.0) > 0)
    monkeypatch.setattr(bounds, "bounds", lambda p: [("wrong", bounds.least_cost(p) * 1.001)])
    assert len(bounds.complaints(problem, collections.Counter())) == 1
