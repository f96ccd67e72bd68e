"""Edges between records, and the connected components that they make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges between numbered records, with the weight of each, or with what it gains."""

    one: np.ndarray
    other: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def keys(self) -> np.ndarray:
        """A number for each edge, where `one` is less than `other`."""
        return self.one.astype(np.int64) * 2**31 + self.other

    def subset(self, chosen: np.ndarray) -> Edges:
        return Edges(self.one[chosen], self.other[chosen], self.weight[chosen])

    def joined(self, more: Edges) -> Edges:
        """The union of two sets of edges, each edge once, in the order of their keys."""
        both = Edges(
            np.concatenate([self.one, more.one]),
            np.concatenate([self.other, more.other]),
            np.concatenate([self.weight, more.weight]),
        )
        return both.subset(np.unique(both.keys, return_index=True)[1])


NO_EDGES = Edges(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))


def components(edges: Edges, n: int, *, least: int = 1) -> list[np.ndarray]:
    """The records of each connected component that has at least `least` of the n records, ascending."""
    import rustworkx

    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from_no_data(list(zip(edges.one.tolist(), edges.other.tolist())))
    pieces = rustworkx.connected_components(graph)
    return [np.array(sorted(piece)) for piece in pieces if len(piece) >= least]
