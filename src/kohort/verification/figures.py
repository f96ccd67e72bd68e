"""Figures and what speaks for them; those that contradict each other never get into a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Literal

from kohort.errors import InternalError

__all__ = ["Claim", "checked_bound", "checked_guarantee", "checked_loss"]

_ROUNDING = 1e-6  # relative: solvers of linear programs are no more exact
_TINY = 1e-9


@dataclass(frozen=True)
class Claim:
    """A figure and what speaks for it.

    evidence  checked: verification proved it again, by code of its own; solver: a solver or the search says
              so, and nothing checked it; theorem: a paper proves it of the algorithm; stated: it is only said
    reason    which proof, solver or paper that is, in words
    """

    figure: float
    evidence: Literal["checked", "solver", "theorem", "stated"]
    reason: str

    def to_dict(self) -> dict[str, str | float]:
        return asdict(self)


def checked_loss(loss: Mapping[str, float]) -> dict[str, float]:
    """The measured costs, or InternalError where one is negative or no finite number."""
    for name, value in loss.items():
        if not (isfinite(value) and value >= -_TINY):
            raise _contradiction(f"the {name} measured on the published table is {value}")
    return dict(loss)


def checked_bound(bound: float | None, cost: float, what: str = "cost") -> float | None:
    """A lower bound on a cost; InternalError where it is above the cost by more than rounding."""
    if bound is None:
        return None
    if not (isfinite(bound) and bound >= -_TINY):
        raise _contradiction(f"the lower bound on the {what} is {bound}")
    if bound > cost + _ROUNDING * abs(cost) + _TINY:
        raise _contradiction(f"the lower bound on the {what}, {bound:.9g}, is above the {what}, {cost:.9g}")
    return min(max(bound, 0.0), cost)


def checked_guarantee(guarantee: float | None, cost: float, bound: float | None) -> float | None:
    """The approximation factor of the cost; InternalError where other figures contradict it.

    bound  a lower bound that the same algorithm proved, on which the factor rests: cost / bound is no more
           than the factor. None where there is none; a bound from elsewhere may be weaker than the factor.
    """
    if guarantee is None:
        return None
    if not (isfinite(guarantee) and guarantee >= 1 - _TINY):
        raise _contradiction(f"the guarantee is {guarantee}, and no cost is below the least cost")
    if bound is not None and cost > guarantee * bound * (1 + _ROUNDING) + _TINY:
        raise _contradiction(
            f"a cost of at most {guarantee:.6g} times the least cost is guaranteed, but the cost is "
            f"{cost:.9g} and only {bound:.9g} is proven"
        )
    return guarantee


def _contradiction(what: str) -> InternalError:
    return InternalError(f"A figure cannot be right: {what}. The release was not made. Please report this.")
