"""Attributes and their costs as flat arrays for compiled code: any attribute, any separable cost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.errors import UnsupportedError
from kohort.problem.attribute import Attribute
from kohort.problem.costs import COSTS, Cost, SeparableCost
from kohort.problem.encoding.layout import ORDERED, SET, TREE, Tables


def tables_of(attributes: Sequence[Attribute], cost: Cost, weights: np.ndarray) -> Tables:
    """The tables of these attributes, whose costs include the weights.

    Raises UnsupportedError for a cost that is not known for the intervals or sets of one of them.
    """
    parts = [
        _tree_arrays(attribute, attribute.domain, cost, weight)
        if isinstance(attribute.domain, Hierarchy) and not attribute.tight
        else _width_arrays(attribute, cost, weight)
        for attribute, weight in zip(attributes, weights)
    ]
    node_start = np.cumsum([0] + [len(part["parent"]) for part in parts])
    for part, start in zip(parts, node_start):
        part["parent"] = np.where(part["parent"] < 0, -1, part["parent"] + start)
        part["leaf_node"] = part["leaf_node"] + start
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0] if name != "words"}
    leaf_start = np.cumsum([0] + [len(part["leaf_cost"]) for part in parts])[:-1]
    word_start = np.cumsum([0] + [part["words"] for part in parts])
    return Tables(leaf_start=leaf_start, word_start=word_start, **joined)


def leaf_numbers(attribute: Attribute) -> np.ndarray:
    """The leaf by which the tables know each value of an attribute.

    Leaves are numbered in the order of the hierarchy, except for tight intervals, which count values.
    """
    if attribute.tight and attribute.column.ordered:
        return np.arange(len(attribute.column.texts), dtype=np.int32)
    if attribute.tight:
        return np.argsort(np.argsort(attribute.leaf_of_code, kind="stable"), kind="stable").astype(np.int32)
    return attribute.leaf_of_code


def of_present_leaves(tables: Tables, leaves: np.ndarray) -> tuple[Tables, np.ndarray]:
    """The tables without leaves of hierarchies that no row has, and the rows renumbered accordingly.

    A hierarchy may have a million leaves where a table has a hundred. Intervals count all values between
    their ends, and sets have no others, so that leaves of these are kept.
    """
    ends = np.append(tables.leaf_start, len(tables.leaf_cost))
    kept, last_leaf, renumbered = [], tables.last_leaf.copy(), np.empty_like(leaves)
    of_node = attribute_of_node(tables)
    for a, (start, end) in enumerate(pairwise(ends)):
        present, here = np.arange(end - start), of_node == a
        if tables.kind[a] == TREE:
            present = np.unique(leaves[:, a])
            last_leaf[here] = np.searchsorted(present, tables.last_leaf[here], side="right") - 1
        renumbered[:, a] = np.searchsorted(present, leaves[:, a])
        kept.append(start + present)
    chosen = np.concatenate(kept)
    by_leaf = {name: getattr(tables, name)[chosen] for name in ("leaf_node", "leaf_cost", "frequency_rank")}
    leaf_start = np.cumsum([0, *(len(some) for some in kept)])[:-1]
    return tables._replace(leaf_start=leaf_start, last_leaf=last_leaf, **by_leaf), renumbered


def attribute_of_node(tables: Tables) -> np.ndarray:
    """The attribute of each node: nodes are side by side, each attribute's root first."""
    roots = np.flatnonzero(tables.parent < 0)
    trees = np.flatnonzero(tables.kind == TREE)
    return np.repeat(trees, np.diff(np.append(roots, len(tables.parent))))


def _tree_arrays(attribute: Attribute, hierarchy: Hierarchy, cost: Cost, weight: float) -> dict:
    assert isinstance(cost, SeparableCost)
    node_cost = cost.cell(attribute.nodes()) * weight
    return _arrays(
        TREE,
        len(hierarchy.leaves),
        leaf_cost=np.where(hierarchy.hidden, node_cost[0], node_cost[hierarchy.leaf_node]),
        leaf_node=hierarchy.leaf_node,
        parent=hierarchy.parent,
        last_leaf=hierarchy.hi,
        sibling=_places_among_siblings(hierarchy.parent),
        n_children=np.bincount(hierarchy.parent[1:], minlength=len(hierarchy.parent)),
        node_cost=node_cost,
    )


def _width_arrays(attribute: Attribute, cost: Cost, weight: float) -> dict:
    """The arrays of an attribute without a hierarchy: intervals if it is ordered, else tight sets."""
    n = len(attribute.column.texts)
    line = cost.line(n)
    if line is None:
        linear = [name for name, kind in COSTS.items() if kind().linear]
        raise UnsupportedError(
            f"The cost {cost.name!r} cannot be minimised over free intervals or sets, as column "
            f"{attribute.name!r} has them. Give it a hierarchy (hierarchy: auto makes one) with "
            f"labels: hierarchy, or choose one of the costs {', '.join(linear)}."
        )
    is_set = not attribute.column.ordered
    counts = np.zeros(n, dtype=np.int64)
    counts[leaf_numbers(attribute)] = attribute.column.counts
    rank = np.empty(n, dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(n)
    return _arrays(
        SET if is_set else ORDERED,
        n,
        words=(n + 63) // 64 if is_set else 0,
        frequency_rank=rank,
        loners_from=[n - attribute.column.loners],
        base=[line.base * weight],
        slope=[line.slope * weight],
        full=[weight],
    )


_PER_NODE = ("parent", "last_leaf", "sibling", "n_children", "node_cost")
_PER_LEAF = ("leaf_node", "leaf_cost", "frequency_rank")
_COSTS = ("base", "slope", "full", "leaf_cost", "node_cost")


def _arrays(kind: int, n_leaves: int, *, words: int = 0, **given: Any) -> dict:
    """The arrays of an attribute: those that are given, of no nodes, and 0 for the rest."""
    found: dict = dict.fromkeys(_PER_NODE, ()) | dict.fromkeys(_PER_LEAF, np.zeros(n_leaves))
    found |= dict.fromkeys(_COSTS[:3], (0.0,)) | {"kind": [kind], "loners_from": [n_leaves]} | given
    kinds = {name: np.float64 if name in _COSTS else np.int64 for name in found}
    return {name: np.asarray(values, dtype=kinds[name]) for name, values in found.items()} | {"words": words}


def _places_among_siblings(parent: np.ndarray) -> np.ndarray:
    """The number of siblings that come before each node."""
    order = np.argsort(parent, kind="stable")
    starts = np.searchsorted(parent[order], parent[order])
    places = np.empty(len(parent), dtype=np.int64)
    places[order] = np.arange(len(parent)) - starts
    return places
