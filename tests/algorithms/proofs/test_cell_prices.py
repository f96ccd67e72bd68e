"""Prices that are proven cell by cell: no group can pay them, and no bound exceeds the optimum."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from by_definition.cells import cells_by_definition, groups_that_pay
from by_definition.group_costs import record_cost_by_definition
from kohort.algorithms import Run
from kohort.algorithms.closed_records.optimal import Optimal
from kohort.algorithms.improve import improve, large_tables
from kohort.algorithms.proofs import cell_prices, cells
from kohort.algorithms.proofs.cell_prices import bound_of_cells, cell_proof, priced_portions
from kohort.algorithms.proofs.cells import cells_of
from kohort.errors import InternalError, UnsupportedError
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups
from kohort.verification import check_proof
from small_problems import ShortRun, problem_of, problems

FEW, MANY = 15, 70  # rounds; many: with cuts


def with_cells(problem):
    try:
        _ = problem.coded.hierarchies
    except UnsupportedError:
        return False
    return problem.cost.monotone and cells_of(problem) is not None


def proven(problem: Problem, rounds, run=None):
    found = cells_of(problem)
    portions = priced_portions(problem, found, lambda *_: rounds, run or Run())
    return found, *cell_proof(problem, found, portions)


@given(problems(max_records=14).filter(with_cells))
def test_cells_are_those_of_the_definition(problem):
    found = cells_of(problem)
    roots = np.array([costs[0] for costs in problem.coded.node_costs])
    assert found.columns == tuple(np.flatnonzero(roots >= found.highest))
    sorted_cells = sorted(np.sort(part).tolist() for part in np.split(found.records, found.start[1:-1]))
    assert sorted_cells[: len(found)] == cells_by_definition(problem, found.columns)


@given(problems(max_records=8).filter(with_cells))
def test_no_group_can_pay_its_prices(problem):
    _, proof, _ = proven(problem, FEW)
    tables, leaves = problem.coded.tables, problem.coded.searched_leaves()

    def cost_of_group(records):
        return record_cost_by_definition(tables, leaves[list(records)])

    assert groups_that_pay(problem, proof.prices.tolist(), cost_of_group) == []


@given(problems(max_records=10).filter(with_cells), st.integers(0, 2), st.sampled_from([FEW, MANY]))
def test_the_bound_is_below_the_optimum(problem, withheld, rounds):
    problem = replace(problem, suppression=withheld / problem.n_records if problem.n_records > 2 else 0.0)
    _, proof, all_proven = proven(problem, rounds)
    bound = bound_of_cells(problem, proof)
    assert all_proven
    check_proof(problem, proof, bound)
    assume(bound is not None)
    assert bound <= Optimal().solve(problem, Run()).bound + 1e-9


@pytest.fixture(scope="module")
def hospital():
    table = ko.datasets.generate_hospital(2500, seed=4)
    asked = {"sex": ko.flat(), "age": ko.intervals(5, 50), "postcode": ko.mask()}
    return problem_of({name: table[name] for name in asked}, asked, 5)


def test_many_cells_have_a_bound_near_that_of_the_whole_table(hospital):
    found, proof, _ = proven(hospital, MANY)
    assert len(found) > 10 and len(proof.cuts) > 0
    bound = bound_of_cells(hospital, proof)
    check_proof(hospital, proof, bound)
    cells_only = np.flatnonzero(proof.prices < found.highest)
    raised = replace(proof, prices=proof.prices.copy())
    raised.prices[cells_only] *= np.float32(1.01)
    with pytest.raises(InternalError, match="priced above its cost"):
        check_proof(hospital, raised, bound)
    with pytest.raises(InternalError, match="priced above its cost"):
        check_proof(hospital, replace(proof, prices=proof.prices + np.float32(0.5)), bound)
    release = improve.Improve().solve(hospital, Run())
    assert 0.5 * release.bound < bound <= release.bound * 1.001


def test_portions_have_every_record_of_a_large_enough_cell_once(hospital, monkeypatch):
    monkeypatch.setattr(cell_prices, "_AT_ONCE", 60)
    found = cells_of(hospital)
    portions = list(priced_portions(hospital, found, lambda *_: FEW, Run()))
    assert len(portions) > 5
    sizes = np.diff(found.start)
    priced = np.sort(np.concatenate([portion.records for portion in portions]))
    assert np.array_equal(priced, np.sort(found.records[np.repeat(sizes >= hospital.k, sizes)]))


def test_when_the_time_is_up_what_is_not_proven_counts_nothing(hospital, monkeypatch):
    monkeypatch.setattr(cell_prices, "_AT_ONCE", 60)
    _, proof, all_proven = proven(hospital, FEW, ShortRun(40))
    assert not all_proven
    bound = bound_of_cells(hospital, proof)
    check_proof(hospital, proof, bound)
    assert bound < 0.9 * bound_of_cells(hospital, proven(hospital, FEW)[1])


def test_cells_with_too_many_closed_records_count_nothing(hospital, monkeypatch):
    monkeypatch.setattr(cell_prices, "_MOST_ROWS", 300)
    _, proof, all_proven = proven(hospital, FEW)
    assert proof.prices.any() and not all_proven
    check_proof(hospital, proof, bound_of_cells(hospital, proof))


def test_columns_whose_root_is_cheap_are_left_out_unless_cells_are_too_large(hospital, monkeypatch):
    cheap = replace(
        hospital,
        attributes=(replace(hospital.attributes[0], weight=0.01), *hospital.attributes[1:]),
    )
    assert cells_of(cheap).columns == (1, 2)
    monkeypatch.setattr(cells, "_LARGEST", np.diff(cells_of(cheap).start).max() - 1)
    assert cells_of(cheap).columns == (0, 1, 2)
    monkeypatch.setattr(cells, "_LARGEST", 5)
    assert cells_of(cheap) is None


def different_records(monkeypatch):
    """A sample shows that too many records differ."""
    monkeypatch.setattr(large_tables, "_MOST_DISTINCT", 10)


def too_many_at_once(monkeypatch):
    """With up to 500,000 records: too many rows under closed records."""
    monkeypatch.setattr(large_tables, "low_prices", lambda *_: None)


def too_many_in_the_end(monkeypatch):
    """With more records, after the search."""
    monkeypatch.setattr(large_tables, "low_prices", lambda *_: None)
    monkeypatch.setattr(large_tables, "_MOST_WITH_RECORDS", 1000)


@pytest.mark.parametrize("reason", [different_records, too_many_at_once, too_many_in_the_end])
def test_improve_proves_its_bound_by_cells_where_the_whole_table_is_too_much(reason, monkeypatch):
    monkeypatch.setattr(improve, "_MOST_TOGETHER", 1000)
    reason(monkeypatch)
    table = ko.datasets.generate_hospital(2500, seed=4).select(["sex", "age", "postcode"])
    release = ko.anonymize(
        table,
        quasi_identifiers={"sex": ko.flat(), "age": ko.intervals(5, 50), "postcode": ko.mask()},
        privacy=[ko.KAnonymity(5)],
        algorithm="improve",
    )
    assert large_tables._BY_CELLS in release.notes
    assert 0.5 * release.cost < release.bound <= release.cost


def test_improve_leaves_cells_out_where_the_time_is_too_short(hospital, monkeypatch):
    monkeypatch.setattr(large_tables, "_SECONDS_OF_CELLS", 1.0)
    assert large_tables._cells_in_time(hospital, Run(time_limit=60)) is None
    monkeypatch.undo()
    assert large_tables._cells_in_time(hospital, Run(time_limit=60)) is not None


class LateRun(Run):
    """A run of which nearly all time is gone."""

    gone = 0.99

    def share_of_time(self, share):
        return self


def test_improve_raises_prices_in_fewer_rounds_when_it_is_late(hospital, monkeypatch):
    asked = []

    def recorded(problem, found, rounds, run):
        asked.append(rounds(100, 10))
        return iter(())

    monkeypatch.setattr(large_tables, "priced_portions", recorded)
    groups = Groups(np.zeros(hospital.n_records, dtype=np.int32))
    for run in (Run(time_limit=60), LateRun(time_limit=60)):
        large_tables._bounded_by_cells(hospital, cells_of(hospital), groups, run)
    assert asked == [large_tables._MOST_ROUNDS, large_tables._FEWEST_ROUNDS]
    assert run.was_cut
