"""A table with items: how large its classes should be, so that both keep their detail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from kohort.algorithms import Run
from kohort.data.dataset import Dataset
from kohort.errors import UnsupportedError
from kohort.pipeline.items import (
    ItemsPart,
    chosen_items_algorithm,
    items_problem,
    published_items,
    solve_items,
)
from kohort.pipeline.publish import replaced_columns
from kohort.pipeline.request import Request
from kohort.problem.costs import cost_named
from kohort.problem.models import KAnonymity
from kohort.problem.problem import Problem
from kohort.problem.roles import Roles
from kohort.recoding.recoding import Recoding
from kohort.verification import published_classes, published_table

__all__ = ["Traded", "solve_with_items"]


@dataclass(frozen=True, eq=False)
class Traded:
    """A recoding of the quasi-identifiers, the columns that it publishes, and the items in its classes."""

    recoding: Recoding
    columns: dict[str, pa.Array | None]
    items: ItemsPart
    table_loss: float

    def score(self, weight: float) -> float:
        return (1 - weight) * self.table_loss + weight * self.items.ncp


def solve_with_items(
    dataset: Dataset,
    request: Request,
    roles: Roles,
    problem: Problem,
    solve: Callable[[Problem], Recoding],
    run: Run,
) -> Traded:
    """Quasi-identifiers in classes of at least k, 2k, 4k, ... records, and the items in each class.

    The larger the classes, the more the quasi-identifiers lose and the less the items do. Keeps the best by
    the weighted sum of both losses (`loss` and NCP). With the weight 0, classes of k it is.
    """
    assert request.items is not None
    weight = request.items.weight
    posed, hierarchy = items_problem(dataset, request, request.items)
    algorithm = chosen_items_algorithm(request, request.items)
    best: Traded | None = None
    for size in _class_sizes(problem) if weight > 0 else [problem.k]:
        larger = replace(problem, models=_with_k(problem, size))
        try:
            recoding = solve(larger)
        except UnsupportedError:
            if best is None:
                raise
            break
        columns = replaced_columns(dataset, request, roles, problem, recoding)
        classes, loss = _classes_and_loss(columns, problem)
        part = replace(solve_items(posed, algorithm, hierarchy, run, classes), class_size=size)
        found = Traded(recoding, columns, part, loss)
        if best is None or found.score(weight) < best.score(weight):
            best = found
        if run.out_of_time:
            break
    assert best is not None
    shown = published_items(best.items, request.items.separator)
    return replace(best, columns=best.columns | {request.items.column: shown})


def _class_sizes(problem: Problem) -> Iterator[int]:
    size = problem.k
    while size <= problem.n_records:
        yield size
        size *= 2


def _with_k(problem: Problem, k: int) -> tuple:
    return tuple(KAnonymity(k) if isinstance(model, KAnonymity) else model for model in problem.models)


def _classes_and_loss(columns: dict[str, pa.Array | None], problem: Problem) -> tuple[np.ndarray, float]:
    """The class of each record, by how it is published, and the loss of the quasi-identifiers."""
    names = [attribute.name for attribute in problem.attributes]
    classes = published_classes(Dataset(pa.table({name: columns[name] for name in names})), names, ())
    everything = np.arange(problem.n_records)
    nobody = np.zeros(problem.n_records, dtype=bool)
    table = published_table(classes.columns, problem.attributes, everything, nobody, classes.sizes)
    return classes.class_of_record, cost_named("loss").measure(table)
