"""Comparisons that never round: of fractions, and of products of powers."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction
from math import gcd

import numpy as np

LONG = 2**63 - 1


def wide(numbers: np.ndarray, greatest: int) -> np.ndarray:
    """Whole numbers in 64 bits, or Python's where what is computed of them may be as great as `greatest`."""
    return numbers.astype(np.int64 if greatest <= LONG else object, copy=False)


def at_most(top: np.ndarray, bottom: np.ndarray, limit: Fraction) -> np.ndarray:
    """Where top / bottom <= limit, for whole numbers; nothing is divided, so that a bottom may be 0."""
    left, right = (
        wide(part, int(np.abs(part).max(initial=0)) * max(factor, 1)) * factor
        for part, factor in ((top, limit.denominator), (bottom, limit.numerator))
    )
    return np.asarray(left <= right, dtype=bool)


def greatest_share(top: np.ndarray, bottom: np.ndarray) -> Fraction:
    """The greatest of top / bottom, exactly; floating point only rules out those that are far below."""
    share = (top / bottom).astype(float)
    near = share >= share.max() * (1 - 1e-9)
    return max(Fraction(int(t), int(b)) for t, b in set(zip(top[near].tolist(), bottom[near].tolist())))


def power_product_sign(powers: Iterable[tuple[int, int]]) -> int:
    """Whether a product of base ** exponent is above 1 (1), below 1 (-1) or 1 (0).

    >>> power_product_sign([(12, 1), (4, -1), (3, -1)]), power_product_sign([(2, 10), (1000, -1)])
    (0, 1)
    """
    exponent_of = _without_common_divisors(powers)
    digits = 30
    while exponent_of:  # ends: numbers without common divisors only multiply to 1 with exponents of 0
        digits *= 2
        context = Context(prec=digits)
        logs = [context.multiply(e, context.ln(Decimal(base))) for base, e in exponent_of.items()]
        total = sum(map(Fraction, logs), Fraction(0))
        doubt = sum((abs(Fraction(log)) for log in logs), Fraction(0)) * 4 / 10 ** (digits - 1)
        if abs(total) > doubt:
            return 1 if total > 0 else -1
    return 0


def _without_common_divisors(powers: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The exponents of the same product over bases of which no two have a common divisor; none is 0."""
    found: dict[int, int] = {}
    waiting = list(powers)
    while waiting:
        base, exponent = waiting.pop()
        shared = next((other for other in found if gcd(other, base) > 1), None)
        if base == 1:
            continue
        if shared is None:
            found[base] = exponent
        elif shared == base:
            found[base] += exponent
        else:
            divisor, other = gcd(shared, base), found.pop(shared)
            waiting += [(divisor, exponent + other), (base // divisor, exponent), (shared // divisor, other)]
    return {base: exponent for base, exponent in found.items() if exponent}
