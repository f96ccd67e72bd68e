"""A proof by cells that does not hold is refused, whatever is wrong with it."""

from dataclasses import replace

import numpy as np
import pytest

import kohort as ko
from kohort.algorithms import Run
from kohort.algorithms.proofs.cell_prices import bound_of_cells, cell_proof, priced_portions
from kohort.algorithms.proofs.cells import cells_of
from kohort.errors import InternalError
from kohort.verification import check_proof, proof_of_cells
from small_problems import problem_of


@pytest.fixture(scope="module")
def priced():
    table = ko.datasets.generate_hospital(2000, seed=6)
    asked = {"sex": ko.flat(), "age": ko.intervals(5, 50), "postcode": ko.mask()}
    problem = problem_of({name: table[name] for name in asked}, asked, 5)
    cells = cells_of(problem)
    proof = cell_proof(problem, cells, priced_portions(problem, cells, lambda *_: 80, Run()))
    assert any(len(cell.cuts) for cell in proof.cells)
    return problem, proof, bound_of_cells(problem, proof)


def test_a_proof_that_holds_is_accepted(priced):
    check_proof(*priced)


@pytest.mark.parametrize("bits", [1, 500, 5000])
def test_in_parts_of_any_size(priced, bits, monkeypatch):
    problem, proof, bound = priced
    monkeypatch.setattr(proof_of_cells, "_MOST_BITS", bits)
    check_proof(problem, proof, bound)
    raised = replace(proof, prices=_raised(problem, proof))
    with pytest.raises(InternalError, match="priced above its cost"):
        check_proof(problem, raised, bound)


def test_a_bound_above_the_prices_is_refused(priced):
    problem, proof, bound = priced
    with pytest.raises(InternalError, match="above the sum"):
        check_proof(problem, proof, bound * 1.001)


def _raised(problem, proof):
    """The prices, raised by a hundredth in the largest cell."""
    cell = max(proof.cells, key=lambda cell: len(cell.records))
    prices = proof.prices.copy()
    prices[cell.records] = np.minimum(
        prices[cell.records] * np.float32(1.01), np.float32(0.9 * proof.highest)
    )
    return prices


def _broken(proof, problem):
    some = max(proof.cells, key=lambda cell: len(cell.records))
    others = tuple(cell for cell in proof.cells if cell is not some)
    with_cuts = next(cell for cell in proof.cells if len(cell.cuts))
    same = tuple(cell for cell in proof.cells if cell is not with_cuts)
    lower = np.maximum(with_cuts.cuts.most - 1, 0)
    nodes = some.nodes()
    yield "a price is above", replace(proof, highest=1.0)
    yield "a price is above", replace(proof, prices=proof.prices + np.float32(0.5))
    yield "a price is not", replace(proof, prices=proof.prices[1:])
    yield "a price is not", replace(proof, prices=np.where(np.arange(problem.n_records) == 3, np.nan, 0.0))
    yield "columns of the table", replace(proof, columns=())
    yield "without a proof", replace(proof, cells=others)
    yield "records that it should", replace(proof, cells=(*others, replace(some, records=some.records[1:])))
    yield "records that it should", replace(proof, cells=(*proof.cells, some))
    yield (
        "records that it should",
        replace(proof, cells=(*others, replace(some, records=np.arange(problem.n_records)))),
    )
    yield "equal records", replace(proof, prices=_one_lower(problem, proof))
    yield (
        "room for more",
        replace(proof, cells=(*same, replace(with_cuts, cuts=replace(with_cuts.cuts, most=lower)))),
    )
    yield (
        "none",
        replace(proof, cells=(*others, type(some).of(some.records, nodes + 10_000, some.cuts))),
    )


def _one_lower(problem, proof):
    """The prices, with a lower one for one of several equal records of a cell."""
    in_cells = np.concatenate([cell.records for cell in proof.cells])
    row = problem.rows.of_record[in_cells]
    prices = proof.prices.copy()
    prices[in_cells[np.flatnonzero(problem.rows.counts[row] > 1)[0]]] -= np.float32(0.001)
    return prices


def test_whatever_is_wrong_is_noticed(priced):
    problem, proof, _ = priced
    for why, broken in _broken(proof, problem):
        with pytest.raises(InternalError, match=why):
            check_proof(problem, broken, 0.0)


def test_closed_records_that_were_not_found_are_noticed_by_neighbours(priced):
    """The prices are raised to the highest, and the closed records that forbid it are left out."""
    problem, proof, _ = priced
    cell = max(proof.cells, key=lambda cell: len(cell.records))
    prices = proof.prices.copy()
    prices[cell.records] = np.float32(proof.highest * 0.999)
    without = type(cell).of(cell.records, cell.nodes()[:0], replace(cell.cuts, **_no_cuts(cell.cuts)))
    others = tuple(other for other in proof.cells if other is not cell)
    with pytest.raises(InternalError, match="priced above its cost"):
        check_proof(problem, replace(proof, prices=prices, cells=(*others, without)), 0.0)


def _no_cuts(cuts):
    return {
        "start": cuts.start[:1],
        "members": cuts.members[:0],
        "most": cuts.most[:0],
        "pairwise": cuts.pairwise[:0],
        "price": cuts.price[:0],
    }
