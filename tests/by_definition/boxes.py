"""Boxes that hold fewer than k records, by definition. A box has a set of parts per attribute."""

from __future__ import annotations


def records_in(box, parts, sizes):
    """`box`: all its parts; `parts`: those of each cell, numbered through all attributes."""
    return sum(size for cell, size in zip(parts, sizes) if all(part in box for part in cell))


def is_largest(box, own, parts, sizes, distance, k):
    """Whether no part that may be taken in leaves it below k."""
    inside = set(box)
    near = {part for one in own for part in range(len(distance)) if distance[one][part] < float("inf")}
    return all(records_in(inside | {part}, parts, sizes) >= k for part in near - inside)


def inside_cost(block, own, boxes, prices):
    """The prices of those with a value in a block that lies in their box; sets of values."""
    return sum(price for value, box, price in zip(own, boxes, prices) if value <= block and block <= box)


def stepped(prices, sticks, owner, room, short):
    """A step along the subgradient of the bound, then down to the room of each owner."""
    spent = {o: sum(p for p, other in zip(prices, owner) if other == o) for o in owner}
    slopes = [1 - s for s in sticks]
    free = [
        (slope > 0 and spent[o] < room[o] * (1 - 1e-9)) or (slope < 0 and price > 0)
        for slope, o, price in zip(slopes, owner, prices)
    ]
    length = sum(slope**2 for slope, moves in zip(slopes, free) if moves)
    if not length:
        return list(prices)
    moved = [max(price + slope * short / length, 0) for price, slope in zip(prices, slopes)]
    spent = {o: sum(p for p, other in zip(moved, owner) if other == o) for o in owner}
    return [p * room[o] / spent[o] if spent[o] > room[o] else p for p, o in zip(moved, owner)]
