"""The three searches find the least cost of all recodings, and say so only where it is true."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.schemes import best_recoding, listed, recoding_cost
from kohort.algorithms import Run
from kohort.algorithms.schemes.branch_and_bound import BranchAndBound
from kohort.algorithms.schemes.enumeration import BottomUp, TopDownSearch
from kohort.algorithms.schemes.optimal_recoding import OptimalRecoding
from kohort.algorithms.schemes.partition_space import blocks_of
from kohort.algorithms.schemes.pricing import Pricing
from kohort.algorithms.schemes.scheme_spaces import SCHEMES, scheme_spaces
from kohort.errors import InputError, UnsupportedError
from small_problems import ShortRun, problem_of
from strategies import PLAIN_TEXTS, hierarchies

SEARCHES = (OptimalRecoding, BottomUp, TopDownSearch)
PAPER_COSTS = ("discernibility", "hierarchical-discernibility")
SWITCHES = (
    "node_pruning",
    "applicator_pruning",
    "useful_applicators",
    "seeding",
    "modified_bfs",
    "node_rearrangement",
    "applicator_rearrangement",
)


@st.composite
def scheme_problems(
    draw,
    costs=(*PAPER_COSTS, "loss", "ncp", "tree"),
    schemes=tuple(SCHEMES),
    most_columns=2,
    most_leaves=4,
    missing_in_trees=True,
):
    """A small table, a scheme for each column, any cost, any limit of what is withheld.

    missing_in_trees  whether a hierarchy may have a missing value, at any place
    """
    n = draw(st.integers(3, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns, sources, chosen = {}, {}, {}
    for j in range(draw(st.integers(1, most_columns))):
        name = f"q{j}"
        leaves = PLAIN_TEXTS[: draw(st.integers(1, most_leaves))]
        values = rng.choice(leaves, n).astype(object)
        values[rng.random(n) < draw(st.sampled_from([0, 0, 0.2]))] = None
        known = draw(st.sampled_from([leaves, [*leaves, None]])) if missing_in_trees else leaves
        columns[name], sources[name] = values.tolist(), draw(hierarchies(known))
        chosen[name] = draw(st.sampled_from(schemes))
        if chosen[name] in ("ops", "sps") and draw(st.booleans()):
            columns[name], sources[name] = rng.integers(0, most_leaves, n).tolist(), None
    weights = {name: draw(st.sampled_from([1, 1, 2.5, 0])) for name in columns} | {"q0": 1}
    problem = problem_of(
        columns,
        sources,
        draw(st.integers(1, max(1, n // 2))),
        cost=draw(st.sampled_from(costs)),
        weights=weights,
        suppression=draw(st.sampled_from([0, 0.3, 0.9])),
    )
    return problem, chosen


def least_cost(problem, chosen):
    total = best_recoding(
        problem.cost.name,
        [attribute.domain for attribute in problem.attributes],
        problem.weights.tolist(),
        [chosen[attribute.name] for attribute in problem.attributes],
        list(map(tuple, problem.leaves.tolist())),
        problem.k,
        problem.max_withheld,
    )
    return total if problem.cost.name in PAPER_COSTS else total / problem.n_records


@given(posed=scheme_problems())
def test_the_three_searches_and_brute_force_agree(posed):
    problem, chosen = posed
    least = least_cost(problem, chosen)
    for search in SEARCHES:
        found = search(scheme=chosen).solve(problem, Run())
        assert found.search["bound"] == pytest.approx(least, abs=1e-9)
        assert found.search["gap"] == 0
        assert found.withheld.sum() <= problem.max_withheld


@given(posed=scheme_problems(costs=("monotone-entropy",)))
def test_they_agree_on_any_cost_with_the_two_properties(posed):
    problem, chosen = posed
    found = [search(scheme=chosen).solve(problem, Run()).search["bound"] for search in SEARCHES]
    assert found == pytest.approx([found[0]] * 3, abs=1e-9)


@given(posed=scheme_problems(costs=PAPER_COSTS, schemes=("gops",), missing_in_trees=False))
def test_a_larger_scheme_never_costs_more(posed):
    problem, _ = posed
    cost = {s: OptimalRecoding(scheme=s).solve(problem, Run()).search["bound"] for s in SCHEMES}
    for path in (("bhs", "ghs", "gops", "ops", "sps"), ("gops", "gsps", "sps")):
        for small, large in pairwise(path):
            assert cost[small] >= cost[large] - 1e-9


@given(posed=scheme_problems(most_columns=2), off=st.sets(st.sampled_from(SWITCHES)))
def test_every_technique_can_be_switched_off_and_changes_no_cost(posed, off):
    problem, chosen = posed
    best = OptimalRecoding(scheme=chosen).solve(problem, Run()).search["bound"]
    for search in (BottomUp, TopDownSearch):
        known = {name: False for name in off if name in search.__dataclass_fields__}
        found = search(scheme=chosen, **known).solve(problem, Run()).search
        assert found["bound"] == pytest.approx(best, abs=1e-9) and found["gap"] == 0


@given(posed=scheme_problems(), looks=st.integers(0, 12))
def test_a_search_that_is_stopped_returns_a_recoding_and_a_true_bound(posed, looks):
    problem, chosen = posed
    least = least_cost(problem, chosen)
    for search in SEARCHES:
        found = search(scheme=chosen).solve(problem, ShortRun(looks))
        assert found.search["bound"] <= least + 1e-9
        assert found.withheld.sum() <= problem.max_withheld


@given(posed=scheme_problems(), data=st.data())
def test_the_price_of_any_recoding_is_its_cost_by_definition(posed, data):
    problem, chosen = posed
    pricing = Pricing(problem, scheme_spaces(problem, chosen))
    recoded = tuple(data.draw(st.sampled_from(sorted(listed(space.space)))) for space in pricing.spaces)
    found = pricing.evaluate(recoded)
    assert (found.cost, found.withheld) == pytest.approx(cost_by_definition(pricing, recoded), abs=1e-9)


def cost_by_definition(pricing, recoded):
    problem, blocks = pricing.problem, []
    for space, partition in zip(pricing.spaces, recoded):
        taken = [space.leaves(block, partition).tolist() for block in blocks_of(partition)]
        rest = set(range(space.attribute.n_leaves)) - {leaf for block in taken for leaf in block}
        blocks.append([*taken, *([leaf] for leaf in rest)])
    records = list(map(tuple, problem.leaves.tolist()))
    domains = [attribute.domain for attribute in problem.attributes]
    return recoding_cost(problem.cost.name, domains, problem.weights.tolist(), records, blocks, problem.k)


@given(posed=scheme_problems())
def test_the_bound_of_the_first_node_is_below_the_least_cost(posed):
    problem, chosen = posed
    search = BranchAndBound(Pricing(problem, scheme_spaces(problem, chosen)))
    least = least_cost(problem, chosen) * (1 if problem.cost.name in PAPER_COSTS else problem.n_records)
    node = search.bounds.node(tuple(side.start for side in search.sides))
    assert node.bound <= least + 1e-9
    for j, side in enumerate(search.sides):
        assert side.bound(node.states[j], search.bounds.table(node, j)).least <= least + 1e-9


@given(
    posed=scheme_problems(costs=(*PAPER_COSTS, "loss"), most_columns=3),
    seed=st.integers(0, 2**32 - 1),
    steps=st.integers(1, 30),
)
def test_no_recoding_of_a_node_costs_less_than_boxes_say(posed, seed, steps):
    """Neither at the first node nor after random decisions, nor with any choice made."""
    problem, chosen = posed
    pricing = Pricing(problem, scheme_spaces(problem, chosen))
    search, rng = BranchAndBound(pricing), np.random.default_rng(seed)
    everything = product(*(sorted(listed(space.space)) for space in pricing.spaces))
    allowed = [
        (r, found.cost) for r in everything if (found := pricing.evaluate(r)).withheld <= search.most_withheld
    ]
    states, prices = tuple(side.start for side in search.sides), search.boxes.start
    for _ in range(3):
        node, opened = search.bounds.node(states), search._open(states)
        if node.lost > search.most_withheld or not opened:
            return
        bound, prices, relaxed = search.boxes.bound(
            node, opened, prices, max(c for _, c in allowed) + 1, steps, Run()
        )
        here = [(r, c) for r, c in allowed if all(map(_may_become, search.sides, states, r))]
        assert all(cost >= bound - 1e-9 for _, cost in here)
        for j, found in relaxed.items():
            for choice, merged, cut in zip(found.choices, found.merged, found.cut):
                one, other = choice if isinstance(choice, tuple) else (choice, choice + 1)
                for recoded, cost in here:
                    assert cost >= (merged if recoded[j][one] == recoded[j][other] else cut) - 1e-9
        j = opened[int(rng.integers(len(opened)))]
        if j not in relaxed:  # the bound of the whole node ended the search before single choices
            return
        choices = [c for c in relaxed[j].choices if search.sides[j].is_open(states[j], c)]
        if choices:
            decided = search.sides[j].with_choice(
                states[j], choices[int(rng.integers(len(choices)))], bool(rng.integers(2))
            )
            states = (*states[:j], decided, *states[j + 1 :])


def _may_become(side, state, partition):
    """Whether a partition is between the fine and the coarse one, and no pair is otherwise than decided."""
    fine, coarse = side.fine(state), side.coarse(state)
    return (
        _is_finer(fine, partition)
        and _is_finer(partition, coarse)
        and (
            not hasattr(state, "pairs")
            or all(
                (state.pairs[a, b] != 2 or partition[a] != partition[b])
                for a in range(side.n)
                for b in range(a)
            )
        )
    )


def _is_finer(one, other):
    return len(set(zip(one, other))) == len(set(one))


ADULT = ("marital-status", "race", "sex")
# least costs on Adult's train part, found by enumerating every recoding


def adult(k, cost, n=None):
    people = ko.datasets.load_adult(split="train").select(list(ADULT)).slice(0, n)
    columns = {name: people[name].to_pylist() for name in ADULT}
    groups = [
        ("Married-civ-spouse", "spouse present"),
        ("Married-AF-spouse", "spouse present"),
        *(
            (status, "spouse not present")
            for status in sorted(set(columns["marital-status"]))
            if "sp" not in status
        ),
        ("Married-spouse-absent", "spouse not present"),
    ]
    sources = {name: ko.flat() for name in ADULT}
    sources["marital-status"] = ko.Hierarchy.from_paths([(*path, "*") for path in groups])
    return problem_of(columns, sources, k, cost=cost, suppression=0.999)


@pytest.mark.long
@pytest.mark.parametrize("cost", PAPER_COSTS)
def test_on_adult_every_recoding_was_looked_at(cost):
    """Three columns: bottom-up without any pruning is the oracle of the others."""
    problem = adult(20, cost)
    for scheme in ("bhs", "ghs", "gops"):
        plain = BottomUp(scheme, node_pruning=False, applicator_pruning=False).solve(problem, Run()).search
        for search in SEARCHES:
            found = search(scheme=scheme).solve(problem, Run()).search
            assert found["bound"] == pytest.approx(plain["bound"]) and found["nodes"] <= plain["nodes"]


def test_few_may_be_withheld_where_other_columns_are_too_fine():
    """No partition of the one column is allowed while the other is as it was."""
    columns = {"a": [f"v{i}" for i in range(40)], "b": ["x", "y", "z", "w"] * 10}
    for scheme in ({"a": "ops", "b": "sps"}, {"a": "ops", "b": "ghs"}):
        problem = problem_of(columns, dict.fromkeys(columns), 5, cost="discernibility", suppression=0.05)
        found = OptimalRecoding(scheme=scheme).solve(problem, Run(time_limit=20))
        assert found.search["gap"] == 0


def test_what_no_scheme_can_do_is_refused():
    table = {"q": ["a", "b"] * 3}
    with pytest.raises(UnsupportedError, match="tight"):
        ko.anonymize(
            _arrow(table), quasi_identifiers=["q"], privacy=ko.KAnonymity(2), scheme="sps", labels="tight"
        )
    with pytest.raises(UnsupportedError, match="needs a hierarchy for column 'age'"):
        ko.anonymize(
            _arrow({"age": [1, 2, 3]}), quasi_identifiers=["age"], privacy=ko.KAnonymity(2), scheme="gops"
        )
    with pytest.raises(UnsupportedError, match="every set of 17 values"):
        many = {"q": [f"v{i}" for i in range(17)]}
        ko.anonymize(_arrow(many), quasi_identifiers=["q"], privacy=ko.KAnonymity(2), scheme="sps")
    with pytest.raises(UnsupportedError, match="mondrian has no schemes"):
        ko.anonymize(
            _arrow(table),
            quasi_identifiers=["q"],
            privacy=ko.KAnonymity(2),
            scheme="sps",
            algorithm="mondrian",
        )
    with pytest.raises(InputError, match=r"There is no scheme 'opps'\. Did you mean 'ops'"):
        OptimalRecoding(scheme="opps")
    with pytest.raises(InputError, match="not a quasi-identifier"):
        ko.anonymize(_arrow(table), quasi_identifiers=["q"], privacy=ko.KAnonymity(2), scheme={"z": "sps"})
    with pytest.raises(InputError, match="must be below 1: mondrian"):
        ko.anonymize(
            _arrow(table),
            quasi_identifiers=["q"],
            privacy=ko.KAnonymity(2),
            suppression=1.0,
            algorithm="mondrian",
        )


def test_names_are_routed_to_the_searches():
    table = _arrow({"q": ["a", "b", "c"] * 3})
    asked = {"quasi_identifiers": ["q"], "privacy": ko.KAnonymity(2), "scheme": "ops", "cost": "loss"}
    for name, made_by in (
        ("auto", "optimal-recoding"),
        ("top-down", "top-down-search"),
        ("bottom-up", "bottom-up"),
    ):
        release = ko.anonymize(table, algorithm=name, **asked)
        assert release.algorithm == made_by and release.scheme["attributes"] == {"q": "ops"}
        assert release.parameters["scheme"] == "ops" and not release.claims


def _arrow(columns):
    import pyarrow as pa

    return pa.table(columns)
