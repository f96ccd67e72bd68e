"""improve for large tables: in regions, with closed records where those of little cost are not too many."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import count

import numpy as np

from kohort.algorithms.improve.assignment_search import AssignmentSearch, closures
from kohort.algorithms.improve.region_search import regrouped_in_regions
from kohort.algorithms.improve.search_turns import SearchTurns
from kohort.algorithms.improve.staged_prices import StagedPrices, low_prices
from kohort.algorithms.mining.closed_records import ClosedRecords, MinedRows, can_mine, record_costs
from kohort.algorithms.proofs.cell_prices import bound_of_cells, cell_proof, priced_portions
from kohort.algorithms.proofs.cells import Cells, cells_of
from kohort.algorithms.proofs.charge_bound import lower_bound
from kohort.algorithms.proofs.subset_bound import subset_bound
from kohort.algorithms.refusals import has_wide_hierarchies
from kohort.algorithms.run import Run
from kohort.data.process import give_memory_back
from kohort.kernels.threads import thread_count
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

_MOST_WITH_RECORDS = 500_000  # records: the search with closed records takes some hundred bytes for each
_SECONDS_PER_RECORD = 0.00005  # with less time, mining before the search would take too much of it
_SHARE_FOR_MINING = 0.2  # of the time, before the search
_SHARE_FOR_BOUND, _SHARE_FOR_LATE_MINING = 0.4, 0.6  # of the time, and of what is left: after the search
_SHARE_FOR_WEAK_BOUND, _SHARE_FOR_CELLS = 0.1, 0.3  # of the time; cells: for a bound proven cell by cell
_USABLE = 0.75  # of this time: regions end a little late, and cores wait for each other
_SECONDS_OF_CELLS = 0.000015  # CPU seconds to mine the cells, per record
_ROW_ROUNDS_PER_SECOND = 0.3e9  # rows under closed records times rounds, on one core
_LATE = 0.1  # share of the time: if it is gone before its share of the records is begun, rounds are few
_FEWEST_ROUNDS, _MOST_ROUNDS = 12, 150
_SAMPLED, _MOST_DISTINCT = 600_000, 300_000  # records; different ones of them: with more, mining is in vain
_HIGHEST, _HIGHEST_OF_MANY = 0.4, 0.3  # price, as a share of the cost of `*`; the lower, the less memory
_IN_TURNS = "This table was searched with closed records that cost little, and region by region, in turns."
_IN_REGIONS = "This table was searched region by region, without closed records."
_BY_CELLS = "The bound is proven by prices in each cell of the table: see the documentation of improve."
_BY_SOME_CELLS = (
    "The bound is proven by prices in some cells of the table: for the others, which count as 0, the time or "
    "the memory allowed was not enough. The least possible cost is well above it."
)
_WEAK_BOUND = "The bound is the weaker one, from nearest records."


def improve_large(problem: Problem, given: Groups, run: Run, seconds: float | None, worth: float) -> Groups:
    """Groups of no greater cost than those given, that satisfy every model, with a bound if there is time.

    seconds  the time limit that was asked for, or None
    worth    the share of the cost for which the search goes on
    """
    if not _has_low_prices(problem):
        return _searched_alone(problem, given, run, worth)
    if _searches_records(problem, seconds):
        priced = low_prices(problem, run.share_of_time(_SHARE_FOR_MINING), run, seconds, _HIGHEST)
        if priced is not None:
            return _bounded(searched_in_turns(given, priced, run, worth), priced, _IN_TURNS)
        return _searched_alone(problem, given, run, worth)
    found = regrouped_in_regions(problem, given, run.share_of_time(1 - _SHARE_FOR_BOUND), worth)
    if run.out_of_time:
        return _weakly_bounded(problem, found, run)
    give_memory_back()
    mining = run.share_of_time(_SHARE_FOR_LATE_MINING)
    priced = low_prices(problem, mining, run, seconds, _HIGHEST_OF_MANY)
    if priced is None or priced.bound is None:
        return _bounded_in_time(problem, _cells_in_time(problem, run), found, run)
    return _bounded(found, priced, _IN_REGIONS)


def _searched_alone(problem: Problem, given: Groups, run: Run, worth: float) -> Groups:
    """Groups that were searched region by region, with a bound from cells if the time is enough for one."""
    cells = _cells_in_time(problem, run)
    share = _SHARE_FOR_WEAK_BOUND if cells is None else _SHARE_FOR_CELLS
    found = regrouped_in_regions(problem, given, run.share_of_time(1 - share), worth)
    return _bounded_in_time(problem, cells, found, run)


def _bounded_in_time(problem: Problem, cells: Cells | None, found: Groups, run: Run) -> Groups:
    """The groups with a bound from cells, or where there are none or no time, the weaker one."""
    if cells is None or run.out_of_time:
        return _weakly_bounded(problem, found, run)
    return _bounded_by_cells(problem, cells, found, run)


def _cells_in_time(problem: Problem, run: Run) -> Cells | None:
    """The cells of a table, if prices can be proven in them and the time limit leaves enough time for it."""
    if not _has_prices(problem) or _seconds_for_prices(problem, run) <= 0.0:
        return None
    return cells_of(problem)


def _seconds_for_prices(problem: Problem, run: Run) -> float:
    """CPU seconds for the prices of all cells, after mining. From the time limit, so not from the clock."""
    assert run.limit is not None
    usable = _USABLE * _SHARE_FOR_CELLS * run.limit * thread_count()
    return usable - _SECONDS_OF_CELLS * problem.n_records


def _bounded_by_cells(problem: Problem, cells: Cells, found: Groups, run: Run) -> Groups:
    seconds, proving, begun = _seconds_for_prices(problem, run), run.share_of_time(1.0), 0

    def rounds(n_records: int, n_rows: int) -> int:
        nonlocal begun
        late = proving.gone > begun / problem.n_records + _LATE
        begun += n_records
        if late:
            run.cut()
            return _FEWEST_ROUNDS
        row_rounds = _ROW_ROUNDS_PER_SECOND * seconds * n_records / problem.n_records
        return int(np.clip(row_rounds / max(n_rows, 1), _FEWEST_ROUNDS, _MOST_ROUNDS))

    proof, is_proven = cell_proof(problem, cells, priced_portions(problem, cells, rounds, proving))
    notes = (_IN_REGIONS, _BY_CELLS) if is_proven else (_IN_REGIONS, _BY_SOME_CELLS)
    return replace(found, bound=bound_of_cells(problem, proof), proof=proof, notes=notes)


def _has_low_prices(problem: Problem) -> bool:
    """Whether prices can prove a bound for a large table, if there is time and memory."""
    return _has_prices(problem) and _distinct_in_sample(problem) <= _MOST_DISTINCT


def _has_prices(problem: Problem) -> bool:
    """Whether closed records can be mined, and prices prove a bound on what is measured."""
    return problem.cost.monotone and can_mine(problem) and not has_wide_hierarchies(problem)


def _distinct_in_sample(problem: Problem) -> int:
    """How many different records a sample of the table has, or one or two fewer where hashes collide.

    A table has no fewer. Each has some hundred rows of closed records over it that cost little.
    """
    every = slice(None, None, -(-problem.n_records // _SAMPLED))
    hashed, rng = np.zeros(1, dtype=np.int64), np.random.default_rng(0)
    for attribute in problem.attributes:
        hashed = hashed + attribute.column.at(every) * rng.integers(1, 2**62)
    return len(np.unique(hashed))


def _searches_records(problem: Problem, seconds: float | None) -> bool:
    """Whether there is the memory and the time to search with closed records."""
    enough = seconds is None or seconds >= _SECONDS_PER_RECORD * problem.n_records
    return enough and problem.n_records <= _MOST_WITH_RECORDS


def _bounded(found: Groups, priced: StagedPrices, note: str) -> Groups:
    return replace(
        found, bound=priced.bound, proof=priced.prices.proof(priced.problem, priced.closed), notes=(note,)
    )


def _weakly_bounded(problem: Problem, found: Groups, run: Run) -> Groups:
    """The groups with a lower bound that needs no closed records, if one can be proven in time."""
    bounds: list[float | None] = []
    if not run.out_of_time:
        by_subsets = None if has_wide_hierarchies(problem) else subset_bound(problem, run)
        bounds = [by_subsets, lower_bound(problem, run)]
    bound = max((bound for bound in bounds if bound is not None), default=None)
    note = _IN_REGIONS if bound is None else f"{_IN_REGIONS} {_WEAK_BOUND}"
    return replace(found, bound=bound, notes=(note,))


_NEAR_SLACK = 0.01  # share of the cost of `*`: prices of large tables are found in few rounds, and are rough
_TURNS = 3  # in regions, before closed records are tried again
_SHARE_WITH_RECORDS = 0.3  # of the time that is left: each time closed records are tried
_WORTH_A_STRETCH = 0.005  # share of the cost: what a stretch of rounds with closed records must win to go on


def searched_in_turns(groups: Groups, priced: StagedPrices, run: Run, worth: float) -> Groups:
    """Groups of no greater cost than those given, that satisfy every model.

    priced  prices of a large table, and the closed records that they were checked against

    With closed records, many records change their groups at once; in regions, single records and small
    groups. Each can improve what the other leaves. They take turns until the time is up, or until both
    together lower the cost by less than the share `worth`.
    """
    records, before, stretches = SearchedRecords(priced), np.inf, 0
    for turn in count():
        search = _first_search(records, groups, run, construct=turn == 0)
        turns = SearchTurns(search, priced.prices, priced.bound)
        turns.number = stretches
        turns.ruin(run.share_of_time(_SHARE_WITH_RECORDS), _WORTH_A_STRETCH)
        search.check()
        total, groups, stretches = search.total, _kept(search, groups), turns.number
        if turns.is_done(run) or total > before * (1 - worth):
            return groups
        del search, turns  # before the next search takes its memory
        numbers = range(_TURNS * turn, _TURNS * (turn + 1))
        groups, before = regrouped_in_regions(priced.problem, groups, run, worth, turns=numbers), total
    raise AssertionError


def _first_search(records: SearchedRecords, groups: Groups, run: Run, *, construct: bool) -> AssignmentSearch:
    """An assignment to closed records near the prices, of no greater cost than the groups.

    construct  whether to build one from the prices
    """
    near = records.with_groups(groups)
    search = AssignmentSearch(
        near.problem, near.closed, near.cost, near.star, near.prices, near_slack=_NEAR_SLACK
    )
    if construct:
        run.report("opening closed records", 0.0)
        search.construct(run)
    if search.n_waiting or search.cost_of(groups) < search.total:
        search.start_from(groups)
    search.improve(run, far=construct)
    return search


def _kept(search: AssignmentSearch, before: Groups) -> Groups:
    """The groups of a search, or those from before if not every model holds exactly."""
    found, problem = Groups(search.groups()), search.problem
    everyone = np.arange(problem.n_records)
    holds = problem.satisfied(found.group_of_record, everyone, found.n_groups).all()
    return found if holds else before


_MOST_SLACK = 0.03  # share of the cost of `*`


class SearchedRecords:
    """Some of the closed records of a table, chosen by their prices, to which those of groups are added.

    A table has millions of closed records, most of which no good release opens. A search that knows only
    those of little slack needs a small part of the memory and time.
    """

    def __init__(self, priced: StagedPrices) -> None:
        self.priced = priced
        self.mined = MinedRows.of(priced.problem)
        self.is_near = priced.prices.slack <= _MOST_SLACK * priced.star
        self._factor = np.random.default_rng(0).integers(1, 2**62, len(self.mined.node_start))

    def with_groups(self, groups: Groups) -> StagedPrices:
        """The closed records of little slack, the most general one, and those that groups are published as.

        The most general one comes first. Those that are not among the priced ones, since they cost too much,
        count as if they had the most slack of those that are tried.
        """
        nodes = np.unique(closures(self.priced.problem, groups), axis=0)
        place = self._places(nodes)
        kept = self.is_near.copy()
        kept[place[place >= 0]] = True
        root = (self.mined.closure() - self.mined.node_start)[None, :]
        is_mined = self._places(root)[0] >= 0  # then it is the first one
        kept[0] |= is_mined
        added = nodes[(place < 0) & (nodes != root).any(axis=1)]
        dear = self._supported(added if is_mined else np.concatenate([root, added]))
        slack = np.full(len(dear), _MOST_SLACK * self.priced.star)
        slack[: not is_mined] = np.inf
        return self._joined(dear, slack, kept)

    def _places(self, nodes: np.ndarray) -> np.ndarray:
        """The place of each row of nodes among the priced closed records; -1 if it is none of them."""
        wanted = nodes.astype(np.int64) @ self._factor
        keys, order = self._sorted_keys
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        same = (keys[at] == wanted) & (self.priced.closed.nodes[order[at]] == nodes).all(axis=1)
        return np.where(same, order[at], -1)

    @cached_property
    def _sorted_keys(self) -> tuple[np.ndarray, np.ndarray]:
        """A hash of the nodes of each closed record, ascending, and the closed records in this order."""
        keys = np.zeros(len(self.priced.closed), dtype=np.int64)
        for column, factor in zip(self.priced.closed.nodes.T, self._factor):
            keys += column * factor
        order = np.argsort(keys)
        return keys[order], order

    def _supported(self, nodes: np.ndarray) -> ClosedRecords:
        """Closed records with these nodes, which are few. O(closed records * rows * attributes)."""
        under, counts = [], self.mined.counts
        for record in nodes + self.mined.node_start:
            rows = np.arange(len(counts), dtype=np.int32)
            for attribute, node in enumerate(record):
                at_depth = self.mined.nodes_at(attribute, self.mined.lineages.depth[node])
                assert at_depth is not None
                rows = rows[at_depth[rows] == node]
            under.append(rows)
        start = np.cumsum([0, *map(len, under)])
        weight = np.array([counts[rows].sum() for rows in under], dtype=np.int64)
        rows = np.concatenate([np.zeros(0, dtype=np.int32), *under])
        return ClosedRecords(nodes.astype(np.int32), weight, start, rows, complete=True)

    def _joined(self, dear: ClosedRecords, slack: np.ndarray, kept: np.ndarray) -> StagedPrices:
        priced, near = self.priced, self.priced.closed.subset(kept)
        closed = ClosedRecords(
            np.concatenate([dear.nodes, near.nodes]),
            np.concatenate([dear.weight, near.weight]),
            np.concatenate([dear.start[:-1], near.start + dear.start[-1]]),
            np.concatenate([dear.rows, near.rows]),
            complete=False,
        )
        cost = np.concatenate([record_costs(priced.problem, dear), priced.cost[kept]])
        level = np.concatenate([cost[: len(dear)], priced.prices.level[kept]])
        prices = replace(priced.prices, slack=np.concatenate([slack, priced.prices.slack[kept]]), level=level)
        return replace(priced, closed=closed, cost=cost, prices=prices, loop=None)
