"""What quasi-identifiers and items lose in classes of some size, and which size is the best trade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Trade", "best_trade", "trade_notes"]

_LEAST_KEPT = 0.01  # counts as kept where nothing is: one lost column of many is bad, not the end
_SHOWN_WEIGHTS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Trade:
    """What a recoding loses.

    size     the least number of records of a class
    losses   the loss of each quasi-identifier, 0 to 1
    weights  the share of each quasi-identifier in the loss of the table; they sum up to 1
    ncp      the loss of the items, 0 to 1
    """

    size: int
    losses: np.ndarray
    weights: np.ndarray
    ncp: float

    @property
    def loss(self) -> float:
        """The loss of all quasi-identifiers together."""
        return float(np.dot(self.weights, self.losses))

    def kept(self, weight: float) -> float:
        """The weighted geometric mean of what is kept of quasi-identifiers and items, as a logarithm.

        >>> trade = Trade(10, np.array([0.0, 0.75]), np.array([0.5, 0.5]), ncp=0.5)
        >>> round(float(np.exp(trade.kept(0.5))), 6)  # the square root of 1/2 * 1/2
        0.5
        """
        columns = np.log(np.maximum(1 - self.losses, _LEAST_KEPT))
        items = np.log(max(1 - self.ncp, _LEAST_KEPT))
        return float((1 - weight) * np.dot(self.weights, columns) + weight * items)


def best_trade(tried: Sequence[Trade], weight: float) -> Trade:
    """The trade that keeps most when items have this weight; of equal ones, that of the smallest classes."""
    return max(tried, key=lambda trade: (trade.kept(weight), -trade.size))


def trade_notes(tried: Sequence[Trade], weight: float) -> tuple[str, ...]:
    """A note on what the chosen weight gave and what others would give; none where there was no choice."""
    if len(tried) < 2:
        return ()
    chosen = best_trade(tried, weight)
    others = [other for other in _SHOWN_WEIGHTS if other != weight]
    found = " ".join(f"A weight of {other:g} gives {_figures(best_trade(tried, other))}." for other in others)
    return (
        "Larger classes keep more of the items and less of the quasi-identifiers. items_weight "
        f"{weight:g} gave {_figures(chosen)}. {found}",
    )


def _figures(trade: Trade) -> str:
    return (
        f"classes of at least {trade.size:,} records, a loss of {trade.loss:.3f} for the quasi-identifiers "
        f"and of {trade.ncp:.3f} for the items"
    )
