"""What all charts share: colours, fonts and sizes, and how a spec becomes an SVG.

A chart is a Vega-Lite spec, a plain dict made from plain data. Colours are of Okabe and Ito's palette, which
colour-blind people can tell apart; whatever a colour means is also shown by shape, place or lightness.
"""

from kohort.charts.names import names_axis, row_height
from kohort.charts.render import svg_of, write_svg
from kohort.charts.theme import AFTER, BEFORE, PERCENT, RULE, SHARES, page_chart, picture

__all__ = [
    "AFTER",
    "BEFORE",
    "PERCENT",
    "RULE",
    "SHARES",
    "names_axis",
    "page_chart",
    "picture",
    "row_height",
    "svg_of",
    "write_svg",
]
