"""Local recoding of baskets: safe by definition, never above its starts, with a valid lower bound."""

import os
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.itemsets import rare_itemsets
from by_definition.local_items import above, candidates, unsupported
from items_cases import fig_2, items_cases
from kohort.algorithms import Run
from kohort.algorithms.items.improve import rare_item_bound
from kohort.data.baskets import code_baskets
from kohort.io.data_files import read_data
from kohort.statement.items import BasketShape

LOCAL = [ko.LocalItems(), ko.ImproveItems(rounds=4)]


def solved(problem, algorithm, **run):
    return algorithm.solve(problem, Run(**run))


def occurrences(problem, nodes):
    """Per basket the pairs of an item's leaf and the node that it is published as."""
    leaves = problem.hierarchy.leaf_node[problem.leaves].tolist()
    pairs = list(zip(leaves, np.asarray(nodes).tolist()))
    ends = problem.baskets.offsets.tolist()
    return [pairs[begin:end] for begin, end in pairwise(ends)]


@pytest.mark.parametrize("algorithm", LOCAL, ids=str)
@given(case=items_cases())
def test_every_set_of_labels_is_supported_and_every_attacker_has_k_candidates(algorithm, case):
    problem = case.problem()
    parent = problem.hierarchy.parent.tolist()
    baskets = occurrences(problem, solved(problem, algorithm).node_of_occurrence)
    assert not unsupported(parent, baskets, case.k, case.m)
    assert candidates(parent, baskets, case.m) >= case.k
    assert all(node in above(parent, leaf) for basket in baskets for leaf, node in basket)


@pytest.mark.parametrize("algorithm", LOCAL, ids=str)
@given(case=items_cases())
def test_no_label_of_a_basket_lies_above_another(algorithm, case):
    problem = case.problem()
    parent = problem.hierarchy.parent.tolist()
    for basket in occurrences(problem, solved(problem, algorithm).node_of_occurrence):
        labels = {node for _, node in basket}
        assert not any(labels & set(above(parent, label)[1:]) for label in labels)


@given(case=items_cases())
def test_improving_never_costs_more_than_its_starts(case):
    problem = case.problem()
    cost = {
        type(algorithm).__name__: problem.ncp(solved(problem, algorithm).node_of_occurrence)
        for algorithm in (ko.AprioriItems(), *LOCAL, ko.ImproveItems(rounds=0))
    }
    found = problem.ncp(solved(problem, ko.ImproveItems(rounds=4)).node_of_occurrence)
    assert found <= min(cost.values()) + 1e-12


@given(case=items_cases(max_items=4, max_baskets=5, max_m=3))
def test_the_bound_is_not_above_the_least_loss_of_all_local_recodings(case):
    problem = case.problem()
    if len(problem.leaves) > 7:
        return
    parent = problem.hierarchy.parent.tolist()
    lineages = [above(parent, leaf) for leaf in problem.hierarchy.leaf_node[problem.leaves].tolist()]
    least = min(
        problem.ncp(np.array(nodes))
        for nodes in product(*lineages)
        if not unsupported(parent, occurrences(problem, nodes), case.k, case.m)
    )
    assert rare_item_bound(problem, Run()) <= least + 1e-12
    assert all(problem.ncp(solved(problem, a).node_of_occurrence) >= least - 1e-12 for a in LOCAL)


def test_the_bound_adds_up_rare_sets_without_a_common_item():
    hierarchy = ko.groups({"A": ["a1", "a2"], "B": ["b1", "b2"]})
    bought = [["a1"], ["a1"], ["b1"], ["b1"], ["a1", "b1"], ["a2"]]
    release = ko.anonymize(
        pa.table({"items": bought}),
        items={"items": hierarchy},
        privacy=[ko.KmAnonymity(2, 2)],
        algorithm="improve-items",
    )
    # a2 must become A, and one of the only basket with a1 and b1 must be generalized: 2 of 4 leaves each
    assert release.solver_bound == pytest.approx((0.5 + 0.5) / 7)
    assert release.loss["ncp"] >= release.solver_bound


