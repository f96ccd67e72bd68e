"""SafePub: sample records, recode at fixed levels, leave out small classes (Bild, Kuhn, Prasser, 2018)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np

from kohort.algorithms.run import Run
from kohort.data.counting import distinct_rows
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InfeasibleError, InputError, did_you_mean
from kohort.problem.problem import Problem
from kohort.problem.promises import DifferentialPrivacy
from kohort.problem.promises.differential_privacy import sampling_rate
from kohort.recoding.columns import AttributeMaps


@dataclass(frozen=True)
class SafePub:
    """The mechanism behind DifferentialPrivacy. What it decides by the data is only which classes are small.

    Records are drawn by the random numbers of the operating system, not by the seed: whoever knew the seed
    would know who was drawn. So no two releases are alike, and a second one is a second release.
    """

    name: ClassVar[str] = "safe-pub"
    model: DifferentialPrivacy

    def refuse(self, problem: Problem) -> None:
        """Raise an error for columns without a hierarchy and for levels that there are not."""
        _ = problem.coded.hierarchies
        self.levels(problem)

    def levels(self, problem: Problem) -> dict[str, int]:
        """The level of each quasi-identifier: as given, or half the height of its hierarchy, rounded up."""
        given, names = dict(self.model.levels or ()), [attribute.name for attribute in problem.attributes]
        found = {}
        for name in given:
            if name not in names:
                raise InputError(f"A level is given for {name!r}, which is not a quasi-identifier. "
                                 f"{did_you_mean(name, names)}")  # fmt: skip
        for name, hierarchy in zip(names, problem.coded.hierarchies):
            found[name] = given.get(name, -(-hierarchy.height // 2))
            if found[name] > hierarchy.height:
                raise InputError(
                    f"Level {found[name]} is asked for {name!r}, whose hierarchy has the levels 0 to "
                    f"{hierarchy.height}."
                )
        return found

    def solve(self, problem: Problem, run: Run) -> AttributeMaps:
        """The recoding; who was not drawn, or is in a small class, is withheld."""
        levels, k = self.levels(problem), max(self.model.k, problem.k)
        maps = {}
        for attribute in problem.attributes:
            assert isinstance(attribute.domain, Hierarchy)
            maps[attribute.name] = _nodes_above(attribute.domain, levels[attribute.name])
        drawn = _drawn(problem.n_records, Fraction(self.model.epsilon))
        small = _in_small_classes(problem, maps, drawn, k)
        if small.all():
            raise InfeasibleError(
                f"No class has {k} drawn records, as epsilon and delta ask for. Publish columns at higher "
                "levels, name fewer quasi-identifiers, or ask for a larger epsilon or delta."
            )
        told = ", ".join(f"{name} {level}" for name, level in levels.items())
        note = (
            f"Every record was drawn with the chance {self.model.chance:.4g}; classes of fewer than {k} "
            f"drawn records were left out. Levels, chosen without the data: {told}. The number of original "
            "records, their hash, and every figure that compares with them are not protected: keep "
            "certificate and report to yourself."
        )
        return AttributeMaps(maps, small, notes=(note,))


def _nodes_above(hierarchy: Hierarchy, steps: int) -> np.ndarray:
    """The node so many steps above each leaf. It depends on the path of the leaf alone.

    Not on which other leaves there are: a node with a single leaf, which others publish as that leaf, would
    tell that the data have no other value there.
    """
    node = np.where(hierarchy.hidden, 0, hierarchy.leaf_node)
    for _ in range(steps):
        node = np.where(hierarchy.parent[node] >= 0, hierarchy.parent[node], node)
    return node


def _drawn(n_records: int, epsilon: Fraction) -> np.ndarray:
    """Whether each record is drawn, by random numbers that nobody can repeat; the chance is rounded down."""
    limit = int(sampling_rate(epsilon) * Decimal(2**64))
    numbers = np.frombuffer(secrets.token_bytes(8 * n_records), dtype=np.uint64)
    return numbers < np.uint64(limit)


def _in_small_classes(problem: Problem, maps: dict[str, np.ndarray], drawn: np.ndarray, k: int) -> np.ndarray:
    """Per record whether it was not drawn, or has fewer than k drawn records in its class."""
    nodes = [maps[a.name][leaves] for a, leaves in zip(problem.attributes, problem.leaves.T)]
    _, _, class_of = distinct_rows(np.column_stack(nodes))
    sizes = np.bincount(class_of[drawn], minlength=int(class_of.max()) + 1)
    return ~drawn | (sizes < k)[class_of]
