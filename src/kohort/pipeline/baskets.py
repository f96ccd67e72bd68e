"""Baskets with nothing beside them that others may know: solve, apply, verify."""

from __future__ import annotations

import numpy as np

from kohort.algorithms import (
    ITEMS_ALGORITHMS,
    ItemsAlgorithm,
    Progress,
    Run,
    is_for_items,
    parameters_of,
)
from kohort.data.dataset import Dataset
from kohort.errors import InternalError, UnsupportedError, counted
from kohort.kernels.compile_time import compile_clock
from kohort.pipeline.clock import Clock, cut_notes
from kohort.pipeline.items import (
    ItemsPart,
    chosen_items_algorithm,
    items_problem,
    published_items,
    read_baskets,
    solve_items,
)
from kohort.pipeline.notes import formula_notes
from kohort.pipeline.order import settle_order
from kohort.pipeline.publish import as_arrow, replaced_identifiers
from kohort.pipeline.release import VerifiedRelease
from kohort.pipeline.request import Request
from kohort.problem.roles import Roles
from kohort.verification import (
    Verdict,
    check_columns,
    check_conserved,
    checked_bound,
    checked_loss,
    cover_baskets,
    verify_baskets,
)

__all__ = ["make_basket_release"]


def make_basket_release(
    dataset: Dataset, request: Request, roles: Roles, clock: Clock, progress: Progress | None
) -> VerifiedRelease:
    """Publish an items column k^m-anonymously, and prove it."""
    assert request.items is not None
    with clock("code"):
        _refuse(request, roles)
        problem, hierarchy = items_problem(dataset, request, request.items)
        algorithm = chosen_items_algorithm(request, request.items)
        _refuse_unmet(request, algorithm)
    with clock("solve"), compile_clock() as compiling:
        run = Run(time_limit=request.time_limit, progress=progress, besides=lambda: compiling.seconds)
        part = solve_items(problem, algorithm, hierarchy, run, None)
    clock.set_apart("compile", compiling.seconds, of="solve")
    with clock("apply"):
        columns = replaced_identifiers(dataset, request, roles)
        columns[request.items.column] = published_items(part, request.items.separator)
    with clock("verify"):
        verdict, ncp = _verified(dataset, request, roles, part, columns)
        bound = checked_bound(part.recoding.bound, checked_loss({"ncp": ncp})["ncp"])
    with clock("order"):
        order = settle_order(request, dataset, roles, columns, kept=None, baskets=problem.baskets)
    return VerifiedRelease(
        dataset=dataset,
        request=request,
        roles=roles,
        problem=None,
        columns=columns,
        rows=order.rows,
        verdict=verdict.cautioned(*order.cautions),
        loss={"ncp": ncp},
        algorithm=algorithm.name,
        parameters=parameters_of(algorithm),
        guarantee=1.0 if bound is not None and bound >= ncp - 1e-12 else None,
        bound=bound,
        notes=(
            *_notes(part),
            *order.notes,
            *part.recoding.notes,
            *formula_notes(dataset, request, columns, None),
            *cut_notes(run, request.time_limit),
        ),
        seconds=clock.seconds,
        items=part,
        cut_by_time=run.was_cut,
        order=order,
    )


def _refuse(request: Request, roles: Roles) -> None:
    if not is_for_items(request.algorithm) and request.algorithm_name != "auto":
        raise UnsupportedError(
            f"{request.algorithm_name} is for quasi-identifiers, and no column is one. Choose apriori-items, "
            "direct-items or optimal-items."
        )
    if request.cost not in ("loss", "ncp"):
        raise UnsupportedError(f"Items have one cost, ncp. Leave out the cost {request.cost!r}.")
    others = [model.name for model in request.models if model.name != "k-anonymity"]
    if others:
        raise UnsupportedError(
            f"{', '.join(others)} is about classes of quasi-identifiers, and no column is one. Leave it out."
        )


def _refuse_unmet(request: Request, algorithm: ItemsAlgorithm) -> None:
    if request.confidence is not None and request.confidence.name not in algorithm.models:
        able = [name for name, other in ITEMS_ALGORITHMS.items() if request.confidence.name in other.models]
        raise UnsupportedError(
            f"{algorithm.name} does not meet {request.confidence.name}. Choose {' or '.join(able)}."
        )


def _verified(
    dataset: Dataset, request: Request, roles: Roles, part: ItemsPart, columns: dict
) -> tuple[Verdict, float]:
    assert request.items is not None and request.km is not None
    names = [name for name in dataset.names if columns.get(name, ...) is not None]
    published = Dataset(as_arrow(dataset, columns, names, None))
    untouched = [*roles.having("sensitive"), *roles.having("insensitive")]
    hidden = [name for name, column in columns.items() if column is None]
    replaced = [name for name, column in columns.items() if column is not None]
    shown = read_baskets(published, request.items.column, separator=request.items.separator)
    everything = np.arange(dataset.n_records)
    covered = cover_baskets(shown, part.problem, everything)
    checks = [
        check_columns(published, untouched, hidden, replaced),
        *covered.checks,
        *check_conserved(published, dataset, untouched, everything),
    ]
    verdict = verify_baskets(
        shown, request.km, request.confidence, checks=checks, sensitive_columns=roles.having("sensitive")
    )
    if not verdict.holds:
        raise InternalError(
            "The release failed its own verification and was not made. Please report this.\n"
            + "\n".join(verdict.reasons())
        )
    return verdict, covered.ncp


def _notes(part: ItemsPart) -> list[str]:
    baskets, model = part.problem.baskets, part.problem.model
    notes = []
    if baskets.repeated:
        notes.append(
            f"Items that a basket names more than once count once ({baskets.repeated:,} of them); "
            "multiset: true tells them apart."
        )
    sensitive = 0 if part.problem.sensitive is None else part.problem.sensitive.sizes
    if (empty := int((baskets.sizes + sensitive == 0).sum())) > 0:
        are = counted(empty, "empty basket is", "empty baskets are")
        notes.append(f"{are} published as they are: there is nothing to be known by.")
    if part.problem.confidence is not None and part.problem.sensitive is not None:
        absent = len(part.problem.confidence.sensitive) - len(part.problem.sensitive.items.texts)
        if absent:
            notes.append(f"{counted(absent, 'sensitive item occurs', 'sensitive items occur')} in no basket.")
    if model.m > int(baskets.sizes.max(initial=0)):
        notes.append(f"m = {model.m} is more than any basket has: whole baskets may be known.")
    return notes
