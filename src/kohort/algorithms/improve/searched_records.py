"""The closed records that the search of a large table tries: those near its prices, those of its groups."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from kohort.algorithms.improve.closures import closures
from kohort.algorithms.improve.staged_prices import StagedPrices
from kohort.algorithms.mining.closed_records import ClosedRecords, MinedRows, record_costs
from kohort.recoding.groups import Groups

__all__ = ["SearchedRecords"]

_MOST_SLACK = 0.03  # share of the cost of `*`


class SearchedRecords:
    """Some of the closed records of a table, chosen by their prices, to which those of groups are added.

    A table has millions of closed records, most of which no good release opens. A search that knows only
    those of little slack needs a small part of the memory and time.
    """

    def __init__(self, priced: StagedPrices) -> None:
        self.priced = priced
        self.mined = MinedRows.of(priced.problem)
        self.is_near = priced.prices.slack <= _MOST_SLACK * priced.star
        self._factor = np.random.default_rng(0).integers(1, 2**62, len(self.mined.node_start))

    def with_groups(self, groups: Groups) -> StagedPrices:
        """The closed records of little slack, the most general one, and those that groups are published as.

        The most general one comes first. Those that are not among the priced ones, since they cost too much,
        count as if they had the most slack of those that are tried.
        """
        nodes = np.unique(closures(self.priced.problem, groups), axis=0)
        place = self._places(nodes)
        kept = self.is_near.copy()
        kept[place[place >= 0]] = True
        root = (self.mined.closure() - self.mined.node_start)[None, :]
        is_mined = self._places(root)[0] >= 0  # then it is the first one
        kept[0] |= is_mined
        added = nodes[(place < 0) & (nodes != root).any(axis=1)]
        dear = self._supported(added if is_mined else np.concatenate([root, added]))
        slack = np.full(len(dear), _MOST_SLACK * self.priced.star)
        slack[: not is_mined] = np.inf
        return self._joined(dear, slack, kept)

    def _places(self, nodes: np.ndarray) -> np.ndarray:
        """The place of each row of nodes among the priced closed records; -1 if it is none of them."""
        wanted = nodes.astype(np.int64) @ self._factor
        keys, order = self._sorted_keys
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        same = (keys[at] == wanted) & (self.priced.closed.nodes[order[at]] == nodes).all(axis=1)
        return np.where(same, order[at], -1)

    @cached_property
    def _sorted_keys(self) -> tuple[np.ndarray, np.ndarray]:
        """A hash of the nodes of each closed record, ascending, and the closed records in this order."""
        keys = np.zeros(len(self.priced.closed), dtype=np.int64)
        for column, factor in zip(self.priced.closed.nodes.T, self._factor):
            keys += column * factor
        order = np.argsort(keys)
        return keys[order], order

    def _supported(self, nodes: np.ndarray) -> ClosedRecords:
        """Closed records with these nodes, which are few. O(closed records * rows * attributes)."""
        under, counts = [], self.mined.counts
        for record in nodes + self.mined.node_start:
            rows = np.arange(len(counts), dtype=np.int32)
            for attribute, node in enumerate(record):
                at_depth = self.mined.nodes_at(attribute, self.mined.lineages.depth[node])
                assert at_depth is not None
                rows = rows[at_depth[rows] == node]
            under.append(rows)
        start = np.cumsum([0, *map(len, under)])
        weight = np.array([counts[rows].sum() for rows in under], dtype=np.int64)
        rows = np.concatenate([np.zeros(0, dtype=np.int32), *under])
        return ClosedRecords(nodes.astype(np.int32), weight, start, rows, complete=True)

    def _joined(self, dear: ClosedRecords, slack: np.ndarray, kept: np.ndarray) -> StagedPrices:
        priced, near = self.priced, self.priced.closed.subset(kept)
        closed = ClosedRecords(
            np.concatenate([dear.nodes, near.nodes]),
            np.concatenate([dear.weight, near.weight]),
            np.concatenate([dear.start[:-1], near.start + dear.start[-1]]),
            np.concatenate([dear.rows, near.rows]),
            complete=False,
        )
        cost = np.concatenate([record_costs(priced.problem, dear), priced.cost[kept]])
        level = np.concatenate([cost[: len(dear)], priced.prices.level[kept]])
        prices = replace(priced.prices, slack=np.concatenate([slack, priced.prices.slack[kept]]), level=level)
        return replace(priced, closed=closed, cost=cost, prices=prices, loop=None)
