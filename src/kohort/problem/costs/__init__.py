"""Costs by their spec names."""

from kohort.errors import InputError, did_you_mean
from kohort.problem.costs.cells import (
    Distortion,
    Entropy,
    Loss,
    MonotoneEntropy,
    NormalizedCertaintyPenalty,
    Suppressions,
    Tree,
)
from kohort.problem.costs.cost import CellCost, Cost, Line, SeparableCost
from kohort.problem.costs.discernibility import (
    Ambiguity,
    AverageClassSize,
    Discernibility,
    HierarchicalDiscernibility,
    Squares,
)

__all__ = [
    "COSTS",
    "CellCost",
    "Cost",
    "Line",
    "SeparableCost",
    "Squares",
    "cost_named",
]

COSTS: dict[str, type[Cost]] = {
    cost.name: cost
    for cost in (
        Loss,
        NormalizedCertaintyPenalty,
        Tree,
        Distortion,
        Suppressions,
        Entropy,
        MonotoneEntropy,
        Ambiguity,
        Discernibility,
        HierarchicalDiscernibility,
        AverageClassSize,
    )
}


def cost_named(name: str) -> Cost:
    """The cost with this spec name: one that every release is measured by, or squares."""
    if name == Squares.name:
        return Squares()
    if name not in COSTS:
        raise InputError(f"There is no cost {name!r}. {did_you_mean(name, [*COSTS, Squares.name])}")
    return COSTS[name]()
