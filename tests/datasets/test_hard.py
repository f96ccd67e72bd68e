"""The constructions of Aggarwal et al. (2005): what they say about the least cost."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.errors import InputError

FIGURE_2 = [(3, 4), (1, 4), (1, 2), (1, 3), (2, 3)]
BOW_TIE = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)]
OCTAHEDRON = [(a, b) for a, b in combinations(range(6), 2) if a + b != 5]
COMPLETE_4 = list(combinations(range(4), 2))
STAR_4 = [("d", "a"), ("d", "b"), ("d", "c")]
BIPARTITE = [(a, b) for a in "abc" for b in "xyz"]


def stars(table, k, algorithm):
    return ko.anonymize(
        table,
        quasi_identifiers={name: ko.flat() for name in table.column_names},
        privacy=[ko.KAnonymity(k)],
        cost="suppressions",
        algorithm=algorithm,
    )


def rows_of(table):
    return np.column_stack([column.to_numpy() for column in table.columns])


@pytest.mark.parametrize(
    "edges, parted",
    [(BOW_TIE, True), (OCTAHEDRON, True), (COMPLETE_4, False), (STAR_4, False), (BIPARTITE, False)],
)
def test_the_least_cost_tells_whether_the_edges_are_triangles(edges, parted):
    table = ko.datasets.generate_triangles(edges)
    release = stars(table, 3, "optimal")
    blocks = int(np.ceil(np.log2(len(edges) + 1)))
    assert release.guarantee == 1.0
    assert (release.cost == 3 * len(edges) * blocks) == parted
    assert release.cost >= 3 * len(edges) * blocks


def test_figure_2():
    """The rows of edge (3, 4), ranked 001, and of (2, 3), ranked 101; vertices 1 to 4."""
    table = ko.datasets.generate_triangles(FIGURE_2)
    assert table.num_rows == 5 and table.num_columns == 12
    order = [f"{vertex}{block}" for block in (1, 2, 3) for vertex in (1, 2, 3, 4)]
    first, *_, last = table.select(order).to_pylist()
    assert list(first.values()) == [0, 0, 1, 2, 0, 0, 1, 2, 0, 0, 2, 1]
    assert list(last.values()) == [0, 2, 1, 0, 0, 1, 2, 0, 0, 2, 1, 0]


@pytest.mark.parametrize("k", range(2, 9))
def test_the_same_distances_and_different_costs(k):
    tables = ko.datasets.generate_look_alikes(k)
    for table in tables:
        rows = rows_of(table)
        assert {int((a != b).sum()) for a, b in combinations(rows, 2)} == {2 ** (k - 1)}
    costs = [k * int((np.ptp(rows_of(table), axis=0) > 0).sum()) for table in tables]
    assert costs == [k * k * 2 ** (k - 2), k * (2**k - 2)]


@pytest.mark.parametrize("algorithm", ["forest", "optimal", "mondrian"])
def test_algorithms_pay_what_they_must_on_look_alikes(algorithm):
    first, second = ko.datasets.generate_look_alikes(4)
    assert stars(first, 4, algorithm).cost == 64
    assert stars(second, 4, algorithm).cost == 56
    assert stars(first, 4, algorithm).solver_bound == (64 if algorithm == "optimal" else 32)


def test_senseless_graphs_and_k_are_refused():
    for edges in ([], [(1, 1)], [(1, 2), (2, 1)]):
        with pytest.raises(InputError, match="edges"):
            ko.datasets.generate_triangles(edges)
    with pytest.raises(InputError, match="from 2 to 16"):
        ko.datasets.generate_look_alikes(1)


def test_they_are_arrow_tables():
    assert isinstance(ko.datasets.generate_triangles(BOW_TIE), pa.Table)
