"""Measure the privacy models on the equivalence classes of a published table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, counted
from kohort.problem.attribute import Attribute
from kohort.problem.roles import Roles
from kohort.tables.table import Table
from kohort.verification.as_written import cautions_of_spelling
from kohort.verification.classes import PublishedClasses
from kohort.verification.demands import Demands
from kohort.verification.histories import PublishedHistories
from kohort.verification.people import CountedPeople
from kohort.verification.promises import OF_TABLES, Counts, Judged, Promise, Stated, Values, stated
from kohort.verification.two_files import Eventless
from kohort.verification.unprotected import caution_about, certainty_of, no_promise_at_all
from kohort.verification.verdict import Caution, Check, ClassRisk, ModelVerdict, PeopleFound, Verdict


def published_classes(
    published: Table,
    quasi_identifiers: Sequence[str],
    models: Sequence[Stated | Promise],
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    persons: np.ndarray | None = None,
    linked_by: str | None = None,
    slot: str | None = None,
    eventless: Eventless | None = None,
    population: Sequence[Attribute] | None = None,
    overall: Mapping[str, np.ndarray] | None = None,
) -> PublishedClasses:
    """The classes of a published table and the sensitive columns that the models look at.

    persons    per published record a number for whose it is, where that is known and people are to be counted
    linked_by  the column that links the records of a person, if one does: then a class is a history, and
               people are counted by this column
    slot       of linked records: the column that says which one of a person's it is, if there is one
    eventless  of linked records that were joined from people and events: the people without any
    population  the quasi-identifiers of everybody whom promises compare the table with
    overall    of a part of a table: per sensitive column the people of the whole table by value
    """
    if not quasi_identifiers:
        raise InputError("There is no quasi-identifier: name at least one column that others may know.")
    published.require(list(quasi_identifiers))
    sensitive, values = {}, {}
    for name in sorted({p.attribute for p in stated(models) if p.attribute is not None}):
        column = published.sensitive_column(name)
        if orders and name in orders:
            column = column.in_order(orders[name])
        sensitive[name] = column
        tree, whole = (hierarchies or {}).get(name), (overall or {}).get(name)
        if whole is None:
            whole = column.counts if persons is None else _people_by_value(column, persons)
        values[name] = Values(column.texts, whole, column.ordered, tree)
    columns = [published.column(name) for name in quasi_identifiers]
    if linked_by is None:
        return PublishedClasses(columns, sensitive, values, persons, population)
    published.require([linked_by, *([] if slot is None else [slot])])
    slots = None if slot is None else published.column(slot)
    person = published.column(linked_by)
    return PublishedHistories(
        columns, sensitive, values, person.codes, person=person, slot=slots, eventless=eventless
    )


def _people_by_value(column: Column, persons: np.ndarray) -> np.ndarray:
    """How often each value occurs in the whole table, every person spread evenly over their records."""
    n_values = len(column.texts)
    counts = CountedPeople(np.zeros(len(persons), dtype=np.int64), persons, 1).spread(column.codes, n_values)
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
    allowed: int | None = None,
    counterfeits: int = 0,
) -> Verdict:
    """Measure every model on every class, and find what no model protects in the `sensitive` columns.

    Records that are `*` everywhere count as withheld as long as they and the `dropped` ones are no more than
    the share `suppression`, or than `allowed`, which is given for a part of a table. Either way they must
    satisfy the models together, as a class does: anybody who fits no class is known to be one of them. The
    share is not about `counterfeits`, which may be among the records. Takes about the time of one group-by
    per sensitive attribute.
    """
    promises = stated(models)
    if sensitive and all(promise.attribute is None for promise in promises):
        classes.count_with(sensitive[0])
    counts = [classes.counts(promise) for promise in promises]
    found = [classes.judged(*each) for each in zip(promises, counts)]
    holds = np.array([judged.holds for judged in found])
    records = len(classes.columns[0])
    originals = records - counterfeits + dropped
    if allowed is None:
        allowed = int(Fraction(str(suppression)) * originals)
    withheld = _withheld_classes(classes, holds, allowed - dropped)
    kept = ~withheld
    n_withheld = int(classes.sizes[withheld].sum())
    return Verdict(
        records=records,
        withheld=n_withheld + dropped,
        classes=int(kept.sum()),
        smallest_class=int(classes.sizes[kept].min()) if kept.any() else None,
        people=_people_in(classes, kept),
        risk=_risk(classes, kept),
        counterfeits=counterfeits,
        models=tuple(
            _model_verdict(classes, promise, judged, kept) for promise, judged in zip(promises, found)
        ),
        checks=(
            _withheld_check(n_withheld + dropped, originals, allowed),
            *_starred_checks(promises, holds, withheld, n_withheld),
            *classes.own_checks(promises),
            *checks,
        ),
        violations=_violations(classes, promises, holds),
        cautions=() if (~holds).any() else _cautions(classes, promises, counts, kept, sensitive),
    )


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges records of a release by the models.

    dropped  how many records were left out
    checks   what else was checked
    context  what the classes are read with
    """

    demands: Demands
    roles: Roles
    models: Sequence[Promise]
    dropped: int
    checks: Sequence[Check]
    context: Mapping[str, Any]

    def of_numbers(self) -> Judge:
        """The same for the models that are about numbers of people alone, not about values."""
        return replace(self, models=[model for model in self.models if model.attribute is None])

    def judged(
        self, table: Table, persons: np.ndarray | None, counterfeits: int = 0
    ) -> tuple[PublishedClasses, Verdict]:
        """The classes of the records, and the verdict on them; `counterfeits` of them are nobody's."""
        classes = published_classes(
            table,
            self.roles.having("quasi-identifier"),
            self.models,
            orders=self.demands.orders,
            linked_by=self.demands.linked_by,
            slot=self.demands.slot,
            persons=persons,
            **self.context,
        )
        sensitive = [n for n in self.roles.having("sensitive") if n in table.names]
        verdict = verify_models(
            classes,
            self.models,
            suppression=self.demands.suppression,
            dropped=self.dropped,
            checks=self.checks,
            sensitive=[table.sensitive_column(name) for name in sensitive],
            counterfeits=counterfeits,
        )
        return classes, verdict


