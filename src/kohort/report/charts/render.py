"""From a Vega-Lite spec to an SVG that stands in a page by itself."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import quoteattr

__all__ = ["svg_of"]


def svg_of(spec: dict[str, Any], *, alternative: str) -> str:
    """The chart as SVG, with its text alternative. Nothing is fetched; texts in it are escaped."""
    import vl_convert  # loads a JavaScript engine, so only where a chart is drawn

    svg = vl_convert.vegalite_to_svg(spec)
    return svg.replace("<svg ", f"<svg role='img' aria-label={quoteattr(alternative)} ", 1)