@pytest.mark.parametrize("algorithm", LOCAL, ids=str)
@given(case=items_cases())
def test_a_search_without_time_keeps_the_promise(algorithm, case):
    problem = case.problem()
    baskets = occurrences(problem, solved(problem, algorithm, time_limit=1e-9).node_of_occurrence)
    assert not unsupported(problem.hierarchy.parent.tolist(), baskets, case.k, case.m)


@pytest.mark.parametrize("algorithm", LOCAL, ids=str)
@given(case=items_cases(), seed=st.integers(0, 3))
def test_every_class_is_recoded_by_itself_and_the_same_way_again(algorithm, case, seed):
    classes = np.arange(len(case.baskets)) % 2
    problem = case.problem(classes)
    recoding = solved(problem, algorithm)
    assert (recoding.node_of_occurrence == solved(problem, algorithm).node_of_occurrence).all()
    baskets = occurrences(problem, recoding.node_of_occurrence)
    for number in (0, 1):
        part = [basket for basket, class_ in zip(baskets, classes) if class_ == number]
        if not recoding.withheld[classes == number].any():
            assert not unsupported(problem.hierarchy.parent.tolist(), part, case.k, case.m)


@pytest.mark.parametrize("parts", [1, 2, 5])
@given(case=items_cases())
def test_vertical_items_is_a_cut_without_rare_itemsets(parts, case):
    problem = case.problem()
    nodes = solved(problem, ko.VerticalItems(parts=parts)).node_of_occurrence
    baskets = occurrences(problem, nodes)
    assert len({pair for basket in baskets for pair in basket}) == len(set(problem.leaves.tolist()))
    assert not rare_itemsets([({node for _, node in basket}, 1) for basket in baskets], case.m, case.k)


def test_figure_2_loses_less_locally():
    problem = fig_2().problem()
    costs = [problem.ncp(solved(problem, a).node_of_occurrence) for a in (ko.AprioriItems(), *LOCAL)]
    assert costs[1] <= costs[0] and costs[2] <= costs[1]


DATA = Path(os.environ.get("KOHORT_DATA", Path(__file__).parents[4] / "shared" / "data"))


@pytest.mark.long
@pytest.mark.skipif(not DATA.exists(), reason="needs the folder of larger data (KOHORT_DATA)")
@pytest.mark.parametrize("order", ["frequency", "natural"])
def test_nobody_who_knows_two_items_of_any_basket_of_webview_1_finds_fewer_than_k(order):
    table = read_data(DATA / "BMS-WebView-1.txt.zst", BasketShape()).table
    tree = ko.order(order, fanout=5)
    release = ko.anonymize(
        table,
        items={"items": tree},
        privacy=[ko.KmAnonymity(5, 2)],
        algorithm="local-items",
        shuffle=False,
    )
    original = code_baskets("items", table["items"])
    hierarchy = tree.build(original.items)
    texts = original.items.texts
    covers = {}  # per label the items under it, as a stranger reads the hierarchy
    for number, text in enumerate(texts):
        node = int(hierarchy.leaf_node[hierarchy.leaf_of[text]])
        while node >= 0:
            covers.setdefault(str(hierarchy.published[node]), []).append(number)
            node = int(hierarchy.parent[node])
    fits = np.zeros((table.num_rows, len(texts)), dtype=np.float32)
    for record, labels in enumerate(release.table["items"].to_pylist()):
        for label in labels:
            fits[record, covers[label]] = 1
    has = np.zeros_like(fits)
    has[original.record_of_item, original.items.codes] = 1
    candidates, known = fits.T @ fits, has.T @ has > 0
    assert candidates[known].min() >= 5
    assert (fits >= has).all()


def test_many_generated_baskets_lose_far_less():
    table = ko.datasets.generate_baskets(3_000, n_items=60, mean_size=4, seed=1)
    ncp = {
        name: ko.anonymize(table, items={"items": None}, privacy=[ko.KmAnonymity(5, 2)], algorithm=name).loss[
            "ncp"
        ]
        for name in ("apriori-items", "local-items", "improve-items", "vertical-items")
    }
    assert ncp["improve-items"] <= ncp["local-items"] < 0.6 * ncp["apriori-items"]
