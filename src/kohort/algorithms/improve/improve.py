"""improve: a local search over closed records towards the least cost, beside a proven bound on it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.closed_records.k_anon_cf import KAnonCF
from kohort.algorithms.clustering.agglomerative import Agglomerative
from kohort.algorithms.clustering.hilbert import Hilbert
from kohort.algorithms.clustering.sequential import Sequential
from kohort.algorithms.improve.assignment_search import AssignmentSearch
from kohort.algorithms.improve.group_search import cost_of_groups, regrouped
from kohort.algorithms.improve.large_tables import improve_large
from kohort.algorithms.improve.model_rules import refuse_other_models
from kohort.algorithms.improve.region_search import regrouped_in_regions
from kohort.algorithms.improve.search_turns import WORTH_ANY_TIME, WORTH_IT, SearchTurns
from kohort.algorithms.improve.squares_search import grouped_by_squares, refuse_squares
from kohort.algorithms.improve.staged_prices import StagedPrices, first_prices
from kohort.algorithms.mining.closed_records import can_mine
from kohort.algorithms.mondrian.mondrian import Mondrian
from kohort.algorithms.proofs.box_bound import box_bound
from kohort.algorithms.refusals import has_wide_hierarchies, refuse_other_costs
from kohort.algorithms.run import Run
from kohort.algorithms.solver import Solver
from kohort.algorithms.uniting.diversify import diversify
from kohort.errors import InputError, UnsupportedError
from kohort.problem.costs import Cost
from kohort.problem.problem import Problem
from kohort.problem.promises import Model
from kohort.problem.proof import PriceProof
from kohort.recoding.groups import Groups

SECONDS = 60.0  # time limit if none is given
_STARTS: dict[str, type[Algorithm]] = {
    a.name: a for a in (Mondrian, KAnonCF, Agglomerative, Sequential, Hilbert)
}
_SHARE_FOR_REGROUPING = 0.75  # of the time, where it is short
_SHARE_FOR_WITHHOLDING = 0.3
_SECONDS_PER_RECORD = 0.0001  # time is short if there is less than this: mining would take most of it
_SHARE_FOR_BOXES = 0.25
_WORK_FOR_BOXES = 60_000_000  # without a time limit
_MOST_TOGETHER = 100_000  # records: larger tables are searched region by region
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
    closed records to mine: there, and where they are too many, only the last step is done. Tables of more
    than 100,000 records are searched region by region, and up to 500,000 in turns with those closed records
    that cost little, where these are not too many.

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
    largest_region: ClassVar[float] = 500_000
    own_time_limit: ClassVar[float | None] = SECONDS
    people = "counts"

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

    def without_bound(self) -> Solver:
        return _Regrouping(self)


@dataclass(frozen=True)
class _Regrouping:
    """improve, where large regions are searched without the time for a bound: all of it is for the search."""

    inner: Improve

    def refuse(self, problem: Problem) -> None:
        self.inner.refuse(problem)

    def solve(self, problem: Problem, run: Run) -> Groups:
        large = problem.n_records > _MOST_TOGETHER
        if not large or self.inner.start != "prices" or problem.cost.of_numbers:
            return self.inner.solve(problem, run)
        given = Mondrian().solve(problem, run.share_of_time(0.9))
        return regrouped_in_regions(problem, given, run, WORTH_IT if run.limit is None else WORTH_ANY_TIME)


def _started(problem: Problem, algorithm: Algorithm, run: Run) -> Groups:
    """The groups of another algorithm, united until they satisfy every model."""
    algorithm.refuse(problem)
    groups = algorithm.solve(problem, run)
    assert isinstance(groups, Groups)
    return diversify(problem, groups, run)


def improve(problem: Problem, groups: Groups | None, run: Run) -> Groups:
    """Groups of lower or equal cost that satisfy every model, with a lower bound on the least cost.

    groups  groups that satisfy every model; None: start from dual prices
    """
    seconds = run.limit  # not `seconds_left`: then the result would depend on the clock
    worth = WORTH_IT if seconds is None else WORTH_ANY_TIME
    run = run.at_most(SECONDS) if seconds is None else run
    given = Mondrian().solve(problem, run.share_of_time(0.9)) if groups is None else groups  # to fall back on
    given = given if problem.all_survive_unions else diversify(problem, given, run)
    if _is_large(problem):
        found = improve_large(problem, given, run, seconds, worth)
    elif not can_mine(problem):
        found = _in_boxes(problem, given, run, seconds)
    else:
        found = _by_closed_records(problem, given, run, seconds, construct=groups is None)
    if not problem.all_survive_unions:  # groups that look alike are one class, which may break a model
        found = diversify(problem, found, run)
    if _holds(problem, found) and (problem.all_survive_unions or _costs_less(problem, found, given)):
        return found
    return replace(given, bound=found.bound, proof=found.proof, notes=found.notes)


def _in_boxes(problem: Problem, given: Groups, run: Run, seconds: float | None) -> Groups:
    """Groups of free intervals and sets, with a bound."""
    worth = WORTH_IT if seconds is None else WORTH_ANY_TIME
    found = regrouped(problem, given, run.share_of_time(1 - _SHARE_FOR_BOXES), worth)
    proven = box_bound(problem, found, run, _WORK_FOR_BOXES if seconds is None else None)
    return found if proven is None else replace(found, bound=proven.value, proof=proven.proof)


def _by_closed_records(
    problem: Problem, given: Groups, run: Run, seconds: float | None, *, construct: bool
) -> Groups:
    """Groups that a search over closed records found, with a bound; without them where they are too many.

    given      groups that satisfy every model
    construct  whether to begin with groups that are built from the prices instead
    """
    short = _is_short(problem, seconds)
    with ThreadPoolExecutor(1) as pool, run.until_failure() as running:  # for the other core
        if short:
            beside = running.share_of_time(_SHARE_FOR_REGROUPING).in_silence()
            regrouping = pool.submit(regrouped, problem, given, beside, WORTH_ANY_TIME)
        priced = first_prices(problem, running, seconds, beside=short)
        given = regrouping.result() if short else given
        if priced is None:
            worth = WORTH_IT if seconds is None else WORTH_ANY_TIME
            return replace(regrouped(problem, given, running, worth), notes=(_TOO_MANY,))
        refining = pool.submit(priced.refined, running.in_silence(), seconds)
        search = _first_search(priced, given, run, construct=construct and not short)
        turns = SearchTurns(search, priced.prices, priced.bound)
        if seconds is not None:
            turns.ruin(run, WORTH_IT)
        priced = refining.result()
    turns.reprice(priced.prices, priced.bound)
    bound, proof = _search_on(turns, priced, run, seconds)
    search.check()
    return Groups(search.groups(), bound=bound, proof=proof)


def _first_search(priced: StagedPrices, given: Groups, run: Run, *, construct: bool) -> AssignmentSearch:
    """An assignment of no greater cost than the given groups.

    construct  whether to build one from the prices
    """
    search = AssignmentSearch(priced.problem, priced.closed, priced.cost, priced.star, priced.prices)
    if construct:
        run.report("opening closed records", 0.0)
        search.construct(run)
    if search.n_waiting or search.cost_of(given) < search.total:
        search.start_from(given)
    search.improve(run)
    return search


def _search_on(
    turns: SearchTurns, priced: StagedPrices, run: Run, seconds: float | None
) -> tuple[float | None, PriceProof | None]:
    """The rest of the search; returns the bound and the proof of it.

    Records are withheld late: earlier, a group could still take them.
    """
    if priced.problem.max_withheld:
        turns.go_on(run.share_of_time(1 - _SHARE_FOR_WITHHOLDING), seconds=seconds)
        turns.search.withhold()
        turns.search.improve(run)
    turns.go_on(run, seconds=seconds)
    if turns.bound is None:
        return None, None
    settled = turns.bound if turns.bound != priced.bound else None
    return turns.bound, replace(priced.prices.proof(priced.problem, priced.closed), settled=settled)


def _is_large(problem: Problem) -> bool:
    """Whether the table is searched region by region: for its many records, or many leaves of a column."""
    return problem.n_records > _MOST_TOGETHER or has_wide_hierarchies(problem)


def _is_short(problem: Problem, seconds: float | None) -> bool:
    """Whether there is so little time that mining might take most of it.

    If so, groups are ruined and recreated from the start, while closed records are still mined and priced.
    """
    return seconds is not None and seconds < _SECONDS_PER_RECORD * problem.n_records


def _costs_less(problem: Problem, groups: Groups, others: Groups) -> bool:
    return cost_of_groups(problem, groups) < cost_of_groups(problem, others)


def _holds(problem: Problem, groups: Groups) -> bool:
    kept = np.flatnonzero(~groups.withheld)
    n_withheld = problem.n_records - len(kept)
    within = n_withheld <= problem.max_withheld
    return within and bool(problem.satisfied(groups.group_of_record[kept], kept, groups.n_groups).all())
