"""The classes of a release: their sizes, the sensitive values inside them, and the riskiest of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.data.column import Column
from kohort.pipeline.before_after import BeforeAfter, Classes

__all__ = ["class_size_facts", "guess_facts", "riskiest_classes"]

_FACTORS = (1, 1.5, 2, 3, 5, 10, 30, 100, 1000)  # bins of class sizes, in multiples of the smallest
_GUESS_BINS = 10
_RISKIEST = 10


def class_size_facts(sides: BeforeAfter) -> dict[str, Any] | None:
    """How many records (or people) are in classes of which size; every bin holds whole classes."""
    sizes = sides.sizes_after[_kept(sides)]
    if not sides.attributes or not len(sizes):
        return None
    smallest = int(sizes.min())
    starts = sorted({int(np.ceil(smallest * factor)) for factor in _FACTORS})
    bin_of = np.searchsorted(starts, sizes, side="right") - 1
    bins = []
    for i in np.unique(bin_of):
        chosen = sizes[bin_of == i]
        last = starts[i + 1] - 1 if i + 1 < len(starts) else int(sizes.max())
        bins.append(
            {
                "size": _span(starts[i], min(last, int(sizes.max()))),
                "classes": len(chosen),
                "records": int(chosen.sum()),
                "share": float(chosen.sum() / sizes.sum()),
            }
        )
    return {
        "counted": sides.counted,
        "smallest": smallest,
        "median": float(np.median(sizes)),
        "largest": int(sizes.max()),
        "average": float(sizes.mean()),
        "bins": bins,
    }


def _span(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"


def _kept(sides: BeforeAfter) -> np.ndarray:
    """The numbers of the classes that are not withheld."""
    withheld = np.unique(sides.after.of_record[sides.withheld])
    return np.setdiff1d(np.arange(len(sides.after.sizes)), withheld)


def guess_facts(sides: BeforeAfter, column: Column) -> dict[str, Any] | None:
    """How well a sensitive value can be guessed from the class alone: the guess is its most frequent value.

    The share of that value in a class is the confidence. The whole table, taken as one class, shows what
    anybody could guess without knowing the class. The facts hold no value.
    """
    kept = _kept(sides)
    if not len(kept):
        return None
    top, different = (counted[kept] for counted in _most_frequent(sides, column))
    sizes = sides.sizes_after[kept]
    confidence = top / sizes
    bin_of = np.minimum((confidence * _GUESS_BINS).astype(np.int64), _GUESS_BINS - 1)
    shares = np.bincount(bin_of, weights=sizes, minlength=_GUESS_BINS) / sizes.sum()
    return {
        "name": column.name,
        "values": len(column.texts),
        "fewest_values": int(different.min()),
        "highest": float(confidence.max()),
        "average": float(top.sum() / sizes.sum()),
        "table": _best_without_classes(sides, column),
        "certain_records": int(sizes[top == sizes].sum()),
        "certain_classes": int((top == sizes).sum()),
        "bins": [
            {"from": i / _GUESS_BINS, "to": (i + 1) / _GUESS_BINS, "share": float(share)}
            for i, share in enumerate(shares)
        ],
    }


def _best_without_classes(sides: BeforeAfter, column: Column) -> float:
    """How often the most frequent value of all records that are not withheld is right."""
    published = np.where(sides.withheld, -1, sides.rows)
    one_class = Classes(np.zeros((1, 0)), np.array([len(published)]), np.zeros(len(published), dtype=int))
    _, _, count = sides.value_counts(column, one_class, published)
    kept = sides.rows[~sides.withheld]
    return float(count.max() / (len(kept) if sides.persons is None else len(np.unique(sides.persons[kept]))))


def _most_frequent(sides: BeforeAfter, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Per class how often its most frequent value occurs, and how many different values it has."""
    n_classes = len(sides.after.sizes)
    group, _, count = sides.value_counts(column, sides.after, sides.rows)
    top = np.zeros(n_classes, dtype=np.int64)
    np.maximum.at(top, group, count)
    return top, np.bincount(group, minlength=n_classes)


def riskiest_classes(sides: BeforeAfter) -> dict[str, Any] | None:
    """The classes that give most away: a sensitive value by a safe guess, then a person by a small class.

    Shows values: not for the public.
    """
    kept = _kept(sides)
    if not sides.attributes or not len(kept):
        return None
    sizes = sides.sizes_after
    tops = [_most_frequent(sides, column)[0] / sizes for column in sides.sensitive]
    guess = np.max(tops, axis=0) if tops else np.zeros(len(sizes))
    risk = np.maximum(guess, 1 / sizes)[kept]
    order = kept[np.lexsort((sizes[kept], -risk))[:_RISKIEST]]
    rows = [
        {
            "number": int(number),
            "values": [column.texts[code] for column, code in zip(sides.labels, sides.after.codes[number])],
            sides.counted: int(sizes[number]),
            "chance": float(1 / sizes[number]),
            "guess": float(guess[number]) if tops else None,
        }
        for number in order
    ]
    return {"columns": [column.name for column in sides.labels], "classes": rows, "of": len(kept)}
