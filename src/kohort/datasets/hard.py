"""Hard inputs: tables from the proofs of Aggarwal et al. (2005) that k-anonymity is hard, and hard to see."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pyarrow as pa

from kohort.errors import InputError


def generate_triangles(edges: Sequence[tuple[Hashable, Hashable]]) -> pa.Table:
    """A table whose least number of stars at k = 3 shows whether a graph's edges are triangles (Theorem 1).

    One row per edge and, for each of t = ceil(log2(edges + 1)) blocks, a column per vertex: 0, but 1 and 2 at
    the two ends of the edge, exchanged where the t bits of the edge's number say so. The edges of a simple
    graph can be parted into triangles if and only if 3 * edges * t stars are enough. Deciding that is
    NP-hard.

    >>> table = generate_triangles([("a", "b"), ("b", "c"), ("a", "c")])
    >>> table.column_names
    ['a1', 'b1', 'c1', 'a2', 'b2', 'c2']
    >>> [list(row.values()) for row in table.to_pylist()]
    [[1, 2, 0, 2, 1, 0], [0, 2, 1, 0, 1, 2], [2, 0, 1, 2, 0, 1]]
    """
    if not edges or len({frozenset(edge) for edge in edges}) < len(edges) or any(a == b for a, b in edges):
        raise InputError("The graph must have edges, each between two vertices and listed once.")
    vertices = list(dict.fromkeys(vertex for edge in edges for vertex in edge))
    blocks = len(edges).bit_length()
    cells = np.zeros((len(edges), blocks, len(vertices)), dtype=np.int8)
    for rank, (a, b) in enumerate(edges, start=1):
        for block in range(blocks):
            turned = rank >> (blocks - 1 - block) & 1
            cells[rank - 1, block, vertices.index(a)] = 2 if turned else 1
            cells[rank - 1, block, vertices.index(b)] = 1 if turned else 2
    names = [f"{vertex}{block + 1}" for block in range(blocks) for vertex in vertices]
    return pa.table(dict(zip(names, cells.reshape(len(edges), -1).T)))


def generate_look_alikes(k: int) -> tuple[pa.Table, pa.Table]:
    """Two binary tables of k rows with the same distances between rows, and far apart in cost (section 4).

    Any two rows differ in 2^(k-1) places, in either table. To make all k rows alike takes k * k * 2^(k-2)
    stars in the first and only k * (2^k - 2) in the second. So an algorithm that looks at distances
    alone, as `forest` does, cannot promise less than about k / 4 times the least cost.

    >>> first, second = generate_look_alikes(3)
    >>> [list(row.values()) for row in first.to_pylist()]
    [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]]
    >>> [list(row.values()) for row in second.to_pylist()]
    [[1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 1, 1, 0, 0], [1, 0, 1, 0, 1, 0, 1, 0]]
    """
    if not 2 <= k <= 16:
        raise InputError(f"k must be from 2 to 16. Got {k}.")
    first = np.repeat(np.eye(k, dtype=np.int8), 2 ** (k - 2), axis=1)
    place = np.arange(2**k)
    second = np.array([1 - (place >> (k - row) & 1) for row in range(1, k + 1)], dtype=np.int8)
    return _binary_table(first), _binary_table(second)


def _binary_table(cells: np.ndarray) -> pa.Table:
    return pa.table({f"q{number + 1}": column for number, column in enumerate(cells.T)})
