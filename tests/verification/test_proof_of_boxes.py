"""Prices over boxes: what verification accepts is what holds by definition, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.cheapest_boxes import dearest_box_by_definition
from kohort.algorithms import Run
from kohort.algorithms.mondrian.mondrian import Mondrian
from kohort.algorithms.proofs.box_bound import box_bound
from kohort.errors import InternalError
from kohort.problem.costs import cost_named
from kohort.problem.proof import BoxProof
from kohort.verification import bounds, check_proof
from kohort.verification.bounds import check_box_proof
from small_problems import box_prices_hold, problem_of, problems


def bounded(problem):
    return replace(problem, cost=problem.cost if problem.cost.metric else cost_named("loss"))


def tight(problem):
    attributes = tuple(replace(attribute, tight=True) for attribute in problem.attributes)
    return replace(
        problem, cost=cost_named("ncp" if problem.cost.name == "ncp" else "loss"), attributes=attributes
    )


def excess_of(problem, price):
    """By how much the mean price of k records exceeds the cost of their box at most, by definition."""
    tables, leaves, of_record = problem.coded.tables, problem.coded.searched_leaves(), problem.rows.of_record
    return max(
        dearest_box_by_definition(tables, leaves, problem.k, record, price[of_record])
        for record in range(len(leaves))
    )


@pytest.mark.parametrize("labels", [bounded, tight])
@given(problem=problems(6), seed=st.integers(0, 100), scale=st.sampled_from([0.05, 0.3, 1.0]))
def test_prices_hold_if_no_records_exceed_the_cost_of_their_box(problem, labels, seed, scale):
    problem = labels(problem)
    price = scale * (np.random.default_rng(seed).random(len(problem.rows.counts)) - 0.1)
    excess = excess_of(problem, price)
    if excess <= 0.0:
        assert box_prices_hold(problem, price)
    if excess > 1e-6:
        assert not box_prices_hold(problem, price)
    assert box_prices_hold(problem, price - max(excess, 0.0))


@pytest.mark.parametrize("labels", [bounded, tight])
@given(problem=problems(8))
def test_what_the_search_proves_is_accepted(problem, labels):
    problem = labels(problem)
    proven = box_bound(problem, Mondrian().solve(problem, Run()), Run())
    if proven.proof is not None:
        assert check_proof(problem, proven.proof, proven.value) == proven.value


def two_columns():
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(0, 30, 150).tolist(), "zip": rng.choice(list("abcdef"), 150).tolist()}
    return tight(problem_of(columns, dict.fromkeys(columns), 4))


def test_prices_and_bounds_that_are_too_high_are_refuted():
    problem = two_columns()
    proven = box_bound(problem, Mondrian().solve(problem, Run()), Run())
    check_proof(problem, proven.proof, proven.value)
    with pytest.raises(InternalError, match="above the sum of the prices"):
        check_proof(problem, proven.proof, proven.value * 1.01)
    prices = proven.proof.prices
    with pytest.raises(InternalError, match="above the cost of their box"):
        check_proof(problem, BoxProof(prices * 1.5), proven.value)
    for wrong in (np.where(np.arange(len(prices)) == 3, np.nan, prices), prices[1:]):
        with pytest.raises(InternalError, match="not a number"):
            check_proof(problem, BoxProof(wrong), proven.value)


def limited(monkeypatch, work):
    monkeypatch.setattr(bounds, "_WORK", work)
    monkeypatch.setattr(bounds, "_WORK_PER_ROW", 0)


def test_of_a_bound_that_takes_too_much_work_only_a_share_is_left(monkeypatch):
    problem = two_columns()
    proven = box_bound(problem, Mondrian().solve(problem, Run()), Run())
    checked = []
    for work in (0, 40_000, 50_000, 60_000, 70_000, 80_000, 90_000, 100_000, 100_000_000):
        limited(monkeypatch, work)
        checked.append(check_proof(problem, proven.proof, proven.value))
    assert checked == sorted(checked)
    assert checked[0] == 0.0 and checked[-1] == proven.value
    assert any(0.0 < share < proven.value for share in checked)


def test_wrong_prices_are_not_accepted_with_little_work(monkeypatch):
    problem = two_columns()
    proven = box_bound(problem, Mondrian().solve(problem, Run()), Run())
    wrong = BoxProof(proven.proof.prices * 10.0)
    for work in (0, 10_000, 1_000_000):
        limited(monkeypatch, work)
        try:
            assert check_proof(problem, wrong, proven.value) == 0.0
        except InternalError:
            assert work


def noted(monkeypatch):
    """What is checked of boxes from now on: the bound, and what was checked of it."""
    notes = []

    def note(problem, proof, bound):
        notes.append((bound, check_box_proof(problem, proof, bound)))
        return notes[-1][-1]

    monkeypatch.setattr(bounds, "check_box_proof", note)
    return notes


def release_with_tight_labels():
    adult = ko.datasets.load_adult().select(["sex", "age", "education"]).slice(0, 300)
    return ko.anonymize(
        adult,
        quasi_identifiers=adult.column_names,
        labels="tight",
        privacy=[ko.KAnonymity(5)],
        algorithm="improve",
    )


def test_a_release_states_no_more_of_its_bound_than_was_checked(monkeypatch):
    notes = noted(monkeypatch)
    limited(monkeypatch, 0)
    release = release_with_tight_labels()
    [(bound, checked)] = notes
    assert release.bound == checked == 0.0 < release.solver_bound == bound


def test_a_release_with_tight_labels_has_a_bound_that_was_checked(monkeypatch):
    notes = noted(monkeypatch)
    release = release_with_tight_labels()
    [(bound, checked)] = notes
    assert release.bound == bound == checked > 0.0
