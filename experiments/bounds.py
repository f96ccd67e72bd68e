"""The best lower bound that a release knows, whoever speaks for it."""

from __future__ import annotations

import kohort as ko

__all__ = ["best_bound", "best_gap"]


def best_bound(release: ko.Release) -> float | None:
    """The bound of a solver or the search, which is higher than a checked one, if there is any."""
    return release.bound if release.solver_bound is None else release.solver_bound


def best_gap(release: ko.Release) -> float | None:
    """How far the cost is above that bound."""
    return release.gap if release.solver_gap is None else release.solver_gap
