"""The walk from a node of a lattice of levels up to the dearest open nodes, by definition."""

from __future__ import annotations


def highest_open_above(bound, least, node, target):
    """Of the open nodes right above, the dearest, and so on; of equally dear ones the first attribute's."""
    while True:
        raised = [(*node[:j], level + 1, *node[j + 1 :]) for j, level in enumerate(node)]
        steps = [other for other in raised if other in bound and bound[other] < target]
        if not steps:
            return node
        node = max(steps, key=lambda other: least[other])
