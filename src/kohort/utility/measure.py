"""The utility of a release: plain facts, each with a sentence that says what it means."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from kohort.algorithms import Progress, Run
from kohort.data.column import Column
from kohort.data.counting import count_pairs
from kohort.errors import InputError, UnsupportedError, counted, did_you_mean
from kohort.job.sides import BeforeAfter
from kohort.parameters import Seed, Within, check_option
from kohort.problem.costs import cost_named
from kohort.problem.units import Weights
from kohort.utility.classification import Encoded, classification, original_side, published_side
from kohort.utility.itemset_loss import itemset_loss
from kohort.utility.queries import item_query_error, query_error

if TYPE_CHECKING:
    from kohort.release.release import Release


def measure_utility(
    release: Release,
    *,
    queries: int = 1000,
    target: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """How useful a release still is: costs, query error, frequent sets of items, classification, association.

    Parameters
    ----------
    queries
        How many COUNT queries are asked of the release.
    target
        The sensitive or insensitive column that a model learns to predict; by default the sensitive one
        with the fewest values.
    """
    check_option("queries", queries, Annotated[int, Within(0, 1_000_000_000)])
    check_option("seed", seed, Seed)
    name = _target(release, target)
    run = Run(progress=progress)
    run.report("reading the release", 0.0)
    sides = release.sides.drawn()
    column = None if name is None else _column(release, sides, name)
    run.report("asking queries", 0.1)
    answered = query_error(sides, queries=queries, seed=seed)
    items = None if sides.baskets is None else item_query_error(sides.baskets, queries=queries, seed=seed)
    run.report("mining frequent sets of items", 0.3)
    mined = None if sides.baskets is None else itemset_loss(sides.baskets)
    run.report("learning to classify", 0.4)
    learnt = None if column is None else classification(sides, column, seed=seed)
    run.report("comparing pairs of columns", 0.8)
    return {
        "kohort": "utility",
        "costs": _costs(release),
        "queries": answered,
        "item_queries": items,
        "itemsets": mined,
        "classification": learnt,
        "association": association(sides, seed=seed) if sides.attributes else None,
        "left_out": _left_out(sides),
    }


def _left_out(sides: BeforeAfter) -> list[str]:
    """A sentence about records that were not looked at."""
    if sides.drawn_of is None or sides.drawn_of == sides.n_records:
        return []
    return [
        f"Of {sides.drawn_of:,} records on a cluster, {sides.n_records:,} were drawn at random to measure "
        "what the release is still good for."
    ]


def _costs(release: Release) -> dict[str, Any]:
    return {
        name: {"value": value, "sentence": f"{name} is {_figure(value)}: {_meaning(name)}."}
        for name, value in release.loss.items()
    }


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _meaning(name: str) -> str:
    return cost_named(name.removeprefix("items-")).meaning


def _target(release: Release, name: str | None) -> str | None:
    """The column that is predicted: the one that is asked for, or the sensitive one with fewest values."""
    sensitive, insensitive = (release.roles.having(role) for role in ("sensitive", "insensitive"))
    if name is not None:
        if name not in (*sensitive, *insensitive):
            raise InputError(
                f"'target' must be a sensitive or insensitive column, but {name!r} is not. "
                f"{did_you_mean(name, [*sensitive, *insensitive])}"
            )
        return name
    values = {name: len(release.dataset.column(name).texts) for name in sensitive}
    several = [name for name in sensitive if values[name] > 1]
    return min(several, key=lambda name: values[name], default=None)


def _column(release: Release, sides: BeforeAfter, name: str) -> Column:
    """The column that is predicted, of the records at hand."""
    if sides.drawn_of is None:
        return release.dataset.column(name)
    if name in (known := {column.name: column for column in sides.sensitive}):
        return known[name]
    raise UnsupportedError(f"On a cluster, 'target' must be a sensitive column, and {name!r} is not.")


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
            "after": _strength(after[a], after[b], weights.of(sides.rows)),
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


def _strength(left: Encoded, right: Encoded, weights: Weights) -> float:
    """The association of two columns, with records counted by their weights, if they have any."""
    shape = len(left.shares), len(right.shares)
    if weights.even:
        a, b, count = count_pairs(left.labels, right.labels, *shape)
    else:
        keys, number = np.unique(left.labels.astype(np.int64) * shape[1] + right.labels, return_inverse=True)
        (a, b), count = np.divmod(keys, shape[1]), np.bincount(number, weights.each)
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
