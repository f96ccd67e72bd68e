"""Closed records and their supports, by the compiled code."""

import numpy as np
import pytest

import kohort as ko
from kohort.algorithms.closed_records.kernels.supports import bit_sets
from kohort.algorithms.mining.closed_records import MinedRows
from kohort.algorithms.mining.kernels.closed_records import narrow, narrowings
from small_problems import problem_of

pytestmark = pytest.mark.usefixtures("interpreted")


def mined():
    columns = {"zip": ["11", "12", "21", "21", "22"], "sex": ["f", "f", "m", "m", "f"]}
    return MinedRows.of(problem_of(columns, {"zip": ko.mask(), "sex": ko.flat()}, 2))


def under(table, attribute, node):
    return table.nodes_at(attribute, table.lineages.depth[node]) == node


def test_a_record_is_narrowed_to_children_that_k_records_are_under():
    table = mined()
    rows, root = np.arange(len(table.counts), dtype=np.int32), table.closure().astype(np.int32)
    steps = narrowings(table.lineages, table.counts, 2, root, 0, rows)
    found = [(int(a), int(table.counts[under(table, a, child)].sum())) for a, child in steps]
    assert sorted(found) == [(0, 2), (0, 3), (1, 2), (1, 3)]  # 1* and 2*, m and f
    record, inside = np.empty_like(root), rows[under(table, *steps[0])]
    assert narrow(table.lineages, inside, 0, len(inside), root, 0, record)
    assert record[0] == steps[0][1]


def test_the_rows_under_a_node_are_its_bits():
    lineages = mined().lineages
    n_nodes, n_rows = len(lineages.depth), lineages.node.shape[1]
    words = bit_sets(lineages.node, np.arange(n_nodes), n_nodes)
    for node in range(n_nodes):
        bits = [bool(words[node, 0] >> np.uint64(row) & np.uint64(1)) for row in range(n_rows)]
        assert bits == (lineages.node == node).any(axis=0).tolist()
