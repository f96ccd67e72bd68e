"""Which promises a search for a k keeps, and what of a request is left to the algorithm."""

from __future__ import annotations

from kohort.algorithms import ALGORITHMS
from kohort.pipeline.request import Request
from kohort.problem.promises import KAnonymity, Model, RiskLimit, TableModel


def kept_by_k(request: Request, n_people: int) -> tuple[Model, ...]:
    """The promises about all classes together that are kept by a search for a k, see `table_limits`.

    These are limits on the risk, and those promises about a whole table that classes of some size always
    keep. The latter are left to the algorithm where one is asked for that searches over levels.
    """
    limits = tuple(m for m in request.table_models if isinstance(m, RiskLimit) and m.of_whole_table)
    others = tuple(model for model in request.table_models if model.of_table)
    by_size = all(model.enough_k is not None and model.enough_k <= n_people for model in others)
    return (*limits, *others) if by_size and not _searches_levels(request) else limits


def search_models(request: Request, n_people: int) -> tuple[Model, ...]:
    """The models as algorithms see them: a limit on the risk of a class is the k that it needs."""
    kept = kept_by_k(request, n_people)
    if not kept and not any(isinstance(model, RiskLimit) for model in request.table_models):
        return request.table_models
    others = (m for m in request.table_models if m not in kept and not isinstance(m, (KAnonymity, RiskLimit)))
    return (KAnonymity(request.k), *others)


def _searches_levels(request: Request) -> bool:
    """Whether an algorithm is named that meets promises about a whole table by itself."""
    named = request.algorithm_name
    return named != "auto" and named in ALGORITHMS and ALGORITHMS[named].meets(TableModel)
