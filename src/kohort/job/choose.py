"""Choose the algorithm: the one asked for, wrapped in what the privacy models and the items need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kohort.algorithms import (
    ALGORITHMS,
    ITEMS_ALGORITHMS,
    Algorithm,
    CountingPeople,
    ItemsAlgorithm,
    Solver,
    StarsTogether,
    algorithm_named,
    for_scheme,
    is_for_items,
    items_algorithm_named,
    needs_uniting,
    parameters_of,
)
from kohort.errors import InputError, UnsupportedError
from kohort.problem.problem import Problem
from kohort.problem.promises import DifferentialPrivacy
from kohort.recoding.groups import Groups
from kohort.statement import Statement

if TYPE_CHECKING:
    from kohort.algorithms.again import Standing


@dataclass(frozen=True)
class Choice:
    """The algorithm chosen for a problem, and how a certificate names it.

    solver  the algorithm together with those that are wrapped around it
    name    the name of the algorithm for the quasi-identifiers; without any, of that for the items
    notes   why it was chosen, where the request names none
    items   the algorithm for the items, or None
    """

    solver: Solver
    name: str
    parameters: dict[str, Any]
    notes: tuple[str, ...] = ()
    items: ItemsAlgorithm | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all algorithms that take part."""
        return (self.name,) if self.items is None else (self.name, self.items.name)


def choose(problem: Problem, request: Statement, standing: Standing | None = None) -> Choice:
    """The algorithm that the request asks for; raises if it cannot solve the problem."""
    if standing is not None:
        choice = _for_ledger(problem, request, standing)
    elif problem.units.linked:
        choice = _for_histories(problem, request)
    elif any(model.by_sampling for model in problem.models):
        choice = _by_sampling(problem, request)
    else:
        items = None
        if request.items:
            named: Any = request.items.algorithm
            if named == "auto":  # the one of the whole job, if that is for items
                named = request.algorithm if is_for_items(request.algorithm) else "apriori-items"
            items = items_algorithm_named(named) if isinstance(named, str) else named
        choice = _for_table(problem, request, items) if problem.attributes else _for_baskets(request, items)
    choice.solver.refuse(problem)
    return choice


def _by_sampling(problem: Problem, request: Statement) -> Choice:
    """The mechanism of differential privacy, which is no search."""
    from kohort.algorithms.sampling.safe_pub import SafePub

    [model] = [model for model in problem.models if isinstance(model, DifferentialPrivacy)]
    if request.algorithm_name != "auto":
        raise UnsupportedError(
            f"{request.algorithm_name} does not support {model.name}, which has a mechanism of its own. "
            "Leave the algorithm out."
        )
    solver = SafePub(model)
    solver.refuse(problem)
    return Choice(solver, solver.name, {"levels": solver.levels(problem), "k": model.k})


def _for_baskets(request: Statement, items: ItemsAlgorithm | None) -> Choice:
    from kohort.algorithms.items.with_items import WithItems

    assert items is not None
    if not is_for_items(request.algorithm) and request.algorithm_name != "auto":
        raise UnsupportedError(
            f"{request.algorithm_name} is for quasi-identifiers, but no column has that role. Choose "
            f"{', '.join(list(ITEMS_ALGORITHMS)[:-1])} or {list(ITEMS_ALGORITHMS)[-1]}."
        )
    if request.cost not in ("loss", "ncp"):
        raise UnsupportedError(f"Items have one cost, ncp. Leave out the cost {request.cost!r}.")
    if others := [model.name for model in request.models if model.name != "k-anonymity"]:
        raise UnsupportedError(
            f"{', '.join(others)} is about classes of quasi-identifiers, but no column has that role. Leave "
            "it out."
        )
    solver = WithItems(None, items, weight=1.0, null_is_star=False)
    return Choice(solver, items.name, parameters_of(items), items=items)


