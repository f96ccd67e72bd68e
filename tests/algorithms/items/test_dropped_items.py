"""Items that may be dropped from their baskets: safe by definition, at the least cost, and stated."""

from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import kohort as ko
from by_definition.itemsets import rare_itemsets
from by_definition.local_items import above, unsupported
from items_cases import items_cases
from kohort.algorithms import Run
from kohort.algorithms.items.improve import rare_item_bound
from kohort.errors import InputError
from kohort.recoding.items import DROPPED

CUTS = [ko.AprioriItems(), ko.AprioriItems(refine=False), ko.DirectItems(), ko.VerticalItems(parts=2)]
LOCAL = [ko.LocalItems(), ko.ImproveItems(rounds=3)]
ALL = [*CUTS, ko.OptimalItems(), *LOCAL]


def nodes_of(problem, algorithm, **run):
    return algorithm.solve(problem, Run(**run)).node_of_occurrence


def occurrences(problem, nodes):
    """Per basket the pairs of an item's leaf and the node that it is published as, without dropped items."""
    leaves = problem.hierarchy.leaf_node[problem.leaves].tolist()
    pairs = list(zip(leaves, np.asarray(nodes).tolist()))
    ends = problem.baskets.offsets.tolist()
    return [[pair for pair in pairs[begin:end] if pair[1] != DROPPED] for begin, end in pairwise(ends)]


@pytest.mark.parametrize("time_limit", [None, 1e-9])
@pytest.mark.parametrize("algorithm", ALL, ids=str)
@given(case=items_cases())
def test_what_is_left_keeps_the_promise(algorithm, time_limit, case):
    problem = case.problem(suppress=True)
    nodes = nodes_of(problem, algorithm, time_limit=time_limit)
    parent = problem.hierarchy.parent.tolist()
    baskets = occurrences(problem, nodes)
    assert not unsupported(parent, baskets, case.k, case.m)
    assert all(node in above(parent, leaf) for basket in baskets for leaf, node in basket)
    whole = occurrences(problem, np.where(nodes == DROPPED, -1, nodes))
    for basket in whole:  # a dropped item is under no label of its basket: else it would be published as that
        labels = {node for _, node in basket}
        assert not any(node < 0 and labels & set(above(parent, leaf)) for leaf, node in basket)


@pytest.mark.parametrize("algorithm", CUTS, ids=str)
@given(case=items_cases())
def test_a_cut_treats_all_occurrences_of_an_item_alike(algorithm, case):
    problem = case.problem(suppress=True)
    nodes = nodes_of(problem, algorithm)
    pairs = set(zip(problem.leaves.tolist(), nodes.tolist()))
    assert len(pairs) == len(set(problem.leaves.tolist()))
    labels = {node for _, node in pairs if node != DROPPED}
    parent = problem.hierarchy.parent.tolist()
    assert not any(labels & set(above(parent, label)[1:]) for label in labels)


@given(case=items_cases(max_items=5, max_baskets=7, max_m=3))
def test_optimal_items_is_the_best_of_all_cuts_with_any_nodes_dropped(case):
    problem, twin = case.problem(suppress=True), case.twin()
    leaf_nodes = problem.hierarchy.leaf_node[problem.leaves]
    least = 1.0
    for cut in twin.all_cuts():
        used = sorted({cut[leaf] for leaf in leaf_nodes.tolist()})
        for dropped in product([False, True], repeat=len(used)):
            gone = {node for node, out in zip(used, dropped) if out}
            nodes = np.array([DROPPED if cut[leaf] in gone else cut[leaf] for leaf in leaf_nodes.tolist()])
            shown = [({node for _, node in basket}, 1) for basket in occurrences(problem, nodes)]
            if not rare_itemsets(shown, case.m, case.k):
                least = min(least, problem.ncp(nodes))
    recoding = ko.OptimalItems().solve(problem, Run())
    assert problem.ncp(recoding.node_of_occurrence) == pytest.approx(least)
    assert recoding.bound == pytest.approx(least)
    assert all(problem.ncp(nodes_of(problem, algorithm)) >= least - 1e-12 for algorithm in CUTS)


@given(case=items_cases())
def test_local_methods_lose_no_more_than_without_dropping_and_no_less_than_the_bound(case):
    strict, free = case.problem(), case.problem(suppress=True)
    starts = [free.ncp(nodes_of(free, ko.AprioriItems())), free.ncp(nodes_of(free, ko.LocalItems()))]
    assert starts[1] <= strict.ncp(nodes_of(strict, ko.LocalItems())) + 1e-12
    best = free.ncp(nodes_of(free, ko.ImproveItems(rounds=3)))
    assert best <= min(starts) + 1e-12
    assert best >= rare_item_bound(free, Run()) - 1e-12


