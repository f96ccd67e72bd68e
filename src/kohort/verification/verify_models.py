"""Measure the privacy models on the equivalence classes of a published table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.dataset import Dataset
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, counted
from kohort.problem.attribute import Attribute
from kohort.problem.models import ClassCounts, Model
from kohort.problem.sensitive import SensitiveAttribute
from kohort.verification.caution import Caution
from kohort.verification.classes import PublishedClasses
from kohort.verification.histories import PublishedHistories
from kohort.verification.spelling import cautions_of_spelling
from kohort.verification.two_files import Eventless
from kohort.verification.unprotected import no_promise_at_all, sensitive_caution
from kohort.verification.verdict import Check, ClassRisk, ModelVerdict, PeopleFound, Verdict

__all__ = ["published_classes", "verify_models"]


def published_classes(
    published: Dataset,
    quasi_identifiers: Sequence[str],
    models: Sequence[Model],
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
    sensitive = {}
    for name in sorted({model.attribute for model in models if model.attribute is not None}):
        column = published.sensitive_column(name)
        if orders and name in orders:
            column = column.in_order(orders[name])
        whole = (overall or {}).get(name)
        sensitive[name] = SensitiveAttribute(column, (hierarchies or {}).get(name), overall=whole)
    columns = [published.column(name) for name in quasi_identifiers]
    if linked_by is None:
        return PublishedClasses(columns, sensitive, persons, population)
    published.require([linked_by, *([] if slot is None else [slot])])
    slots = None if slot is None else published.column(slot)
    person = published.column(linked_by)
    return PublishedHistories(
        columns, sensitive, person.codes, person=person, slot=slots, eventless=eventless
    )


def verify_models(
    classes: PublishedClasses,
    models: Sequence[Model],
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
    if sensitive and all(model.attribute is None for model in models):
        classes.count_with(sensitive[0])
    counts = {id(model): classes.counts(model) for model in models}
    holds = np.array([classes.holds(model, counts[id(model)]) for model in models])
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
            _model_verdict(classes, model, counts[id(model)], model_holds, kept)
            for model, model_holds in zip(models, holds)
        ),
        checks=(
            _withheld_check(n_withheld + dropped, originals, allowed),
            *_starred_checks(models, holds, withheld, n_withheld),
            *classes.own_checks(models),
            *checks,
        ),
        violations=_violations(classes, models, holds),
        cautions=() if (~holds).any() else _cautions(classes, models, counts, kept, sensitive),
    )


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
    models: Sequence[Model],
    counts: Mapping[int, ClassCounts],
    kept: np.ndarray,
    sensitive: Sequence[Column],
) -> tuple[Caution, ...]:
    """Cautions about what no model protects; `counts` are those of the models, by their id."""
    cautions = no_promise_at_all(models)
    for column in sensitive:
        counted = [counts[id(model)] for model in models if model.attribute == column.name]
        known = bool(counted) and classes.people is None
        of_values = counted[0] if known else classes.counts_of(column)
        whom = "record" if classes.people is None else "person"
        having = np.flatnonzero(classes.having(column.name))

        def how_many(chosen: np.ndarray, having: np.ndarray = having) -> int:
            among = np.zeros(len(classes.sizes), dtype=bool)
            among[having] = chosen
            return classes.how_many(among)

        found = sensitive_caution(
            column.name, of_values, kept[having], promised=bool(counted), how_many=how_many, whom=whom
        )
        cautions += [] if found is None else [found]
        if counted and column.kind == "string":
            cautions += cautions_of_spelling(column.name, column.texts, column.counts)
    return tuple(cautions)


def _model_verdict(
    classes: PublishedClasses, model: Model, counts: ClassCounts, holds: np.ndarray, kept: np.ndarray
) -> ModelVerdict:
    kept_counts = counts if kept.all() else _only(counts, kept[classes.having(model.attribute)])
    return ModelVerdict(
        model=model.name,
        attribute=model.attribute,
        promise=model.describe() if classes.people is None else model.describe_for_people(),
        asked=model.asked,
        measured=classes.measure(model, kept_counts),
        failing_classes=int((~holds & kept).sum()),
        parameters=model.to_dict(),
    )


def _only(counts: ClassCounts, kept: np.ndarray) -> ClassCounts:
    """The counts of the `kept` classes alone, renumbered."""
    number = np.cumsum(kept) - 1
    cells = kept[counts.class_of]
    return ClassCounts(
        counts.sizes[kept],
        number[counts.class_of[cells]],
        counts.value_of[cells],
        counts.count[cells],
        counts.n_values,
    )


def _withheld_check(withheld: int, records: int, allowed: int) -> Check:
    return Check(
        "withheld records",
        withheld <= allowed,
        f"Withheld: {withheld} of {counted(records, 'record')}; allowed: {allowed}.",
    )


def _starred_checks(
    models: Sequence[Model], holds: np.ndarray, withheld: np.ndarray, n_withheld: int
) -> list[Check]:
    """Whether records that are withheld as `*` keep the promises together, if there are any."""
    if not n_withheld:
        return []
    broken = [model.name for model, ok in zip(models, holds) if not ok[withheld].all()]
    records = counted(n_withheld, "record is", "records are")
    detail = (
        f"{records} withheld as `*`, and together they do not satisfy {', '.join(broken)}: anybody who "
        "fits no class is known to be one of them. Leave them out (suppressed: drop)."
        if broken
        else f"{records} withheld as `*`; together they keep every promise, as a class does."
    )
    return [Check("records withheld as *", not broken, detail)]


def _violations(classes: PublishedClasses, models: Sequence[Model], holds: np.ndarray) -> pa.Table:
    failing = np.flatnonzero(~holds.all(axis=0)) if len(models) else np.zeros(0, dtype=np.int64)
    fails = ["; ".join(m.name for m, ok in zip(models, holds[:, number]) if not ok) for number in failing]
    return classes.labelled(failing, {"fails": fails})
