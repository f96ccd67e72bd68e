"""The classes of a release: their sizes, the sensitive values inside them, and the riskiest of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.data.column import Column
from kohort.pipeline.before_after import BeforeAfter
from kohort.risk.class_tally import BINS, GuessTally, class_tally

__all__ = ["class_size_facts", "guess_facts", "riskiest_classes"]

_FACTORS = (1, 1.5, 2, 3, 5, 10, 30, 100, 1000)  # bins of class sizes, in multiples of the smallest


def class_size_facts(sides: BeforeAfter) -> dict[str, Any] | None:
    """How many records (or people) are in classes of which size; every bin holds whole classes."""
    counted = class_tally(sides, "after").sizes
    if not sides.attributes or not counted.classes:
        return None
    sizes, members = counted.size, counted.members
    smallest, largest = int(sizes[0]), int(sizes[-1])
    starts = sorted({int(np.ceil(smallest * factor)) for factor in _FACTORS})
    bin_of = np.searchsorted(starts, sizes, side="right") - 1
    bins = []
    for i in np.unique(bin_of):
        records = int(members[bin_of == i].sum())
        last = starts[i + 1] - 1 if i + 1 < len(starts) else largest
        bins.append(
            {
                "size": _span(starts[i], min(last, largest)),
                "classes": int(counted.times[bin_of == i].sum()),
                "records": records,
                "share": float(records / members.sum()),
            }
        )
    return {
        "counted": sides.counted,
        "smallest": smallest,
        "median": counted.median,
        "largest": largest,
        "average": float(members.sum() / counted.classes),
        "bins": bins,
    }


def _span(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"


def guess_facts(sides: BeforeAfter) -> list[dict[str, Any]]:
    """How well sensitive values can be guessed from the class alone: the guess is its most frequent value.

    The share of that value in a class is the confidence. The whole table, taken as one class, shows what
    anybody could guess without knowing the class. The facts hold no value.
    """
    tally = class_tally(sides, "after")
    if not tally.sizes.classes:
        return []
    return [_guess_facts(sides, column, found) for column, found in zip(sides.sensitive, tally.guesses)]


def _guess_facts(sides: BeforeAfter, column: Column, found: GuessTally) -> dict[str, Any]:
    return {
        "name": column.name,
        "values": len(column.texts),
        "fewest_values": found.fewest_values,
        "highest": found.surest,
        "average": found.right / found.people,
        "table": sides.most_frequent(column, "after"),
        "certain_records": found.certain_people,
        "certain_classes": found.certain_classes,
        "bins": [
            {"from": i / BINS, "to": (i + 1) / BINS, "share": float(people / found.people)}
            for i, people in enumerate(found.bins)
        ],
    }


def riskiest_classes(sides: BeforeAfter) -> dict[str, Any] | None:
    """The classes that give most away: a sensitive value by a safe guess, then a person by a small class.

    Shows values: not for the public.
    """
    tally = class_tally(sides, "after")
    if not sides.attributes or not tally.sizes.classes:
        return None
    rows = [
        {
            "number": found.number,
            "values": [column.texts[code] for column, code in zip(sides.labels, found.codes)],
            sides.counted: found.size,
            "chance": 1 / found.size,
            "guess": found.guess if sides.sensitive else None,
        }
        for found in tally.riskiest
    ]
    return {"columns": [column.name for column in sides.labels], "classes": rows, "of": tally.sizes.classes}
