"""Association preserved: Cramér's V of pairs of columns, before and after."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from kohort.data.counting import count_pairs
from kohort.errors import counted
from kohort.pipeline.before_after import BeforeAfter
from kohort.utility.encode import Encoded, original_side, published_side

__all__ = ["association", "cramers_v"]

_GROUPS = 16
_MOST_PAIRS = 200


def association(sides: BeforeAfter, *, seed: int) -> dict[str, Any] | None:
    """Cramér's V of every pair of quasi-identifiers and sensitive columns, as it was and as it is published.

    Generalized values count for each value they cover by equal shares, columns with many values in 16 groups.
    O(pairs * records); if there are more than 200 pairs, 200 are drawn.
    """
    before, after = original_side(sides, _GROUPS), published_side(sides, _GROUPS)
    pairs, weights = list(combinations(range(len(before)), 2)), sides.weights
    if not pairs:
        return None
    found: list[dict[str, Any]] = [
        {
            "attributes": [before[a].name, before[b].name],
            "before": _strength(before[a], before[b], weights),
            "after": _strength(after[a], after[b], None if weights is None else weights[sides.rows]),
        }
        for a, b in _sample(pairs, seed)
    ]
    was, now = (float(np.mean([pair[side] for pair in found])) for side in ("before", "after"))
    change = float(np.mean([abs(pair["before"] - pair["after"]) for pair in found]))
    return {
        "pairs": found,
        "sampled": len(found) < len(pairs),
        "mean_before": was,
        "mean_after": now,
        "mean_change": change,
        "sentence": (
            f"How strongly columns go together (Cramér's V, 0 to 1) changed by {change:.3f} on average over "
            f"{counted(len(found), 'pair')}: from {was:.3f} to {now:.3f}."
        ),
    }


def _sample(pairs: list[tuple[int, int]], seed: int) -> list[tuple[int, int]]:
    """All pairs, or 200 of them drawn at random, in their order."""
    if len(pairs) <= _MOST_PAIRS:
        return pairs
    drawn = np.random.default_rng(seed).choice(len(pairs), _MOST_PAIRS, replace=False)
    return [pairs[i] for i in np.sort(drawn)]


def _strength(left: Encoded, right: Encoded, weights: np.ndarray | None) -> float:
    """The association of two columns, with records counted by their weights, if they have any."""
    shape = len(left.shares), len(right.shares)
    if weights is None:
        a, b, count = count_pairs(left.labels, right.labels, *shape)
    else:
        keys, number = np.unique(left.labels.astype(np.int64) * shape[1] + right.labels, return_inverse=True)
        (a, b), count = np.divmod(keys, shape[1]), np.bincount(number, weights)
    return cramers_v(left.shares[a].T @ (right.shares[b] * count[:, None]))


def cramers_v(table: np.ndarray) -> float:
    """The association of rows and columns of a table of counts: 0 none, 1 if one determines the other.

    >>> cramers_v(np.array([[10.0, 0.0], [0.0, 10.0]]))
    1.0
    """
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    fewer = min(table.shape) - 1
    if fewer < 1:
        return 0.0
    n = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / (n * fewer)))
