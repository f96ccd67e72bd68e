"""Prices that know a privacy model: what they are by definition, and a bound never above the least cost."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from by_definition.model_prices import dearest_group_by_definition
from by_definition.optimum import least_total
from kohort.algorithms import Run
from kohort.algorithms.mining.closed_records import mine_closed_records, record_costs
from kohort.algorithms.proofs.dual_bound import dual_prices
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.proofs.model_prices import ModelPrices, known_model_prices, priced_bound
from kohort.algorithms.proofs.priced_rules import _most_of_a_value, priced_rule
from kohort.algorithms.proofs.priced_units import pricing_of
from kohort.errors import InternalError, UnsupportedError
from kohort.problem.costs import cost_named
from kohort.problem.units import People
from kohort.verification import check_proof
from model_problems import model_problems
from small_problems import problem_of


def priced(problem, rounds=30):
    try:
        _ = problem.coded.hierarchies
    except UnsupportedError:
        assume(False)
    closed = mine_closed_records(problem)
    cost = record_costs(problem, closed)
    known = known_model_prices(problem, closed, cost, Run(), rounds)
    return closed, cost, known or dual_prices(problem, closed, cost, Run(), rounds=rounds)


def priced_model(problem):
    """The model that the prices know."""
    entropy = [m for m in problem.models if isinstance(m, ko.LDiversity) and m.kind == "entropy"]
    is_share = [
        not (isinstance(m, ko.LDiversity) and m.kind in ("distinct", "entropy")) for m in problem.models
    ]
    close = [m for m in problem.models if isinstance(m, ko.TCloseness) and not problem.max_withheld]
    first = close + [
        m
        for m, share in zip(problem.models, is_share)
        if share and m.attribute and not isinstance(m, ko.TCloseness)
    ]
    return (first or entropy or [m for m in problem.models if m.attribute])[0]


def is_valid_group(problem, records, model):
    def is_valid(places):
        chosen = records[list(places)]
        asked = [m for m in problem.models if not m.attribute] + [model]
        alone = problem.varied(models=tuple(asked))
        return bool(alone.satisfied(np.zeros(len(chosen), dtype=np.int64), chosen, 1).all())

    return is_valid


def close_models():
    return st.builds(lambda t: ko.TCloseness("s", t), st.sampled_from([0, Fraction(1, 5), Fraction(2, 5), 1]))


def entropy_models():
    least = st.sampled_from([1, Fraction(3, 2), Fraction(19, 10), 2, Fraction(5, 2), 3])
    return st.builds(lambda l: ko.LDiversity("s", l, kind="entropy"), least)  # noqa: E741


def other_models():
    """Models whose prices are not those of the best valid group, but only dearer than any."""
    return st.one_of(close_models(), entropy_models())


@given(st.one_of(model_problems(8), model_problems(8, any_model=other_models())))
def test_no_valid_group_under_a_closed_record_can_pay_its_prices(problem):
    closed, cost, prices = priced(problem)
    if not isinstance(prices, ModelPrices):  # t-closeness, where records may be withheld
        return
    of_record = prices.of_unit[prices.unit_of_record]
    for q in range(len(closed)):
        records = np.flatnonzero(np.isin(problem.rows.of_record, closed.support(q)))
        is_valid = is_valid_group(problem, records, priced_model(problem))
        excess = dearest_group_by_definition(of_record[records], cost[q], is_valid)
        assert excess <= 1e-9
        assert prices.slack[q] <= -excess + 1e-9


@given(model_problems(8))
def test_the_dearest_valid_group_is_found(problem):
    """At prices far too high, where the best group is not of one size."""
    closed, cost, prices = priced(problem, rounds=2)
    pricing = pricing_of(problem, priced_rule(problem), closed, cost, 0.0)
    price = np.random.default_rng(problem.seed).random(len(prices.of_unit)) * 2 * cost.max()
    pricing.level[:] = np.inf
    slack = pricing.slacks(price, np.inf)
    near = np.empty(len(cost), dtype=bool)
    for q in range(len(closed)):
        records = np.flatnonzero(np.isin(problem.rows.of_record, closed.support(q)))
        is_valid = is_valid_group(problem, records, priced_model(problem))
        excess = dearest_group_by_definition(price[prices.unit_of_record][records], cost[q], is_valid)
        assert (slack[q] < -1e-9) == (excess > 1e-9)  # larger groups may be split: then one part is dearer
        assert -slack[q] >= excess - 1e-9
        if excess > 0:
            visited = price.copy()
            pricing.raise_prices(visited, np.array([q]), near, 0.1)
            assert (visited <= price).all() and (visited < price).any()


@given(st.one_of(model_problems(7), model_problems(7, any_model=other_models())))
def test_the_bound_is_below_the_least_cost_of_all_partitions_and_its_proof_holds(problem):
    closed, _, prices = priced(problem)
    star = problem.coded.star_cost
    bound = priced_bound(problem, prices, star)
    check_proof(problem, prices.proof(problem, closed), bound)
    if bound is None:
        return
    rows, tables = problem.rows.of_record, problem.coded
    node_costs = tables.node_costs

    def group_cost(records):
        total = 0.0
        for attribute, tree, cost in zip(problem.attributes, tables.hierarchies, node_costs):
            leaves = attribute.leaves[list(records)]
            hidden = bool(tree.hidden[leaves].any()) and len(records) > 0
            node = 0 if hidden else int(tree.node(leaves.min(keepdims=True), leaves.max(keepdims=True))[0])
            total += float(cost[node])
        return total * len(records)

    def is_valid(records):
        chosen = np.array(records)
        return bool(problem.satisfied(np.zeros(len(chosen), dtype=np.int64), chosen, 1).all())

    least = least_total(
        len(rows),
        group_cost,
        is_valid,
        withheld_cost=lambda record: star,
        most_withheld=problem.max_withheld,
    )
    assert bound <= in_measured_units(problem, least) + 1e-9


RNG = np.random.default_rng(3)
TREE = ko.Hierarchy.from_paths([(leaf, "ab" if leaf in "ab" else "cde", "*") for leaf in "abcde"])


@given(st.integers(1, 12), st.integers(1, 4), st.floats(1, 4))
def test_no_group_has_more_of_a_value_than_its_entropy_allows(size, n_values, least):
    counted = [c for c in product(range(size + 1), repeat=n_values) if sum(c) == size]
    diverse = [c for c in counted if exp(-sum(x / size * log(x / size) for x in c if x)) >= least - 1e-12]
    assert _most_of_a_value(size, least, n_values) >= max(map(max, diverse), default=0)
    if diverse:
        assert _most_of_a_value(size, least + 1e-6, n_values) <= max(map(max, diverse))


@pytest.fixture(scope="module", params=["frequency", "distinct", "alpha", "closeness", "entropy"])
def proven(request):
    columns = {name: RNG.choice(list("aabbbcde"), 300).tolist() for name in ("x", "y", "z")}
    columns["s"] = np.where(RNG.random(300) < 0.4, "p", RNG.choice(list("qrst"), 300)).tolist()
    model = {
        "frequency": ko.LDiversity("s", 2),
        "distinct": ko.LDiversity("s", 3, kind="distinct"),
        "closeness": ko.TCloseness("s", 0.2),
        "entropy": ko.LDiversity("s", 2.5, kind="entropy"),
        "alpha": ko.AlphaDeassociation("s", 0.45, values=["p"]),
    }[request.param]
    trees = dict.fromkeys("xyz", TREE)
    problem = problem_of(columns, trees, 5, models=[model], sensitive=["s"])
    closed, _, prices = priced(problem, rounds=100)
    return problem, prices.proof(problem, closed), priced_bound(problem, prices, problem.coded.star_cost)


def test_a_model_raises_the_bound(proven):
    problem, proof, bound = proven
    check_proof(problem, proof, bound)
    alone = problem.varied(models=tuple(m for m in problem.models if not m.attribute))
    _, _, prices = priced(alone, rounds=100)
    assert bound > priced_bound(alone, prices, problem.coded.star_cost) * 1.01


def test_whatever_is_corrupted_is_noticed(proven):
    problem, proof, bound = proven
    prices, units = proof.prices.copy(), proof.unit_of_record.copy()
    highest = int(np.argmax(prices))
    prices[highest] += 1.0
    units[0], units[-1] = units[-1], units[0]
    wrong = [
        (replace(proof, prices=proof.prices * 1.01), bound),
        (replace(proof, prices=prices), bound),
        (replace(proof, prices=proof.prices * np.nan), bound),
        (replace(proof, unit_of_record=units), bound),
        (replace(proof, unit_of_record=proof.unit_of_record[1:]), bound),
        (proof, bound * 1.001),
    ]
    for corrupted, claimed in wrong:
        with pytest.raises(InternalError, match="lower bound"):
            check_proof(problem, corrupted, claimed)


def test_where_people_have_several_records_the_bound_knows_k_alone():
    columns = {"x": list("aabbccdd"), "s": list("pqpqpqpq")}
    problem = problem_of(columns, {"x": TREE}, 2, models=[ko.LDiversity("s", 2)], sensitive=["s"])
    assert priced_rule(problem) is not None
    assert priced_rule(replace(problem, units=People(np.arange(8) // 2))) is None


def test_costs_without_a_bound_have_none():
    columns = {"x": list("aabbccdd"), "s": list("pqpqpqpq")}
    problem = problem_of(columns, {"x": TREE}, 2, models=[ko.LDiversity("s", 2)], sensitive=["s"])
    problem = replace(problem, cost=cost_named("entropy"))
    _, _, prices = priced(problem)
    assert priced_bound(problem, prices, problem.coded.star_cost) is None
