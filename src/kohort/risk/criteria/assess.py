"""The three criteria as facts, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from kohort.algorithms import Progress, Run
from kohort.data.column import Column
from kohort.parameters import Seed, Within, check_option
from kohort.pipeline.before_after import BeforeAfter
from kohort.risk.criteria.inference import Fitting, infer
from kohort.risk.criteria.linkability import link, linkability_sentence
from kohort.risk.criteria.lookups import Lookups, of_original, of_release
from kohort.risk.criteria.seen_columns import (
    as_it_was,
    drawn_targets,
    other_columns,
    quasi_identifiers,
    unchanged,
)
from kohort.risk.criteria.singling_out import single_out, singling_out_sentence

if TYPE_CHECKING:
    from kohort.release.release import Release


def three_criteria(
    release: Release, *, targets: int = 500, seed: int = 0, progress: Progress | None = None
) -> dict[str, Any] | None:
    """Singling out, linkability and inference, carried out on a release and on its original.

    Each attack has a control group that could not have learnt anything from the record in question, and
    rates have 95 % intervals. `targets` people, or predicates, are tried, drawn at random; the tables in
    which they are looked up are whole. None without quasi-identifiers, or where records are linked.
    """
    check_option("targets", targets, Annotated[int, Within(1)])
    check_option("seed", seed, Seed)
    sides, run = release.sides, Run(progress=progress)
    if not sides.attributes or sides.histories is not None:
        return None
    people = drawn_targets(sides, targets, np.random.default_rng(seed))
    run.report("singling out", 0.0)
    singled = _singling_out(release, sides, targets, seed)
    run.report("linking", 0.3)
    before, after = of_original(sides), of_release(sides)
    linked = _linkability(before, after, people, seed)
    run.report("inferring", 0.6)
    columns = [column for column in sides.sensitive if len(column.texts) > 1]
    shown = [sides.rows[records] for records in after.records_that_fit(people)] if columns else []
    fitting = Fitting(before.records_that_fit(people) if columns else [], shown)
    guessed = [infer(fitting, before.known, column, people, seed, sides.persons) for column in columns]
    return {
        "targets": len(people),
        "of": len(sides.rows) - int(sides.withheld.sum()),
        "seed": seed,
        "singling_out": singled,
        "linkability": linked,
        "inference": guessed,
    }


def _singling_out(release: Release, sides: BeforeAfter, attempts: int, seed: int) -> list[dict[str, Any]]:
    """The attack by quasi-identifiers and, where others are published as they are, by all columns."""
    quasi, others = [attribute.column for attribute in sides.attributes], other_columns(release)
    shown = quasi_identifiers(sides)
    ways: list[tuple[str, Sequence[Column]]] = [("the quasi-identifiers", [])]
    ways += [("all published columns", others)] if others else []
    found = []
    for by, more in ways:
        of = {
            "before": as_it_was([*quasi, *more]),
            "after": [*shown, *(unchanged(column, sides.rows) for column in more)],
        }
        facts = {
            side: single_out(columns, attempts, np.random.default_rng(seed), sides.persons)
            for side, columns in of.items()
        }
        found.append({"by": by, **facts, "sentence": singling_out_sentence(**facts, by=by)})
    return found


def _linkability(before: Lookups, after: Lookups, people: np.ndarray, seed: int) -> dict[str, Any] | None:
    facts = {
        side: link(table, people, np.random.default_rng(seed))
        for side, table in (("before", before), ("after", after))
    }
    if facts["before"] is None or facts["after"] is None:
        return None
    return facts | {"sentence": linkability_sentence(facts["before"], facts["after"])}
