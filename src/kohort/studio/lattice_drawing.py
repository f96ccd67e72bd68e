"""Where the nodes and lines of a lattice are drawn: a row per sum of levels, the original at the bottom."""

from __future__ import annotations

from typing import Any

__all__ = ["drawing_of"]

_GAP, _ROW, _HEIGHT, _EDGE = 10, 64, 26, 10
_CHARACTER, _PADDING = 7, 14  # pixels of a digit, and around the text of a node


def drawing_of(lattice: dict[str, Any]) -> dict[str, Any]:
    """The size of the picture, its boxes with their texts, and its lines between neighbours.

    >>> nodes = [{"levels": [n], "state": "held", "chosen": n == 1} for n in range(2)]
    >>> drawing = drawing_of({"nodes": nodes})
    >>> [(box["text"], box["y"]) for box in drawing["boxes"]], len(drawing["lines"])
    ([('0', 74), ('1', 10)], 1)
    """
    rows: dict[int, list[dict[str, Any]]] = {}
    for node in lattice["nodes"]:
        rows.setdefault(sum(node["levels"]), []).append(node)
    width = max(len(_text(node)) for node in lattice["nodes"]) * _CHARACTER + _PADDING
    most = max(len(row) for row in rows.values())
    whole = most * (width + _GAP) - _GAP + 2 * _EDGE
    highest, lowest = max(rows), min(rows)
    boxes: dict[tuple[int, ...], dict[str, Any]] = {}
    for height, row in rows.items():
        left = (whole - (len(row) * (width + _GAP) - _GAP)) / 2
        for place, node in enumerate(row):
            x, y = left + place * (width + _GAP), _EDGE + (highest - height) * _ROW
            boxes[tuple(node["levels"])] = {**node, "text": _text(node), "x": round(x, 1), "y": y}
    return {
        "width": round(whole),
        "height": (highest - lowest) * _ROW + _HEIGHT + 2 * _EDGE,
        "box": {"width": width, "height": _HEIGHT},
        "boxes": list(boxes.values()),
        "lines": _lines(boxes, width),
    }


def _text(node: dict[str, Any]) -> str:
    return "·".join(map(str, node["levels"]))


def _lines(boxes: dict[tuple[int, ...], dict[str, Any]], width: int) -> list[dict[str, float]]:
    """A line from each node to each one that is a level higher in one column."""
    found = []
    for levels, box in boxes.items():
        for place in range(len(levels)):
            above = boxes.get((*levels[:place], levels[place] + 1, *levels[place + 1 :]))
            if above is not None:
                ends = {"x1": box["x"] + width / 2, "y1": box["y"]}
                found.append({**ends, "x2": above["x"] + width / 2, "y2": above["y"] + _HEIGHT})
    return found
