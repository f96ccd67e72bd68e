"""Steps in the lattice of levels, whose nodes are numbered in the order of their levels."""

from __future__ import annotations

from kohort.kernels.compiled import lean


@lean
def highest_open_above(bound, least, shape, place, target):
    """The node reached from a node by going up to the dearest open node right above, until there is none.

    bound   per node, in the order of their levels; a node is open if its bound is below the target
    least   per node what it costs; of nodes that cost the same, the first attribute is raised
    shape   how many levels each attribute has
    place   the number of the node to start from

    O(attributes) per step, of which there are at most as many as levels.
    """
    while True:
        next_place, stride = -1, 1
        for j in range(len(shape) - 1, -1, -1):
            raised = place + stride
            is_open = (place // stride) % shape[j] + 1 < shape[j] and bound[raised] < target
            if is_open and (next_place < 0 or least[raised] >= least[next_place]):
                next_place = raised
            stride *= shape[j]
        if next_place < 0:
            return place
        place = next_place
