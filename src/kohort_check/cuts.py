"""Cuts: sets of closed records of which no release can use more than some number, checked by counting
records.

**Lemma 11.** A class *uses* the closed record of the lowest nodes that cover it, and has k records or more in
its support, which are in no other class. So if fewer than (most + 1) * k records are in the supports of the
members of a set, taken together, at most `most` classes use one of them. **Lemma 12.** If the supports of any
two members, a member with itself included, have fewer than 2k records together, at most one class uses a
member: two of them would have 2k records in two of these supports.

**Lemma 13.** Let each cut have a price >= 0, and let the allowance of a closed record be the sum of the
prices of the cuts that it is a member of. If no group has an excess above the allowance of the closed record
that it uses, every release costs at least the sum of all prices minus the sum of price * most over all cuts.
*Proof.* As in Lemma 9, and all allowances that classes use add up to at most the sum of price * most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kohort_check.closed import Table
from kohort_check.groups import Refused


class Cut(NamedTuple):
    """At most `most` classes use one of the members, closed records by columns; its price, in units."""

    members: np.ndarray
    most: int
    price: int


def allowances(table: Table, cuts: Sequence[Cut], k: int) -> dict[tuple[int, ...], int]:
    """The allowance of every closed record that has one; Refused unless all cuts hold."""
    found: dict[tuple[int, ...], int] = defaultdict(int)
    for cut in cuts:
        if cut.price < 0 or cut.most < 1 or cut.members.ndim != 2 or cut.members.shape[1] != len(table.trees):
            raise Refused("a cut has no members, a negative price, or no number of classes")
        under = np.ones((len(cut.members), len(table.copies)), dtype=bool)
        for tree, column, cells in zip(table.trees, cut.members.T, table.cells.T):
            if len(column) and not 0 <= column.min() <= column.max() < len(tree.parent):
                raise Refused("a member of a cut has a node that is not in its tree")
            nodes, place = np.unique(column, return_inverse=True)
            under &= (tree.path[cells, tree.depth[nodes][:, None]] == nodes[:, None])[place]
        if not _holds(under, table.copies, cut.most, k):
            raise Refused("the members of a cut have room for more classes than it says")
        for member in {tuple(nodes) for nodes in cut.members.tolist()}:
            found[member] += cut.price
    return found


def _holds(under: np.ndarray, copies: np.ndarray, most: int, k: int) -> bool:
    """Whether the records under each member, given by units, have room for at most `most` classes."""
    used = np.flatnonzero(under.any(axis=0))
    total = int(copies[used].sum())
    if total < (most + 1) * k:
        return True
    outside = (~under[:, used]).astype(np.float64)  # whole numbers below 2^53: products and sums are exact
    outside_both = (outside * copies[used]) @ outside.T
    return bool((total - outside_both < 2 * k).all())
