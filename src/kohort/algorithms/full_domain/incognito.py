"""Incognito: the best of all full-domain generalizations (LeFevre et al., 2005; Wong et al., 2009)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import ClassVar

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.full_domain.generalized_table import GeneralizedTable, Levels
from kohort.algorithms.full_domain.lattice_costs import lattice_cost
from kohort.algorithms.run import Run
from kohort.errors import InfeasibleError, KohortError, UnsupportedError
from kohort.problem.costs import Cost
from kohort.problem.problem import Problem
from kohort.problem.promises import Model
from kohort.recoding.columns import AttributeMaps
from kohort.recoding.recoding import FAILED, HELD, IMPLIED, OPEN, RULED_OUT, Lattice

MOST_NODES = 1_000_000


@dataclass(frozen=True)
class Incognito(Algorithm):
    """The extended Incognito of (alpha, k)-anonymity (Wong et al., section 3).

    A full-domain generalization publishes every value of an attribute at the same level of its hierarchy.
    Incognito finds all of them that satisfy the models, for subsets of the attributes of growing size. Two
    facts save most tests: a generalization of a valid one is valid, and a valid one is valid for every
    subset of its attributes. The one of least cost is published.

    Where alpha is rounded up (`rounding: ceiling`) neither fact holds for alpha. Then only the other models
    save tests, and the generalizations that satisfy them are tried in order of cost.

    In the worst case exponential in the attributes; O(distinct rows * attributes) per test.

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"postcode": ["4351", "4352", "4361", "4362"], "sex": ["f", "m", "f", "m"]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers={"postcode": ko.mask(), "sex": None}, privacy=[ko.KAnonymity(2)],
    ...     algorithm="incognito",
    ...     shuffle=False,
    ... )
    >>> release.table["postcode"].to_pylist(), release.table["sex"].to_pylist()
    (['43**', '43**', '43**', '43**'], ['f', 'm', 'f', 'm'])
    """

    name: ClassVar[str] = "incognito"
    summary: ClassVar[str] = "finds the best full-domain generalization: every value at the same level"
    paper: ClassVar[str] = (
        "Wong, Li, Fu, Wang: (alpha, k)-anonymous data publishing, JIIS 33 (2009), section 3; "
        "LeFevre, DeWitt, Ramakrishnan: Incognito, SIGMOD 2005"
    )
    promise: ClassVar[str] = "the least cost of all full-domain generalizations"
    recoding: ClassVar[type[AttributeMaps]] = AttributeMaps
    people = "counts"
    weighs: ClassVar[bool] = True

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        return cost.separable

    @classmethod
    def meets(cls, model: type[Model]) -> bool:
        return not model.by_sampling

    def refuse(self, problem: Problem) -> None:
        self.refuse_cost(problem.cost)
        nodes = prod(hierarchy.height + 1 for hierarchy in problem.coded.hierarchies)
        if nodes > MOST_NODES:
            raise UnsupportedError(
                f"incognito would have to examine {nodes:,} full-domain generalizations; its limit is "
                f"{MOST_NODES:,}. Use hierarchies with fewer levels, name fewer quasi-identifiers, or choose "
                "progressive or top-down."
            )

    def solve(self, problem: Problem, run: Run) -> AttributeMaps:
        table = GeneralizedTable(problem)
        pruning = [model for model in problem.models if problem.survives_unions(model)]
        examined = np.full(table.shape, OPEN, dtype=np.int8)
        valid = valid_generalizations(table, pruning, run, examined)
        notes: tuple[str, ...] = (_STOPPED,) if run.out_of_time else ()
        states = _states(
            valid, examined, decided=not run.out_of_time, implied=len(pruning) == len(problem.models)
        )
        if len(pruning) < len(problem.models):
            best = _cheapest_that_holds(problem, table, valid, run, states)
        else:
            valid[(-1,) * valid.ndim] = True  # the whole table as one class
            costs = np.where(valid, lattice_cost(problem, table).least, np.inf)
            best = np.argwhere(costs == costs.min())[0].tolist()
            notes = notes or (_minimal_note(valid),)
        levels = [nodes[level] for nodes, level in zip(table.nodes, best)]
        return AttributeMaps(
            {attribute.name: nodes for attribute, nodes in zip(problem.attributes, levels)},
            np.zeros(problem.n_records, dtype=bool),
            notes=(levels_note(problem, table, best), *notes),
            lattice=_published(states, tuple(best)),
        )


def _states(valid: np.ndarray, examined: np.ndarray, *, decided: bool, implied: bool) -> np.ndarray:
    """The state of each node after the models that survive unions were tested.

    decided  whether all nodes were; if not, a node that is not valid is open
    implied  whether these are all models; if not, a valid node is open
    """
    fails, holds = RULED_OUT if decided else OPEN, IMPLIED if implied else OPEN
    states = np.where(valid, holds, fails).astype(np.int8)
    known = (examined == FAILED) | ((examined == HELD) & implied)
    states[known] = examined[known]
    return states


def _published(states: np.ndarray, best: Levels) -> Lattice:
    """The lattice with the published node, which holds even where time ran out before it was tested."""
    if states[best] != HELD:
        states[best] = IMPLIED
    return Lattice(states, best)


_STOPPED = "Stopped at the time limit: a better full-domain generalization may exist."


def valid_generalizations(
    table: GeneralizedTable, models: Sequence[Model], run: Run, examined: np.ndarray | None = None
) -> np.ndarray:
    """Whether the table generalized to each node of the lattice of levels satisfies the models.

    The models must survive unions. Nodes that were not decided when time ran out count as not valid. In
    `examined`, with an entry per node, those that were tested become HELD or FAILED.
    """
    valid: dict[Levels, np.ndarray] = {}
    every = tuple(range(len(table.shape)))
    n_nodes, n_done = prod(n + 1 for n in table.shape) - 1, 0
    for size in range(1, len(every) + 1):
        for subset in combinations(every, size):
            if run.out_of_time:
                return np.zeros(table.shape, dtype=bool)
            run.report("testing generalizations", n_done / n_nodes)
            candidates = _candidates(subset, [table.shape[j] for j in subset], valid)
            seen = examined if subset == every else None
            valid[subset] = _valid_nodes(candidates, _test_of(table, subset, models, seen), run)
            n_done += candidates.size
        for subset in combinations(every, size - 1):  # smaller subsets are not needed any more
            valid.pop(subset, None)
    run.report("testing generalizations", 1.0)
    return valid[every]


def _test_of(
    table: GeneralizedTable, subset: Levels, models: Sequence[Model], examined: np.ndarray | None
) -> Callable[[Levels], bool]:
    """A test whether the models hold at given levels of the attributes in `subset`, without the others."""
    highest = [n - 1 for n in table.shape]

    def holds(levels: Levels) -> bool:
        everywhere = highest.copy()
        for attribute, level in zip(subset, levels):
            everywhere[attribute] = level
        found = table.satisfied(models, tuple(everywhere))
        if examined is not None:
            examined[levels] = HELD if found else FAILED
        return found

    return holds


def _candidates(subset: Levels, shape: Sequence[int], valid: dict[Levels, np.ndarray]) -> np.ndarray:
    """Whether each node is a candidate: all its projections that leave out one attribute are valid."""
    candidates = np.ones(shape, dtype=bool)
    if len(subset) > 1:
        for place in range(len(subset)):
            candidates &= np.expand_dims(valid[subset[:place] + subset[place + 1 :]], place)
    return candidates


def _valid_nodes(candidates: np.ndarray, holds: Callable[[Levels], bool], run: Run) -> np.ndarray:
    """Whether each candidate is valid, tested from the lowest up: all above a valid one are valid."""
    valid = np.zeros_like(candidates)
    nodes = np.argwhere(candidates)
    for node in nodes[np.argsort(nodes.sum(axis=1), kind="stable")].tolist():
        if run.out_of_time:
            break
        if not valid[tuple(node)] and holds(tuple(node)):
            valid[tuple(slice(level, None) for level in node)] = True
    return valid


def minimal_nodes(valid: np.ndarray) -> np.ndarray:
    """The valid nodes that generalize no other valid node, as rows of levels."""
    minimal = valid.copy()
    for axis in range(valid.ndim):
        higher = (slice(None),) * axis + (slice(1, None),)
        lower = (slice(None),) * axis + (slice(None, -1),)
        minimal[higher] &= ~valid[lower]
    return np.argwhere(minimal)


def _cheapest_that_holds(
    problem: Problem, table: GeneralizedTable, candidates: np.ndarray, run: Run, states: np.ndarray
) -> Sequence[int]:
    """The cheapest candidate that satisfies all models, also those that do not survive unions.

    The `states` of the nodes that are tested become HELD or FAILED.
    """
    nodes = np.argwhere(candidates)
    order = np.argsort(lattice_cost(problem, table).least[candidates], kind="stable")
    for tried, node in enumerate(nodes[order]):
        run.report("testing alpha, cheapest generalizations first", tried / len(nodes))
        if run.out_of_time:
            break
        levels = tuple(node.tolist())
        holds = table.satisfied(problem.models, levels)
        states[levels] = HELD if holds else FAILED
        if holds:
            return levels
    raise nothing_found(out_of_time=run.out_of_time)


def nothing_found(*, out_of_time: bool) -> KohortError:
    """The error to raise where a model does not survive unions, and nothing that keeps it was found."""
    if out_of_time:
        return UnsupportedError(
            "Time ran out before a full-domain generalization was found that keeps every promise (alpha with "
            "rounding: ceiling, or shares of people). Allow more time, or lower the demand."
        )
    return InfeasibleError(
        "No full-domain generalization keeps every promise (alpha with rounding: ceiling, and shares of "
        "people, may hold in small classes only). Leave rounding out, lower the demand, or choose mondrian."
    )


def _minimal_note(valid: np.ndarray) -> str:
    return f"Minimal full-domain generalizations that keep the promise: {len(minimal_nodes(valid)):,}."


def levels_note(problem: Problem, table: GeneralizedTable, best: Sequence[int]) -> str:
    """The levels of each attribute in a sentence."""
    levels = (
        f"{attribute.name} {level} of {n - 1}"
        for attribute, level, n in zip(problem.attributes, best, table.shape)
    )
    return f"Levels published: {', '.join(levels)}."
