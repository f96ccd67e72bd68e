from unittest.mock import patch

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from alpha_tables import PEOPLE, TABLE_5, released
from kohort.algorithms.full_domain import generalized_table
from kohort.algorithms.full_domain.generalized_table import GeneralizedTable, RollUps
from strategies import cases

small_cases = cases(kinds=("integer", "plain"), free=False, labels=("hierarchy",), max_records=12)


def classes_by_definition(table, levels, *, with_values):
    """Per class, by first appearance, its first cell and its records."""
    found = {}
    for cell, leaves in enumerate(table.cells.leaves.tolist()):
        look = tuple(nodes[level][leaf] for nodes, level, leaf in zip(table.nodes, levels, leaves))
        value = int(table.cells.sensitive[cell]) if with_values else None
        found.setdefault((look, value), []).append(cell)
    return [cells[0] for cells in found.values()], [
        sum(int(table.cells.counts[cell]) for cell in cells) for cells in found.values()
    ]


@given(small_cases, st.booleans(), st.sampled_from([0, 1, 16]), st.sampled_from([1, 3, 500]), st.data())
def test_classes_are_the_same_whichever_tables_were_made_before(case, with_values, room, most_kept, data):
    assume(set(case.paths) == set(case.quasi_identifiers))  # a column without values has no hierarchy
    table = GeneralizedTable(case.anonymize(algorithm="full-domain").problem)
    some_levels = st.tuples(*(st.integers(0, n - 1) for n in table.shape))
    with (
        patch.object(generalized_table, "ROOM", room),
        patch.object(generalized_table, "MOST_KEPT", most_kept),
    ):
        tables = RollUps(table._numbers, len(table.shape) + with_values)
        for levels in data.draw(st.lists(some_levels, max_size=12)):
            rows, counts = tables.at(levels)
            expected = classes_by_definition(table, levels, with_values=with_values)
            assert (rows.tolist(), counts.tolist()) == expected


def test_a_table_is_rolled_up_from_the_smallest_at_lower_levels():
    table = GeneralizedTable(released(TABLE_5, "full-domain", PEOPLE).problem)
    tables = RollUps(table._numbers, len(table.shape))
    made = {levels: tables.at(levels) for levels in np.ndindex(*table.shape)}
    for levels in made:
        below = [made[other] for other in made if all(map(int.__le__, other, levels))]
        smallest = tables._smallest_below(tables._packed(levels))
        assert len(smallest.rows) == min(len(other.rows) for other in below)


def test_a_node_is_numbered_in_the_order_of_the_nodes():
    levels = np.array([[5, 3, 3, 9], [2, 2, 2, 9], [0, 0, 0, 0]])
    assert generalized_table._numbered(levels).tolist() == [[1, 0, 0, 2], [0, 0, 0, 1], [0, 0, 0, 0]]
