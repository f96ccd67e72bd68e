"""improve: a local search over closed records towards the least cost, beside a proven bound on it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.closed_records.greedy_cover import disjoint_cover
from kohort.algorithms.closed_records.k_anon_cf import KAnonCF
from kohort.algorithms.clustering.agglomerative import Agglomerative
from kohort.algorithms.clustering.hilbert import Hilbert
from kohort.algorithms.clustering.sequential import Sequential
from kohort.algorithms.improve.assignment_search import AssignmentSearch
from kohort.algorithms.improve.group_search import regrouped
from kohort.algorithms.improve.model_rules import refuse_other_models
from kohort.algorithms.improve.parallel_ruin import ruin_in_halves
from kohort.algorithms.improve.region_search import regrouped_in_regions
from kohort.algorithms.improve.squares_search import grouped_by_squares, refuse_squares
from kohort.algorithms.mining.closed_records import ClosedRecords, MinedRows, mine, record_costs
from kohort.algorithms.mondrian.mondrian import Mondrian
from kohort.algorithms.proofs.charge_bound import lower_bound
from kohort.algorithms.proofs.dual_bound import DualPrices, dual_bound, dual_prices
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.proofs.subset_bound import subset_bound
from kohort.algorithms.refusals import has_wide_hierarchies, refuse_other_costs
from kohort.algorithms.run import Run, Standing
from kohort.algorithms.uniting.diversify import diversify
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, UnsupportedError
from kohort.problem.costs import Cost
from kohort.problem.models import Model
from kohort.problem.problem import Problem
from kohort.problem.slots import groups_from_slots
from kohort.recoding.groups import Groups

__all__ = ["SECONDS", "Improve", "improve"]

SECONDS = 60.0  # time limit if none is given
_STARTS: dict[str, type[Algorithm]] = {
    a.name: a for a in (Mondrian, KAnonCF, Agglomerative, Sequential, Hilbert)
}
_MOST_RECORDS, _MOST_SUPPORT_ROWS = 6_000_000, 400_000_000
_PATIENCE = 2  # times the open slots: rounds in which the cost must fall by a worthwhile share to go on
_LEAST_ROUNDS = 500
_STRETCHES = 4  # stretches that these rounds are made in, so that few slots are halved in many ways
_MANY_SLOTS = 1000
_WORTH_IT, _WORTH_ANY_TIME = 0.01, 0.00005  # worthwhile shares without a time limit, and with one
_WORTH_A_TURN = 0.0003  # worthwhile share for a turn without closed records
_NEAR_ENOUGH = 0.001  # share of the bound: the search stops when the cost exceeds the bound by less
_SHARE_FOR_REGROUPING, _SHARE_FOR_MINING, _SHARE_FOR_BOUND = 0.5, 0.35, 0.35  # of the time that is left
_SHARE_FOR_WITHHOLDING = 0.3
_SECONDS_PER_GROUP = 0.005  # time is short if there is less than this for each k records
_ENOUGH_ROUNDS = 60  # after fewer rounds of the dual, groups are built by a greedy cover
_MOST_TOGETHER = 100_000  # records: larger tables are searched region by region
_IN_REGIONS = (
    "This table was searched region by region, without closed records; the bound is the weaker one, from "
    "nearest records."
)
_TOO_MANY = (
    "This table has too many closed records to search them in the time and memory allowed. The search broke "
    "groups up and rebuilt them without closed records, and the bound is the weaker one, from nearest "
    "records."
)


@dataclass(frozen=True)
class Improve(Algorithm):
    """Local search over closed generalized records, with a lower bound on the least cost there is.

    A release opens some closed records and publishes every record as one of them. First, prices of records
    are found that prove a bound (the dual of the linear program). Then closed records that the prices single
    out are opened, and others are opened and closed while that lowers the cost; last, groups that lie
    together are repeatedly dissolved and rebuilt. For tight labels and free intervals there are no
    closed records to mine: there, and where they are too many, only the last step is done. So it is in
    tables of more than 100,000 records, region by region; memory is then O(records * attributes).

    start    the algorithm whose groups are improved; `prices`: groups are built from the prices (or a cover)

    Stops at the time limit (60 s where none is asked for), when the bound is reached, or when hardly anything
    improves: a time limit that is asked for is used as long as anything does. Time per step: O(rows under a
    closed record).

    >>> import kohort as ko
    >>> adult = ko.datasets.load_adult().select(["sex", "education"]).slice(0, 500)
    >>> release = ko.anonymize(
    ...     adult, quasi_identifiers={"sex": ko.flat(), "education": ko.auto()},
    ...     privacy=[ko.KAnonymity(5)], algorithm="improve",
    ... )
    >>> release.gap < 0.1
    True
    """

    name: ClassVar[str] = "improve"
    summary: ClassVar[str] = "searches for the least loss until time runs out, and proves how close it came"
    paper: ClassVar[str] = "closed records: Kenig, Tassa (2012); ruin and recreate: Schrimpf et al. (2000)"
    promise: ClassVar[str] = "a proven lower bound on the least cost, close to the cost reached"
    recoding: ClassVar[type[Groups]] = Groups
    withholds: ClassVar[bool] = True
    own_time_limit: ClassVar[float | None] = SECONDS

    start: str = "prices"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start != "prices" and self.start not in _STARTS:
            raise InputError(
                "The 'start' parameter of improve must be prices or one of the algorithms "
                f"{', '.join(_STARTS)}. Got {self.start!r}."
            )

    @classmethod
    def meets(cls, model: type[Model]) -> bool:
        return not (model.of_table or model.by_sampling)

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        return cost.of_numbers or super().minimises(cost)

    def refuse(self, problem: Problem) -> None:
        if problem.cost.of_numbers:
            refuse_squares(problem)
            return
        refuse_other_costs(self, problem)
        refuse_other_models(problem)
        if not all(model.survives_unions for model in problem.models):
            raise UnsupportedError(
                "improve needs privacy models that still hold when two classes are united. Choose mondrian."
            )

    def solve(self, problem: Problem, run: Run) -> Groups:
        if problem.cost.of_numbers:
            return grouped_by_squares(problem, run)
        groups = None if self.start == "prices" else _started(problem, _STARTS[self.start](), run)
        return improve(problem, groups, run)


def _started(problem: Problem, algorithm: Algorithm, run: Run) -> Groups:
    """The groups of another algorithm, united where it does not meet every model."""
    algorithm.refuse(problem)
    groups = algorithm.solve(problem, run)
    assert isinstance(groups, Groups)
    unmet = {model.name for model in problem.models} - set(algorithm.models)
    return diversify(problem, groups, run) if unmet else groups


def improve(problem: Problem, groups: Groups | None, run: Run) -> Groups:
    """Groups of lower or equal cost that satisfy every model, with a lower bound on the least cost.

    groups  groups that satisfy every model; None: start from a cover by closed records, or from dual prices
    """
    asked = run.seconds_left is not None
    worth = _WORTH_ANY_TIME if asked else _WORTH_IT
    run = run if asked else run.at_most(SECONDS)
    given = Mondrian().solve(problem, run.share_of_time(0.9)) if groups is None else groups  # to fall back on
    if _is_large(problem):
        found = replace(regrouped_in_regions(problem, given, run, worth), notes=(_IN_REGIONS,))
        return found if run.out_of_time else replace(found, bound=_weak_bound(problem, run))
    if not _can_mine(problem):
        found = regrouped(problem, given, run, worth)
        return found if run.out_of_time else replace(found, bound=_weak_bound(problem, run))
    short = _is_short(problem, run)
    with ThreadPoolExecutor(1) as pool, run.until_failure() as running:  # for the other core
        if short:
            beside = running.share_of_time(_SHARE_FOR_REGROUPING).in_silence()
            regrouping = pool.submit(regrouped, problem, given, beside, worth)
        priced = _priced(
            problem, running, None if asked else _ENOUGH_ROUNDS, None if short or groups is not None else pool
        )
        given = regrouping.result() if short else given
    if priced is None:
        return replace(regrouped(problem, given, run, worth), notes=(_TOO_MANY,))
    bound = dual_bound(problem, priced.prices, priced.star)
    search = AssignmentSearch(problem, priced.closed, priced.cost, priced.star, priced.prices)
    if groups is None and not short and priced.prices.rounds >= _ENOUGH_ROUNDS:
        run.report("opening closed records", 0.0)
        search.construct(run)
    for start in (given, priced.cover):
        if start is not None and (search.n_waiting or search.cost_of(start) < search.total):
            search.start_from(start)
    search.improve(run)
    if problem.max_withheld:  # late: earlier, records would be withheld that a group could take
        _search_on(search, problem, run.share_of_time(1 - _SHARE_FOR_WITHHOLDING), bound, asked)
        search.withhold()
        search.improve(run)
    _search_on(search, problem, run, bound, asked)
    search.check()
    proof = None if bound is None else priced.prices.proof(priced.closed)
    found = Groups(search.groups(), bound=bound, proof=proof)
    return found if _holds(problem, found) else replace(given, bound=bound, proof=proof)


def _is_large(problem: Problem) -> bool:
    """Whether the table is searched region by region: for its many records, or many leaves of a column."""
    return problem.n_records > _MOST_TOGETHER or has_wide_hierarchies(problem)


def _is_short(problem: Problem, run: Run) -> bool:
    """Whether there is little time per group.

    If so, groups are ruined and recreated from the start, while closed records are still mined and priced.
    """
    seconds = run.limit  # not `seconds_left`: then the result would depend on the clock
    return seconds is not None and seconds * problem.k < _SECONDS_PER_GROUP * problem.n_records


class _Priced(NamedTuple):
    """Closed records, the cost of a record under each and of a withheld one, prices, and a greedy cover."""

    closed: ClosedRecords
    cost: np.ndarray
    star: float
    prices: DualPrices
    cover: Groups | None


def _priced(
    problem: Problem, run: Run, rounds: int | None, pool: ThreadPoolExecutor | None
) -> _Priced | None:
    """Mine the closed records and price them; None if they are too many, or take too long to mine.

    rounds  rounds of the dual; None: as many as there is time for
    pool    the thread that makes the greedy cover of k-anon-cf at the same time; None: no cover
    """
    closed = _mined(problem, run.share_of_time(_SHARE_FOR_MINING))
    if closed is None:
        return None
    cost, star = record_costs(problem, closed), problem.coded.star_cost
    pricing = run.share_of_time(_SHARE_FOR_BOUND)
    covering = None if pool is None else pool.submit(_cover, problem, closed, pricing.in_silence())
    prices = dual_prices(problem, closed, cost, pricing, rounds=rounds or 150)
    return _Priced(closed, cost, star, prices, None if covering is None else covering.result())


def _cover(problem: Problem, closed: ClosedRecords, run: Run) -> Groups | None:
    """The greedy cover of k-anon-cf, or None if it would not meet every model or the time is up."""
    if any(model.attribute is not None for model in problem.models):
        return None
    clusters = disjoint_cover(MinedRows.of(problem), closed, problem, run)
    return None if clusters is None else Groups(groups_from_slots(problem.rows.of_record, clusters))


def _weak_bound(problem: Problem, run: Run) -> float | None:
    """A lower bound on the least cost that needs no closed records; None if none can be proven in time."""
    by_subsets = None if has_wide_hierarchies(problem) else subset_bound(problem, run)
    bounds = (by_subsets, lower_bound(problem, run))
    return max((bound for bound in bounds if bound is not None), default=None)


def _can_mine(problem: Problem) -> bool:
    """Whether groups are published as nodes of hierarchies, so that closed records can be mined."""
    return not problem.tight and all(isinstance(a.domain, Hierarchy) for a in problem.attributes)


def _mined(problem: Problem, run: Run) -> ClosedRecords | None:
    """All closed records with their supports, or None if they are too many or the time is up."""
    closed = mine(
        MinedRows.of(problem),
        problem.k,
        max_records=_MOST_RECORDS,
        max_support_rows=_MOST_SUPPORT_ROWS,
        run=run,
    )
    return closed if closed.complete and closed.has_supports else None


def _search_on(
    search: AssignmentSearch, problem: Problem, run: Run, bound: float | None, asked: bool
) -> None:
    """Ruin and recreate; with a time limit, alternate between rounds with and without closed records."""
    if not asked:
        _ruin(search, problem, run, bound, _WORTH_IT)
        return
    before, number = np.inf, 0
    while search.total < before * (1 - _WORTH_ANY_TIME) and not _is_done(search, problem, run, bound):
        before = search.total
        number = _ruin(search, problem, run, bound, _WORTH_A_TURN, number)
        if not search.offers.most_withheld and not _is_done(search, problem, run, bound):
            turn = run.share_of_time(_SHARE_FOR_REGROUPING).in_silence()
            groups = regrouped(problem, Groups(search.groups()), turn, _WORTH_IT)
            if search.cost_of(groups) < search.total:
                search.start_from(groups)
                search.improve(run, far=False)


def _ruin(
    search: AssignmentSearch, problem: Problem, run: Run, bound: float | None, worth: float, number: int = 0
) -> int:
    """Ruin and recreate until the time is up, the bound is near, or hardly anything improves.

    number  stretches made so far; returned with those made here added
    """
    near = search.near()
    patience = max(_LEAST_ROUNDS, _PATIENCE * len(search.open_slots))
    stretches = 1 if len(search.open_slots) >= _MANY_SLOTS else _STRETCHES
    before = [np.inf] * stretches  # the costs before the last stretches
    while search.total < before[0] * (1 - worth) and not _is_done(search, problem, run, bound):
        before = [*before[1:], search.total]
        share = run.gone if worth < _WORTH_IT else min(1.0, number / 4 / stretches)
        run.report(_standing(in_measured_units(problem, search.total), bound), share)
        seed = problem.seed * 1_000_003 + 2 * number * patience
        ruin_in_halves(search, near, seed, patience // stretches, run)
        number += 1
    return number


def _is_done(search: AssignmentSearch, problem: Problem, run: Run, bound: float | None) -> bool:
    """Whether the time is up, or the cost is so near the lower bound that going on is not worth the time."""
    if run.out_of_time or search.total <= 0:
        return True
    reached = in_measured_units(problem, search.total)
    return bound is not None and reached is not None and reached <= bound * (1 + _NEAR_ENOUGH)


def _standing(reached: float | None, bound: float | None) -> str:
    words = "ruining and recreating"
    if reached is None:
        return words
    if not bound:
        return Standing(words, reached)
    known = f"{words}: {reached:.4f}, at least {bound:.4f}, gap {reached / bound - 1:.1%}"
    return Standing(known, reached, bound)


def _holds(problem: Problem, groups: Groups) -> bool:
    kept = np.flatnonzero(~groups.withheld)
    n_withheld = problem.n_records - len(kept)
    within = n_withheld <= problem.max_withheld
    return within and bool(problem.satisfied(groups.group_of_record[kept], kept, groups.n_groups).all())
