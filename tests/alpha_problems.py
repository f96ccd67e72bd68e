"""Small tables and (alpha, k) demands on them, feasible or not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import kohort as ko
from kohort.algorithms.alpha_k.local_recoding import alpha_demands
from kohort.problem.costs import cost_named
from kohort.problem.counted_cells import CountedCells
from small_problems import random_columns

ILLNESSES = ("flu", "HIV", "cold", "cancer")


@dataclass
class AlphaCase:
    """A table and what is asked of it."""

    table: pa.Table
    quasi_identifiers: dict
    privacy: list
    cost: str

    def anonymize(self, algorithm, **changes):
        asked = {
            "quasi_identifiers": self.quasi_identifiers,
            "sensitive": ["illness", "wage"],
            "privacy": self.privacy,
            "cost": self.cost,
        }
        return ko.anonymize(self.table, algorithm=algorithm, **asked | changes)

    def problem(self, **changes):
        release = self.anonymize("mondrian", cost="loss", time_limit=1e-9, **changes)
        return replace(release.problem, cost=cost_named(self.cost))


@st.composite
def alpha_cases(draw, max_records=12, feasible=True):
    """One or two demands: one value, several as one, several each by itself, every value."""
    n = draw(st.integers(2, max_records))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns, quasi_identifiers = random_columns(draw, rng, n)
    columns["illness"] = rng.choice(ILLNESSES[: draw(st.integers(2, 4))], n).tolist()
    columns["wage"] = rng.choice(["low", "middle", "high"], n).tolist()
    privacy = [ko.KAnonymity(draw(st.integers(1, max(1, n // 2))))]
    privacy.append(draw(_demand("illness", columns["illness"], feasible)))
    if draw(st.booleans()):
        privacy.append(draw(_demand("wage", columns["wage"], feasible)))
    cost = draw(st.sampled_from(["loss", "tree", "distortion"]))
    return AlphaCase(pa.table(columns), quasi_identifiers, privacy, cost)


@st.composite
def _demand(draw, name, column, feasible):
    present = sorted(set(column))
    values = draw(
        st.one_of(st.none(), st.lists(st.sampled_from(present), min_size=1, max_size=2, unique=True))
    )
    combine = draw(st.booleans())
    counts = [column.count(value) for value in values or present]
    largest = Fraction(sum(counts) if values and combine else max(counts), len(column))
    least = largest if feasible else Fraction(1, 12)
    alpha = draw(
        st.sampled_from([least, *(f for d in range(1, 7) if (f := Fraction(ceil(least * d), d)) >= least)])
    )
    return ko.AlphaDeassociation(name, min(alpha, Fraction(1)), values=values, combine=combine)


def plain_table(problem):
    """What the twins take: records in the order of the cells, and their cells; leaves; demands per record."""
    cells = CountedCells.of(problem)
    order = np.argsort(cells.of_record, kind="stable")
    cell_of = cells.of_record[order].tolist()
    leaves = cells.leaves[cell_of].tolist()
    demands = [
        (
            demand.alpha,
            [
                None if value < 0 else int(value) + (demand.n_values > 1)
                for value in demand.value_of_cell[cell_of]
            ],
        )
        for demand in alpha_demands(cells)
    ]
    return order.tolist(), cell_of, leaves, demands
