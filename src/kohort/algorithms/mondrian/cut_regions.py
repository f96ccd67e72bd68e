"""Cut a table that is too large into regions, as mondrian cuts it: from counts and samples of its records.

The records may be anywhere: `Records` says what is asked of them. What mondrian finds in a group depends on
the group's records and their order alone, so the groups that it finds in the regions are those that it would
find in the whole table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from kohort.algorithms.mondrian.cutting import children_of
from kohort.algorithms.mondrian.kernels.cut_table import BY_CHILD, SAMPLE, Children, Rules
from kohort.algorithms.mondrian.region_cuts import BinCounts, Trial, question_of
from kohort.algorithms.mondrian.region_records import (
    Borrowing,
    Lending,
    NodeCut,
    Question,
    Regions,
    RegionTree,
    kept_by_people,
)
from kohort.algorithms.run import Run
from kohort.problem.problem import Problem
from kohort.problem.promises import ClassCounts

LEAST_REGION = 2 * SAMPLE
"""Regions of at most this many records are never cut: mondrian looks at all of their records."""

Lent = tuple[np.ndarray, Mapping[str, np.ndarray]]
"""Numbers of records, and their values by sensitive column."""


class RegionRules:
    """The rules by which a problem's records are cut.

    strict, widest  as `Rules` has them
    tables          the costs by which cuts are chosen
    """

    def __init__(self, problem: Problem, *, strict: bool, widest: bool) -> None:
        self.problem = problem
        self.tables = problem.coded.tables
        self.children: Children = children_of(self.tables)
        self.rules = Rules(problem.k, strict, widest)
        only_k = all(not model.attribute for model in problem.models)
        self.n_cuts = 4 if only_k else 2 * len(problem.attributes)


class Records(Protocol):
    """The records of a table in regions, wherever they are."""

    def best_cuts(self, tree: RegionTree, sizes: Mapping[int, int]) -> dict[int, np.recarray]:
        """The best cuts of some regions, whose sizes are given: see `cuts_of_samples`."""
        ...

    def count(self, tree: RegionTree, asked: Sequence[Question]) -> list[BinCounts]:
        """The answer to each question."""
        ...

    def people(self, tree: RegionTree, nodes: Sequence[int]) -> list[ClassCounts]:
        """The people of some regions, as each model of the problem counts them."""
        ...

    def first_records(self, tree: RegionTree, lending: Lending) -> dict[int, Lent]:
        """Per region that lends records, the first ones that it may lend, in the order of the table."""
        ...

    def records_to_borrow(self, tree: RegionTree, asked: Sequence[Borrowing]) -> dict[int, int]:
        """Per region whose pool has too few people, how many records it has to borrow."""
        ...


def cut_regions(records: Records, rules: RegionRules, n_records: int, largest: int, run: Run) -> Regions:
    """The regions of a table, each of at most `largest` records, or one group that cannot be cut.

    Two or three passes over the records for each level of the tree; some more where people are counted.
    """
    largest = max(largest, LEAST_REGION)
    tree, sizes = RegionTree.of_one_region(), {0: n_records}
    finished: set[int] = set()
    while large := _large(sizes, finished, largest, rules.rules.k):
        run.report("cutting regions", _done(sizes, large))
        cuts, parts = _cut_level(records, rules, tree, large)
        tree, number = tree.with_cuts(cuts)
        finished |= large.keys() - cuts.keys()
        for node in cuts:
            del sizes[node]
        sizes |= {number[node, part]: size for node in cuts for part, size in parts[node].items()}
    return Regions(tree, sizes, frozenset(finished))


def _large(sizes: Mapping[int, int], finished: set[int], largest: int, k: int) -> dict[int, int]:
    return {node: n for node, n in sizes.items() if n > largest and n >= 2 * k and node not in finished}


def _done(sizes: Mapping[int, int], large: Mapping[int, int]) -> float:
    return 1 - sum(large.values()) / sum(sizes.values())


def _cut_level(
    records: Records, rules: RegionRules, tree: RegionTree, large: Mapping[int, int]
) -> tuple[dict[int, NodeCut], dict[int, dict[int, int]]]:
    """Cut each large region once, by its best cut that keeps the models, if there is one.

    Returns the cuts and the sizes of the parts.
    """
    best = records.best_cuts(tree, large)
    found: dict[int, NodeCut] = {}
    parts: dict[int, dict[int, int]] = {}
    for attempt in range(rules.n_cuts):
        tried = {node: cuts[attempt] for node, cuts in best.items() if node not in found}
        tried = {node: cut for node, cut in tried.items() if cut.way >= 0}
        if not tried:
            break
        trials = _trials(records, rules, tree, tried)
        for trial, settled in zip(trials, _settled(records, rules.problem, tree, trials)):
            if settled is not None:
                found[trial.question.node], parts[trial.question.node] = trial.cut(), settled
    return found, parts


def _settled(
    records: Records, problem: Problem, tree: RegionTree, trials: Sequence[Trial]
) -> list[dict[int, int] | None]:
    """Per trial the records of each part, if all parts keep every model; else None.

    Where people have several records, and a promise is about shares of them, the people of a part are not
    those of its bins added up: so they are counted.
    """
    if trials[0].counts.people is None or problem.all_survive_unions:
        return [trial.settled(problem) for trial in trials]
    holds = _kept_by_parts(records, problem, tree, trials)
    moved = [place for place, trial in enumerate(trials) if trial.pool_failing(holds[place])]
    again = _kept_by_parts(records, problem, tree, [trials[place] for place in moved]) if moved else []
    for place, found in zip(moved, again):
        holds[place] = found
    return [trial.parts_if(kept) for trial, kept in zip(trials, holds)]


def _kept_by_parts(
    records: Records, problem: Problem, tree: RegionTree, trials: Sequence[Trial]
) -> list[np.ndarray]:
    """Per trial whether each part keeps every model; a part without records does."""
    cut, number = tree.with_cuts({trial.question.node: trial.cut() for trial in trials})
    used = [np.flatnonzero(trial.sizes()) for trial in trials]
    nodes = [number[t.question.node, part] for t, parts in zip(trials, used) for part in parts.tolist()]
    kept = kept_by_people(problem, records.people(cut, nodes))
    ends = np.cumsum([len(parts) for parts in used])
    found = [np.ones(trial.n_parts, dtype=bool) for trial in trials]
    for holds, parts, of_parts in zip(found, used, np.split(kept, ends[:-1])):
        holds[parts] = of_parts
    return found


def _trials(
    records: Records, rules: RegionRules, tree: RegionTree, tried: Mapping[int, np.record]
) -> list[Trial]:
    """The trial of one cut for each of these regions, with all that has to be known for it counted."""
    asked = [question_of(node, cut, rules.tables, rules.children) for node, cut in tried.items()]
    k, strict = rules.rules.k, rules.rules.strict
    trials = [
        Trial.of(question, counts, bool(cut.way == BY_CHILD), k)
        for question, counts, cut in zip(asked, records.count(tree, asked), tried.values())
    ]
    of_people = trials[0].counts.people is not None
    if of_people:
        trials = _with_pools_counted(records, tree, trials)
    lenders = [found for trial in trials if (found := trial.borrowing(k, strict)) is not None]
    if of_people:
        borrowed = records.records_to_borrow(tree, lenders) if lenders else {}
    else:
        can_lend = {lender.node for lender in lenders}
        borrowed = {t.question.node: k - t.pool_people for t in trials if t.question.node in can_lend}
    trials = [trial.completed(k, borrowed.get(trial.question.node)) for trial in trials]
    lending = {
        t.question.node: (t.question.attribute, t.lending_leaves, t.n_lent) for t in trials if t.n_lent
    }
    lent = records.first_records(tree, lending) if lending else {}
    return [trial.lent(*lent[trial.question.node]) if trial.n_lent else trial for trial in trials]


def _with_pools_counted(records: Records, tree: RegionTree, trials: list[Trial]) -> list[Trial]:
    """The trials with the different people of their pools counted."""
    asked = [trial.pool_question for trial in trials if trial.by_child]
    counted = records.count(tree, asked) if asked else []
    people = {question.node: int(counts.heads[1]) for question, counts in zip(asked, counted)}
    return [replace(t, pool_people=people[t.question.node]) if t.by_child else t for t in trials]
