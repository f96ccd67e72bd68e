"""Small problems with k-anonymity and one privacy model about a sensitive column."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import kohort as ko
from kohort.errors import InfeasibleError
from small_problems import problem_of, random_columns

COSTS = ("loss", "ncp", "tree", "suppressions", "monotone-entropy")


def models():
    """Rules about shares and about distinct values, whose prices are those of the best valid groups."""
    shares = st.sampled_from([Fraction(1, 2), Fraction(2, 3), Fraction(2, 5), Fraction(3, 7), Fraction(1, 3)])
    listed = st.sampled_from([None, ("a",), ("a", "b"), ("z",)])
    return st.one_of(
        st.builds(
            lambda least: ko.LDiversity("s", least),
            st.sampled_from([1, 2, 3, Fraction(3, 2), Fraction(5, 2)]),
        ),
        st.builds(lambda least: ko.LDiversity("s", least, kind="distinct"), st.integers(1, 3)),
        st.builds(
            lambda alpha, values, combine: ko.AlphaDeassociation("s", alpha, values=values, combine=combine),
            shares,
            listed,
            st.booleans(),
        ),
    )


@st.composite
def model_problems(draw, max_records, *, any_model=None):
    """A feasible problem with records that differ, one or two models, weights, costs, and suppression."""
    n = draw(st.integers(max(4, max_records // 2), max_records))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns, quasi_identifiers = random_columns(draw, rng, n)
    columns = {name: list(values) for name, values in columns.items()}
    columns["s"] = rng.choice(list("aaabbc"), n).tolist()
    asked = draw(st.lists(models() if any_model is None else any_model, min_size=1, max_size=2))
    try:
        return problem_of(
            columns,
            quasi_identifiers,
            draw(st.integers(1, max(2, n // 3))),
            cost=draw(st.sampled_from(COSTS)),
            models=asked,
            sensitive=["s"],
            weights={name: draw(st.sampled_from([1, 1, 2.5])) for name in quasi_identifiers},
            suppression=draw(st.sampled_from([0.0, 0.0, 1.5 / n])),
        )
    except InfeasibleError:
        assume(False)
