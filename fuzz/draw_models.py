"""Random promises: mostly ones that the whole table keeps, as one class, and some that it does not."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp, log
from random import Random
from typing import Any

__all__ = ["draw_k", "draw_model"]


def draw_k(rng: Random, n: int) -> int:
    """Often small; sometimes 1, the size of the table, or more than that."""
    luck = rng.random()
    if luck < 0.04:
        return 1
    if luck < 0.08:
        return n
    if luck < 0.1:
        return n + rng.randint(1, 3)
    return min(n, rng.choice([2, 2, 2, 2, 3, 3, 3, 4, 5, max(2, n // 4), max(2, n // 2)]))


def draw_model(rng: Random, name: str, values: list, *, ordered: bool, ceiling: bool) -> dict[str, Any]:
    """A model about the sensitive column `name`; one in thirty asks for more than the table has."""
    counts = sorted(Counter(values).values(), reverse=True)
    greedy = rng.random() < 0.033
    kind = rng.choice(
        ["frequency", "distinct", "entropy", "recursive", "alpha", "alpha", "t", "disclosure", "likeness"]
    )
    if kind in ("frequency", "distinct", "entropy", "recursive"):
        return {
            "model": "l-diversity",
            "attribute": name,
            "kind": kind,
            **_diversity(rng, kind, counts, greedy),
        }
    if kind == "t":
        distance = "ordered" if ordered and rng.random() < 0.5 else "equal"
        t = Fraction(rng.choice([0, 1, 2, 3, 4, 5, 6, 8]), 8)
        return {"model": "t-closeness", "attribute": name, "t": str(t), "distance": distance}
    if kind == "disclosure":
        return {"model": "delta-disclosure", "attribute": name, "delta": rng.choice(["1/2", "1", "3/2", "3"])}
    if kind == "likeness":
        limits = {"beta": rng.choice(["1/4", "1", "2", "5"]), "kind": rng.choice(["basic", "enhanced"])}
        return {"model": "beta-likeness", "attribute": name, **limits}
    return {"model": "alpha-deassociation", "attribute": name, **_alpha(rng, values, counts, greedy, ceiling)}


def _diversity(rng: Random, kind: str, counts: list[int], greedy: bool) -> dict[str, Any]:
    n, more = sum(counts), rng.randint(1, 3)
    if kind == "frequency":
        return {"l": str(_between(rng, Fraction(1), Fraction(n, counts[0])) + more * greedy)}
    if kind == "distinct":
        return {"l": str(rng.randint(1, len(counts)) + more * greedy)}
    if kind == "entropy":
        reached = exp(log(n) - sum(c * log(c) for c in counts) / n)
        lesser = max(1.0, 1 + (reached - 1) * rng.choice([0.2, 0.5, 0.9, 1.0]) - 1e-6)
        return {"l": str(round(lesser + more * greedy, 6))}
    l = rng.choice([2, 2, 3])  # noqa: E741
    tail = sum(counts[l - 1 :])
    least = Fraction(counts[0], tail) if tail else Fraction(1)
    return {"l": l, "c": str(least * (Fraction(1, 2) if greedy else 1) + Fraction(more, 4) * (not greedy))}


def _alpha(rng: Random, values: list, counts: list[int], greedy: bool, ceiling: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    n, most = len(values), counts[0]
    texts = sorted({value for value in values if isinstance(value, str)})
    if texts and rng.random() < 0.5:
        listed = rng.sample(texts, rng.randint(1, len(texts)))
        found["values"] = listed
        held = [sum(value == text for value in values) for text in listed]
        together = rng.random() < 0.6
        found["combine"] = together
        most = max(1, sum(held) if together else max(held))
    share = _between(rng, Fraction(most, n), Fraction(1))
    found["alpha"] = str(max(share * (Fraction(1, 2) if greedy else 1), Fraction(1, 100)))
    if rng.random() < (0.3 if ceiling else 0.01):
        found["rounding"] = "ceiling"
    return found


def _between(rng: Random, low: Fraction, high: Fraction) -> Fraction:
    return low + (high - low) * Fraction(rng.choice([0, 0, 1, 2, 4, 6, 8]), 8)
