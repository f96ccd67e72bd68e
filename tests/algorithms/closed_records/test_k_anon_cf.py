"""k-anon-cf and k-anon against brute force, the printed algorithms and the oracles."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.k_anon_cf import (
    closed_by_algorithm_7,
    closed_by_brute_force,
    least_cost,
    ratios,
    support,
    total_cost,
)
from kohort.algorithms import Run
from kohort.algorithms.closed_records import k_anon_cf
from kohort.algorithms.closed_records.greedy_cover import cover_sets
from kohort.algorithms.closed_records.k_anon import KAnon, disjoint
from kohort.algorithms.closed_records.k_anon_cf import KAnonCF
from kohort.algorithms.closed_records.kernels.greedy_cover import cover_greedily, new_cover
from kohort.algorithms.mining.closed_records import (
    MinedRows,
    guess_number,
    mine,
    mine_closed_records,
    record_costs,
)
from kohort.data.column import code_column
from kohort.errors import UnsupportedError
from kohort.problem.attribute import Attribute
from kohort.problem.costs import cost_named
from kohort.problem.counted_cells import first_slots
from kohort.problem.problem import Problem
from small_problems import ShortRun
from strategies import PLAIN_TEXTS, hierarchies

DATA = Path(os.environ.get("KOHORT_DATA", Path(__file__).parents[4] / "shared" / "data"))
MONOTONE = ("loss", "ncp", "tree", "suppressions", "monotone-entropy")


@st.composite
def problems(draw, max_records=9, max_attributes=3, costs=MONOTONE, max_k=3):
    """Small problems over random hierarchies, with repeated rows."""
    n = draw(st.integers(2, max_records))
    attributes = []
    for number in range(draw(st.integers(1, max_attributes))):
        leaves = PLAIN_TEXTS[: draw(st.integers(2, 5))]
        values = draw(st.lists(st.sampled_from(leaves), min_size=n, max_size=n))
        column = code_column(f"q{number}", pa.array(values))
        attributes.append(
            Attribute(column, draw(hierarchies(leaves, ("A", "B"))), weight=draw(st.integers(1, 3)))
        )
    k = draw(st.integers(1, min(max_k, n)))
    return Problem(tuple(attributes), (ko.KAnonymity(k),), cost_named(draw(st.sampled_from(costs))))


@given(problems(max_records=12, max_k=4))
def test_mining_equals_brute_force_and_the_printed_algorithm(problem):
    mined = mine_closed_records(problem)
    found = {tuple(map(int, nodes)) for nodes in mined.nodes}
    assert len(found) == len(mined), "a record was found twice"
    assert found == closed_by_brute_force(problem, problem.k)
    assert found == closed_by_algorithm_7(problem, problem.k)
    for number, nodes in enumerate(mined.nodes):
        assert set(mined.support(number).tolist()) == support(problem, nodes)
        assert mined.weight[number] == problem.rows.counts[mined.support(number)].sum()


def test_the_example_of_ten_shoppers():
    paths = [
        ("shoes", "footwear", "clothing"),
        ("boots", "footwear", "clothing"),
        ("sandals", "footwear", "clothing"),
        ("ski-pants", "outdoors", "clothes", "clothing"),
        ("sport-jackets", "outdoors", "clothes", "clothing"),
        ("shirts", "clothes", "clothing"),
    ]
    bought = ["shoes"] * 3 + ["boots"] * 2 + ["sandals", "ski-pants"] + ["sport-jackets"] * 3
    tree = ko.Hierarchy.from_paths(paths)
    attribute = Attribute(code_column("bought", pa.array(bought)), tree)
    problem = Problem((attribute,), (ko.KAnonymity(3),), cost_named("loss"))
    labels = {tree.label[node] for node in mine_closed_records(problem).nodes[:, 0]}
    assert labels == {"shoes", "footwear", "sport-jackets", "outdoors", "clothing"}


@given(problems(), st.sampled_from([1, 10**6]))
def test_every_pick_has_the_least_ratio_of_all_closed_records(problem, work):
    k = problem.k
    closed = mine_closed_records(problem)
    table = MinedRows.of(problem)
    sets, slots = cover_sets(table, closed, problem), first_slots(table.counts)
    cover = new_cover(sets, slots, k)
    while cover.counts[0].left:
        cover_greedily(sets, slots, k, cover, work)
    costs = record_costs(problem, closed)
    sets = [(closed.support(s).tolist(), costs[s]) for s in range(len(closed))]
    uncovered = problem.rows.counts.tolist()
    for pick in cover.chosen[: cover.counts[0].n_clusters]:
        now = ratios(problem, sets, uncovered, k)
        assert now[pick] == pytest.approx(min(now.values()))
        most = 2 * k - 1
        for row in sets[pick][0]:
            taken = min(uncovered[row], most)
            uncovered[row] -= taken
            most -= taken
    assert sum(uncovered) == 0


@given(problems())
def test_clusters_have_k_to_2k_minus_1_records(problem):
    groups = KAnonCF().solve(problem, Run())
    sizes = np.bincount(groups.group_of_record)
    assert sizes.min() >= problem.k
    assert sizes.max() <= max(2 * problem.k - 1, problem.k)


@given(problems(max_records=8))
def test_the_cost_is_within_the_guarantee(problem):
    least = least_cost(problem, problem.k)
    for algorithm in (KAnonCF(), KAnon()):
        groups = algorithm.solve(problem, Run())
        factor = 2 * (1 + math.log(2 * problem.k))
        if problem.cost.name != "suppressions":  # which is measured without weights
            assert groups.guarantee == pytest.approx(factor)
        assert total_cost(problem, groups.group_of_record) <= factor * least + 1e-9
        assert total_cost(problem, groups.group_of_record) >= least - 1e-9


@given(problems(costs=("loss",)))
def test_little_memory_gives_the_same_clusters(problem):
    plenty = KAnonCF().solve(problem, Run())
    little = KAnonCF(memory=1e-9).solve(problem, Run())
    assert little.group_of_record.tolist() == plenty.group_of_record.tolist()
    assert little.guarantee == plenty.guarantee
    assert any("memory" in note for note in little.notes)


@given(problems(max_records=12, max_k=4))
def test_the_guess_of_few_closed_records_is_exact(problem):
    assert guess_number(MinedRows.of(problem), problem.k, run=Run()) == len(mine_closed_records(problem))


def test_the_guess_of_many_closed_records_is_near():
    names = ["sex", "race", "marital-status", "education", "workclass", "occupation", "native-country"]
    asked = {"quasi_identifiers": {name: ko.auto() for name in names}, "privacy": [ko.KAnonymity(5)]}
    adult = ko.datasets.load_adult(split="train").select(names)
    problem = ko.anonymize(adult, algorithm="hilbert", **asked).problem
    guess, number = guess_number(MinedRows.of(problem), 5, run=Run()), len(mine_closed_records(problem))
    assert number > 60_000
    assert number / 3 < guess < number * 3


@given(problems(max_records=12, costs=("loss", "tree")), st.integers(0, 5))
def test_when_time_runs_out_the_groups_are_those_of_another_and_it_says_so(problem, looks):
    groups = KAnonCF().solve(problem, ShortRun(looks))
    assert np.bincount(groups.group_of_record).min() >= problem.k
    assert (groups.guarantee is None) == any("time limit" in note for note in groups.notes)


@given(problems(max_records=12))
def test_regions_give_a_valid_grouping_without_a_guarantee(problem):
    groups = KAnonCF(records=1e-6).solve(problem, Run())
    assert np.bincount(groups.group_of_record).min() >= problem.k
    if len(mine_closed_records(problem)) > 4:
        assert groups.guarantee is None
        assert any("regions" in note for note in groups.notes)


def test_large_tables_with_too_much_to_mine_are_refused_at_once(monkeypatch):
    monkeypatch.setattr(k_anon_cf, "_MOST_SPLIT", 100)
    people = ko.datasets.load_adult(split="train").select(["sex", "age", "education"]).slice(0, 2_000)
    asked = {
        "quasi_identifiers": {"sex": ko.flat(), "age": ko.auto(), "education": ko.auto()},
        "privacy": [ko.KAnonymity(5)],
    }
    assert ko.anonymize(people, **asked, algorithm="k-anon-cf").guarantee is not None
    with pytest.raises(UnsupportedError, match=r"about [0-9,]+ closed records.*Choose improve or mondrian"):
        ko.anonymize(people, **asked, algorithm=ko.KAnonCF(records=1e-4))
    monkeypatch.setattr(k_anon_cf, "_MOST_ROWS", 50)
    with pytest.raises(UnsupportedError, match="up to 50 different records"):
        ko.anonymize(people, **asked, algorithm="k-anon-cf")


def test_the_number_of_closed_records_is_guessed_from_a_sample_too(monkeypatch):
    people = ko.datasets.load_adult(split="train").select(["sex", "age", "race", "education", "occupation"])
    problem = ko.anonymize(
        people,
        quasi_identifiers=dict.fromkeys(people.column_names, ko.auto()),
        privacy=[ko.KAnonymity(10)],
        algorithm="mondrian",
    ).problem
    monkeypatch.setattr(k_anon_cf, "_SAMPLE", 8_000)
    guess, number = k_anon_cf._number_by_sample(problem), len(mine_closed_records(problem))
    assert number / 3 < guess < number * 3


def test_there_is_no_guarantee_for_what_is_not_searched():
    people = pa.table({"town": ["a", "a", "b", "b", "c"], "sex": ["f", "m", "f", "m", "f"]})
    asked = {
        "quasi_identifiers": {"town": ko.flat(), "sex": ko.flat()},
        "privacy": [ko.KAnonymity(2)],
        "algorithm": "k-anon-cf",
    }
    assert ko.anonymize(people, **asked).guarantee is not None
    assert ko.anonymize(people, labels="tight", **asked).guarantee is None
    assert ko.anonymize(people, cost="suppressions", weights={"sex": 2}, **asked).guarantee is None


def test_entropy_is_minimised_without_a_guarantee():
    people = pa.table({"town": ["a", "a", "b", "b", "c", "c", "c"]})
    asked = {
        "quasi_identifiers": {"town": ko.flat()},
        "privacy": [ko.KAnonymity(2)],
        "algorithm": "k-anon-cf",
    }
    assert ko.anonymize(people, cost="entropy", **asked).guarantee is None
    assert ko.anonymize(people, cost="monotone-entropy", **asked).guarantee is not None


def test_flat_hierarchies_are_suppression_only():
    people = pa.table({"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"], "c": ["1", "1", "1", "2"]})
    release = ko.anonymize(
        people,
        quasi_identifiers={"a": ko.flat(), "b": ko.flat(), "c": ko.flat()},
        privacy=[ko.KAnonymity(2)],
        cost="suppressions",
        algorithm="k-anon-cf",
    )
    published = {value for name in "abc" for value in release.table[name].to_pylist()}
    assert published <= {"x", "y", "p", "q", "1", "2", "*"}
    assert release.loss["suppressions"] == 6  # x|*|1, x|*|1 and y|*|*, y|*|*


def test_a_column_without_a_hierarchy_is_refused_with_the_way_out():
    with pytest.raises(ko.UnsupportedError, match="hierarchy: auto"):
        ko.anonymize(
            pa.table({"age": [1, 2, 3]}),
            quasi_identifiers={"age": None},
            privacy=[ko.KAnonymity(2)],
            algorithm="k-anon-cf",
        )


def test_k_anon_refuses_tables_that_are_not_tiny():
    with pytest.raises(ko.UnsupportedError, match="k-anon-cf"):
        ko.anonymize(
            pa.table({"age": list(range(100))}),
            quasi_identifiers={"age": None},
            privacy=[ko.KAnonymity(4)],
            algorithm="k-anon",
        )


@given(st.lists(st.sets(st.integers(0, 8), min_size=3, max_size=5), min_size=1, max_size=8))
def test_a_cover_becomes_disjoint(cover):
    clusters = disjoint([set(s) for s in cover], 3)
    assert all(3 <= len(cluster) <= 5 for cluster in clusters)
    records = [record for cluster in clusters for record in cluster]
    assert len(records) == len(set(records))
    assert set(records) == set().union(*cover)


ORACLE = {  # k: closed records of Adult's train part with the first 5, 6, 7, 8 quasi-identifiers
    200: (4_710, 13_663, 40_254, 112_412),
    100: (8_163, 23_645, 73_502, 222_641),
    50: (12_774, 36_209, 117_864, 395_216),
    25: (18_830, 51_333, 171_901, 623_348),
    10: (29_639, 76_274, 255_348, 964_588),
    5: (38_983, 97_840, 317_206, 1_203_409),
}
NAMES = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


def adult_problem(n_attributes, k):
    people = ko.datasets.load_adult(split="train")
    attributes = tuple(
        Attribute(
            code_column(name, people[name]),
            ko.read_hierarchy(DATA / "arx-adult-hierarchies" / f"{name}.csv"),
        )
        for name in NAMES[:n_attributes]
    )
    return Problem(attributes, (ko.KAnonymity(k),), cost_named("loss"))


@pytest.mark.long
@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="needs the folder of larger data (KOHORT_DATA)")
@pytest.mark.parametrize("k", ORACLE)
@pytest.mark.parametrize("n_attributes", [5, 6, 7, 8])
def test_the_number_of_closed_records_on_adult(n_attributes, k):
    problem = adult_problem(n_attributes, k)
    mined = mine(MinedRows.of(problem), k, max_support_rows=0, run=Run())
    assert len(mined) == ORACLE[k][n_attributes - 5]
