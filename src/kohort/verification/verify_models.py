"""Measure the privacy models on the equivalence classes of a published table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.counting import count_codes
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, counted
from kohort.problem.attribute import Attribute
from kohort.tables.table import Table
from kohort.verification.classes import PublishedClasses
from kohort.verification.parts import PartDemands, PartFound, unite_parts
from kohort.verification.people import RECORDS, CountedPeople, Units
from kohort.verification.promises import OF_TABLES, Counts, Judged, Promise, Stated, Values, stated
from kohort.verification.unprotected import certain_classes, certainty_of
from kohort.verification.verdict import Check, ClassRisk, ModelVerdict, PeopleFound, Verdict

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def published_classes(
    published: Table,
    quasi_identifiers: Sequence[str],
    models: Sequence[Stated | Promise],
    *,
    hierarchies: Mapping[str, Hierarchy] = _NOTHING,
    orders: Mapping[str, Sequence[str]] = _NOTHING,
    units: Units = RECORDS,
    population: Sequence[Attribute] = (),
    overall: Mapping[str, np.ndarray] = _NOTHING,
) -> PublishedClasses:
    """The classes of a published table and the sensitive columns that the models look at.

    units       whose the records are, where that is known
    population  the quasi-identifiers of everybody whom promises compare the table with
    overall     of a part of a table: per sensitive column the people of the whole table by value
    """
    if not quasi_identifiers:
        raise InputError("There is no quasi-identifier: name at least one column that others may know.")
    published.require(list(quasi_identifiers))
    sensitive, values = {}, {}
    for name in sorted({p.attribute for p in stated(models) if p.attribute is not None}):
        column = published.sensitive_column(name)
        if name in orders:
            column = column.in_order(orders[name])
        sensitive[name] = column
        whole = overall[name] if name in overall else _overall(column, units)
        values[name] = Values(column.texts, whole, column.ordered, hierarchies.get(name))
    columns = [published.column(name) for name in quasi_identifiers]
    return PublishedClasses(columns, sensitive, values, units, population)


def _overall(column: Column, units: Units) -> np.ndarray:
    """How often each value occurs in the whole table, every person spread evenly over their records."""
    if not units.are_spread:
        return column.counts
    n_values = len(column.texts)
    everybody = np.zeros(len(column), dtype=np.int64)
    counts = CountedPeople(everybody, units.persons, 1).spread(column.codes, n_values)
    overall = np.zeros(n_values, dtype=counts.count.dtype)
    overall[counts.value_of] = counts.count
    return overall


def verify_models(
    classes: PublishedClasses,
    models: Sequence[Stated | Promise],
    *,
    suppression: float = 0.0,
    dropped: int = 0,
    checks: Sequence[Check] = (),
    sensitive: Sequence[Column] = (),
    counterfeits: int = 0,
) -> Verdict:
    """The verdict on classes alone: every model, and what no model protects in the `sensitive` columns.

    suppression   the share of records that may be withheld; it is not about `counterfeits`
    counterfeits  how many of the records are nobody's
    """
    originals = len(classes.columns[0]) - counterfeits + dropped
    demands = PartDemands(
        (),
        models,
        {column.name: column for column in sensitive},
        allowed=int(Fraction(str(suppression)) * originals),
        dropped=dropped,
    )
    found = judge(classes, demands, sensitive, checks=checks, counterfeits=counterfeits)
    return unite_parts([found], demands).verdict


_UNNAMED = np.empty(0)


def judge(
    classes: PublishedClasses,
    demands: PartDemands,
    sensitive: Sequence[Column],
    *,
    checks: Sequence[Check] = (),
    counterfeits: int = 0,
    persons: np.ndarray = _UNNAMED,
) -> PartFound:
    """Measure every model on the classes of a part, and how certain its sensitive values are.

    Records that are `*` everywhere count as withheld as long as they and the dropped ones are no more than
    allowed. Either way they must satisfy the models together, as a class does: anybody who fits no class is
    known to be one of them. Takes about the time of one group-by per sensitive attribute.

    sensitive  the sensitive columns of the part
    persons    per record its person, as the original names them, where parts of people are united
    """
    promises = stated(demands.models)
    if sensitive and all(promise.attribute is None for promise in promises):
        classes.count_with(sensitive[0])
    counts = [classes.counts(promise) for promise in promises]
    found = [classes.judged(*each) for each in zip(promises, counts)]
    holds = np.array([judged.holds for judged in found])
    withheld = _withheld_classes(classes, holds, demands.allowed - demands.dropped)
    kept = ~withheld
    n_withheld = int(classes.sizes[withheld].sum())
    members = classes.members[kept]
    models = [_model_verdict(classes, *each, kept) for each in zip(promises, found)]
    verdict = Verdict(
        records=len(classes.columns[0]),
        withheld=n_withheld,
        classes=int(kept.sum()),
        smallest_class=int(classes.sizes[kept].min()) if kept.any() else None,
        people=_people_in(classes, members),
        risk=ClassRisk(1 / int(members.min()), len(members) / int(members.sum())) if len(members) else None,
        counterfeits=counterfeits,
        models=tuple(models),
        checks=(
            *_starred_checks(promises, holds, withheld, n_withheld),
            *classes.own_checks(promises),
            *checks,
        ),
        violations=_violations(classes, promises, holds),
    )
    spelled = [c for c in sensitive if c.is_part or (c.kind == "string" and c.name in classes.sensitive)]
    of_values = {column.name: count_codes(column, len(column.texts)) for column in spelled}
    certainty, known = {}, {}
    for column in sensitive if holds.all() else ():
        having = np.flatnonzero(classes.having(column.name))
        in_classes = _counts_of(classes, column, promises, counts)

        def how_many(chosen: np.ndarray, having: np.ndarray = having) -> int:
            among = np.zeros(len(classes.sizes), dtype=bool)
            among[having] = chosen
            return classes.how_many(among)

        certainty[column.name] = certainty_of(in_classes, kept[having], how_many)
        if len(persons):
            certain = certain_classes(in_classes, kept)[classes.class_of_record]
            known[column.name] = np.unique(persons[certain])
    return PartFound(verdict, certainty, of_values, known=known)


def _counts_of(
    classes: PublishedClasses, column: Column, promises: Sequence[Promise], counts: Sequence[Counts]
) -> Counts:
    """How often the values of a column occur in each class: as a promise was judged by them, if one was."""
    of_promise = [of for promise, of in zip(promises, counts) if promise.attribute == column.name]
    return of_promise[0] if of_promise and not classes.units.are_people else classes.counts_of(column)


def _people_in(classes: PublishedClasses, members: np.ndarray) -> PeopleFound | None:
    """How many people there are, and in the smallest class; None where records are counted."""
    if not classes.units.are_people:
        return None
    return PeopleFound(classes.counted_people.n_people, int(members.min()) if len(members) else None)


def _withheld_classes(classes: PublishedClasses, holds: np.ndarray, allowed: int) -> np.ndarray:
    """Per class whether it counts as withheld: all `*`, and within what is allowed or no valid class.

    holds  per model and class whether the class keeps the model
    """
    withheld = classes.all_star
    if len(holds) and int(classes.sizes[withheld].sum()) > allowed:
        withheld = withheld & ~holds.all(axis=0)
    return withheld


def _model_verdict(
    classes: PublishedClasses, promise: Promise, judged: Judged, kept: np.ndarray
) -> ModelVerdict:
    of_all = promise.name in OF_TABLES
    chosen = np.ones(len(kept), dtype=bool) if of_all else kept & classes.having(promise.attribute)
    return ModelVerdict(
        model=promise.name,
        attribute=promise.attribute,
        promise=promise.other_words if classes.units.are_people else promise.words,
        asked=judged.asked,
        measured=judged.measured(chosen),
        failing_classes=int((~judged.holds & kept).sum()),
        parameters=dict(promise.parameters),
    )


def _starred_checks(
    promises: Sequence[Promise], holds: np.ndarray, withheld: np.ndarray, n_withheld: int
) -> list[Check]:
    """Whether records that are withheld as `*` keep the promises together, if there are any."""
    if not n_withheld:
        return []
    broken = [promise.name for promise, ok in zip(promises, holds) if not ok[withheld].all()]
    records = counted(n_withheld, "record is", "records are")
    detail = (
        f"{records} withheld as `*`, and together they do not satisfy {', '.join(broken)}: anybody who "
        "fits no class is known to be one of them. Leave them out (suppressed: drop)."
        if broken
        else f"{records} withheld as `*`; together they keep every promise, as a class does."
    )
    return [Check("records withheld as *", not broken, detail)]


def _violations(classes: PublishedClasses, promises: Sequence[Promise], holds: np.ndarray) -> pa.Table:
    failing = np.flatnonzero(~holds.all(axis=0)) if len(promises) else np.zeros(0, dtype=np.int64)
    fails = ["; ".join(p.name for p, ok in zip(promises, holds[:, number]) if not ok) for number in failing]
    return classes.labelled(failing, {"fails": fails})
