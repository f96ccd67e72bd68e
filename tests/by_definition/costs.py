"""The eleven costs as their papers define them, record by record and cell by cell."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import log2, prod

from by_definition.domains import Generalized


@dataclass
class PlainAttribute:
    """One quasi-identifier: its domain, the original value of each record and what was published for it."""

    domain: object
    original: list
    published: list[Generalized]
    weight: Fraction = Fraction(1)

    @property
    def n_leaves(self):
        return len(self.domain.leaves)

    @property
    def height(self):
        """1 where there is no hierarchy: an interval has climbed a part of a level."""
        return self.domain.height(self.domain.root) if hasattr(self.domain, "root") else 1

    def records_with(self, values):
        return _records_with(self._values, frozenset(values))

    def entropy_of(self, values):
        return _entropy_cell(self._values, frozenset(values))

    @cached_property
    def _values(self):
        return tuple(self.original)


def costs(attributes, class_of_record, withheld, masses=None):
    """Every cost by name. `class_of_record`: anything that is equal for records of one class; `masses`: how
    much each record counts in costs that are means over records."""
    n = len(class_of_record)
    masses = masses or [1] * n
    sizes = Counter(c for c, gone in zip(class_of_record, withheld) if not gone)
    total = sum(a.weight for a in attributes)

    def mean(cell):
        """Over records, and over attributes by their weights."""
        sums = (a.weight * sum(masses[record] * cell(a, record) for record in range(n)) for a in attributes)
        return float(sum(sums) / total / sum(masses))

    def hdm(record):
        if withheld[record]:
            return 1
        return sum(a.weight * _discernibility_cell(a, record) for a in attributes) / total

    return {
        "loss": mean(lambda a, r: loss_cell(len(a.published[r].leaves), a.n_leaves)),
        "ncp": mean(lambda a, r: ncp_cell(len(a.published[r].leaves), a.n_leaves)),
        "tree": mean(lambda a, r: a.published[r].level),
        "distortion": mean(lambda a, r: a.published[r].level * a.height)
        / float(sum(a.weight * a.height for a in attributes) / total),
        "suppressions": sum(a.published[r].star for a in attributes for r in range(n)),
        "entropy": mean(lambda a, r: a.entropy_of(a.published[r].leaves)),
        "monotone-entropy": mean(
            lambda a, r: (
                Fraction(a.records_with(a.published[r].leaves), n)
                * Fraction(a.entropy_of(a.published[r].leaves))
            )
        ),
        "ambiguity": sum(prod(len(a.published[r].leaves) for a in attributes) for r in range(n)) / n,
        "discernibility": sum(n if withheld[r] else sizes[class_of_record[r]] for r in range(n)),
        "hierarchical-discernibility": float(sum(map(hdm, range(n)))),
        "average-class-size": sum(sizes.values()) / len(sizes) if sizes else n,
    }


def cell_cost(name, generalized, n_leaves):
    """Those of the costs that depend on the published value alone."""
    if name == "tree":
        return generalized.level
    return float({"loss": loss_cell, "ncp": ncp_cell}[name](len(generalized.leaves), n_leaves))


def loss_cell(width, n_leaves):
    """Kenig and Tassa, Eq. 3."""
    return Fraction(width - 1, n_leaves - 1) if n_leaves > 1 else Fraction(0)


def ncp_cell(width, n_leaves):
    """Terrovitis et al., section 3.3."""
    return Fraction(width, n_leaves) if width > 1 else Fraction(0)


@lru_cache(10_000)
def _records_with(column, values):
    return sum(value in values for value in column)


def entropy_cell(column, covered):
    """H(X | B): the entropy of the column among the covered values, in bits."""
    counts = [count for value, count in Counter(column).items() if value in covered]
    return sum(-c / sum(counts) * log2(c / sum(counts)) for c in counts)


@lru_cache(10_000)
def _entropy_cell(column, covered):
    return entropy_cell(column, covered)


def hdm_cell(together, alone, n):
    """Li and Li, section 4.1: (N_e - N_v) / (N - N_v)."""
    return Fraction(together - alone, n - alone) if n > alone else Fraction(0)


def _discernibility_cell(attribute, record):
    together = attribute.records_with(attribute.published[record].leaves)
    alone = attribute.records_with([attribute.original[record]])
    return hdm_cell(together, alone, len(attribute.original))
