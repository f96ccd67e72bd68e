"""improve for large tables with few cheap closed records: searched with these, and without any, in turns."""

from __future__ import annotations

from itertools import count

import numpy as np

from kohort.algorithms.improve.assignment_search import AssignmentSearch
from kohort.algorithms.improve.region_search import regrouped_in_regions
from kohort.algorithms.improve.search_turns import SearchTurns
from kohort.algorithms.improve.searched_records import SearchedRecords
from kohort.algorithms.improve.staged_prices import StagedPrices
from kohort.algorithms.run import Run
from kohort.recoding.groups import Groups

__all__ = ["searched_in_turns"]

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
