"""Counterfeits: published records that have no original, as many as were announced and no more.

They look like the others: each has the labels of a class of at least k people. What is measured of people,
and every cost, is measured without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kohort.data.counting import distinct_rows
from kohort.errors import counted
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.verification.against_original import Original
from kohort.verification.promises import Stated, stated
from kohort.verification.verdict import Check, Verdict

if TYPE_CHECKING:
    from kohort.statement import Statement


@dataclass(frozen=True, eq=False)
class SetApart:
    """The published records without the counterfeits, and the original beside them.

    genuine  per published record whether it is somebody's; empty where nobody says which are not
    """

    published: Table
    original: Original | None
    genuine: np.ndarray = field(default_factory=lambda: np.ones(0, dtype=bool))
    checks: tuple[Check, ...] = ()

    @property
    def number(self) -> int:
        """How many records were set apart."""
        return int((~self.genuine).sum())


def set_apart(published: Table, demands: Statement, original: Original | None) -> SetApart:
    """Set the records apart that, by the publisher or the order file, have no original (number -1)."""
    given = None if original is None else original.rows if original.rows is not None else original.order
    if original is None or not isinstance(given, np.ndarray) or given.min(initial=0) != -1:
        return SetApart(published, original)
    if len(given) != published.n_records:  # of another release, which the comparison refuses
        return SetApart(published, original)
    genuine = given != -1
    assert not isinstance(original.rows, slice)
    rows, order = (None if part is None else part[genuine] for part in (original.rows, original.order))
    names = [attribute.name for attribute in original.attributes]
    somebodys = np.flatnonzero(genuine)
    return SetApart(
        MemoryTable(pa.table(published.taken_columns(published.names, somebodys))),
        replace(original, rows=rows, order=order),
        genuine,
        (
            check_number(int((~genuine).sum()), demands, original),
            _check_classes(published, names, genuine, demands.table_models),
        ),
    )


def check_number(number: int, demands: Statement, original: Original, *, least: bool = False) -> Check:
    """Whether no more records without an original are published than announced, or else than allowed.

    least  whether so many have none at least, as nobody says which
    """
    have = "has no original" if number == 1 else "have no original"
    what = f"{'At least ' if least else ''}{counted(number, 'published record')} {have}"
    announced = original.counterfeits
    if announced is not None:
        same = number <= announced if least else number == announced
        fits = f"{announced:,} counterfeits were announced"
        return Check("counterfeits", same and announced <= demands.counterfeits, f"{what}; {fits}.")
    fits = f"the spec allows {counted(demands.counterfeits, 'counterfeit')}"
    return Check("counterfeits", number <= demands.counterfeits, f"{what}; {fits}.")


def _check_classes(
    published: Table, names: Sequence[str], genuine: np.ndarray, models: Sequence[Stated]
) -> Check:
    """Whether every counterfeit looks like at least k people."""
    k = max((int(p.number("k")) for p in stated(models) if p.name == "k-anonymity"), default=1)
    class_of = distinct_rows(np.column_stack([published.column(name).codes for name in names]))[2]
    people = np.bincount(class_of, weights=genuine)
    few = int((people[class_of[~genuine]] < k).sum())
    detail = (
        f"Every counterfeit has the labels of at least {k:,} people."
        if not few
        else f"{counted(few, 'counterfeit has', 'counterfeits have')} the labels of fewer than {k:,} people."
    )
    return Check("classes of counterfeits", not few, detail)


def counting_people(verdict: Verdict, alone: Verdict) -> Verdict:
    """A verdict with what is about numbers of people taken from one on the records of people alone.

    alone  by the models that are not about values: these are judged with counterfeits
    """
    own = iter(alone.models)
    models = tuple(next(own) if model.attribute is None else model for model in verdict.models)
    return replace(verdict, models=models, people=alone.people, risk=alone.risk)