RARE = [["bread", "milk"]] * 6 + [["bread", "tea"]] * 6 + [["bread", "milk", "caviar"]]
TREE = ko.groups({"food": ["bread", "caviar"], "drinks": ["milk", "tea"]})


@pytest.mark.parametrize("algorithm", ALL, ids=lambda algorithm: algorithm.name)
def test_one_rare_item_is_dropped_and_everybody_is_told(algorithm):
    release = ko.anonymize(
        pa.table({"items": RARE}),
        items=ko.Items("items", TREE, suppress=True),
        privacy=[ko.KmAnonymity(5, 2)],
        algorithm=algorithm,
        shuffle=False,
    )
    dropped = release.facts()["items"]["dropped"]
    assert dropped + sum(map(len, release.table["items"].to_pylist())) == 27
    if not isinstance(algorithm, (ko.LocalItems, ko.ImproveItems)):  # these generalize in that one basket
        assert release.table["items"].to_pylist() == [*RARE[:-1], ["bread", "milk"]]
        assert release.loss["ncp"] == pytest.approx(1 / 27)
        assert dropped == 1
        assert release.facts()["items"]["dropped_share"] == pytest.approx(1 / 27)
        assert "1 of 27 items (3.7 %) are dropped" in " ".join(c.detail for c in release.verdict.checks)
    assert verified(release.table).holds


def verified(published, suppress=True, k=5):
    spec = {
        "attributes": {"items": {"role": "items", "hierarchy": TREE.to_spec(), "suppress": suppress}},
        "privacy": {"k": k, "m": 2},
        "shuffle": False,
    }
    return ko.verify(published, spec=spec, original=pa.table({"items": RARE}))


def test_a_dropped_item_is_a_failure_where_nobody_asked_for_it():
    published = pa.table({"items": [*RARE[:-1], ["bread", "milk"]]})
    assert verified(published).holds
    verdict = verified(published, suppress=False)
    assert not verdict.holds
    assert any("1 item of 'items' not covered" in check.detail for check in verdict.checks)


def test_an_invented_item_is_a_failure_even_where_items_may_be_dropped():
    published = pa.table({"items": [*RARE[:-1], ["bread", "milk", "tea"]]})
    assert not verified(published, k=1).holds


def test_the_attack_of_the_risk_ignores_known_items_that_were_dropped():
    table = pa.table({"items": RARE})
    asked = {"items": ko.Items("items", TREE, suppress=True), "privacy": [ko.KmAnonymity(5, 2)]}
    release = ko.anonymize(table, **asked, algorithm="apriori-items", shuffle=False)
    attack = release.risk()["linkage"]
    assert attack["known_items"] == 2
    assert attack["after"]["hit_rate"] <= 1 / 5


def test_suppress_is_for_items_and_must_be_a_switch():
    spec = {"attributes": {"a": {"role": "quasi-identifier", "suppress": True}}, "privacy": {"k": 2}}
    with pytest.raises(InputError, match="suppress are for the role items"):
        ko.anonymize(pa.table({"a": ["x", "y"]}), spec=spec)
    with pytest.raises(InputError, match="suppress"):
        ko.Items("items", suppress="yes")


@pytest.mark.parametrize(
    "algorithm", [ko.AprioriItems(), ko.AprioriItems(refine=False), ko.VerticalItems()], ids=str
)
@pytest.mark.parametrize(
    ("bought", "fanout", "m"),
    [
        ([["i1", "i2"], ["i0", "i5"], ["i2"], [], [], [], [], ["i3"], [], ["i1"]], 3, 3),
        ([["i1", "i3", "i4"], ["i0", "i2", "i3"], ["i3"], ["i1"], ["i0", "i3"]], 2, 2),
    ],
)
def test_an_item_that_comes_back_under_a_label_makes_no_itemset_rare(algorithm, bought, fanout, m):
    """Items are dropped when they are rare, and come back where a node above them is published later."""
    release = ko.anonymize(
        pa.table({"items": bought}),
        items=ko.Items("items", hierarchy=ko.order("frequency", fanout=fanout), suppress=True),
        privacy=[ko.KmAnonymity(2, m)],
        algorithm=algorithm,
    )
    assert release.verdict.holds
