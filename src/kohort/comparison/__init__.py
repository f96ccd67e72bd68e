"""Many releases of one table side by side: algorithms, parameters and costs in a grid."""

from kohort.comparison.compare import Comparison, Settings, compare_releases
from kohort.comparison.frontier import Frontier, trace_frontier

__all__ = ["Comparison", "Frontier", "Settings", "compare_releases", "trace_frontier"]
