"""Ways of publishing again: algorithms around the one that makes groups, which know the earlier releases."""

from collections.abc import Callable

from kohort.algorithms.again.fresh import Fresh
from kohort.algorithms.again.history_keeping import HistoryKeeping
from kohort.algorithms.again.m_invariance import MInvariance
from kohort.algorithms.again.standing import Standing
from kohort.algorithms.solver import Solver

__all__ = ["WAYS", "MInvariance", "Standing"]

WAYS: dict[str, Callable[[Solver, Standing], Solver]] = {
    "history-keeping": HistoryKeeping,
    "m-invariance": MInvariance,
    "fresh": Fresh,
}
