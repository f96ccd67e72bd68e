"""Small problems with k-anonymity alone, for algorithms that are compared with slow twins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import kohort as ko
from kohort.algorithms import Run
from kohort.errors import InternalError
from kohort.problem.costs import cost_named
from kohort.problem.proof import BoxProof
from kohort.verification.bounds import check_box_proof
from strategies import PLAIN_TEXTS, cases, hierarchies

KINDS = ("integer", "float", "boolean", "plain")
ANY_COST = ("loss", "ncp", "tree", "suppressions", "entropy", "monotone-entropy")


def problems(max_records=12):
    """Hierarchies of any shape, intervals, missing values, weights (also 0) and all separable costs."""
    return st.one_of(simple_problems(max_records), busy_problems(max_records))


@st.composite
def simple_problems(draw, max_records):
    """What hypothesis thinks of: often hardly any records."""
    case = draw(cases(KINDS, max_records=max_records, free=draw(st.booleans()), labels=("hierarchy",)))
    case.privacy = [case.privacy[0]]
    problem = case.anonymize(algorithm="mondrian", time_limit=1e-9).problem
    return _varied(draw, problem)


@st.composite
def busy_problems(draw, max_records):
    """Many rows that differ, and k above 1, so that there is something to decide."""
    n = draw(st.integers(max_records // 2, max_records))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns, quasi_identifiers = random_columns(draw, rng, n)
    if draw(st.booleans()):
        columns["age"], quasi_identifiers["age"] = rng.integers(0, 9, n).tolist(), None
    weights = {name: draw(st.sampled_from([1, 1, 2.5])) for name in columns}
    k = draw(st.integers(2, max(2, n // 3)))
    return _varied(draw, problem_of(columns, quasi_identifiers, k, weights=weights))


def random_columns(draw, rng, n):
    """One to three columns of n texts, some missing, and a hierarchy for each."""
    columns, quasi_identifiers = {}, {}
    for j in range(draw(st.integers(1, 3))):
        leaves = PLAIN_TEXTS[: draw(st.integers(3, len(PLAIN_TEXTS)))]
        values = rng.choice(leaves, n).astype(object)
        values[rng.random(n) < draw(st.sampled_from([0, 0, 0.2]))] = None
        columns[f"q{j}"] = values.tolist()
        quasi_identifiers[f"q{j}"] = draw(hierarchies(leaves))
    return columns, quasi_identifiers


def _varied(draw, problem):
    if all(isinstance(attribute.domain, ko.Hierarchy) for attribute in problem.attributes):
        problem = replace(problem, cost=cost_named(draw(st.sampled_from(ANY_COST))))
    return replace(problem, seed=draw(st.integers(0, 3)))


def problem_of(columns, quasi_identifiers, k, *, cost="loss", models=(), **options):
    """The problem of a table, with a cost that Mondrian need not know."""
    release = ko.anonymize(
        pa.table(columns),
        quasi_identifiers=quasi_identifiers,
        privacy=[ko.KAnonymity(k), *models],
        algorithm="mondrian",
        time_limit=1e-9,
        **options,
    )
    return replace(release.problem, cost=cost_named(cost))


class ShortRun(Run):
    """A run whose time is over after so many looks at the clock."""

    def __init__(self, looks):
        super().__init__()
        self.looks = looks

    @property
    def out_of_time(self):
        self.looks -= 1
        return self.looks < 0


def box_prices_hold(problem, price):
    """Whether verification accepts prices over boxes."""
    try:
        check_box_proof(problem, BoxProof(price), 0.0)
    except InternalError:
        return False
    return True
