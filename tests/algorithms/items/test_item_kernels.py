"""The kernels for itemsets against their twins by definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition import itemsets as twin
from items_cases import items_cases
from kohort.algorithms.items.cut_search import CutSearch
from kohort.algorithms.items.kernels.item_cuts import kept_nodes, supports
from kohort.algorithms.items.kernels.itemsets import (
    Baskets,
    collapsed,
    count_pairs_after,
    mark_rare,
    pair_counts,
    picked,
    project,
    rare_after,
    rare_in_row,
    transposed,
)
from kohort.algorithms.items.kernels.local_confidence import short_of_room

pytestmark = pytest.mark.usefixtures("interpreted")

N = 6
WEIGHTED = st.lists(
    st.tuples(st.sets(st.integers(0, N - 1)).map(sorted), st.integers(1, 3)), min_size=1, max_size=8
)


def coded(baskets):
    start = np.cumsum([0, *(len(nodes) for nodes, _ in baskets)]).astype(np.int64)
    nodes = np.array([node for nodes, _ in baskets for node in nodes], dtype=np.int32)
    return Baskets(start, nodes, np.array([weight for _, weight in baskets], dtype=np.int64))


def plain(baskets):
    parts = np.split(baskets.nodes, baskets.start[1:-1])
    return [(part.tolist(), int(weight)) for part, weight in zip(parts, baskets.weight)]


@given(WEIGHTED)
def test_equal_baskets_become_one(baskets):
    wanted = {}
    for nodes, weight in baskets:
        if nodes:
            wanted[tuple(nodes)] = wanted.get(tuple(nodes), 0) + weight
    found = collapsed(coded(baskets))
    if not wanted:
        assert not len(found.weight)
        return
    assert sorted(plain(found)) == sorted((list(nodes), weight) for nodes, weight in wanted.items())


@given(WEIGHTED, st.lists(st.booleans(), min_size=N, max_size=N), st.integers(1, 4))
def test_what_comes_after_a_node(baskets, keep, k):
    these = coded(baskets)
    lists = transposed(these, N)
    assert lists.present.tolist() == sorted({node for nodes, _ in baskets for node in nodes})
    for i, node in enumerate(lists.present.tolist()):
        with_node = [(nodes, weight) for nodes, weight in baskets if node in nodes]
        assert lists.weight[i] == sum(weight for _, weight in with_node)
        found = project(these, lists, i, np.array(keep))
        wanted = [part for part in twin.after(baskets, node, keep) if part[0]]
        assert (plain(found) if len(found.weight) else []) == wanted
        count, room = np.zeros(N, dtype=np.int64), np.empty(N, dtype=np.int32)
        rare = room[: rare_after(these, lists, i, k, count, room)]
        after_all = twin.after(baskets, node, [True] * N)
        assert sorted(rare.tolist()) == sorted(single for (single,) in twin.rare_itemsets(after_all, 1, k))
        assert not count.any()


MANY = st.lists(  # as many baskets as nodes, so that pairs are counted in a table
    st.tuples(st.sets(st.integers(0, N - 1), min_size=2).map(sorted), st.integers(1, 3)),
    min_size=N,
    max_size=2 * N,
)


@given(WEIGHTED | MANY, st.integers(1, 4), st.integers(1, 5))
def test_the_marks_of_rare_itemsets(baskets, size, k):
    rare, pairs = twin.rare_itemsets(baskets, size, k), pair_counts(N, k)
    marks, prefix = np.zeros(N, dtype=bool), np.full(size, -1, dtype=np.int64)
    assert mark_rare(coded(baskets), size, k, marks, prefix, 0, False, pairs) == bool(rare)
    assert set(np.flatnonzero(marks).tolist()) == {node for itemset in rare for node in itemset}
    marks, prefix = np.zeros(N, dtype=bool), np.full(size, -1, dtype=np.int64)
    assert mark_rare(coded(baskets), size, k, marks, prefix, 0, True, pairs) == bool(rare)
    if rare:
        assert tuple(node for node in prefix.tolist() if node >= 0) in rare


@given(MANY, st.lists(st.booleans(), min_size=N, max_size=N), st.integers(1, 6))
def test_the_table_counts_the_pairs_after_a_node(baskets, keep, k):
    these, pairs, found = coded(baskets), pair_counts(N, k), np.empty(N, dtype=np.int32)
    lists = transposed(these, N)
    for i, node in enumerate(lists.present.tolist()):
        count_pairs_after(these, lists, i, np.array(keep), k, pairs)
        after = twin.after(baskets, node, keep)
        singles = {single for nodes, _ in after for single in nodes}
        assert set(pairs.used[: pairs.n_used[0]].tolist()) == singles
        rare = {itemset for itemset in twin.rare_itemsets(after, 2, k) if len(itemset) == 2}
        for first in range(N):
            wanted = sorted(second for one, second in rare if one == first)
            assert found[: rare_in_row(pairs, first, k, found)].tolist() == wanted
            if first in singles:
                support = sum(weight for nodes, weight in after if first in nodes)
                assert pairs.number[first, first] == min(support, k)


def test_a_table_is_not_made_for_many_nodes_or_a_large_k():
    assert len(pair_counts(1_500, 5).low) == 1_500
    assert len(pair_counts(1_501, 5).low) == len(pair_counts(5, 60_001).low) == 0


@given(
    st.lists(st.tuples(st.sets(st.integers(0, N - 1)).map(sorted), st.integers(-3, 3)), max_size=8),
    st.integers(1, 4),
)
def test_the_itemsets_that_are_short_of_room(baskets, size):
    wanted = twin.short_itemsets(baskets, size)
    for most in (len(wanted) + 1, 1):
        found, number = np.zeros((most, size), dtype=np.int64), np.zeros(1, dtype=np.int64)
        prefix = np.full(size, -1, dtype=np.int64)
        short_of_room(coded(baskets), N, size, found, number, prefix, 0)
        written = {tuple(node for node in row if node >= 0) for row in found[: number[0]].tolist()}
        assert len(written) == number[0] == min(len(wanted), most)
        assert written <= wanted


@given(WEIGHTED, st.data())
def test_some_of_the_baskets(baskets, data):
    numbers = data.draw(st.lists(st.integers(0, len(baskets) - 1), min_size=1, max_size=4))
    assert plain(picked(coded(baskets), np.array(numbers))) == [baskets[number] for number in numbers]


@given(items_cases(), st.data())
def test_the_nodes_that_are_kept_and_the_baskets_of_every_node(case, data):
    problem = case.problem()
    search = CutSearch(problem.baskets.offsets, problem.leaves, problem.hierarchy, case.k)
    parent, leaf_node = search.tree.parent.tolist(), search.tree.leaf_node
    n = len(parent)
    kept = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    number = np.where(kept, np.arange(n), -1).astype(np.int64)
    items = [[int(leaf_node[leaf]) for leaf in leaves] for leaves, _ in plain(search.baskets)]
    found = kept_nodes(search.baskets, search.tree, number)
    assert [nodes for nodes, _ in plain(found)] == [twin.shown(basket, parent, number) for basket in items]
    everything = np.arange(n)
    for node in range(n):
        wanted = [b for b, basket in enumerate(items) if node in twin.shown(basket, parent, everything)]
        lists = search.lists
        assert lists.basket[lists.start[node] : lists.start[node + 1]].tolist() == wanted
        assert supports(lists)[node] == sum(int(search.baskets.weight[b]) for b in wanted)
