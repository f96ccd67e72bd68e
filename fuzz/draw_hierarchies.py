"""Random hierarchies for a column: trees of any shape, builders of every kind that fits, or none."""

from __future__ import annotations

from random import Random
from typing import Any

from by_definition.original_columns import OriginalColumn

__all__ = ["draw_hierarchy", "draw_paths"]

INNER = ("A", "B", "C", "D", "E")


def draw_hierarchy(rng: Random, kind: str, original: OriginalColumn, *, required: bool) -> Any:
    """What a spec would say of this column; None only where a hierarchy is not required."""
    if not required and rng.random() < 0.3:
        return None
    if not original.distinct:
        return rng.choice([None, "flat"])
    if rng.random() < 0.45:
        form = "csv" if kind in ("plain", "integer", "codes") and rng.random() < 0.08 else "paths"
        return {form: draw_paths(rng, original.distinct)}
    return rng.choice(_builders(rng, kind, original))


def draw_paths(rng: Random, leaves: list[str], *, null: bool = True) -> list[list[str | None]]:
    """Paths of a tree: balanced or not, unary chains, labels used twice, leaves that the data lacks."""
    extra = rng.choice([[], [], [], ["unused"], ["unused", "never"]])
    order: list[str | None] = [*leaves, *extra]
    if rng.random() < 0.5:
        rng.shuffle(order)
    if null and rng.random() < 0.03:
        order.append(None)
    root = "ALL" if rng.random() < 0.05 else "*"
    return [[leaf, *inner, root] for leaf, inner in _grown(rng, order, rng.choice([0, 1, 2, 2, 3, 4]))]


def _grown(rng: Random, leaves: list, depth: int) -> list[tuple[Any, tuple[str, ...]]]:
    """Pairs of a leaf and its inner labels, the lowest first."""
    if depth == 0 or not leaves or rng.random() < 0.1:
        return [(leaf, ()) for leaf in leaves]
    parts = rng.choice([1, 2, 2, 3, 3, 4])
    cuts = sorted(rng.randint(0, len(leaves)) for _ in range(parts - 1))
    found = []
    labels = [rng.choice(INNER) for _ in range(parts)] if rng.random() < 0.3 else _fresh(rng, parts)
    for label, begin, end in zip(labels, [0, *cuts], [*cuts, len(leaves)]):
        below = _grown(rng, leaves[begin:end], depth - 1)
        found += [(leaf, (*inner, label)) for leaf, inner in below]
    return found


def _fresh(rng: Random, parts: int) -> list[str]:
    return [f"N{rng.randrange(10**6)}" for _ in range(parts)]


def _builders(rng: Random, kind: str, original: OriginalColumn) -> list[Any]:
    fanout = rng.choice([2, 3, 4])
    found: list[Any] = ["flat", "auto", {"order": "natural", "fanout": fanout}, {"frequency": fanout}]
    found.append({"order": rng.choice(["frequency", "file"]), "fanout": fanout})
    if kind in ("integer", "float", "digits"):
        found += [_intervals(rng)] * 4
        found.append({"quantiles": rng.choice([2, 3]), "depth": rng.choice([1, 2, 3])})
    if kind in ("date", "datetime", "datetext"):
        levels = ["day", "month", "quarter", "half", "year", "decade"]
        picked = sorted(rng.sample(range(6), rng.randint(1, 4)))
        found += [{"date": [levels[place] for place in picked]}, {"date": ["day", "week"]}] * 3
    if kind in ("codes", "integer", "plain"):
        found += [{"mask": rng.choice(["right", "left"])}] * 2
    if kind in ("plain", "codes", "boolean"):
        half = max(1, len(original.distinct) // 2)
        groups = {"G1": original.distinct[:half], "G2": original.distinct[half:] or ["unused"]}
        found += [{"groups": groups}, {"tree": {"ALL": groups}}]
    return found


def _intervals(rng: Random) -> dict[str, Any]:
    width, widths = rng.choice([1, 2, 5, 0.5, 100]), []
    for _ in range(rng.randint(1, 3)):
        widths.append(width)
        width = width * rng.choice([2, 3])
    made: dict[str, Any] = {"intervals": widths}
    if rng.random() < 0.2:
        made["top"] = rng.choice([8, 50])
    if rng.random() < 0.2:
        made["bottom"] = rng.choice([-1, 2])
    if rng.random() < 0.2:
        made["origin"] = rng.choice([1, -3])
    return made
