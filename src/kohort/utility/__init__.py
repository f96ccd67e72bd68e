"""How useful a release still is: to count with, to learn from, to see what goes together."""

from kohort.utility.measure import measure_utility

__all__ = ["measure_utility"]
