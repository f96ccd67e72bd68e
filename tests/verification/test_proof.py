"""The proof of a lower bound is checked by code that is not the search's: what is corrupted is noticed."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given

import kohort as ko
from by_definition.dual_prices import allowances_by_definition, slack_by_definition
from kohort.algorithms import Run
from kohort.algorithms.improve.improve import Improve
from kohort.algorithms.mining.closed_records import mine_closed_records, record_costs
from kohort.algorithms.proofs.dual_bound import dual_bound, dual_prices, feasible_prices
from kohort.errors import InternalError, UnsupportedError
from kohort.verification import check_proof
from small_problems import problem_of, problems

RNG = np.random.default_rng(5)
COLUMNS = {name: RNG.choice(list("aabbbcde"), 300).tolist() for name in ("x", "y", "z")}
TREE = ko.Hierarchy.from_paths([(leaf, "ab" if leaf in "ab" else "cde", "*") for leaf in "abcde"])
HIERARCHIES = dict.fromkeys(COLUMNS, TREE)


@pytest.fixture(scope="module")
def proven():
    """A problem, and groups with a proof of their bound."""
    problem = problem_of(COLUMNS, HIERARCHIES, 5)
    return problem, Improve().solve(problem, Run())


def test_a_proof_holds(proven):
    problem, groups = proven
    assert groups.bound > 0
    check_proof(problem, groups.proof, groups.bound)


def corrupted(proof, groups, what):
    """The proof and the bound with one thing wrong."""
    prices, highest = proof.prices.copy(), int(np.argmax(proof.prices))
    if what == "all prices are higher":
        return replace(proof, prices=prices * 1.01), groups.bound
    if what == "one price is higher":
        prices[highest] += 1.0
        return replace(proof, prices=prices), groups.bound
    if what == "a price is no number":
        prices[highest] = np.nan
        return replace(proof, prices=prices), groups.bound
    if what == "prices are those of other records":
        return replace(proof, unit_of_record=proof.unit_of_record[::-1]), groups.bound
    if what == "a price is missing":
        return replace(proof, unit_of_record=proof.unit_of_record[1:]), groups.bound
    return proof, groups.bound * 1.001


@pytest.mark.parametrize(
    "what",
    [
        "all prices are higher",
        "one price is higher",
        "a price is no number",
        "prices are those of other records",
        "a price is missing",
        "the bound is higher",
    ],
)
def test_whatever_is_corrupted_is_noticed(proven, what):
    problem, groups = proven
    proof, bound = corrupted(groups.proof, groups, what)
    with pytest.raises(InternalError, match="lower bound"):
        check_proof(problem, proof, bound)


def test_a_bound_of_0_needs_no_prices(proven):
    """Seen: prices that add up to a little less than 0 by rounding, where nothing need be lost."""
    problem, groups = proven
    check_proof(problem, replace(groups.proof, prices=np.full_like(groups.proof.prices, -1e-6)), 0.0)


@given(problems(max_records=14))
def test_every_closed_record_is_checked_by_definition(problem):
    try:
        _ = problem.coded.hierarchies
    except UnsupportedError:
        assume(False)
    closed = mine_closed_records(problem)
    cost = record_costs(problem, closed)
    prices = dual_prices(problem, closed, cost, Run())
    bound = dual_bound(problem, prices, problem.coded.star_cost)
    assume(bound is not None)
    check_proof(problem, prices.proof(problem, closed), bound)
    wrong = replace(prices, of_row=prices.of_row + RNG.random(len(prices.of_row)) * cost.max())
    counts, allowed = problem.rows.counts, allowances_by_definition(wrong.cuts, len(closed))
    worst = max(
        -slack_by_definition(
            wrong.of_row[closed.support(q)], counts[closed.support(q)], cost[q], problem.k, allowed[q]
        )
        for q in range(len(closed))
    )
    if worst > 1e-9:
        with pytest.raises(InternalError, match="priced above its cost"):
            check_proof(problem, wrong.proof(problem, closed), 0.0)
    else:
        check_proof(problem, wrong.proof(problem, closed), 0.0)


def test_corrupted_prices_never_become_a_certificate(monkeypatch):
    """Seen before: wrong prices were certified as a bound."""
    honest = feasible_prices

    def wrong_prices(loop):
        prices = honest(loop)
        return replace(prices, of_row=prices.of_row * 1.02 + 1e-6)

    monkeypatch.setattr("kohort.algorithms.improve.staged_prices.feasible_prices", wrong_prices)
    with pytest.raises(InternalError, match="proof of the lower bound"):
        ko.anonymize(
            pa.table(COLUMNS), quasi_identifiers=HIERARCHIES, privacy=[ko.KAnonymity(5)], algorithm="improve"
        )


def test_a_release_does_not_carry_its_proof():
    release = ko.anonymize(
        pa.table(COLUMNS), quasi_identifiers=HIERARCHIES, privacy=[ko.KAnonymity(5)], algorithm="improve"
    )
    assert release.bound > 0
    assert release.recoding.proof is None


def test_prices_that_add_up_to_less_than_nothing_prove_a_bound_of_nothing():
    """A column of no weight: the least cost is 0, and the search's prices end a little below."""
    rest = [None, -3, None, None, -3, -2, None, -3, -2, -3, None, -2, -2, -3, None, None, None, -2, None, -2]
    table = pa.table({"a": [False] * 14 + [True] * 6, "b": pa.array(rest, pa.int64()), "c": [-3] * 20})
    release = ko.anonymize(
        table,
        quasi_identifiers={"a": None, "b": ko.flat(), "c": ko.flat()},
        privacy=[ko.KAnonymity(4)],
        weights={"b": 0},
    )
    assert release.bound == release.loss["loss"] == 0


@pytest.mark.parametrize("rounds", range(1, 150, 4))
def test_prices_hold_where_every_closed_record_is_free(rounds):
    """Seen: prices of rounding errors above a cost of exactly 0, if the time was up after some rounds."""
    tree = ko.Hierarchy.from_paths([(leaf, "any", "*") for leaf in "abc"])
    columns = {"x": list("aaaabbcccccc"), "y": list("aaaaabaaaaaa")}
    problem = problem_of(columns, dict.fromkeys(columns, tree), 11, cost="suppressions")
    closed = mine_closed_records(problem)
    cost = record_costs(problem, closed)
    prices = dual_prices(problem, closed, cost, Run(), rounds=rounds)
    assert not cost.any()
    assert not prices.of_row.any()
    check_proof(problem, prices.proof(problem, closed), dual_bound(problem, prices, problem.coded.star_cost))
