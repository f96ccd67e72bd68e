"""Charts as Vega-Lite specs: plain data in, a plain dict out. The same spec serves report, notebook and web.

Colours are of Okabe and Ito's palette, which colour-blind people can tell apart; what colour says is also
said by shape, place or lightness, so that a grey print tells it, too. Text is `currentColor`: the page
decides, in the light and in the dark.
"""

from kohort.report.charts.bars import bars_chart
from kohort.report.charts.before_after import distribution_chart, rates_chart
from kohort.report.charts.classes import class_sizes_chart, guesses_chart
from kohort.report.charts.columns import steps_chart
from kohort.report.charts.judged import attack_chart, pairs_chart
from kohort.report.charts.render import svg_of

__all__ = [
    "attack_chart",
    "bars_chart",
    "class_sizes_chart",
    "distribution_chart",
    "guesses_chart",
    "pairs_chart",
    "rates_chart",
    "steps_chart",
    "svg_of",
]
