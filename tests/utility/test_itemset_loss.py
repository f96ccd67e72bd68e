"""tKd, tKd-ML2 and the error of pair supports against their definitions."""

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from kohort.data.baskets import code_baskets
from kohort.job.sides import BasketPair
from kohort.utility.itemset_loss import frequent_sets, itemset_loss, pair_error, top_lost
from strategies import hierarchies

LEAVES = [f"i{number}" for number in range(5)]


@st.composite
def pairs(draw):
    """Original baskets, and the same with some items generalized and some dropped."""
    tree = draw(hierarchies(LEAVES))
    before = draw(
        st.lists(st.lists(st.sampled_from(LEAVES), unique=True, max_size=4), min_size=1, max_size=8)
    )
    before.append(["i0"])
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    after = []
    for basket in before:
        shown = set()
        for item in basket:
            lineage = lineage_of(tree, item)
            if rng.random() < 0.9:
                shown.add(tree.published[lineage[rng.integers(len(lineage))]])
        after.append(sorted(map(str, shown)))
    coded = [code_baskets("items", pa.array(side, pa.list_(pa.string()))) for side in (before, after)]
    return BasketPair(*coded, tree, 2), before, after


def lineage_of(tree, item):
    node = int(tree.leaf_node[tree.leaf_of[item]])
    found = []
    while node >= 0:
        found.append(node)
        node = int(tree.parent[node])
    return found


def nodes_of(tree, label):
    return [0] if label == "*" else tree.nodes_of_label.get(label, [])


def supports(baskets, tree, levels):
    """The support of every set of up to three nodes; the root says nothing."""
    shown = []
    for basket in baskets:
        nodes = {node for label in basket for node in nodes_of(tree, label)}
        if levels:
            nodes = {above for node in nodes for above in climbed(tree, node)}
        shown.append(nodes - {0} if len(tree.parent) > 1 else nodes)
    found = {}
    for nodes in shown:
        for size in (1, 2, 3):
            for chosen in combinations(sorted(nodes), size):
                if levels and any(a in climbed(tree, b)[1:] for a in chosen for b in chosen):
                    continue
                found[chosen] = found.get(chosen, 0) + 1
    return found


def climbed(tree, node):
    found = []
    while node >= 0:
        found.append(node)
        node = int(tree.parent[node])
    return found


def lost_by_definition(before, after, tree, top, levels):
    original, published = (supports(side, tree, levels) for side in (before, after))
    ranked = sorted(original, key=lambda nodes: (-original[nodes], len(nodes), nodes))[:top]
    ordered = sorted(published.values(), reverse=True)
    least = ordered[top - 1] if len(ordered) >= top else 1
    return sum(published.get(nodes, 0) < least for nodes in ranked) / len(ranked)


@pytest.mark.parametrize("levels", [False, True])
@given(drawn=pairs(), top=st.sampled_from([1, 3, 10, 1000]))
def test_the_share_of_frequent_sets_that_are_lost(levels, drawn, top):
    pair, before, after = drawn
    found, size = top_lost(pair, top, levels=levels)
    assert size == 3
    assert found == pytest.approx(lost_by_definition(before, after, pair.hierarchy, top, levels))


@given(drawn=pairs())
def test_the_error_of_pair_supports(drawn):
    pair, before, after = drawn
    occurring = {item for basket in before for item in basket}
    errors = []
    for two in combinations(sorted(occurring), 2):
        true = sum(set(two) <= set(basket) for basket in before)
        suggested = sum(
            np.prod([chance(pair.hierarchy, labels, i, occurring) for i in two]) for labels in after
        )
        if true + suggested > 0:
            errors.append(abs(true - suggested) / ((true + suggested) / 2))
    error, n = pair_error(pair)
    assert n == len(errors)
    assert error == (pytest.approx(np.mean(errors)) if errors else None)


def chance(tree, labels, item, occurring):
    """How probably a basket with these labels holds an item: by the narrowest label above it."""
    widths = []
    for label in labels:
        for node in nodes_of(tree, label):
            under = {leaf for leaf in occurring if node in lineage_of(tree, leaf)}
            if node in lineage_of(tree, item):
                widths.append(len(under))
    return 1 / min(widths) if widths else 0.0


def test_nothing_is_lost_where_nothing_changes_and_everything_where_all_is_one():
    table = ko.datasets.generate_baskets(500, n_items=20, mean_size=3, seed=0)
    coded = code_baskets("items", table["items"])
    tree = ko.order("frequency", fanout=5).build(coded.items)
    same = itemset_loss(BasketPair(coded, coded, tree, 2))
    assert same["tkd"] == same["tkd_ml2"] == same["pair_error"] == 0
    star = code_baskets("items", pa.array([["*"]] * 500))
    all_lost = itemset_loss(BasketPair(coded, star, tree, 2))
    assert all_lost["tkd"] == all_lost["tkd_ml2"] == 1


def test_sizes_with_too_many_sets_are_left_out(monkeypatch):
    monkeypatch.setattr("kohort.utility.itemset_loss._MOST_SETS", 10)
    offsets, nodes = np.array([0, 6]), np.arange(6)
    assert frequent_sets(offsets, nodes, 100).size == 1
    assert frequent_sets(np.array([0, 4]), np.arange(4), 100).size == 3


def test_a_release_and_a_comparison_have_the_measures(tmp_path):
    table = ko.datasets.generate_baskets(300, n_items=30, mean_size=3, seed=1)
    release = ko.anonymize(table, items={"items": None}, privacy=[ko.KmAnonymity(5, 2)])
    found = release.utility(queries=10)["itemsets"]
    assert 0 < found["tkd"] <= 1 and 0 <= found["tkd_ml2"] <= 1 and 0 < found["pair_error"] <= 2
    release.report(tmp_path / "report.html")
    assert "tKd-ML2" in (tmp_path / "report.html").read_text()
