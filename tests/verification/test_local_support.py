"""Verification of locally recoded baskets against plain loops over everything an attacker may know."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.local_items import above, unsupported
from items_cases import items_cases
from kohort.data.baskets import code_baskets
from kohort.recoding.items import ItemNodes
from kohort.verification.items import Levels, labels_nest, survey_locally
from kohort.verification.promises import stated_items


def at_random(problem, rng):
    """Any node at or above each item: what nobody would publish, too."""
    parent = problem.hierarchy.parent.tolist()
    leaves = problem.hierarchy.leaf_node[problem.leaves].tolist()
    return np.array([rng.choice(above(parent, leaf)) for leaf in leaves], dtype=np.int64)


def published_and_pairs(problem, nodes):
    withheld = np.zeros(len(problem.baskets), dtype=bool)
    published = code_baskets("items", ItemNodes(nodes, withheld).apply(problem))
    leaves = problem.hierarchy.leaf_node[problem.leaves].tolist()
    pairs = list(zip(leaves, nodes.tolist()))
    return published, [pairs[begin:end] for begin, end in pairwise(problem.baskets.offsets.tolist())]


def named(found, published, hierarchy):
    number = {label: node for node, label in enumerate(hierarchy.published)}
    return {
        tuple(sorted(number[str(published.items.texts[item])] for item in one.items)): one.support
        for one in found.listed
    }


@given(case=items_cases(), seed=st.integers(0, 2**32 - 1))
def test_what_is_rare_is_found_with_its_support(case, seed):
    problem = case.problem()
    nodes = at_random(problem, np.random.default_rng(seed))
    published, pairs = published_and_pairs(problem, nodes)
    levels = Levels(problem.hierarchy, (problem.baskets, np.arange(len(pairs))))
    found = survey_locally(
        published, levels, stated_items(problem.model), np.zeros(len(pairs), dtype=np.int64)
    )
    wanted = unsupported(problem.hierarchy.parent.tolist(), _lowest(problem, pairs), case.k, case.m)
    listed = named(found, published, problem.hierarchy)
    assert listed == wanted
    assert found.rare == len(wanted)
    assert found.least == min([case.k, *listed.values()])


def _lowest(problem, pairs):
    """Verification cannot tell which of several labels above an item stands for it: each of them does."""
    parent = problem.hierarchy.parent.tolist()
    return [
        [(leaf, node) for leaf, _ in basket for _, node in basket if node in above(parent, leaf)]
        for basket in pairs
    ]


@given(case=items_cases(), seed=st.integers(0, 2**32 - 1))
def test_without_the_original_what_a_record_may_have_counts(case, seed):
    problem = case.problem()
    nodes = at_random(problem, np.random.default_rng(seed))
    published, pairs = published_and_pairs(problem, nodes)
    everybody = np.zeros(len(pairs), dtype=np.int64)
    real = Levels(problem.hierarchy, (problem.baskets, np.arange(len(pairs))))
    known = survey_locally(published, real, stated_items(problem.model), everybody)
    possible = survey_locally(
        published, Levels(problem.hierarchy, None), stated_items(problem.model), everybody
    )
    assert possible.least >= known.least


@given(case=items_cases(), seed=st.integers(0, 2**32 - 1))
def test_labels_that_do_not_nest_are_those_of_a_cut(case, seed):
    problem = case.problem()
    nodes = at_random(problem, np.random.default_rng(seed))
    published, _ = published_and_pairs(problem, nodes)
    parent = problem.hierarchy.parent.tolist()
    used = set(nodes.tolist())
    nested = any(used & set(above(parent, node)[1:]) for node in used)
    assert labels_nest(published, problem.hierarchy) == nested


BOUGHT = pa.table({"bought": [["a1"], ["a1"], ["a1", "b1"], ["a2", "b1"], ["b1"]]})
TREE = {"groups": {"A": ["a1", "a2"], "B": ["b1", "b2"]}}
SPEC = {"attributes": {"bought": {"role": "items", "hierarchy": TREE}}, "privacy": {"k": 2, "m": 2}}


def published(*baskets):
    return pa.table({"bought": pa.array(baskets, pa.list_(pa.string()))})


def test_a_local_release_is_verified_with_its_original():
    shown = published(["a1"], ["a1"], ["A", "b1"], ["A", "b1"], ["b1"])
    verdict = ko.verify(shown, original=BOUGHT, spec=SPEC)
    assert verdict.holds


def test_an_exact_pair_is_not_hidden_by_baskets_that_only_may_have_it():
    shown = published(["a1"], ["a1"], ["a1", "b1"], ["*"], ["*"])
    verdict = ko.verify(shown, original=BOUGHT, spec=SPEC)
    assert not verdict.holds
    assert verdict.violations.to_pylist() == [{"items": ["a1", "b1"], "support": 1}]


@pytest.mark.parametrize("name", ["local-items", "improve-items"])
def test_releases_of_the_algorithms_verify_again(name, tmp_path):
    table = ko.datasets.generate_baskets(400, n_items=30, mean_size=4, seed=3)
    spec = {"attributes": {"items": {"role": "items"}}, "privacy": {"k": 4, "m": 2}, "algorithm": name}
    release = ko.anonymize(table, spec=spec)
    release.order_file(tmp_path / "order.csv")
    verdict = ko.verify(release.table, original=table, spec=spec, order_file=tmp_path / "order.csv")
    assert verdict.holds
