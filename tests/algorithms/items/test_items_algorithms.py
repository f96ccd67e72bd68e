"""apriori-items, direct-items and optimal-items against the literal count-tree versions."""

import numpy as np
import pytest
from hypothesis import given

from by_definition.itemsets import rare_itemsets
from items_cases import fig_2, items_cases
from kohort.algorithms import Run
from kohort.algorithms.items.cuts import AprioriItems, DirectItems
from kohort.algorithms.items.optimal import OptimalItems
from kohort.errors import InfeasibleError, InputError

LITERAL = {"apriori": AprioriItems(refine=False), "direct": DirectItems(refine=False)}
ALL = [AprioriItems(), DirectItems(), OptimalItems(), *LITERAL.values()]


def solved(case, algorithm, **run):
    return algorithm.solve(case.problem(), Run(**run))


@pytest.mark.parametrize("algorithm", ALL, ids=str)
def test_figure_2_becomes_what_the_paper_says(algorithm):
    case = fig_2()
    recoding = solved(case, algorithm)
    assert recoding.apply(case.problem()).to_pylist() == [
        ["A", "b1", "b2"],
        ["A", "b1"],
        ["A", "b1", "b2"],
        ["A", "b2"],
    ]
    assert case.problem().ncp(recoding.node_of_occurrence) == pytest.approx(2.5 / 11)


@pytest.mark.parametrize("name", LITERAL)
@given(case=items_cases())
def test_the_cut_is_that_of_the_count_tree(name, case):
    twin = case.twin()
    wanted = getattr(twin, name)(case.k, case.m)
    found = case.cut_of(solved(case, LITERAL[name]))
    assert found == {leaf: wanted[leaf] for leaf in found}


@pytest.mark.parametrize("algorithm", ALL, ids=str)
@given(case=items_cases())
def test_the_promise_is_kept_and_equal_items_become_equal_nodes(algorithm, case):
    problem, recoding, twin = case.problem(), solved(case, algorithm), case.twin()
    cut = case.cut_of(recoding)
    pairs = set(zip(problem.leaves.tolist(), recoding.node_of_occurrence.tolist()))
    assert len(pairs) == len(cut)
    published = [{cut[item] for item in basket} for basket in twin.baskets]
    assert not rare_itemsets([(basket, 1) for basket in published], case.m, case.k)
    assert all(leaf in twin.under[node] for leaf, node in cut.items())
    assert not recoding.withheld.any()


@given(case=items_cases(max_items=6, max_baskets=8, max_m=3))
def test_optimal_items_is_the_best_of_all_cuts(case):
    twin, problem = case.twin(), case.problem()
    recoding = solved(case, OptimalItems())
    found = problem.ncp(recoding.node_of_occurrence)
    best = min(twin.ncp(cut) for cut in twin.all_cuts() if twin.is_anonymous(cut, case.k, case.m))
    assert found == pytest.approx(best)
    assert found == pytest.approx(twin.ncp(twin.optimal(case.k, case.m)))
    assert recoding.bound == pytest.approx(best)
    for algorithm in ALL:
        assert found <= problem.ncp(solved(case, algorithm).node_of_occurrence) + 1e-12


@given(case=items_cases())
def test_refining_never_costs_more(case):
    problem = case.problem()
    for plain, refined in ((LITERAL["apriori"], AprioriItems()), (LITERAL["direct"], DirectItems())):
        costs = [problem.ncp(solved(case, algorithm).node_of_occurrence) for algorithm in (plain, refined)]
        assert costs[1] <= costs[0] + 1e-12


@given(case=items_cases(max_items=6, max_baskets=8, max_m=3))
def test_a_stopped_search_keeps_the_promise_and_gives_a_bound(case):
    twin, problem = case.twin(), case.problem()
    best = twin.ncp(twin.optimal(case.k, case.m))
    for algorithm, limit in ((OptimalItems(most_cuts=1), None), (OptimalItems(), 1e-9)):
        recoding = solved(case, algorithm, time_limit=limit)
        assert recoding.bound <= best + 1e-12
        assert problem.ncp(recoding.node_of_occurrence) >= best - 1e-12


@given(case=items_cases())
def test_every_class_is_cut_by_itself(case):
    classes = np.arange(len(case.baskets)) % 2
    problem = case.problem(classes)
    recoding = AprioriItems().solve(problem, Run())
    for number in (0, 1):
        records = np.flatnonzero(classes == number)
        baskets = [case.baskets[record] for record in records]
        filled = sum(map(bool, baskets))
        assert recoding.withheld[records].all() == (0 < filled < case.k)
        mine = np.isin(problem.baskets.record_of_item, records)
        if filled >= case.k:
            alone = type(case)(case.hierarchy, baskets, case.k, case.m)
            expected = AprioriItems().solve(alone.problem(), Run()).node_of_occurrence
            assert recoding.node_of_occurrence[mine].tolist() == expected.tolist()


def test_fewer_filled_baskets_than_k_are_refused():
    with pytest.raises(InfeasibleError, match="k can be at most 4"):
        fig_2(k=5).problem()


def test_m_larger_than_any_basket_is_like_the_largest_basket():
    wanted = case_cut(fig_2(m=3))
    assert case_cut(fig_2(m=50)) == wanted


def case_cut(case):
    return case.cut_of(solved(case, AprioriItems()))


def test_a_limit_that_is_no_number_is_refused():
    with pytest.raises(InputError, match="most_cuts"):
        OptimalItems(most_cuts=0)


def test_progress_is_told_by_the_size_of_itemsets():
    told = []
    AprioriItems().solve(fig_2(m=3).problem(), Run(progress=lambda what, share: told.append((what, share))))
    names = list(dict.fromkeys(what for what, _ in told))
    assert names == ["itemsets of 1", "itemsets of 2", "itemsets of 3", "itemsets"]
    assert [share for _, share in told] == sorted(share for _, share in told)


@pytest.mark.parametrize("algorithm", [AprioriItems(), DirectItems()], ids=str)
@given(case=items_cases())
def test_without_time_the_promise_is_kept_at_a_higher_cost(algorithm, case):
    problem, twin = case.problem(), case.twin()
    recoding = solved(case, algorithm, time_limit=1e-9)
    cut = case.cut_of(recoding)
    whole_cut = {leaf: cut.get(leaf, leaf) for leaf in twin.leaves}
    assert twin.is_anonymous(whole_cut, case.k, case.m)
    assert problem.ncp(recoding.node_of_occurrence) >= twin.ncp(twin.optimal(case.k, case.m)) - 1e-12


def test_a_release_without_time_says_so():
    recoding = solved(fig_2(), AprioriItems(), time_limit=1e-9)
    assert any("Time ran out" in note for note in recoding.notes)


def test_no_passes_are_made_for_itemsets_larger_than_any_basket():
    told = []
    run = Run(progress=lambda what, share: told.append(what))
    AprioriItems().solve(fig_2(m=50).problem(), run)
    assert "itemsets of 3" in told
    assert "itemsets of 4" not in told
