"""What an algorithm is: a function from a Problem to a Recoding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from kohort.algorithms.run import Run
from kohort.algorithms.solver import Solver
from kohort.errors import UnsupportedError
from kohort.parameters import check_parameters
from kohort.problem.costs import COSTS, Cost
from kohort.problem.items import ItemsProblem
from kohort.problem.problem import Problem
from kohort.problem.promises import ITEM_MODELS, MODELS
from kohort.recoding.items import ItemNodes
from kohort.recoding.recoding import Recoding


class _Derived:
    """A class attribute that is derived from the traits of costs or models when it is read."""

    def __init__(self, names_of: Callable[[type[AnyAlgorithm]], tuple[str, ...]]) -> None:
        self._names_of = names_of

    def __get__(self, instance: object, owner: type[AnyAlgorithm]) -> tuple[str, ...]:
        return self._names_of(owner)


def _models_of(algorithm: type[AnyAlgorithm]) -> tuple[str, ...]:
    known: dict[str, Any] = {**ITEM_MODELS} if algorithm.for_items else {**MODELS}
    return tuple(name for name, model in known.items() if algorithm.meets(model))


def _costs_of(algorithm: type[AnyAlgorithm]) -> tuple[str, ...]:
    return tuple(name for name, cost in COSTS.items() if algorithm.minimises(cost()))


class AnyAlgorithm(ABC):
    """What every algorithm declares about itself. Its parameters are frozen fields with defaults.

    name           as in the spec
    summary        what it does, in a sentence
    paper          where it comes from
    promise        the guarantee it gives, in a sentence
    theorem        the paper and lemma that prove its approximation factor; empty without one
    recoding       the kind of recoding that `solve` returns
    for_items      it publishes a column of items, and not quasi-identifiers
    withholds      it may withhold records, where the problem allows that
    people         where people have several records: `counts` people itself; makes groups that are `united`
                   until they have enough people; or `refuses`
    weighs         it minimises a cost in which records have weights; others count all records alike
    in_regions     its groups are the same where a table is cut into regions by its rules, each solved apart
    largest_region  records of a region, at most, that it solves in reasonable time and memory
    own_time_limit  seconds that it takes at most where no limit is given; None: as long as it needs
    takes_scheme   it has a parameter `scheme`
    scheme_search  the name of the algorithm that is used in its place where a scheme is asked for
    models         names of the privacy models it meets by itself: derived from `meets`
    costs          names of the costs it can minimise: derived from `minimises`
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    promise: ClassVar[str]
    theorem: ClassVar[str] = ""
    recoding: ClassVar[type[Any]]
    for_items: ClassVar[bool] = False
    withholds: ClassVar[bool] = False
    in_regions: ClassVar[bool] = False
    largest_region: ClassVar[float] = 100_000
    own_time_limit: ClassVar[float | None] = None
    people: ClassVar[Literal["counts", "united", "refuses"]] = "united"
    weighs: ClassVar[bool] = False
    takes_scheme: ClassVar[bool] = False
    scheme_search: ClassVar[str | None] = None
    models = _Derived(_models_of)
    costs = _Derived(_costs_of)

    def __post_init__(self) -> None:
        check_parameters(self)

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        """Whether the algorithm can minimise a cost: by default any weighted sum of cell costs."""
        return cost.adds_up

    @classmethod
    def meets(cls, model: type[Any]) -> bool:
        """Whether the algorithm meets a privacy model by itself: by default those that only count records.

        Other models that survive unions are met by uniting the groups of an algorithm that makes groups.
        """
        return model.only_counts


class Algorithm(AnyAlgorithm):
    """A way to solve a problem of quasi-identifiers. `solve` keeps no state."""

    recoding: ClassVar[type[Recoding]]

    @abstractmethod
    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for what this algorithm cannot do, naming one that can."""

    @abstractmethod
    def solve(self, problem: Problem, run: Run) -> Recoding:
        """A recoding that satisfies every model; where time runs out, the best one found so far."""

    def choice_for(self, problem: Problem, time_limit: float | None) -> tuple[Algorithm, tuple[str, ...]]:
        """The algorithm that will do the work, and the reason as notes if it is another one."""
        return self, ()

    def without_bound(self) -> Solver:
        """The algorithm for a region of a table, where nobody asks how low the cost could be."""
        return self

    def refuse_cost(self, cost: Cost) -> None:
        """Raise UnsupportedError for a cost that this algorithm cannot minimise, naming those it can."""
        if not self.minimises(cost):
            raise UnsupportedError(
                f"{self.name} cannot minimise {cost.name!r}. Choose one of {', '.join(self.costs)}; "
                "any other cost is measured and reported anyway."
            )


class ItemsAlgorithm(AnyAlgorithm):
    """A way to publish items as nodes of their hierarchy. `solve` keeps no state."""

    for_items: ClassVar[bool] = True
    recoding: ClassVar[type[ItemNodes]] = ItemNodes

    @classmethod
    def meets(cls, model: type[Any]) -> bool:
        return True

    @classmethod
    def minimises(cls, cost: Cost) -> bool:
        return cost.of_items

    @abstractmethod
    def solve(self, problem: ItemsProblem, run: Run) -> ItemNodes:
        """The node that each occurrence of an item is published as."""
