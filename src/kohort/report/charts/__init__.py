"""The charts of the report: facts in, Vega-Lite specs out; the same spec serves report, notebook and web."""

from kohort.report.charts.bars import bars_chart
from kohort.report.charts.before_after import distribution_chart, rates_chart
from kohort.report.charts.classes import class_sizes_chart, guesses_chart
from kohort.report.charts.columns import steps_chart
from kohort.report.charts.heat import heat_chart
from kohort.report.charts.risk_and_utility import attack_chart, pairs_chart

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
