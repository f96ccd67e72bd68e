"""The whole job: problem, solve, apply, verify. A release that fails its own verification is never made."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, get_type_hints

import numpy as np
import pyarrow as pa

from kohort.algorithms import (
    ALGORITHMS,
    Algorithm,
    Progress,
    Run,
    algorithm_named,
    is_for_items,
    parameters_of,
)
from kohort.algorithms.auto import Auto
from kohort.algorithms.local.diversify import diversify
from kohort.algorithms.single_dimensional import for_scheme
from kohort.data.dataset import Dataset
from kohort.engines import engine_named
from kohort.errors import InputError, InternalError, UnsupportedError, counted
from kohort.kernels.compile_time import compile_clock
from kohort.pipeline.baskets import make_basket_release
from kohort.pipeline.bound import bound_in_time
from kohort.pipeline.clock import Clock, cut_notes
from kohort.pipeline.figures import checked_figures, publishes_what_is_searched, without_proof
from kohort.pipeline.items import ItemsPart, read_baskets
from kohort.pipeline.notes import extreme_cautions, formula_notes
from kohort.pipeline.order import attack_on_release, settle_order
from kohort.pipeline.prepare import build_problem, settled_roles
from kohort.pipeline.publish import as_arrow, replaced_columns
from kohort.pipeline.release import Release
from kohort.pipeline.request import Request
from kohort.pipeline.settle import settled
from kohort.pipeline.trade import solve_with_items
from kohort.pipeline.withheld import records_to_publish, refuse_dropping, withheld_notes
from kohort.problem.models import AlphaDeassociation
from kohort.problem.problem import Problem
from kohort.problem.roles import Roles
from kohort.recoding.groups import Groups
from kohort.recoding.partitions import Partitions
from kohort.recoding.recoding import GlobalRecoding, Recoding
from kohort.verification import (
    Verdict,
    check_columns,
    check_conserved,
    check_coverage,
    cover_items,
    measure_costs,
    published_classes,
    published_table,
    verify_models,
    with_items,
)
from kohort.verification.classes import PublishedClasses

__all__ = ["make_release"]

Columns = dict[str, pa.Array | None]


def make_release(
    dataset: Dataset,
    request: Request,
    *,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
) -> Release:
    """Anonymize a table and prove the result, or raise. `seconds` may hold the time of earlier phases."""
    clock = Clock({} if seconds is None else seconds)
    with clock("code"):
        roles = settled_roles(dataset, request)
    if request.items is not None and not roles.having("quasi-identifier"):
        return make_basket_release(dataset, request, roles, clock, progress)
    with clock("code"):
        problem = build_problem(dataset, request, roles)
        chosen, why = _choose(request, problem)
        unmet = _unmet_models(chosen, problem)
        chosen.refuse(problem)
    with clock("solve"), compile_clock() as compiling:
        run = Run(time_limit=request.time_limit, progress=progress, besides=lambda: compiling.seconds)

        def solve(posed: Problem) -> Recoding:
            found = engine_named(request.engine).solve(posed, chosen, run)
            return (
                _diversified(posed, chosen, found, run, unmet, request.diversify_weight) if unmet else found
            )

        traded = None
        if request.items is not None:
            traded = solve_with_items(dataset, request, roles, problem, solve, run)
        recoding = solve(problem) if traded is None else traded.recoding
        if request.suppressed == "star":
            recoding = settled(
                problem, recoding, run, solve, null_is_star=request.nulls == "star", can_be_left_out=True
            )
    clock.set_apart("compile", compiling.seconds, of="solve")
    with clock("bound"), compile_clock() as compiling_bound:
        larger = (
            traded is not None and traded.items.class_size != problem.k
        )  # its bound is for larger classes
        outside = isinstance(recoding, Partitions) and not recoding.in_domain  # no bound knows sets of nodes
        own_bound = None if larger else recoding.bound
        bound, bound_notes = own_bound, tuple[str, ...]()
        if own_bound is None and not outside:
            bound, bound_notes = bound_in_time(
                problem,
                clock.seconds["solve"],
                lambda: compiling_bound.seconds,
                time_limit=request.time_limit,
                progress=progress,
            )
    clock.set_apart("compile", compiling_bound.seconds, of="bound")
    with clock("apply"):
        if traded is None:
            columns = replaced_columns(dataset, request, roles, problem, recoding)
        else:
            columns = traded.columns
        kept, why_dropped = records_to_publish(request, problem, columns, recoding.withheld)
    with clock("verify"):
        items = None if traded is None else traded.items
        verdict, loss = _verified(dataset, request, roles, problem, columns, kept, items, why_dropped)
        guaranteed = traded is None and publishes_what_is_searched(problem, request.nulls == "star")
        figures = checked_figures(problem, recoding, loss, bound, own_bound, guaranteed=guaranteed)
        recoding = without_proof(recoding)
    with clock("order"):
        baskets = None if items is None else items.problem.baskets
        attack = partial(attack_on_release, dataset, roles, columns, problem)
        order = settle_order(request, dataset, roles, columns, kept=kept, baskets=baskets, attack=attack)
    return Release(
        dataset=dataset,
        request=request,
        roles=roles,
        problem=problem,
        columns=columns,
        rows=order.rows,
        verdict=verdict.cautioned(*order.cautions),
        loss=figures.loss,
        algorithm=chosen.name,
        parameters=parameters_of(chosen) | ({"diversify": {"w": request.diversify_weight}} if unmet else {}),
        guarantee=figures.guarantee,
        bound=figures.bound,
        notes=(
            *why,
            *_notes(problem, verdict.withheld),
            *withheld_notes(verdict.withheld, _n_left_out(dataset, kept), why_dropped),
            *order.notes,
            *recoding.notes,
            *(() if items is None else items.recoding.notes),
            *formula_notes(dataset, request, columns, kept),
            *bound_notes,
            *cut_notes(run, request.time_limit),
        ),
        seconds=clock.seconds,
        items=items,
        scheme=dict(recoding.search) or None if isinstance(recoding, GlobalRecoding) else None,
        recoding=recoding,
        cut_by_time=run.was_cut,
        order=order,
    )


def _n_left_out(dataset: Dataset, kept: np.ndarray | None) -> int:
    return 0 if kept is None else dataset.n_records - len(kept)


def _choose(request: Request, problem: Problem) -> tuple[Algorithm, list[str]]:
    asked = request.algorithm
    if is_for_items(asked):
        if request.items is None:
            raise UnsupportedError(f"{request.algorithm_name} is for a column of items, and there is none.")
        asked = "auto"  # it is for the items; the quasi-identifiers have no algorithm of their own
    algorithm: Any = algorithm_named(asked) if isinstance(asked, str) else asked
    if request.scheme is not None or request.schemes:
        algorithm = for_scheme(algorithm, request.scheme, request.schemes)
    if request.suppression == 1 and not hasattr(algorithm, "scheme"):
        raise InputError(
            f"'suppression' must be below 1: {algorithm.name} might withhold every record. Searches for a "
            "scheme take 1, which lets them withhold whatever is in small classes."
        )
    if isinstance(algorithm, Auto):
        algorithm, reason = algorithm.choose(
            problem, time_limit=request.time_limit, items=request.items is not None
        )
        return algorithm, [reason]
    return algorithm, []


def _unmet_models(algorithm: Algorithm, problem: Problem) -> list[str]:
    """Names of models that the algorithm does not declare: they will be met by uniting its groups.

    Refused where that cannot be: some model does not survive unions, or there are no groups.
    """
    asked = {model.name for model in problem.models}
    unmet = sorted(asked - set(algorithm.models))
    if unmet and not (all(model.survives_unions for model in problem.models) and _makes_groups(algorithm)):
        able = [name for name, other in ALGORITHMS.items() if asked <= set(other.models)]
        raise UnsupportedError(
            f"{algorithm.name} does not meet {', '.join(unmet)}. "
            f"Choose an algorithm that does: {', '.join(able)}."
        )
    return unmet


def _makes_groups(algorithm: Algorithm) -> bool:
    """Whether it returns groups that can be united, as far as its signature tells."""
    made = get_type_hints(type(algorithm).solve).get("return", Groups)
    return made is Recoding or (isinstance(made, type) and issubclass(made, Groups))


def _diversified(
    problem: Problem, algorithm: Algorithm, recoding: Recoding, run: Run, unmet: list[str], weight: float
) -> Groups:
    """The groups of an algorithm, united until the models that it does not meet hold as well."""
    if not isinstance(recoding, Groups):
        raise UnsupportedError(
            f"{algorithm.name} does not meet {', '.join(unmet)}, and makes no groups to be united."
        )
    united = diversify(problem, recoding, run, w=weight)
    if united is recoding:
        return recoding
    note = (
        f"{counted(recoding.n_groups, 'group')} were united into {united.n_groups:,}, "
        f"until {' and '.join(unmet)} held (diversify)."
    )
    return replace(united, notes=(*united.notes, note))


def _verified(
    dataset: Dataset,
    request: Request,
    roles: Roles,
    problem: Problem,
    columns: Columns,
    kept: np.ndarray | None,
    items: ItemsPart | None,
    why_dropped: str | None,
) -> tuple[Verdict, dict[str, float]]:
    """The verdict on the published table and its costs; a verdict that does not hold is our bug."""
    rows = np.arange(problem.n_records) if kept is None else kept
    names = [name for name in dataset.names if columns.get(name, ...) is not None]
    if not len(rows):
        refuse_dropping(why_dropped)
        raise InternalError("Every record would be withheld. Nothing was written.")
    published = Dataset(as_arrow(dataset, columns, names, kept))
    untouched = [*roles.having("sensitive"), *roles.having("insensitive")]
    hidden = [name for name, column in columns.items() if column is None]
    replaced = [name for name, column in columns.items() if column is not None]
    classes = published_classes(
        published,
        [attribute.name for attribute in problem.attributes],
        problem.models,
        hierarchies={n: s.hierarchy for n, s in problem.sensitive.items() if s.hierarchy is not None},
        orders={n: s.column.listed for n, s in problem.sensitive.items() if s.column.listed},
    )
    verdict = verify_models(
        classes,
        problem.models,
        suppression=request.suppression,
        dropped=problem.n_records - len(rows),
        checks=[
            check_columns(published, untouched, hidden, replaced),
            *check_coverage(published, problem.attributes, rows),
            *check_conserved(published, dataset, untouched, rows),
        ],
        sensitive=[published.sensitive_column(name) for name in roles.having("sensitive")],
    )
    loss = {}
    if items is not None:
        assert request.items is not None and request.km is not None
        shown = read_baskets(published, request.items.column, separator=request.items.separator)
        covered = cover_items(shown, items.problem.baskets, items.problem.hierarchy, rows)
        verdict = with_items(verdict, classes, shown, request.km, [covered.check])
        loss = {"items-ncp": covered.ncp}
    if not verdict.holds:
        refuse_dropping(why_dropped, verdict)
        raise InternalError(
            "The release failed its own verification and was not made. Please report this.\n"
            + "\n".join(verdict.reasons())
        )
    verdict = verdict.cautioned(*extreme_cautions(problem, columns))
    return verdict, _costs(problem, classes, rows, verdict) | loss


def _costs(
    problem: Problem, classes: PublishedClasses, rows: np.ndarray, verdict: Verdict
) -> dict[str, float]:
    withheld = np.ones(problem.n_records, dtype=bool)
    starred = classes.all_star_records if verdict.withheld > problem.n_records - len(rows) else False
    withheld[rows] = starred
    sizes = classes.sizes[~classes.all_star] if np.any(starred) else classes.sizes
    return measure_costs(published_table(classes.columns, problem.attributes, rows, withheld, sizes))


def _notes(problem: Problem, n_withheld: int) -> list[str]:
    notes = []
    if problem.max_withheld and not n_withheld:
        notes.append(f"Up to {problem.max_withheld:,} records may be withheld; none was.")
    for model in problem.models:
        if isinstance(model, AlphaDeassociation) and model.attribute is not None:
            unknown = model.unknown_values(problem.sensitive[model.attribute].context)
            if unknown:
                notes.append(
                    f"{counted(len(unknown), 'value', 'values')} that alpha protects in {model.attribute!r} "
                    f"{'does' if len(unknown) == 1 else 'do'} not occur in the table."
                )
    return notes
