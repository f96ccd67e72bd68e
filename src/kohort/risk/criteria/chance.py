"""How often an attack succeeds, how often its control group does, and whether that differs beyond chance."""

from __future__ import annotations

from math import sqrt
from typing import Any

from kohort.risk.lookup import wilson


def rate(hits: int, trials: int) -> dict[str, Any]:
    """A rate with its 95 % interval (Wilson's score interval)."""
    return {
        "hits": hits,
        "trials": trials,
        "rate": hits / trials if trials else 0.0,
        "interval": list(wilson(hits, trials)),
    }


def difference(one: dict[str, Any], other: dict[str, Any]) -> list[float]:
    """The 95 % interval of the difference of two rates (Newcombe, 1998, method 10).

    >>> [round(end, 4) for end in difference(rate(56, 70), rate(48, 80))]
    [0.0524, 0.3339]
    """
    first, second = one["rate"], other["rate"]
    (low1, high1), (low2, high2) = one["interval"], other["interval"]
    return [
        first - second - sqrt((first - low1) ** 2 + (high2 - second) ** 2),
        first - second + sqrt((high1 - first) ** 2 + (second - low2) ** 2),
    ]


def compared(attack: dict[str, Any], control: dict[str, Any]) -> dict[str, Any]:
    """An attack beside its control group.

    excess         how much more often the attack succeeds, with an interval; not below 0 where it does not
    risk           the part of the cases in which the control group fails that the attack wins
    beyond_chance  whether the interval of the excess lies above 0
    """
    interval = difference(attack, control)
    room = 1 - control["rate"]
    excess = attack["rate"] - control["rate"]
    return {
        "attack": attack,
        "control": control,
        "excess": excess,
        "excess_interval": interval,
        "risk": min(max(excess / room, 0.0), 1.0) if room > 0 else 0.0,
        "beyond_chance": bool(attack["trials"]) and interval[0] > 0,
    }
