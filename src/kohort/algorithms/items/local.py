"""local-items: every basket is generalized no more than its own items require."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kohort.algorithms.algorithm import ItemsAlgorithm
from kohort.algorithms.items.class_cuts import ItemsClass, recode_each_class
from kohort.algorithms.items.local_drops import LocalRecoding, lowered_by_drops
from kohort.algorithms.run import Run
from kohort.problem.items import ItemsProblem
from kohort.recoding.item_nodes import ItemNodes


@dataclass(frozen=True)
class LocalItems(ItemsAlgorithm):
    """Local recoding: the same item may be published as itself in one basket and generalized in another.

    The aim of LRA (Terrovitis, Mamoulis and Kalnis, 2011) by other means. LRA sorts the baskets, cuts them
    into parts and recodes each part globally. Here every item begins as the root. Then, level by level, each
    node is published as its children in all baskets where that is safe: where every set of up to m nodes
    that a basket would show is supported by at least k baskets, wherever these are, and no other basket
    loses support that it needs. Where items may be dropped, the same is done without some dear ones, and the
    cheaper recoding is kept. At a time limit the recoding so far is used.

    O(levels * sets of up to m nodes in all baskets); memory for the baskets and bits for those under a node.

    >>> import pyarrow as pa, kohort as ko
    >>> bought = [["a1"], ["a1"], ["a1", "b1"], ["a2", "b1"], ["b1"]]
    >>> release = ko.anonymize(
    ...     pa.table({"items": bought}), items={"items": ko.groups({"A": ["a1", "a2"], "B": ["b1", "b2"]})},
    ...     privacy=[ko.KmAnonymity(2, 2)], algorithm=ko.LocalItems(), shuffle=False,
    ... )
    >>> release.table["items"].to_pylist()
    [['a1'], ['a1'], ['A', 'b1'], ['A', 'b1'], ['b1']]
    """

    name: ClassVar[str] = "local-items"
    summary: ClassVar[str] = (
        "baskets: local recoding, each basket generalized as little as it needs; loses far less than a cut"
    )
    paper: ClassVar[str] = (
        "Terrovitis, Mamoulis, Kalnis: Local and global recoding methods for anonymizing set-valued data, "
        "VLDB Journal 2011"
    )
    promise: ClassVar[str] = "no bound on the loss"

    def solve(self, problem: ItemsProblem, run: Run) -> ItemNodes:
        def recode(part: ItemsClass, run: Run) -> tuple[np.ndarray, list[str]]:
            recoding = LocalRecoding(problem, part)
            moved = recoding.search.descend(run)
            note = f"Nodes were published as their children {moved:,} times, counted by basket."
            if problem.suppress:
                recoding = lowered_by_drops(recoding, run)
            return recoding.nodes(), [note, *([_CUT_SHORT] if run.out_of_time else [])]

        return recode_each_class(problem, run, recode)


_CUT_SHORT = "Time ran out before every node was tried: items are more general than they need to be."
