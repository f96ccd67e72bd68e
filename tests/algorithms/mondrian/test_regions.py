"""Regions of a table: the groups that mondrian finds in them are those that it finds in the whole table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from regions_in_memory import InMemory

import kohort as ko
from by_definition.regions import node_of
from kohort.algorithms.compact_rows import compact_rows
from kohort.algorithms.mondrian.cut_regions import LEAST_REGION, RegionRules, cut_regions
from kohort.algorithms.mondrian.region_records import NodeCut, RegionTree
from kohort.algorithms.run import Run
from trials import trials

N = 120_000


@pytest.fixture(scope="module")
def people():
    return ko.datasets.generate_hospital(N, seed=3).drop_columns(["procedures", "patient_id", "name"])


@pytest.fixture(scope="module")
def visits():
    """Records of which a person has three on average."""
    stays = ko.datasets.generate_hospital(N // 3, seed=3, visits=N)
    return stays.drop_columns(["procedures", "name"])


def _solved(people, privacy, **options):
    trees = {
        "sex": None,
        "age": ko.intervals(5, 10, 20),
        "postcode": ko.mask(),
        "admitted": None,
        "occupation": None,
    }
    return ko.anonymize(
        people,
        quasi_identifiers=trees,
        sensitive=["diagnosis"],
        privacy=privacy,
        algorithm=ko.Mondrian(**options),
        others="keep",
        shuffle=False,
    )


@pytest.mark.parametrize(
    ("privacy", "options"),
    [
        ([ko.KAnonymity(10)], {}),
        ([ko.KAnonymity(200)], {"strict": True}),
        ([ko.KAnonymity(50)], {"choose": "range"}),
        ([ko.KAnonymity(10), ko.LDiversity("diagnosis", 4)], {}),
        ([ko.KAnonymity(10), ko.TCloseness("diagnosis", 0.3)], {}),
    ][: trials(2, 5)],
)
def test_every_group_lies_in_one_region(people, privacy, options):
    release = _solved(people, privacy, **options)
    problem, group = release.problem, release.recoding.group_of_record
    rules = RegionRules(problem, strict=options.get("strict", False), widest=options.get("choose") == "range")
    regions = cut_regions(InMemory(problem, rules), rules, N, 0, Run())
    node = regions.tree.nodes_of(compact_rows(problem), np.arange(N))
    assert len(regions.sizes) > 2
    assert regions.sizes == dict(zip(*(a.tolist() for a in np.unique(node, return_counts=True))))
    assert all(n <= LEAST_REGION or at in regions.finished for at, n in regions.sizes.items())
    assert len(np.unique(np.column_stack([group, node]), axis=0)) == group.max() + 1


def test_a_pool_that_is_too_small_borrows_the_first_records(people):
    rare = np.array(["a", "b"], dtype=object)[np.arange(N) % 2]
    rare[N // 2 :: N // 7] = "c"
    release = _solved(people.append_column("rare", pa.array(rare)), [ko.KAnonymity(50)])
    problem, group = release.problem, release.recoding.group_of_record
    rules = RegionRules(problem, strict=False, widest=False)
    regions = cut_regions(InMemory(problem, rules), rules, N, 0, Run())
    node = regions.tree.nodes_of(compact_rows(problem), np.arange(N))
    assert len(np.unique(np.column_stack([group, node]), axis=0)) == group.max() + 1


@pytest.mark.parametrize(
    ("k", "model"),
    [
        (10, None),
        (20, ko.LDiversity("diagnosis", 3, kind="distinct")),
        (10, ko.LDiversity("diagnosis", 4, kind="recursive", c=1)),
        (10, ko.AlphaDeassociation("diagnosis", 0.4, values=["stroke", "diabetes"])),
        (10, ko.TCloseness("diagnosis", 0.3)),
    ][: trials(2, 5)],
    ids=lambda case: getattr(case, "name", str(case)),
)
def test_every_group_of_people_lies_in_one_region(visits, k, model):
    privacy = [ko.KAnonymity(k), *([] if model is None else [model])]
    release = ko.anonymize(
        visits,
        quasi_identifiers={
            "sex": None,
            "age": ko.intervals(5, 10, 20),
            "postcode": ko.mask(),
            "admitted": None,
        },
        sensitive=["diagnosis"],
        person="patient_id",
        privacy=privacy,
        algorithm="mondrian",
        others="keep",
        shuffle=False,
    )
    problem, group = release.problem, release.recoding.group_of_record
    assert problem.units.several
    rules = RegionRules(problem, strict=not problem.all_survive_unions, widest=False)
    regions = cut_regions(InMemory(problem, rules), rules, problem.n_records, 0, Run())
    node = regions.tree.nodes_of(compact_rows(problem), np.arange(problem.n_records))
    assert len(regions.sizes) > 2
    assert len(np.unique(np.column_stack([group, node]), axis=0)) == group.max() + 1


@pytest.mark.parametrize("diverse", [False, True])
def test_a_pool_of_few_people_borrows_records_of_others(diverse):
    """Three people with a rare value: they need seven more, whose first records are those of the same few."""
    persons = np.concatenate([np.repeat(np.arange(5), 4), np.arange(N - 20) % (N // 3)])
    rare = np.array(["a", "b"], dtype=object)[np.arange(N) % 2]
    rare[[7, N // 2, N - 5]] = "c"
    visits = pa.table({"person": persons, "rare": rare, "age": np.arange(N) * 7 % 90, "ill": persons % 4})
    trees = {"rare": ko.flat(), "age": None}
    privacy = [ko.KAnonymity(10), *([ko.LDiversity("ill", 2, kind="distinct")] if diverse else [])]
    release = ko.anonymize(
        visits,
        quasi_identifiers=trees,
        sensitive=["ill"],
        person="person",
        privacy=privacy,
        algorithm="mondrian",
        shuffle=False,
        others="keep",
    )
    problem, group = release.problem, release.recoding.group_of_record
    rules = RegionRules(problem, strict=False, widest=False)
    records = InMemory(problem, rules, block=7_000)
    regions = cut_regions(records, rules, N, 0, Run())
    node = regions.tree.nodes_of(compact_rows(problem), np.arange(N))
    assert max(records.borrowed.values()) > 7  # some of the first records bring nobody new
    assert len(np.unique(np.column_stack([group, node]), axis=0)) == group.max() + 1


def test_lent_records_go_to_the_pool():
    whole = RegionTree.of_one_region()
    cut = NodeCut(0, np.array([1, 2, 0]), lends=np.array([False, True, False]), last_lent=2)
    tree, number = whole.with_cuts({0: cut})
    rows = np.array([[1], [0], [1], [1], [2]], dtype=np.int16)
    pool, left, right = number[0, 0], number[0, 1], number[0, 2]
    assert tree.nodes_of(rows, np.arange(5)).tolist() == [pool, left, pool, right, pool]


def test_nodes_are_found_as_by_definition():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 6, (200, 2)).astype(np.int16)
    tree, number = RegionTree.of_one_region().with_cuts({0: NodeCut(0, np.array([0, 0, 1, 1, 2, 2]))})
    below = {number[0, 1]: NodeCut(1, np.array([0, 1, 0, 1, 0, 1]), np.arange(6) == 3, 90)}
    tree, _ = tree.with_cuts(below)
    assert tree.nodes_of(rows, np.arange(200)).tolist() == [node_of(tree.arrays, *r) for r in enumerate(rows)]
