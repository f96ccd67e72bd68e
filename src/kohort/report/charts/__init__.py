"""The charts of the report: facts in, Vega-Lite specs out; the same spec serves report, notebook and web."""

from kohort.report.charts.bars import (
    attack_chart,
    bars_chart,
    distribution_chart,
    pairs_chart,
    rates_chart,
    steps_chart,
)
from kohort.report.charts.classes import class_sizes_chart, guesses_chart, heat_chart

__all__ = [
    "attack_chart",
    "bars_chart",
    "class_sizes_chart",
    "distribution_chart",
    "guesses_chart",
    "heat_chart",
    "pairs_chart",
    "rates_chart",
    "steps_chart",
]
