"""Sensitive items in local recodings, against plain loops over everything that may be known."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from test_sensitive_items import sensitive_cases

import kohort as ko
from by_definition.itemsets import highest_confidence, highest_uncertainty
from by_definition.local_items import highest_local_confidence, short_label_sets, unsupported
from items_cases import items_cases
from kohort.algorithms import Run
from kohort.algorithms.items.kernels.local_confidence import LocalRules, split_node_with_room, tells_at
from kohort.algorithms.items.local import LocalSearch
from kohort.algorithms.items.with_items import solve_items
from kohort.data.baskets import code_baskets
from kohort.errors import InfeasibleError
from kohort.problem.items import ItemsProblem
from kohort.problem.promises import ItemConfidence, KmAnonymity, RhoUncertainty
from kohort.recoding.items import DROPPED

LOCAL = [ko.LocalItems(), ko.ImproveItems(rounds=4)]
CUTS = [ko.AprioriItems(), ko.DirectItems(), ko.VerticalItems(parts=2), ko.OptimalItems()]


def posed(case, promise, classes=None, **options):
    coded = code_baskets("items", pa.array(case.baskets, pa.list_(pa.string())))
    others, sensitive = coded.parted(promise.sensitive)
    return ItemsProblem(
        others,
        case.hierarchy,
        KmAnonymity(case.k, case.m),
        class_of_record=classes,
        sensitive=sensitive,
        confidence=promise,
        holds=promise.held(coded, None),
        **options,
    )


def promise_of(rho, limit, m):
    return RhoUncertainty(["s0", "s1"], limit, m) if rho else ItemConfidence(["s0", "s1"], limit, m)


def told(problem, recoding, records=slice(None)):
    """Per record its leaves, the nodes it shows, and the sensitive items that are published of it."""
    leaves = problem.hierarchy.leaf_node[problem.leaves].tolist()
    nodes = recoding.node_of_occurrence.tolist()
    ends = list(pairwise(problem.baskets.offsets.tolist()))
    labels = [{node for node in nodes[a:b] if node >= 0} for a, b in ends]
    published = recoding.apply(problem).to_pylist()
    holds = [{item for item in basket or () if item[0] == "s"} for basket in published]
    return [part[records] for part in ([leaves[a:b] for a, b in ends], labels, holds)]


def highest(problem, recoding, records=slice(None)):
    """The largest share by the labels that are shown; that of all who fit known items is not above it."""
    rho, m = problem.confidence.knows_sensitive, problem.confidence.m
    shown = [basket or [] for basket in recoding.apply(problem).to_pylist()[records]]
    found = (highest_uncertainty if rho else highest_confidence)(shown, ["s0", "s1"], m)
    parent = problem.hierarchy.parent.tolist()
    assert found >= highest_local_confidence(
        parent, *told(problem, recoding, records), m, known_sensitive=rho
    )
    return found


def kept(promise, share):
    return share < promise.asked if promise.strict else share <= promise.asked


def solved(problem, algorithm, **run):
    return solve_items(algorithm, problem, Run(**run))


def supported(problem, recoding):
    leaves = problem.hierarchy.leaf_node[problem.leaves].tolist()
    pairs = list(zip(leaves, recoding.node_of_occurrence.tolist()))
    ends = pairwise(problem.baskets.offsets.tolist())
    baskets = [[pair for pair in pairs[a:b] if pair[1] != DROPPED] for a, b in ends]
    model = problem.model
    return not unsupported(problem.hierarchy.parent.tolist(), baskets, model.k, model.m)


@pytest.mark.parametrize("algorithm", [*LOCAL, *CUTS], ids=str)
@pytest.mark.parametrize("time_limit", [None, 1e-9])
@given(drawn=sensitive_cases(), suppress=st.booleans(), rho=st.booleans())
def test_whatever_is_known_no_sensitive_item_is_implied(algorithm, time_limit, drawn, suppress, rho):
    case, limit, m = drawn
    promise = promise_of(rho, limit, m)
    try:
        problem = posed(case, promise, suppress=suppress)
    except InfeasibleError:
        assume(False)
    recoding = solved(problem, algorithm, time_limit=time_limit)
    assert kept(promise, highest(problem, recoding))
    assert supported(problem, recoding)


@pytest.mark.parametrize("algorithm", LOCAL, ids=str)
@given(drawn=sensitive_cases(), rho=st.booleans(), suppress=st.booleans())
def test_every_class_keeps_the_promise(algorithm, drawn, rho, suppress):
    case, limit, m = drawn
    classes = np.arange(len(case.baskets)) % 2
    problem = posed(case, promise_of(rho, limit, m), classes, suppress=suppress)
    recoding = solved(problem, algorithm)
    shown = recoding.apply(problem).to_pylist()
    for number in (0, 1):
        records = slice(number, None, 2)
        if all(basket is not None for basket in shown[records]):
            assert kept(problem.confidence, highest(problem, recoding, records))


@given(drawn=sensitive_cases(), suppress=st.booleans(), rho=st.booleans())
def test_improving_never_costs_more_than_its_starts_and_optimal_cuts_never_more_than_others(
    drawn, suppress, rho
):
    case, limit, m = drawn
    try:
        problem = posed(case, promise_of(rho, limit, m), suppress=suppress)
    except InfeasibleError:
        assume(False)
    cost = [problem.ncp(solved(problem, algorithm).node_of_occurrence) for algorithm in (*LOCAL, *CUTS)]
    assert cost[1] <= min(cost[0], cost[2]) + 1e-12
    if not suppress:
        assert cost[-1] <= min(cost[2:]) + 1e-12


@pytest.mark.parametrize("algorithm", LOCAL, ids=lambda algorithm: algorithm.name)
@given(drawn=sensitive_cases(), rho=st.booleans(), suppress=st.booleans())
def test_verification_measures_what_the_definition_says(algorithm, drawn, rho, suppress):
    case, limit, m = drawn
    try:
        problem = posed(case, promise_of(rho, limit, m), suppress=suppress)
    except InfeasibleError:
        assume(False)
    recoding = solved(problem, algorithm)
    promised = {"sensitive": ["s0", "s1"], ("rho" if rho else "limit"): str(limit)}
    paths = [list(path) for path in case.hierarchy.paths()]
    table = pa.table({"items": pa.array(case.baskets, pa.list_(pa.string()))})
    shown = pa.table({"items": recoding.apply(problem)})
    spec = {
        "attributes": {"items": {"role": "items", "hierarchy": _tree(paths), "suppress": suppress}},
        "privacy": {"k": 1, "m": m, ("uncertainty" if rho else "confidence"): promised},
    }
    verdict = ko.verify(shown, original=table, spec=spec)
    [model] = [one for one in verdict.models if one.model != "km-anonymity"]
    assert verdict.holds
    assert model.measured == highest(problem, recoding)
    assert ko.verify(shown, spec=spec).holds


def _tree(paths):
    found = {}
    for path in paths:
        inner = found
        for name in reversed(path[1:]):
            inner = inner.setdefault(name, {})
        inner[path[0]] = None
    return {"tree": _listed(found)}


def _listed(inner):
    if all(below is None for below in inner.values()):
        return list(inner)
    return {name: [] if below is None else _listed(below) for name, below in inner.items()}


@given(case=items_cases(max_m=3), seed=st.integers(0, 2**32 - 1), size=st.integers(1, 3))
def test_the_kernels_find_what_is_short_of_room_and_leave_nothing_short(case, seed, size):
    rng = np.random.default_rng(seed)
    search = LocalSearch.of_all(case.problem())
    search.descend(Run(), within=rng.random(len(search.parent)) < 0.5)
    room = rng.choice([-2, 1], len(case.baskets)).astype(np.int64)
    rules = LocalRules(room[None], np.array([size], dtype=np.int64))

    def shown():
        ends = pairwise(search.cuts.start.tolist())
        return [set(search.cuts.node[a:b].tolist()) for a, b in ends]

    for node in np.flatnonzero(search.width > 1).tolist():
        wanted = {node, *np.flatnonzero(search.parent == node).tolist()}
        assert tells_at(search.cuts, node, rules) == bool(short_label_sets(shown(), room, size, wanted))
        before = short_label_sets(shown(), room, size, set(range(len(search.parent))))
        kept = search.cuts.node.copy()
        child_of = search._ancestors_at(int(search.depth[node]) + 1)
        split_node_with_room(search.cuts, node, child_of, case.m, case.k, rules)
        after = short_label_sets(shown(), room, size, set(range(len(search.parent))))
        assert after <= before or (search.cuts.node == kept).all()


BOUGHT = [["a1", "s"], ["a1"], ["a1"], ["a2"], ["a2", "s"], ["a2"], ["b1"], ["b1"], ["b1"], ["b1"]]
TREE = {"groups": {"A": ["a1", "a2"], "B": ["b1", "b2"]}}


def spec_of(limit, name="local-items"):
    return {
        "attributes": {"bought": {"role": "items", "hierarchy": TREE}},
        "privacy": {"k": 2, "m": 1, "confidence": {"sensitive": ["s"], "limit": limit}},
        "algorithm": name,
        "shuffle": False,
    }


@pytest.mark.parametrize("name", ["local-items", "improve-items"])
def test_a_worked_example(name):
    """Of 3 with a1 one holds s, and so of 3 with a2. Below a third, others must stay general beside them."""
    table = pa.table({"bought": BOUGHT})
    exact = ko.anonymize(table, spec=spec_of("1/3", name))
    assert exact.table["bought"].to_pylist() == BOUGHT
    stricter = ko.anonymize(table, spec=spec_of("1/4", name))
    [measured] = [one.measured for one in stricter.verdict.models if one.model == "item-confidence"]
    assert measured <= Fraction(1, 4)
    assert stricter.table["bought"].to_pylist() != BOUGHT


def test_a_forged_local_release_is_found():
    """Only the one with s is published as A: whoever fits by this label holds it."""
    table = pa.table({"bought": [["a1", "s"], ["a2"], ["a1"], ["a2"]]})
    shown = pa.table({"bought": [["A", "s"], ["a2"], ["a1"], ["a2"]]})
    verdict = ko.verify(shown, original=table, spec=spec_of("1/2"))
    assert not verdict.holds
    listed = [row for row in verdict.violations.to_pylist() if row["sensitive"] == "s"]
    assert listed == [{"items": ["A"], "support": 1, "sensitive": "s", "holders": 1}]
