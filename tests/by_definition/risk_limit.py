"""The risk of classes by definition: a table of all chances, one per record."""

from __future__ import annotations

from fractions import Fraction
from math import comb


def sample_risks(sizes):
    """The chance of every record: one over the size of its class."""
    return [Fraction(1, size) for size in sizes for _ in range(size)]


def population_risk(size, fraction):
    """The sum of P(F = h) / h over the people h of the population, F negative binomial."""
    chance, total = float(fraction) ** size, 0.0
    for h in range(size, size + int((3 * size + 60) / fraction)):
        total += chance / h
        chance *= (1 - float(fraction)) * h / (h - size + 1)
    return total


def negative_binomial(h, size, p):
    """The chance that the class of `size` records of the sample has h people in the population."""
    return comb(h - 1, size - 1) * p**size * (1 - p) ** (h - size)


def share_above(risks, limit, strict):
    """The share of records whose chance is not within the limit."""
    above = [risk for risk in risks if (risk >= limit if strict else risk > limit)]
    return Fraction(len(above), len(risks))


def keeps(risks, limit, of, strict):
    risk = max(risks) if of == "maximum" else sum(risks) / len(risks)
    return risk < limit if strict else risk <= limit
