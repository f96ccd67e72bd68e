"""The cost of a cell that covers some values of an attribute."""

from __future__ import annotations

from kohort.kernels.compiled import lean
from kohort.problem.encoding.layout import SET, TREE


@lean
def cell_cost(cells, a, lo, hi, width):
    """Cost of a cell of attribute a that covers `width` values within leaves lo..hi."""
    attribute = cells.attribute[a]
    if attribute.kind == TREE:
        return cells.pair[attribute.pair_start + lo * attribute.n_leaves + hi]
    if lo == hi:
        return 0.0
    if hi >= attribute.loners_from:
        return attribute.whole
    return attribute.line_base + attribute.line_slope * (width - 1 if attribute.kind == SET else hi - lo)
