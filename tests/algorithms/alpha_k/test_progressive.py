from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given

import kohort as ko
from alpha_problems import alpha_cases, plain_table
from alpha_tables import JOBS, PEOPLE, TABLE_1, TABLE_8, TABLE_10, released
from by_definition.alpha_k import progressive
from by_definition.cluster_cells import cost_function
from kohort.algorithms import Run
from kohort.algorithms.alpha_k.progressive import Progressive
from kohort.algorithms.levels import level_nodes
from kohort.errors import UnsupportedError


def test_table_9_the_trunk_keeps_its_postcode_and_the_stub_joins_another():
    release = released(TABLE_8, "progressive", PEOPLE)
    assert release.table["birth"].to_pylist() == ["1965"] * 4
    assert release.table["postcode"].to_pylist() == ["4351", "4351", "435*", "435*"]


def test_table_10_two_records_leave_by_further_removal():
    """After the trunk, 4 - 1/0.5 = 2 of the four records may leave: those of 435*."""
    release = released(TABLE_10, "progressive", PEOPLE)
    expected = ["4351", "4351", "435*", "435*", "43**", "43**"]
    assert release.table["postcode"].to_pylist() == expected


def test_table_1_becomes_half_deassociated_with_less_distortion_than_table_4():
    release = released(TABLE_1, "progressive", JOBS)
    assert release.verdict.holds
    assert release.loss["distortion"] < released(TABLE_1, "incognito", JOBS).loss["distortion"]


def test_a_record_that_is_left_alone_joins_a_group():
    """Theorem 2 as printed: of {n, c, n} the trunk takes two, and one stays for ever."""
    table = pa.table({"town": ["a", "a", "b"], "sens": ["n", "c", "n"]})
    assert released(table, "progressive", {"town": ko.flat()}).table["town"].to_pylist() == ["*"] * 3
    one_class = pa.table({"town": ["a"] * 3, "sens": ["n", "c", "n"]})
    assert released(one_class, "progressive", {"town": ko.flat()}).table["town"].to_pylist() == ["a"] * 3


@given(alpha_cases())
def test_the_groups_are_those_of_the_literal_algorithm(case):
    problem = case.problem()
    order, cell_of, leaves, demands = plain_table(problem)
    row_of = problem.rows.of_record
    cost_of_rows = cost_function(problem)
    expected = progressive(
        leaves,
        [level_nodes(hierarchy).tolist() for hierarchy in problem.coded.hierarchies],
        problem.k,
        demands,
        lambda group: cost_of_rows({int(row_of[order[record]]) for record in group}),
    )
    found = {}
    groups = Progressive().solve(problem, Run()).group_of_record
    for place, record in enumerate(order):
        found.setdefault(int(groups[record]), []).append(cell_of[place])
    as_cells = Counter(tuple(sorted(cell_of[place] for place in group)) for group in expected)
    assert Counter(tuple(sorted(group)) for group in found.values()) == as_cells


def test_when_alpha_need_not_be_kept_exactly_a_note_says_that_it_was():
    rounded = [ko.KAnonymity(2), ko.AlphaDeassociation("sens", 0.5, values=["c"], rounding="ceiling")]
    release = released(TABLE_8, "progressive", PEOPLE, rounded)
    assert "not rounded up" in release.notes[0]
    assert release.verdict.models[1].measured <= 0.5


@pytest.mark.parametrize("algorithm", ["progressive", "top-down"])
def test_what_can_be_had_only_by_rounding_up_is_refused(algorithm):
    table = pa.table({"b": ["b1"] * 3, "sens": ["c", "c", "n"]})
    rounded = [ko.KAnonymity(3), ko.AlphaDeassociation("sens", 0.5, values=["c"], rounding="ceiling")]
    with pytest.raises(UnsupportedError, match=r"at least 0\.667\. Choose incognito"):
        released(table, algorithm, {"b": ko.flat()}, rounded)


def test_a_column_without_a_hierarchy_is_refused():
    with pytest.raises(UnsupportedError, match="needs a hierarchy for column 'age'"):
        released(pa.table({"age": [1, 2], "sens": ["n", "c"]}), "progressive", {"age": None}, cost="loss")
