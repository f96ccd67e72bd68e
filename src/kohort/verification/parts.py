"""Verification of a table in parts: each has whole classes, and is verified like a table of its own.

What is found in the parts is then united into one verdict. Costs and rules that compare with the whole table
are given what they need to know of it: see `PartColumn`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from math import fsum
from operator import add

import numpy as np
import pyarrow as pa

from kohort.data.compact_column import CountedColumn
from kohort.data.hierarchy import Hierarchy
from kohort.errors import counted
from kohort.problem.attribute import Attribute
from kohort.tables.table import Table
from kohort.verification.against_original import check_coverage, label_pairs
from kohort.verification.as_written import AsWritten, cautions_of_spelling, compare_codes
from kohort.verification.measure import COST_NAMES, PublishedTable, measure_costs
from kohort.verification.people import persons_in_release
from kohort.verification.promises import Promise, Stated, stated
from kohort.verification.reading import read_column
from kohort.verification.tree import compare_tree
from kohort.verification.unprotected import (
    Certainty,
    caution_about,
    certain_classes,
    certainty_of,
    no_promise_at_all,
)
from kohort.verification.verdict import Caution, Check, ModelVerdict, PeopleFound, Verdict
from kohort.verification.verify import Verification
from kohort.verification.verify_models import published_classes, verify_models

_ADD_UP = ("discernibility", "hierarchical-discernibility", "suppressions")  # sums over records


@dataclass(frozen=True, eq=False)
class PartDemands:
    """What is checked in every part of a table.

    attributes   the quasi-identifiers, of the whole table: what a label means, and how often values occur
    sensitive    all sensitive columns, of the whole table
    hierarchies  of sensitive columns, for models that compare values by them
    person       the column that says whose record it is; None: records are counted
    allowed      how many records may be withheld in the whole table
    overall      per sensitive column the people of the whole table by value, where people are counted and
                 classes compared with them; see `WholeFound.people`
    """

    attributes: tuple[Attribute, ...]
    models: tuple[Stated, ...]
    sensitive: Mapping[str, CountedColumn]
    hierarchies: Mapping[str, Hierarchy]
    orders: Mapping[str, Sequence[str]]
    person: str | None
    allowed: int
    overall: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class WholeFound:
    """What was found of a table as a whole.

    untouched  the columns that are published as they are
    unchanged  whether the records are those of the original in these columns, and in what was generalized
    columns    whether the right columns are published
    n_people   how many people the records are of, none of which is withheld; None where records are counted
    known      per sensitive column how many people are in classes that reveal it for certain; else nobody
    people     per sensitive column the share of all people that has each value, by its code, everybody spread
               evenly over their published records: with these, classes must have been compared
    """

    untouched: Sequence[str]
    unchanged: bool
    columns: Check
    n_people: int | None = None
    known: Mapping[str, int] = field(default_factory=dict)
    people: Mapping[str, Mapping[int, Fraction]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PartFound:
    """What was found in a part of a table.

    loss       every cost of the part by itself
    certainty  per sensitive column how certain its values are, in records or people
    counts     per sensitive column how often each value occurs
    known      where people are counted: per sensitive column those in classes that reveal it for certain, as
               the original names them. They may be in other parts as well, so their numbers do not add up
    """

    verdict: Verdict
    loss: dict[str, float]
    certainty: dict[str, Certainty]
    counts: dict[str, np.ndarray]
    known: dict[str, np.ndarray] = field(default_factory=dict)


def verify_part(published: Table, original: Table, demands: PartDemands) -> PartFound:
    """Measure every promise on a part of a published table that has whole classes, and compare the records.

    original  the same records as they were, in the same order
    """
    attributes = [_of_part(attribute, original) for attribute in demands.attributes]
    published = AsWritten(published, [attribute.name for attribute in attributes])
    readings = [read_column(published.column(a.name), a) for a in attributes]
    pairs = label_pairs(published, readings, slice(None))
    persons = None
    if demands.person is not None:
        persons = persons_in_release(original, demands.person, slice(None))
    classes = published_classes(
        published,
        [attribute.name for attribute in attributes],
        demands.models,
        hierarchies=demands.hierarchies,
        orders=demands.orders,
        persons=persons,
        overall=demands.overall,
    )
    verdict = verify_models(
        classes, demands.models, checks=check_coverage(readings, pairs), allowed=demands.allowed
    )
    starred = verdict.withheld > 0
    withheld = classes.all_star_records if starred else np.zeros(published.n_records, dtype=bool)
    sizes = classes.sizes[~classes.all_star] if starred else classes.sizes
    shown = None if starred else pairs
    table = PublishedTable.of(classes.columns, readings, slice(None), withheld, sizes, shown)
    kept = ~classes.all_star if starred else np.ones(len(classes.sizes), dtype=bool)
    columns = {name: published.sensitive_column(name) for name in demands.sensitive}
    certainty, known = {}, {}
    for name, column in columns.items():
        of_values = classes.counts_of(column)
        certainty[name] = certainty_of(of_values, kept, classes.how_many)
        if demands.person is not None:
            certain = certain_classes(of_values, kept)[classes.class_of_record]
            known[name] = np.unique(original.arrow(demands.person).to_numpy()[certain])
    counts = {name: np.bincount(c.codes, minlength=len(c.texts)) for name, c in columns.items()}
    return PartFound(verdict, measure_costs(table), certainty, counts, known)


def _of_part(attribute: Attribute, original: Table) -> Attribute:
    column = attribute.column
    assert isinstance(column, CountedColumn)
    values = original.arrow(attribute.name)
    part = column.part(values)
    compare_codes(part, values)
    return replace(attribute, column=part)


def unite_parts(parts: Sequence[PartFound], demands: PartDemands, whole: WholeFound) -> Verification:
    """The verdict on a table, and its costs, given what was found in its parts and of it as a whole."""
    for tree in (*(attribute.domain for attribute in demands.attributes), *demands.hierarchies.values()):
        if isinstance(tree, Hierarchy):
            compare_tree(tree)
    verdicts = [part.verdict for part in parts]
    records, withheld = (sum(getattr(v, name) for v in verdicts) for name in ("records", "withheld"))
    models = tuple(
        _united_model(promise, [v.models[number] for v in verdicts])
        for number, promise in enumerate(stated(demands.models))
    )
    smallest = min((v.smallest_class for v in verdicts if v.smallest_class is not None), default=None)
    detail = f"Withheld: {withheld} of {counted(records, 'record')}; allowed: {demands.allowed}."
    allowed = Check("withheld records", withheld <= demands.allowed, detail)
    verdict = Verdict(
        records=records,
        withheld=withheld,
        classes=sum(v.classes for v in verdicts),
        smallest_class=smallest,
        models=models,
        checks=(
            allowed,
            whole.columns,
            *_united_checks(verdicts),
            *_conserved(parts, demands, whole),
            *_people(demands),
            *_same_people(parts, demands, whole),
        ),
        violations=pa.table({}),
        cautions=_cautions(parts, demands, whole) if all(model.holds for model in models) else (),
        people=None if whole.n_people is None else PeopleFound(whole.n_people, _fewest(verdicts)),
    )
    return Verification(verdict, _united_loss(parts, verdict) if verdict.holds else None)


def _united_model(promise: Promise, found: Sequence[ModelVerdict]) -> ModelVerdict:
    measured = [verdict.measured for verdict in found if verdict.measured is not None]
    worst = min if promise.least_is_worst else max
    first = found[0]
    return ModelVerdict(
        model=first.model,
        attribute=first.attribute,
        promise=first.promise,
        asked=first.asked,
        measured=worst(measured, default=None),
        failing_classes=sum(verdict.failing_classes for verdict in found),
        parameters=first.parameters,
    )


def _united_checks(verdicts: Sequence[Verdict]) -> list[Check]:
    """Each check of the parts once: one that failed, if any did."""
    found: dict[str, Check] = {}
    for verdict in verdicts:
        for check in verdict.checks:
            if check.name != "withheld records" and (check.name not in found or check.holds is False):
                found[check.name] = check
    return list(found.values())


def _conserved(parts: Sequence[PartFound], demands: PartDemands, whole: WholeFound) -> list[Check]:
    """Whether columns that must stay as they are do so; sensitive values are counted once more."""
    checks = []
    for name in whole.untouched:
        same = whole.unchanged
        if name in demands.sensitive:
            found = reduce(add, (part.counts[name] for part in parts))
            same = same and np.array_equal(found, demands.sensitive[name].counts)
        detail = f"Column {name!r} is as it was." if same else f"Column {name!r} was changed."
        checks.append(Check(f"column {name!r} conserved", same, detail))
    return checks


def _people(demands: PartDemands) -> list[Check]:
    if demands.person is None:
        return []
    return [Check("people", True, f"People were counted, by {demands.person!r} of the original.")]


def _same_people(parts: Sequence[PartFound], demands: PartDemands, whole: WholeFound) -> list[Check]:
    """Check that classes were compared with the people of the release, with the values that parts found."""
    checks = []
    for name, overall in demands.overall.items():
        total, shares = sum(overall.tolist()), whole.people.get(name, {})
        compared = {code: Fraction(n, total) for code, n in enumerate(overall.tolist()) if n}
        seen = np.flatnonzero(reduce(add, (part.counts[name] for part in parts))).tolist()
        same = compared == shares and seen == sorted(shares)
        detail = (
            f"Classes were compared with {'the' if same else 'other'} people of the release, by {name!r}."
        )
        checks.append(Check(f"people by {name!r}", same, detail))
    return checks


def _fewest(verdicts: Sequence[Verdict]) -> int | None:
    """The people of the class that has the fewest."""
    found = [v.people.smallest_class for v in verdicts if v.people is not None]
    return min((people for people in found if people is not None), default=None)


def _cautions(parts: Sequence[PartFound], demands: PartDemands, whole: WholeFound) -> tuple[Caution, ...]:
    """Cautions about what no model protects, in records, or in people, each of whom counts once."""
    cautions, whom = (
        no_promise_at_all(stated(demands.models)),
        "record" if whole.n_people is None else "person",
    )
    for name in demands.sensitive:
        promised = any(promise.attribute == name for promise in stated(demands.models))
        certainty = reduce(add, (p.certainty[name] for p in parts))
        if whole.n_people is not None:
            certainty = replace(certainty, records=whole.n_people, known=whole.known.get(name, 0))
        found = caution_about(name, certainty, promised=promised, whom=whom)
        cautions += [] if found is None else [found]
        column = demands.sensitive[name]
        if promised and column.kind == "string":
            counts = reduce(add, (part.counts[name] for part in parts))
            cautions += cautions_of_spelling(name, column.texts, counts)
    return tuple(cautions)


def _united_loss(parts: Sequence[PartFound], verdict: Verdict) -> dict[str, float]:
    """Every cost of the table: sums of those of its parts, or means over records."""
    shares = [part.verdict.records / verdict.records for part in parts]
    loss = {}
    for name in COST_NAMES:
        costs = [part.loss[name] for part in parts]
        if name in _ADD_UP:
            loss[name] = fsum(costs)
        else:
            loss[name] = fsum(cost * share for cost, share in zip(costs, shares))
    kept = verdict.records - verdict.withheld
    loss["average-class-size"] = kept / verdict.classes if verdict.classes else float(verdict.records)
    # of a withheld record, a part counts its own records instead of those of the table
    missing = sum(p.verdict.withheld * (verdict.records - p.verdict.records) for p in parts)
    loss["discernibility"] += missing
    return loss
