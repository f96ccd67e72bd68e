"""Small random baskets under random hierarchies, and their literal twins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from by_definition.count_tree import Items
from kohort.data.baskets import code_baskets
from kohort.data.hierarchy import Hierarchy
from kohort.problem.items import ItemsProblem
from kohort.problem.promises import KmAnonymity
from strategies import hierarchies

FIG_1 = [("a1", "A", "ALL"), ("a2", "A", "ALL"), ("b1", "B", "ALL"), ("b2", "B", "ALL")]
FIG_2 = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]


@dataclass
class ItemsCase:
    """Baskets, their hierarchy, k and m, as a problem and as its twin by definition."""

    hierarchy: Hierarchy
    baskets: list[list[str]]
    k: int
    m: int

    def problem(self, class_of_record=None, **options):
        coded = code_baskets("items", pa.array(self.baskets, pa.list_(pa.string())))
        classes = None if class_of_record is None else np.array(class_of_record)
        return ItemsProblem(coded, self.hierarchy, KmAnonymity(self.k, self.m), classes, **options)

    def twin(self):
        h = self.hierarchy
        parent = {node: None if above < 0 else int(above) for node, above in enumerate(h.parent)}
        leaf = {text: int(h.leaf_node[number]) for number, text in enumerate(h.leaves)}
        baskets = [[leaf[item] for item in basket] for basket in self.baskets]
        return Items(parent, h.leaf_node.tolist(), baskets, {node: node for node in parent})

    def cut_of(self, recoding):
        """The node that each leaf of a basket is published as."""
        problem = self.problem()
        pairs = zip(problem.leaves.tolist(), recoding.node_of_occurrence.tolist())
        return {int(self.hierarchy.leaf_node[leaf]): node for leaf, node in pairs}


def fig_2(k=2, m=2):
    return ItemsCase(Hierarchy.from_paths(FIG_1), FIG_2, k, m)


@st.composite
def items_cases(draw, max_items=7, max_baskets=12, max_m=4):
    """Items of any shape of hierarchy, some of them in no basket; at least k baskets that are not empty."""
    leaves = [f"i{number}" for number in range(draw(st.integers(1, max_items)))]
    hierarchy = draw(hierarchies(leaves))
    n = draw(st.integers(2, max_baskets))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.2, 0.4, 0.7]))
    baskets = [[leaf for leaf in leaves if rng.random() < share] for _ in range(n)]
    filled = [basket for basket in baskets if basket]
    k = draw(st.integers(1, 4))
    baskets += [[leaves[0]]] * max(k - len(filled), 0)
    return ItemsCase(hierarchy, baskets, k, draw(st.integers(1, max_m)))
