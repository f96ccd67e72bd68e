"""The whole job: problem, solve, apply, verify. A release that fails its own verification is never made."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import get_type_hints

import numpy as np
import pyarrow as pa

from kohort.algorithms import ALGORITHMS, Algorithm, Progress, Run, algorithm_named, parameters_of
from kohort.algorithms.auto import Auto
from kohort.algorithms.local.diversify import diversify
from kohort.algorithms.local.graph import lower_bound
from kohort.data.dataset import Dataset
from kohort.engines import engine_named
from kohort.errors import InternalError, UnsupportedError, counted
from kohort.kernels.compile_time import compile_clock
from kohort.pipeline.prepare import build_problem, settled_roles
from kohort.pipeline.publish import as_arrow, replaced_columns
from kohort.pipeline.release import Release
from kohort.pipeline.request import Request
from kohort.problem.models import AlphaDeassociation, KAnonymity
from kohort.problem.problem import Problem
from kohort.problem.roles import Roles
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding
from kohort.verification import (
    Verdict,
    check_columns,
    check_conserved,
    check_coverage,
    measure_costs,
    published_classes,
    published_table,
    verify_models,
)
from kohort.verification.classes import PublishedClasses

__all__ = ["make_release"]

Columns = dict[str, pa.DictionaryArray | None]


def make_release(
    dataset: Dataset,
    request: Request,
    *,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
) -> Release:
    """Anonymize a table and prove the result, or raise. `seconds` may hold the time of earlier phases."""
    clock = _Clock({} if seconds is None else seconds)
    with clock("code"):
        roles = settled_roles(dataset, request)
        problem = build_problem(dataset, request, roles)
        chosen, why = _choose(request, problem)
        unmet = _unmet_models(chosen, problem)
        chosen.refuse(problem)
    with clock("solve"), compile_clock() as compiling:
        run = Run(time_limit=request.time_limit, progress=progress)
        recoding = engine_named(request.engine).solve(problem, chosen, run)
        if unmet:
            recoding = _diversified(problem, chosen, recoding, run, unmet, request.diversify_weight)
    clock.set_apart("compile", compiling.seconds, of="solve")
    with clock("bound"), compile_clock() as compiling:
        bound = lower_bound(problem, run) if recoding.bound is None else recoding.bound
    clock.set_apart("compile", compiling.seconds, of="bound")
    with clock("apply"):
        columns = replaced_columns(dataset, request, roles, problem, recoding)
        kept = np.flatnonzero(~recoding.withheld) if request.suppressed == "drop" else None
    with clock("verify"):
        verdict, loss = _verified(dataset, request, roles, problem, columns, kept)
    return Release(
        dataset=dataset,
        request=request,
        roles=roles,
        problem=problem,
        columns=columns,
        rows=_final_order(request, problem, kept),
        verdict=verdict,
        loss=loss,
        algorithm=chosen.name,
        parameters=parameters_of(chosen) | ({"diversify": {"w": request.diversify_weight}} if unmet else {}),
        guarantee=recoding.guarantee,
        bound=bound,
        notes=(*why, *_notes(problem, verdict.withheld), *recoding.notes),
        seconds=clock.seconds,
    )


class _Clock:
    """Seconds by phase."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start

    def set_apart(self, phase: str, seconds: float, *, of: str) -> None:
        """Count a part of one phase as a phase of its own."""
        self.seconds[of] -= seconds
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds


def _choose(request: Request, problem: Problem) -> tuple[Algorithm, list[str]]:
    asked = request.algorithm
    algorithm = algorithm_named(asked) if isinstance(asked, str) else asked
    if isinstance(algorithm, Auto):
        algorithm, reason = algorithm.choose(problem)
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
) -> tuple[Verdict, dict[str, float]]:
    """The verdict on the published table and its costs; a verdict that does not hold is our bug."""
    rows = np.arange(problem.n_records) if kept is None else kept
    names = [name for name in dataset.names if columns.get(name, ...) is not None]
    if not len(rows):
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
    )
    if not verdict.holds:
        raise InternalError(
            "The release failed its own verification and was not made. Please report this.\n"
            + "\n".join(verdict.reasons())
        )
    return verdict, _costs(problem, classes, rows, verdict)


def _costs(
    problem: Problem, classes: PublishedClasses, rows: np.ndarray, verdict: Verdict
) -> dict[str, float]:
    withheld = np.ones(problem.n_records, dtype=bool)
    starred = classes.all_star_records if verdict.withheld > problem.n_records - len(rows) else False
    withheld[rows] = starred
    sizes = classes.sizes[~classes.all_star] if np.any(starred) else classes.sizes
    return measure_costs(published_table(classes.columns, problem.attributes, rows, withheld, sizes))


def _final_order(request: Request, problem: Problem, kept: np.ndarray | None) -> np.ndarray | None:
    """Which records are published and in which order; None: all, as they came."""
    if not request.shuffle:
        return kept
    rows = np.arange(problem.n_records) if kept is None else kept
    return np.random.default_rng(_secret_seed(request, problem)).permutation(rows)


def _secret_seed(request: Request, problem: Problem) -> list[int]:
    """The seed together with a digest of the original values.

    The seed is in the certificate; with it alone anybody could undo the shuffle.
    """
    digest = hashlib.sha256()
    for attribute in problem.attributes:
        digest.update(attribute.column.codes.tobytes())
        digest.update("\n".join(text or "" for text in attribute.column.texts).encode())
    return [request.seed, *np.frombuffer(digest.digest(), dtype=np.uint32).tolist()]


def _notes(problem: Problem, n_withheld: int) -> list[str]:
    notes = []
    if all(isinstance(model, KAnonymity) and model.k == 1 for model in problem.models):
        notes.append("k = 1 protects nobody: every record may be published as it is.")
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
