"""Where few closed records can still be opened, the choice among them is settled, and proven."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.assignment import audit
from kohort.algorithms import Run
from kohort.algorithms.closed_records.optimal import Optimal
from kohort.algorithms.improve.assignment_search import AssignmentSearch
from kohort.algorithms.improve.exact_choice import openable_records, settle
from kohort.algorithms.mining.closed_records import mine_closed_records, record_costs
from kohort.algorithms.mondrian.mondrian import Mondrian
from kohort.algorithms.proofs.dual_bound import dual_prices
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.errors import UnsupportedError
from small_problems import problems


def with_trees(problem):
    try:
        _ = problem.coded.hierarchies
    except UnsupportedError:
        return False
    return problem.cost.monotone and in_measured_units(problem, 0.0) is not None


def searched(problem):
    """A search that begins with the groups of mondrian, and the prices it knows."""
    closed = mine_closed_records(problem)
    prices = dual_prices(problem, closed, record_costs(problem, closed), Run())
    search = AssignmentSearch(problem, closed, record_costs(problem, closed), problem.coded.star_cost, prices)
    search.start_from(Mondrian().solve(problem, Run()))
    if problem.max_withheld:
        search.withhold()
    return search, prices


@given(problems(max_records=10).filter(with_trees), st.integers(0, 2))
def test_what_is_settled_is_the_least_cost(problem, withheld):
    problem = replace(problem, suppression=withheld / problem.n_records if problem.n_records > 2 else 0.0)
    search, prices = searched(problem)
    bound = settle(search, prices, Run())
    best = Optimal().solve(problem, Run()).bound
    audit(search)
    search.check()
    assert in_measured_units(problem, bound) == pytest.approx(best, abs=1e-7)
    assert in_measured_units(problem, search.total) == pytest.approx(best, abs=1e-7)


@given(problems(max_records=10).filter(with_trees))
def test_the_least_cost_needs_no_closed_record_that_is_left_out(problem):
    """Prices alone leave out what no better release opens: what is left has the optimum, if any is better."""
    search, prices = searched(problem)
    before, openable = search.total, openable_records(search, prices)
    best = Optimal().solve(problem, Run())
    if best.bound < in_measured_units(problem, before) - 1e-9:
        search.start_from(best)
        assert set(search.open_slots) <= set(openable.tolist())


def test_more_choices_than_asked_for_and_other_models_are_not_settled():
    people = (
        ko.datasets.load_adult(split="train").slice(0, 200).select(["sex", "race", "education", "occupation"])
    )
    asked = {
        "quasi_identifiers": {name: ko.auto() for name in ("sex", "race", "education")},
        "sensitive": ["occupation"],
        "algorithm": "mondrian",
    }
    problem = ko.anonymize(people, privacy=[ko.KAnonymity(5)], **asked).problem
    search, prices = searched(problem)
    before = search.groups()
    assert settle(search, prices, Run(), most=10) is None
    assert (search.groups() == before).all()
    diverse = ko.anonymize(
        people, privacy=[ko.KAnonymity(5), ko.LDiversity("occupation", 2)], **asked
    ).problem
    assert settle(*searched(diverse), Run()) is None
    later = searched(replace(problem, suppression=0.1))[0]
    later.offers = later.offers._replace(most_withheld=0)
    assert settle(later, prices, Run()) is None


def test_a_small_table_ends_proven_optimal_and_says_so():
    people = ko.datasets.load_adult(split="train").slice(0, 120).select(["sex", "race", "education"])
    release = ko.anonymize(
        people,
        quasi_identifiers={name: ko.auto() for name in people.column_names},
        privacy=[ko.KAnonymity(4)],
        algorithm="improve",
    )
    best = ko.anonymize(
        people,
        quasi_identifiers={name: ko.auto() for name in people.column_names},
        privacy=[ko.KAnonymity(4)],
        algorithm="optimal",
    )
    assert release.solver_gap == 0
    assert release.cost == pytest.approx(best.cost)
    assert np.isclose(release.solver_bound, best.solver_bound)
