"""How many people of the population a class stands for, by the sampling weights of its records."""

from __future__ import annotations

from typing import Any

from kohort.errors import percent
from kohort.pipeline.before_after import BeforeAfter
from kohort.risk.class_tally import class_tally

__all__ = ["weighted_population"]


def weighted_population(sides: BeforeAfter) -> dict[str, Any] | None:
    """The estimated people of the population in the class that has fewest; None without weights.

    A person with several records in a class counts once, with the mean of their weights.
    """
    before = class_tally(sides, "before").least_weight
    if before is None:
        return None
    least = class_tally(sides, "after").least_weight
    chance = None if least is None else 1 / max(least, 1.0)
    return {
        "before": before,
        "after": least,
        "chance": chance,
        "sentence": (
            "By the sampling weights, the published class that stands for fewest people of the population "
            f"stands for an estimated {least or 0:,.0f}; before it was {before:,.0f}. Somebody who does not "
            "know who is in the table finds a person with a chance of about "
            f"{percent(chance or 0.0)} at most."
        ),
    }