def _people_in(classes: PublishedClasses, kept: np.ndarray) -> PeopleFound | None:
    """How many people there are, and in the smallest class; None where they are not known."""
    if classes.counted_people is None or classes.people is None:
        return None
    smallest = int(classes.people[kept].min()) if kept.any() else None
    return PeopleFound(classes.counted_people.n_people, smallest)


def _risk(classes: PublishedClasses, kept: np.ndarray) -> ClassRisk | None:
    """One over the size of each class, highest and on average over its records or people."""
    sizes = (classes.sizes if classes.people is None else classes.people)[kept]
    if not len(sizes):
        return None
    return ClassRisk(1 / int(sizes.min()), len(sizes) / int(sizes.sum()))


def _withheld_classes(classes: PublishedClasses, holds: np.ndarray, allowed: int) -> np.ndarray:
    """Per class whether it counts as withheld: all `*`, and within what is allowed or no valid class.

    holds  per model and class whether the class keeps the model
    """
    withheld = classes.all_star
    if len(holds) and int(classes.sizes[withheld].sum()) > allowed:
        withheld = withheld & ~holds.all(axis=0)
    return withheld


def _cautions(
    classes: PublishedClasses,
    promises: Sequence[Promise],
    counts: Sequence[Counts],
    kept: np.ndarray,
    sensitive: Sequence[Column],
) -> tuple[Caution, ...]:
    """Cautions about what no promise protects; `counts` are those that each promise was judged by."""
    cautions = no_promise_at_all(promises)
    for column in sensitive:
        counted = [of for promise, of in zip(promises, counts) if promise.attribute == column.name]
        known = bool(counted) and classes.people is None
        of_values = counted[0] if known else classes.counts_of(column)
        whom = "record" if classes.people is None else "person"
        having = np.flatnonzero(classes.having(column.name))

        def how_many(chosen: np.ndarray, having: np.ndarray = having) -> int:
            among = np.zeros(len(classes.sizes), dtype=bool)
            among[having] = chosen
            return classes.how_many(among)

        certainty = certainty_of(of_values, kept[having], how_many)
        found = caution_about(column.name, certainty, promised=bool(counted), whom=whom)
        cautions += [] if found is None else [found]
        if counted and column.kind == "string":
            cautions += cautions_of_spelling(column.name, column.texts, column.counts)
    return tuple(cautions)


def _model_verdict(
    classes: PublishedClasses, promise: Promise, judged: Judged, kept: np.ndarray
) -> ModelVerdict:
    of_all = promise.name in OF_TABLES
    chosen = np.ones(len(kept), dtype=bool) if of_all else kept & classes.having(promise.attribute)
    return ModelVerdict(
        model=promise.name,
        attribute=promise.attribute,
        promise=promise.words if classes.people is None else promise.other_words,
        asked=judged.asked,
        measured=judged.measured(chosen),
        failing_classes=int((~judged.holds & kept).sum()),
        parameters=dict(promise.parameters),
    )


def _withheld_check(withheld: int, records: int, allowed: int) -> Check:
    return Check(
        "withheld records",
        withheld <= allowed,
        f"Withheld: {withheld} of {counted(records, 'record')}; allowed: {allowed}.",
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
