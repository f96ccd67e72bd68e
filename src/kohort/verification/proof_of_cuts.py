"""Check the cuts of a proof by definition: that no release can open more members of a cut than it says."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem
from kohort.problem.proof import DualProof


class PricedRows(Protocol):
    """Distinct rows of leaves and how many records each one has: those of a problem, or of a part of it."""

    @property
    def leaves(self) -> np.ndarray: ...

    @property
    def counts(self) -> np.ndarray: ...


def why_cuts_fail(problem: Problem, table: PricedRows, proof: DualProof) -> str | None:
    """Why the cuts are not valid for the rows of a table, or None if they are.

    Each open member has k records of its own under it, and withheld records are nobody's. So either all
    members have fewer than (most + 1) * k records under them, or any two of them have fewer than 2k. The rows
    under a member are found from its nodes alone. O(members * rows / 8).
    """
    cuts = proof.cuts
    if not (np.isfinite(cuts.price).all() and (cuts.price >= 0.0).all()):
        return "a cut has no price, or one below 0"
    if len(cuts.members) and not 0 <= cuts.members.min() <= cuts.members.max() < len(proof.nodes):
        return "a cut has a member that is no closed record"
    columns = [
        _rows_under_nodes(attribute, leaf, np.unique(nodes))
        for attribute, leaf, nodes in zip(problem.attributes, table.leaves.T, proof.nodes[cuts.members].T)
    ]
    for number in range(len(cuts.most)):
        members = cuts.members[cuts.start[number] : cuts.start[number + 1]]
        if len(np.unique(members)) < len(members):
            return "a cut counts a member twice"
        under = _rows_under_members(columns, proof.nodes[members], len(table.counts))
        if not _is_valid(under, table.counts, problem.k, int(cuts.most[number]), bool(cuts.pairwise[number])):
            return "the members of a cut have room for more open ones than it says"
    return None


def _rows_under_nodes(
    attribute: Attribute, leaf: np.ndarray, nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes, and which rows are under each: a bit per row."""
    tree = attribute.domain
    assert isinstance(tree, Hierarchy)
    under = [
        (tree.lo[node] <= leaf) & (leaf <= tree.hi[node]) & (~tree.hidden[leaf] | (node == 0))
        for node in nodes.tolist()
    ]
    return nodes, np.packbits(np.array(under, dtype=bool).reshape(len(nodes), len(leaf)), axis=1)


def _rows_under_members(
    columns: list[tuple[np.ndarray, np.ndarray]], nodes: np.ndarray, n_rows: int
) -> np.ndarray:
    """Members by distinct rows: whether the row is under all nodes of the member."""
    packed = np.full((len(nodes), -(-n_rows // 8)), 255, dtype=np.uint8)
    for (known, under), column in zip(columns, nodes.T):
        packed &= under[np.searchsorted(known, column)]
    return np.unpackbits(packed, axis=1, count=n_rows).astype(bool)


def _is_valid(under: np.ndarray, counts: np.ndarray, k: int, most: int, pairwise: bool) -> bool:
    used = np.flatnonzero(under.any(axis=0))
    in_all = int(counts[used].sum())
    if not pairwise:
        return in_all < (most + 1) * k
    missing = (~under[:, used]).astype(np.float64)
    outside_both = (missing * counts[used]) @ missing.T
    return most >= 1 and bool((in_all - outside_both < 2 * k - 0.5).all())


def allowances(proof: DualProof) -> np.ndarray:
    """Per closed record: by how much the prices of a group may exceed its cost."""
    paid = np.repeat(proof.cuts.price, np.diff(proof.cuts.start))
    return np.bincount(proof.cuts.members, paid, minlength=len(proof.nodes)).astype(float)


def what_cuts_take(proof: DualProof) -> float:
    """What the allowances of all groups of a release can add up to at most."""
    return float((proof.cuts.price * proof.cuts.most).sum())
