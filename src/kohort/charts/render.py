"""From a Vega-Lite spec to an SVG, without a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from kohort.files.atomic import replacing
from kohort.files.checked import write_checked

_TAG = re.compile(r"<[a-z][^<>]*>")
_PART_NAMES = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')


def svg_of(spec: dict[str, Any], *, alternative: str | None = None) -> str:
    """Draw a chart as SVG, with a text alternative for those who cannot see it. Texts in it are escaped."""
    import vl_convert  # loads a JavaScript engine, so only where a chart is drawn

    svg = vl_convert.vegalite_to_svg(spec)
    if alternative is None:
        return svg
    svg = _TAG.sub(lambda tag: _PART_NAMES.sub("", tag[0]), svg)  # the alternative speaks for all parts
    return svg.replace("<svg ", f"<svg role='img' aria-label={quoteattr(alternative)} ", 1)


def write_svg(spec: dict[str, Any], path: str | Path) -> None:
    """Draw a chart into an SVG file, which appears whole or not at all."""
    with replacing(path) as draft:
        write_checked(draft, svg_of(spec))
