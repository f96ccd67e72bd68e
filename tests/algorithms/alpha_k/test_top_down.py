from collections import Counter

import pyarrow as pa
from hypothesis import given

import kohort as ko
from alpha_problems import alpha_cases, plain_table
from alpha_tables import JOBS, PEOPLE, TABLE_1, TABLE_8, TABLE_10, released
from by_definition.alpha_k import top_down
from kohort.algorithms import Run
from kohort.algorithms.alpha_k import top_down as module
from kohort.algorithms.alpha_k.top_down import TopDown


def test_figure_2_and_table_11_one_record_goes_back_to_keep_another_company():
    """4352 stands alone; of 4351 a record that is not sensitive joins it in 435*."""
    release = released(TABLE_8.select(["postcode", "sens"]), "top-down", {"postcode": ko.mask()})
    assert release.table["postcode"].to_pylist() == ["4351", "4351", "435*", "435*"]


def test_table_8_is_recoded_like_table_9():
    release = released(TABLE_8, "top-down", PEOPLE)
    assert release.table["birth"].to_pylist() == ["1965"] * 4
    assert Counter(release.table["postcode"].to_pylist()) == {"4351": 2, "435*": 2}


def test_tables_1_and_10_become_half_deassociated():
    assert released(TABLE_1, "top-down", JOBS).verdict.holds
    release = released(TABLE_10, "top-down", PEOPLE)
    assert release.loss["distortion"] < released(TABLE_10, "incognito", PEOPLE).loss["distortion"]


def specialized(rows, sens):
    """Two attributes as in the paper's Figures 3 and 4: what is published for each."""
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("postcode", "birth"))}
    postcodes = ko.Hierarchy.from_paths([(p, p[:3] + "*", "*") for p in sorted(set(columns["postcode"]))])
    quasi_identifiers = {"postcode": postcodes, "birth": ko.flat()}
    release = released(pa.table(columns | {"sens": sens}), "top-down", quasi_identifiers)
    return release.table.to_pydict()


def test_criterion_1_the_attribute_that_specializes_most_records_is_taken():
    """By postcode all six records are specialized, by birth four."""
    rows = [("4351", "a"), ("4351", "b"), ("4352", "a"), ("4352", "c"), ("4351", "a"), ("4352", "a")]
    published = specialized(rows, ["n"] * 6)
    assert published["postcode"] == ["4351", "4351", "4352", "4352", "4351", "4352"]


def test_criterion_2_on_ties_the_attribute_with_fewer_branches_is_taken():
    """Postcode and birth both specialize all six records; birth into two groups, postcode into three."""
    rows = [("1111", "a"), ("1111", "b"), ("2222", "a"), ("2222", "b"), ("3333", "a"), ("3333", "b")]
    published = specialized(rows, ["n"] * 6)
    assert published["birth"] == ["a", "b"] * 3
    assert published["postcode"] == ["*"] * 6


@given(alpha_cases())
def test_the_groups_are_those_of_the_literal_algorithm(case):
    problem = case.problem()
    order, cell_of, leaves, demands = plain_table(problem)
    expected = top_down(leaves, problem.coded.hierarchies, problem.k, demands)
    groups = TopDown().solve(problem, Run()).group_of_record
    found = {}
    for place, record in enumerate(order):
        found.setdefault(int(groups[record]), []).append(cell_of[place])
    as_cells = Counter(tuple(sorted(cell_of[place] for place in group)) for group in expected)
    assert Counter(tuple(sorted(group)) for group in found.values()) == as_cells


@given(alpha_cases(max_records=30))
def test_it_can_be_stopped_at_any_time(case):
    """Whatever has been done so far is a valid release, and going on in small steps changes nothing."""
    problem = case.problem()
    at_once = TopDown().solve(problem, Run()).group_of_record
    before, module.BATCH = module.BATCH, 1
    try:
        in_steps = TopDown().solve(problem, Run()).group_of_record
    finally:
        module.BATCH = before
    assert _partition(in_steps) == _partition(at_once)
    assert case.anonymize("top-down", time_limit=1e-9).verdict.classes == 1


def _partition(groups):
    found = {}
    for record, group in enumerate(groups):
        found.setdefault(int(group), set()).add(record)
    return set(map(frozenset, found.values()))


def test_groups_may_lie_at_different_heights_of_an_unbalanced_hierarchy():
    paths = [
        ("oak", "*"),
        ("cat", "pet", "animal", "*"),
        ("dog", "pet", "animal", "*"),
        ("cow", "animal", "*"),
    ]
    living = ["oak", "oak", "cat", "cat", "dog", "dog", "cow", "cow"]
    table = pa.table({"living": living, "sens": ["n", "c"] * 4})
    release = released(table, "top-down", {"living": ko.Hierarchy.from_paths(paths)})
    assert release.table["living"].to_pylist() == living
