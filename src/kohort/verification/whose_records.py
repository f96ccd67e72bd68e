"""Whose records the published ones are, as far as that can be known, and what can be checked without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kohort.problem.roles import Roles
from kohort.verification.alignment import Alignment
from kohort.verification.demands import Original
from kohort.verification.people import persons_in_release
from kohort.verification.promises import Promise
from kohort.verification.verdict import Check


@dataclass(frozen=True, eq=False)
class Whose:
    """What is known of the people behind the published records.

    persons  per published record a number for whose it is; None: records are counted
    models   the models that can be checked so
    checks   what was counted, in words
    """

    persons: np.ndarray | None
    models: Sequence[Promise]
    checks: tuple[Check, ...] = ()


def whose_records(
    models: Sequence[Promise], roles: Roles, original: Original | None, found: Alignment, *, linked: bool
) -> Whose:
    """Find whose records are published; without a column of persons, every record is another person's.

    Linked records say themselves whose they are.

    Where the originals of the records are not known for certain, people cannot be counted. Then only models
    are checked that are necessary for people, too: k people have k records, and different values are the same
    ones. Of shares, records say nothing about people.
    """
    name = roles.only("person")
    if name is None or linked:
        return Whose(None, models)
    if original is not None and found.rows is not None and found.sure:
        detail = f"People were counted, by {name!r} of the original."
        return Whose(persons_in_release(original.dataset, name, found.rows), models, (_check(True, detail),))
    checked = [model for model in models if model.is_necessary_for_people]
    left_out = sorted({model.name for model in models if model not in checked})
    needed = "the original" if original is None else "an order file"
    detail = f"Records were counted; people cannot be counted without {needed}, and may be fewer."
    if left_out:
        detail += f" Not checked, as it is about people: {', '.join(left_out)}."
    return Whose(None, checked, (_check(None, detail),))


def _check(holds: bool | None, detail: str) -> Check:
    return Check("people", holds, detail)
