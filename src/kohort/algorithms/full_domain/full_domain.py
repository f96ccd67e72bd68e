"""Full-domain generalization at the least cost, with records withheld: a search over all levels."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.full_domain.generalized_table import ClassTable, GeneralizedTable, Levels
from kohort.algorithms.full_domain.incognito import levels_note, nothing_found
from kohort.algorithms.full_domain.kernels.lattice_walk import highest_open_above
from kohort.algorithms.full_domain.lattice_costs import has_lattice_cost, lattice_cost
from kohort.algorithms.run import Run
from kohort.data.domain import STAR
from kohort.errors import UnsupportedError, counted
from kohort.problem.costs import Cost
from kohort.problem.problem import Problem
from kohort.problem.promises import Model
from kohort.recoding.columns import AttributeMaps
from kohort.recoding.recoding import FAILED, HELD, IMPLIED, OPEN, RULED_OUT, Lattice

MOST_NODES = 2_000_000
_SAME = 1e-12  # costs nearer than this share of the best are the same


@dataclass(frozen=True)
class FullDomain(Algorithm):
    """The best full-domain generalization with at most a share of the records withheld.

    Every value of an attribute is published at the same level of its hierarchy; records in classes that fail
    a model are withheld, and there may be no more of them than the suppression limit. A level per attribute
    is a node of a lattice. The search keeps a lower bound on the cost of every node. It takes the node with
    the least bound and examines the dearest node above it that is still open: if that one fails, all below it
    fail; if not, it may be a better solution. The search ends when no open node can cost less than the best,
    so its result is optimal. Nodes are closed by these facts:

    1. *Cost.* A node costs what its levels cost, and for each withheld record the difference to `*`. So it
       costs at least `least` + f * `per_withheld` if at least f records are withheld (see LatticeCost); where
       a withheld record costs less than a published one, f is the limit.
    2. *What fails above fails below.* A class C at a node is a union of classes at any node below. If C has
       fewer than k people, so have all these: each of its records is withheld below. If C breaks a model
       that survives unions, one of these breaks it, too: at least one record is withheld below. Hence below
       a node at least f records are withheld, with f the sum over its failing classes of their size (if below
       k) or of 1. Where f is above the limit, every node below is invalid. Without suppression this is the
       usual rule: all nodes below an invalid node are invalid.
    3. *Class sizes grow upwards*, so for costs that depend on them the classes of a node bound the costs of
       all nodes above it.

    A valid node does not imply valid nodes above it if records may be withheld and a model depends on
    sensitive values: a valid class and a failing one may fail together. So validity is not propagated
    upwards. A model that does not survive unions (alpha with rounding: ceiling) closes no other node.

    Where withheld records are published as `*`, they look like a class that is `*` in every column. Such a
    class is withheld with them if the limit allows; if not, nothing else may be withheld at that node.

    In the worst case exponential in the attributes; O(classes rolled up from * attributes) per node that is
    examined, a few hundred in practice.

    >>> import pyarrow as pa, kohort as ko
    >>> postcodes = ["4351", "4352", "4361", "4362", "9999"]
    >>> people = pa.table({"postcode": postcodes, "sex": ["f", "f", "m", "m", "m"]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers={"postcode": ko.mask(), "sex": None}, privacy=[ko.KAnonymity(2)],
    ...     algorithm="full-domain", suppression=0.2, suppressed="drop",
    ...     shuffle=False,
    ... )
    >>> release.table["postcode"].to_pylist(), release.table["sex"].to_pylist()
    (['435*', '435*', '436*', '436*'], ['f', 'f', 'm', 'm'])
    """

    name: ClassVar[str] = "full-domain"
    summary: ClassVar[str] = "finds the best full-domain generalization, with some records withheld; any cost"
    paper: ClassVar[str] = (
        "Samarati: Protecting respondents' identities in microdata release, TKDE 13 (2001); Kohlmayer, "
        "Prasser, Eckert, Kemper, Kuhn: Flash, PASSAT 2012; the bounds are our own"
    )
    promise: ClassVar[str] = "the least cost of all full-domain generalizations within the suppression limit"
    recoding: ClassVar[type[AttributeMaps]] = AttributeMaps
    withholds: ClassVar[bool] = True
    people = "counts"
    weighs: ClassVar[bool] = True

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        return has_lattice_cost(cost)

    @classmethod
    def meets(cls, model: type[Model]) -> bool:
        return not model.by_sampling

    def refuse(self, problem: Problem) -> None:
        self.refuse_cost(problem.cost)
        if problem.tight:
            raise UnsupportedError(
                "full-domain publishes the labels of the hierarchies. Set labels: hierarchy, or choose "
                "incognito, which can publish tight labels."
            )
        nodes = prod(hierarchy.height + 1 for hierarchy in problem.coded.hierarchies)
        if nodes > MOST_NODES:
            raise UnsupportedError(
                f"full-domain would have to search {nodes:,} generalizations; its limit is {MOST_NODES:,}. "
                "Use hierarchies with fewer levels, name fewer quasi-identifiers, or choose mondrian."
            )

    def solve(self, problem: Problem, run: Run) -> AttributeMaps:
        search = _LatticeSearch(problem)
        search.run(run)
        if search.best is None:
            raise nothing_found(out_of_time=run.out_of_time)
        levels = _lowest_alike(search.best.levels, search.table)
        return AttributeMaps(
            {a.name: nodes[level] for a, nodes, level in zip(problem.attributes, search.table.nodes, levels)},
            search.withheld_records(search.best),
            search=search.proven_facts(),
            notes=(levels_note(problem, search.table, levels), search.proof()),
            lattice=search.lattice(levels),
        )


def _lowest_alike(levels: Levels, table: GeneralizedTable) -> Levels:
    """The lowest levels that publish the same as these: a hierarchy may have equal levels."""
    return tuple(
        next(lower for lower in range(level + 1) if np.array_equal(nodes[lower], nodes[level]))
        for level, nodes in zip(levels, table.nodes)
    )


class _Look(NamedTuple):
    """A node that was examined: its classes, those to withhold, and how many records all nodes below lose."""

    levels: Levels
    classes: ClassTable
    withheld: np.ndarray
    lost_below: int
    valid: bool


class _LatticeSearch:
    """Bounds for all nodes of the lattice, raised by every look until the best is proven."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.table = problem, GeneralizedTable(problem)
        self.limit = problem.max_withheld
        self.cost = lattice_cost(problem, self.table)
        # infinite: examined, or known to be invalid
        self.bound = np.ascontiguousarray(self._least_cost((...,), withheld=0))
        self.states = np.full(self.bound.shape, OPEN, dtype=np.int8)
        self.best: _Look | None = None
        self.best_cost = np.inf
        self.looks = 0
        self._shape, self._least = np.array(self.bound.shape), self.cost.least.ravel()
        self._stars = [
            np.array([label == STAR for label in hierarchy.published], dtype=bool)[nodes]
            for hierarchy, nodes in zip(problem.coded.hierarchies, self.table.nodes)
        ]
        self._has_stars = [stars.any(axis=1).tolist() for stars in self._stars]

    def run(self, run: Run) -> None:
        self._look_at(tuple(n - 1 for n in self.table.shape))  # valid, if the models survive unions
        while not run.out_of_time and (lowest := self._lowest()) is not None:
            self._look_at(self._highest_open_above(lowest))
            if self.looks % 16 == 0:
                share = 1 - int(np.count_nonzero(self.bound < self.best_cost)) / self.bound.size
                run.report(f"best {self.best_cost:.4g}, at least {self.proven:.4g}", share)

    @property
    def proven(self) -> float:
        """The proven lower bound on the cost of any full-domain generalization."""
        return float(min(self.bound.min(), self.best_cost))

    @property
    def _target(self) -> float:
        """The cost that a node must be below to be an improvement."""
        return self.best_cost - _SAME * abs(self.best_cost) if self.best is not None else np.inf

    def _lowest(self) -> int | None:
        """The place of the open node with the least bound, or None if none can be an improvement."""
        place = int(self.bound.argmin())
        return place if self.bound.flat[place] < self._target else None

    def _highest_open_above(self, place: int) -> Levels:
        """The node reached by going up to the dearest open node right above, until there is none."""
        bound, least = self.bound.reshape(-1), self._least
        highest = highest_open_above(bound, least, self._shape, place, self._target)
        return tuple(map(int, np.unravel_index(highest, self.bound.shape)))

    def _look_at(self, levels: Levels) -> None:
        found = self._found(levels)
        self.looks += 1
        if found.valid:
            cost = self.cost.of(levels, found.classes, found.withheld)
            if cost < self._target:
                self.best, self.best_cost = found, cost
        below = tuple(slice(0, level + 1) for level in levels)
        if found.lost_below > self.limit:
            self.bound[below] = np.inf
        elif found.lost_below:
            least = self._least_cost(below, withheld=found.lost_below)
            np.maximum(self.bound[below], least, out=self.bound[below])
        least_above = self.cost.least_above(found.classes)
        if least_above > 0:
            above = tuple(slice(level, None) for level in levels)
            np.maximum(self.bound[above], least_above, out=self.bound[above])
        self.bound[levels] = np.inf
        self.states[levels] = HELD if found.valid else FAILED

    def _least_cost(self, nodes: tuple, *, withheld: int) -> np.ndarray:
        """A lower bound on the cost of each of some nodes where at least `withheld` records are withheld."""
        least, each = self.cost.least[nodes], self.cost.per_withheld[nodes]
        return least + np.where(each > 0, withheld, self.limit) * each

    def _found(self, levels: Levels) -> _Look:
        classes = self.table.classes(levels)
        sizes = classes.counts
        small = self.table.people(classes, levels) < self.problem.k
        lost = int(sizes[small].sum())
        if lost > self.limit:  # the node is invalid, whatever the other models say
            return _Look(levels, classes, small, lost, valid=False)
        fails, fails_below = small.copy(), small.copy()
        for model, holds in self.table.holding(self.problem.models, classes, levels):
            fails |= ~holds
            if self.problem.survives_unions(model):
                fails_below |= ~holds
        lost += int(np.count_nonzero(fails_below & ~small))
        withheld = fails | self._all_star(classes, levels)
        valid = int(sizes[withheld].sum()) <= self.limit
        if not valid and not fails.any():
            withheld, valid = fails, True
        return _Look(levels, classes, withheld, lost, valid)

    def _all_star(self, classes: ClassTable, levels: Levels) -> np.ndarray:
        """Which classes (at most one) are published as `*` in every column."""
        if not all(has_stars[level] for has_stars, level in zip(self._has_stars, levels)):
            return np.zeros(len(classes.rows), dtype=bool)
        leaves = self.table.cells.leaves[classes.rows]
        return np.logical_and.reduce(
            [stars[level][leaf] for stars, level, leaf in zip(self._stars, levels, leaves.T)]
        )

    def withheld_records(self, found: _Look) -> np.ndarray:
        if not found.withheld.any():
            return np.zeros(self.problem.n_records, dtype=bool)
        cells = np.arange(len(self.table.cells.counts), dtype=np.int32)
        of_cell = found.withheld[self.table.class_of(cells, found.classes, found.levels)]
        return of_cell[self.table.cells.of_record]

    def lattice(self, published: Levels) -> Lattice:
        """What is known of every node; the levels that are published are those of the best, or the same."""
        assert self.best is not None
        states = self.states.copy()
        states[(states == OPEN) & (self.bound == np.inf)] = RULED_OUT
        if states[published] != HELD:
            states[published] = IMPLIED
        return Lattice(states, published)

    def proven_facts(self) -> dict[str, Any]:
        """Facts for the certificate: every column has the scheme bhs, one level for all its values."""
        bound, done = max(self.proven, 0.0), self._lowest() is None
        return {
            "attributes": {attribute.name: "bhs" for attribute in self.problem.attributes},
            "bound": bound,
            "gap": 0.0 if done else (self.best_cost / bound - 1 if bound > 0 else None),
            "nodes": self.looks,
        }

    def proof(self) -> str:
        limit = f" that withholds at most {counted(self.limit, 'record')}" if self.limit else ""
        if self._lowest() is None:
            return (
                f"Proven: no full-domain generalization{limit} has a lower {self.problem.cost.name}; "
                f"{self.looks:,} of {self.bound.size:,} were examined."
            )
        return (
            f"Stopped at the time limit: a full-domain generalization{limit} has a "
            f"{self.problem.cost.name} of at least {self.proven:.4g}."
        )
