"""Prices that are proven cell by cell: a bound for large tables, in the memory of a few cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kohort.algorithms.mining.closed_records import ClosedRecords, MinedRows, costs_of_nodes, mine
from kohort.algorithms.proofs.cells import Cells
from kohort.algorithms.proofs.cuts import with_cuts
from kohort.algorithms.proofs.kernels.dual_prices import PricedRecords
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.proofs.price_loop import PriceLoop
from kohort.algorithms.run import Run
from kohort.data.counting import distinct_rows
from kohort.kernels.threads import thread_count
from kohort.problem.encoding.coded import lineages_of
from kohort.problem.problem import Problem
from kohort.problem.proof import OpeningCuts, PriceProof

_AT_ONCE = 40_000  # records whose prices are found together: so many cells that a round has enough to do
_MOST_RECORDS, _MOST_ROWS = 4_000_000, 100_000_000  # closed records of a cell; rows under them
_ROUNDS_WITH_CUTS = 60  # with fewer rounds, cuts come too late to help
_ROUNDING = 1e-9

Rounds = Callable[[int, int], int]  # how many, by the records of a portion and the rows under closed records


@dataclass(frozen=True, eq=False)
class PricedPortion:
    """Some cells with the prices of their records.

    records  the numbers of all records of these cells
    prices   one for each, rounded down to little memory; 0 in cells whose closed records are too many
    n_cells  how many other cells there are
    cuts     with members among the closed records of these nodes
    rows     under all closed records
    rounds   in which prices were raised
    """

    records: np.ndarray
    prices: np.ndarray
    n_cells: int
    cuts: OpeningCuts
    nodes: np.ndarray
    rows: int
    rounds: int

    @property
    def total(self) -> float:
        """A lower bound on the total cost of the records."""
        return float(self.prices.sum(dtype=np.float64)) - self.cuts.total


def priced_portions(problem: Problem, cells: Cells, rounds: Rounds, run: Run) -> Iterator[PricedPortion]:
    """The cells with at least k records, priced in portions, on all cores; fewer of them if the time is up.

    rounds  in how many rounds the prices of a portion are raised; where these are many, cuts are searched
    """
    threads = thread_count()
    portions = cells.portions(problem.k, _AT_ONCE)
    with ThreadPoolExecutor(threads) as pool, run.until_failure() as running:
        beside = running.in_silence()

        def work(portion: np.ndarray) -> PricedPortion | None:
            return _priced_portion(problem, cells, portion, rounds, beside)

        doing = [pool.submit(work, portion) for _, portion in zip(range(threads + 1), portions)]
        done = 0
        while doing:
            found = doing.pop(0).result()
            following = next(portions, None)
            if following is not None and not running.out_of_time:
                doing.append(pool.submit(work, following))
            if found is None:
                continue
            done += len(found.records)
            run.report("proving a bound", done / len(cells.records))
            yield found


def cell_proof(problem: Problem, cells: Cells, portions: Iterator[PricedPortion]) -> tuple[PriceProof, bool]:
    """The prices of all records with their proof; whether every cell with at least k records has some.

    Records of cells with fewer than k records, or of none, get the highest price. A group that has records of
    two cells is published as a root that costs no less: so the columns of the cells are settled first.
    """
    sizes = np.diff(cells.start)
    prices = np.full(problem.n_records, _rounded_down(np.array([cells.highest]))[0])
    prices[cells.records[np.repeat(sizes >= problem.k, sizes)]] = 0.0
    cuts, nodes, n_cells = OpeningCuts.none(), [np.zeros((0, len(problem.attributes)), dtype=np.int32)], 0
    for portion in portions:
        prices[portion.records] = portion.prices
        known = sum(map(len, nodes))
        cuts = with_cuts(cuts, replace(portion.cuts, members=portion.cuts.members + known))
        nodes.append(portion.nodes)
        n_cells += portion.n_cells
    others = [column for column in range(len(problem.attributes)) if column not in cells.columns]
    order = (*cells.columns, *others)
    proof = PriceProof(prices, np.arange(problem.n_records), np.concatenate(nodes), cuts, order=order)
    return proof, n_cells == int((np.diff(cells.start) >= problem.k).sum())


def bound_of_cells(problem: Problem, proof: PriceProof) -> float | None:
    """The lower bound on the cost of any release that the prices prove, in the units of the chosen cost.

    No price is higher than what a withheld record costs, so withheld records need no allowance.
    """
    total = float(proof.prices.sum(dtype=np.float64)) - proof.cuts.total
    return in_measured_units(problem, max(total * (1 - _ROUNDING), 0.0))


def _priced_portion(
    problem: Problem, cells: Cells, portion: np.ndarray, rounds: Rounds, run: Run
) -> PricedPortion | None:
    mined = _mined_cells(problem, cells, portion, run)
    if mined is None or run.out_of_time:
        return None
    closed, copies = mined.closed, mined.copies
    asked = rounds(len(mined.row_of_record), len(closed.rows))
    if len(closed):
        cost = costs_of_nodes(problem, closed.nodes)
        priced = PricedRecords(closed.start, closed.rows, cost, copies, problem.k)
        loop = PriceLoop(closed, priced, scale=cells.highest, highest=cells.highest, seed=problem.seed)
        loop.raise_prices(asked, run, cuts=asked >= _ROUNDS_WITH_CUTS)
        of_row, _, found = loop.feasible()
    else:
        of_row, found = np.full(len(copies), cells.highest), OpeningCuts.none()
    return mined.priced(_rounded_down(of_row), found, asked)


@dataclass(frozen=True, eq=False)
class _MinedCells:
    """The distinct rows of some cells, one cell after the other, and the closed records of each cell.

    row_of_record    per record of these cells
    closed           the closed records of all cells, cell by cell; rows are numbered through
    is_mined         per cell: whether its closed records were not too many
    """

    records: list[np.ndarray]
    row_of_record: np.ndarray
    copies: np.ndarray
    closed: ClosedRecords
    is_mined: list[bool]

    def priced(self, of_row: np.ndarray, cuts: OpeningCuts, rounds: int) -> PricedPortion:
        """The prices of the records and the proof of each cell."""
        prices = of_row[self.row_of_record]
        ends = np.cumsum([len(records) for records in self.records])
        for of_cell, is_mined in zip(np.split(prices, ends[:-1]), self.is_mined):
            if not is_mined:
                of_cell[:] = 0.0
        found, nodes = cuts.among(self.closed.nodes)
        n_rows = len(self.closed.rows)
        return PricedPortion(
            np.concatenate(self.records), prices, sum(self.is_mined), found, nodes, n_rows, rounds
        )


def _mined_cells(problem: Problem, cells: Cells, portion: np.ndarray, run: Run) -> _MinedCells | None:
    """Mine the cells of a portion; None when the time is up."""
    records = [cells.records[cells.start[cell] : cells.start[cell + 1]] for cell in portion.tolist()]
    collapsed = [distinct_rows(_leaves(problem, numbers)) for numbers in records]
    first = np.cumsum([0, *(len(counts) for _, counts, _ in collapsed)])
    coded = problem.coded
    lineages = lineages_of(coded.hierarchies, np.concatenate([leaves for leaves, _, _ in collapsed]))
    copies = np.concatenate([counts for _, counts, _ in collapsed]).astype(np.int64)
    table = MinedRows(lineages, coded.node_start, copies)
    found, is_mined = [], []
    for begin, end in pairwise(first.tolist()):
        closed = _mined_cell(problem, table.part(np.arange(begin, end)), cells.highest, run)
        if run.out_of_time:
            return None
        is_mined.append(closed is not None)
        found.append((begin, closed))
    of_record = np.concatenate([row + begin for (_, _, row), begin in zip(collapsed, first)])
    joined = _joined(found, len(problem.attributes))
    return _MinedCells(records, of_record, copies, joined, is_mined)


def _leaves(problem: Problem, records: np.ndarray) -> np.ndarray:
    return np.column_stack([a.leaf_of_code[a.column.at(records)] for a in problem.attributes])


def _mined_cell(problem: Problem, table: MinedRows, highest: float, run: Run) -> ClosedRecords | None:
    """The closed records of a cell that cost less than the highest price; None if they are too many."""
    closed = mine(
        table,
        problem.k,
        max_records=_MOST_RECORDS,
        max_support_rows=_MOST_ROWS,
        wanted=lambda nodes: costs_of_nodes(problem, nodes) < highest,
        run=run,
    )
    return closed if closed.complete and (closed.has_supports or not len(closed)) else None


def _joined(found: list[tuple[int, ClosedRecords | None]], n_attributes: int) -> ClosedRecords:
    """The closed records of several cells.

    found  the first row of each cell and its closed records, or None
    """
    mined = [(first, closed) for first, closed in found if closed is not None]
    nothing = np.zeros((0, n_attributes), dtype=np.int32)
    lengths = np.concatenate([np.zeros(0, dtype=np.int64), *(np.diff(closed.start) for _, closed in mined)])
    return ClosedRecords(
        nodes=np.concatenate([nothing, *(closed.nodes for _, closed in mined)]),
        weight=np.concatenate([np.zeros(0, dtype=np.int64), *(closed.weight for _, closed in mined)]),
        start=np.concatenate([[0], np.cumsum(lengths)]),
        rows=np.concatenate(
            [np.zeros(0, dtype=np.int32), *(closed.rows + np.int32(first) for first, closed in mined)]
        ),
        complete=True,
    )


def _rounded_down(prices: np.ndarray) -> np.ndarray:
    """Prices in half the memory, none of them higher: lower prices are as valid."""
    small = prices.astype(np.float32)
    return np.where(small > prices, np.nextafter(small, np.float32(-np.inf)), small)