def _for_table(
    problem: Problem, request: Statement, items: ItemsAlgorithm | None, others: Sequence[Problem] = ()
) -> Choice:
    """The algorithm for the quasi-identifiers of a problem, which is also to solve the `others`."""
    algorithm, why = _asked(request).choice_for(problem, request.time_limit)
    parameters, weight = parameters_of(algorithm), request.diversify_weight
    null_is_star = request.nulls == "star"
    solver: Solver = algorithm
    if needs_uniting(algorithm, problem):
        solver = CountingPeople(algorithm, weight)
    elif unmet := _unmet_models(algorithm, [problem, *others]):
        from kohort.algorithms.uniting.united import United

        solver = United(algorithm, unmet, weight)
    if solver is not algorithm:
        parameters |= {"diversify": {"w": weight}}
    if not problem.masses.even and not algorithm.weighs:
        if algorithm.takes_scheme:  # its result is the proof that it is the best
            able = [name for name, other in ALGORITHMS.items() if other.weighs]
            raise UnsupportedError(
                f"{algorithm.name} proves its result for records that all count the same, and these have "
                f"weights. Choose one of {', '.join(able)}, or drop the weights with the role identifier."
            )
        from kohort.algorithms.uniting.counting_alike import CountingAlike

        solver = CountingAlike(solver, algorithm.name)
    if request.suppressed == "star":
        solver = StarsTogether(solver, null_is_star=null_is_star)
    if items is not None:
        from kohort.algorithms.items.with_items import WithItems

        solver = WithItems(solver, items, request.items.weight, null_is_star=null_is_star)
    return Choice(solver, algorithm.name, parameters, why, items)


def _for_histories(problem: Problem, request: Statement) -> Choice:
    """The algorithm for people, with one wide record each: it must make groups.

    People with the same slots are a part, which is solved by itself; the largest one decides.
    """
    from kohort.algorithms.histories.over_histories import OverHistories
    from kohort.algorithms.histories.parts import parts_of, wide_problem

    largest, *others = (wide_problem(problem, part) for part in parts_of(problem))
    choice = _in_groups(largest, request, "linked records are published in groups of people", others)
    about = "Of the people whose records are linked, by the largest part:"
    why = tuple(f"{about} {note}" for note in choice.notes)
    return replace(choice, solver=OverHistories(choice.solver), notes=why)


def _for_ledger(problem: Problem, request: Statement, standing: Standing) -> Choice:
    """The algorithm for newcomers, within the one that keeps what earlier releases said."""
    from kohort.algorithms.again import WAYS, MInvariance

    choice = _in_groups(problem, request, "with a ledger groups of people stay together")
    way = WAYS[request.again](choice.solver, standing)
    if isinstance(way, MInvariance):
        way = replace(way, counterfeits=request.counterfeits)
    return replace(choice, solver=way)


def _in_groups(problem: Problem, request: Statement, because: str, others: Sequence[Problem] = ()) -> Choice:
    """The algorithm for people in groups; refused where it makes none, and `because` says what needs them."""
    choice = _for_table(problem, replace(request, suppressed="drop"), None, others)
    if not issubclass(ALGORITHMS[choice.name].recoding, Groups):
        able = [name for name, other in ALGORITHMS.items() if issubclass(other.recoding, Groups)]
        raise UnsupportedError(
            f"{choice.name} publishes a value in one way wherever it occurs, and {because}. Choose one of "
            f"{', '.join(able)}."
        )
    return choice


def _asked(request: Statement) -> Algorithm:
    """The algorithm for the quasi-identifiers, with its schemes."""
    asked = request.algorithm
    if is_for_items(asked):
        if not request.items:
            raise UnsupportedError(f"{request.algorithm_name} is for a column of items, but there is none.")
        asked = "auto"  # it is for the items; the quasi-identifiers have no algorithm of their own
    algorithm: Any = algorithm_named(asked) if isinstance(asked, str) else asked
    if request.has_scheme:
        algorithm = for_scheme(algorithm, request.scheme, request.schemes)
    if request.suppression == 1 and not algorithm.takes_scheme:
        raise InputError(
            f"'suppression' must be below 1: {algorithm.name} might withhold every record. Only searches for "
            "a scheme accept 1, which lets them withhold all records in small classes."
        )
    return algorithm


def _unmet_models(algorithm: Algorithm, problems: Sequence[Problem]) -> tuple[str, ...]:
    """Names of the models that the algorithm does not support; uniting its groups will meet them.

    A model over all records of a person is another one than that of single records, though they share a name.
    Raises where uniting is impossible: some model does not survive unions, or there are no groups.
    """
    models = [model for problem in problems for model in problem.models]
    unmet = tuple(sorted({model.name for model in models if not algorithm.meets(type(model))}))
    can_unite = issubclass(algorithm.recoding, Groups) and all(p.all_survive_unions for p in problems)
    if unmet and (not can_unite or any(model.of_table for model in models)):
        asked = {model.name for model in models}
        able = [name for name, other in ALGORITHMS.items() if asked <= set(other.models)]
        raise UnsupportedError(
            f"{algorithm.name} does not support {', '.join(unmet)}. "
            f"Choose an algorithm that does: {', '.join(able)}."
        )
    return unmet
