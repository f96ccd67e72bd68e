"""What is found in the parts of a table, and the verdict on all of them: each part has whole classes.

A table in one place is one part. Costs and rules that compare with the whole table are given what they need
to know of it: see `PartDemands`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial, reduce
from math import fsum
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.counting import count_codes
from kohort.data.hierarchy import Hierarchy
from kohort.errors import counted
from kohort.problem.attribute import Attribute
from kohort.verification.classes import PublishedClasses
from kohort.verification.measure import COST_NAMES
from kohort.verification.promises import OF_TABLES, Judged, Promise, Stated, stated
from kohort.verification.scale import compare_tree
from kohort.verification.unprotected import (
    Certainty,
    caution_about,
    cautions_of_spelling,
    certain_classes,
    certainty_of,
    no_promise_at_all,
)
from kohort.verification.verdict import Caution, Check, ClassRisk, ModelVerdict, PeopleFound, Verdict

_ADD_UP = ("discernibility", "hierarchical-discernibility", "suppressions")  # sums over records


@dataclass(frozen=True, eq=False)
class Verification:
    """The verdict and, with the original at hand, what the release costs: every cost by its spec name.

    loss             costs that are means over records are weighted by a column with the role weight, if any
    unweighted_loss  these costs with all records counted alike; None without such a column
    """

    verdict: Verdict
    loss: dict[str, float] | None = None
    unweighted_loss: dict[str, float] | None = None

    def cautioned(self, *cautions: Caution) -> Verification:
        """The same with more cautions."""
        return replace(self, verdict=self.verdict.cautioned(*cautions))


@dataclass(frozen=True, eq=False)
class PartDemands:
    """What is checked in every part of a table.

    attributes   the quasi-identifiers, of the whole table: what a label means, and how often values occur
    sensitive    all sensitive columns, of the whole table: counted, where parts are read elsewhere
    hierarchies  of sensitive columns, for models that compare values by them
    person       the column that says whose record it is; None: records are counted
    allowed      how many records may be withheld in the whole table
    dropped      how many of these were left out, and are in no part
    overall      per sensitive column the people of the whole table by value, where people are counted and
                 classes compared with them; see `WholeFound.people`
    """

    attributes: tuple[Attribute, ...]
    models: Sequence[Stated | Promise]
    sensitive: Mapping[str, Any]
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    person: str | None = None
    allowed: int = 0
    dropped: int = 0
    overall: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class WholeFound:
    """What was found of a table as a whole, where its parts do not show it.

    untouched  the columns that are published as they are
    unchanged  whether the records are those of the original in these columns, and in what was generalized
    columns    whether the right columns are published
    n_people   how many people the records are of, none of which is withheld; None where records are counted
    known      per sensitive column how many people are in classes that reveal it for certain; else nobody
    people     per sensitive column the share of all people that has each value, by its code, everybody spread
               evenly over their published records: with these, classes must have been compared
    """

    untouched: Sequence[str] = ()
    unchanged: bool = True
    columns: Check | None = None
    n_people: int | None = None
    known: Mapping[str, int] = field(default_factory=dict)
    people: Mapping[str, Mapping[int, Fraction]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PartFound:
    """What was found in a part of a table.

    verdict    on the part alone; what is left to say of all parts together are withheld records and cautions
    certainty  per sensitive column how certain its values are, in records or people
    counts     per sensitive column how often each value occurs, where that is looked at
    loss       every cost of the part by itself, where parts are united
    known      where people are counted: per sensitive column those in classes that reveal it for certain, as
               the original names them. They may be in other parts as well, so their numbers do not add up
    """

    verdict: Verdict
    certainty: Mapping[str, Certainty]
    counts: Mapping[str, np.ndarray]
    loss: Mapping[str, float] = field(default_factory=dict)
    known: Mapping[str, np.ndarray] = field(default_factory=dict)


ALONE = WholeFound()
"""Of a table in one part everything is seen there."""
_UNNAMED = np.empty(0)


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
    allowed = int(Fraction(str(suppression)) * (len(classes.columns[0]) - counterfeits + dropped))
    of_name = {column.name: column for column in sensitive}
    demands = PartDemands((), models, of_name, allowed=allowed, dropped=dropped)
    found = judge(classes, demands, sensitive, checks=checks, counterfeits=counterfeits)
    return unite_parts([found], demands).verdict


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
    withheld, allowed = classes.all_star, demands.allowed - demands.dropped
    if len(holds) and int(classes.sizes[withheld].sum()) > allowed:
        withheld = withheld & ~holds.all(axis=0)  # a valid class of stars is published as one
    kept = ~withheld
    members, are_people = classes.members[kept], classes.units.are_people
    least = int(members.min()) if len(members) else None
    failing = np.flatnonzero(~holds.all(axis=0)) if promises else np.zeros(0, dtype=np.int64)
    fails = ["; ".join(p.name for p, ok in zip(promises, holds[:, number]) if not ok) for number in failing]
    verdict = Verdict(
        records=len(classes.columns[0]),
        withheld=int(classes.sizes[withheld].sum()),
        classes=int(kept.sum()),
        smallest_class=int(classes.sizes[kept].min()) if kept.any() else None,
        people=PeopleFound(classes.counted_people.n_people, least) if are_people else None,
        risk=ClassRisk(1 / least, len(members) / int(members.sum())) if least else None,
        counterfeits=counterfeits,
        models=tuple(_model_verdict(classes, *each, kept) for each in zip(promises, found)),
        checks=(
            *_starred_checks(classes, promises, holds, withheld),
            *classes.own_checks(promises),
            *checks,
        ),
        violations=classes.labelled(failing, {"fails": fails}),
    )
    spelled = [c for c in sensitive if c.is_part or (c.kind == "string" and c.name in classes.sensitive)]
    of_values = {column.name: count_codes(column, len(column.texts)) for column in spelled}
    certainty, known = {}, {}
    for column in sensitive if holds.all() else ():
        # as a promise was judged by them, if one was
        judged_by = [of for promise, of in zip(promises, counts) if promise.attribute == column.name]
        in_classes = judged_by[0] if judged_by and not are_people else classes.counts_of(column)
        how_many = partial(classes.how_many, column.name)
        certainty[column.name] = certainty_of(in_classes, kept[classes.having(column.name)], how_many)
        if len(persons):
            certain = certain_classes(in_classes, kept)[classes.class_of_record]
            known[column.name] = np.unique(persons[certain])
    return PartFound(verdict, certainty, of_values, known=known)


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
    classes: PublishedClasses, promises: Sequence[Promise], holds: np.ndarray, withheld: np.ndarray
) -> list[Check]:
    """Whether records that are withheld as `*` keep the promises together, if there are any."""
    if not withheld.any():
        return []
    broken = [promise.name for promise, ok in zip(promises, holds) if not ok[withheld].all()]
    records = counted(int(classes.sizes[withheld].sum()), "record is", "records are")
    good = f"{records} withheld as `*`; together they keep every promise, as a class does."
    bad = (
        f"{records} withheld as `*`, and together they do not satisfy {', '.join(broken)}: anybody who "
        "fits no class is known to be one of them. Leave them out (suppressed: drop)."
    )
    return [Check.of("records withheld as *", broken, good, bad)]


def unite_parts(parts: Sequence[PartFound], demands: PartDemands, whole: WholeFound = ALONE) -> Verification:
    """The verdict on a table, and its costs, given what was found in its parts and of it as a whole."""
    for tree in (*(attribute.domain for attribute in demands.attributes), *demands.hierarchies.values()):
        if isinstance(tree, Hierarchy):
            compare_tree(tree)
    verdicts = [part.verdict for part in parts]
    alone = verdicts[0] if len(verdicts) == 1 else None
    records, starred, counterfeits = (
        sum(getattr(v, name) for v in verdicts) for name in ("records", "withheld", "counterfeits")
    )
    of_promises = zip(stated(demands.models), *(v.models for v in verdicts))
    withheld = starred + demands.dropped
    originals = counted(records - counterfeits + demands.dropped, "record")
    detail = f"Withheld: {withheld} of {originals}; allowed: {demands.allowed}."
    people = [verdict.people for verdict in verdicts if verdict.people is not None]
    verdict = Verdict(
        records=records,
        withheld=withheld,
        classes=sum(v.classes for v in verdicts),
        smallest_class=_least(v.smallest_class for v in verdicts),
        models=tuple(_united_model(promise, found) for promise, *found in of_promises),
        checks=(
            Check("withheld records", withheld <= demands.allowed, detail),
            *(() if whole.columns is None else (whole.columns,)),
            *(alone.checks if alone else _united_checks(verdicts)),
            *_checks_of_whole(parts, demands, whole),
        ),
        violations=pa.concat_tables((v.violations for v in verdicts), promote_options="default"),
        cautions=() if any(v.violations.num_rows for v in verdicts) else _cautions(parts, demands, whole),
        people=PeopleFound(whole.n_people or people[0].number, _least(p.smallest_class for p in people))
        if people
        else None,
        risk=alone.risk if alone else None,
        counterfeits=counterfeits,
    )
    measured = verdict.holds and all(part.loss for part in parts)
    return Verification(verdict, _united_loss(parts, verdict) if measured else None)


def _least(sizes: Iterable[int | None]) -> int | None:
    """The smallest of these sizes; None without any."""
    return min((size for size in sizes if size is not None), default=None)


def _united_model(promise: Promise, found: Sequence[ModelVerdict]) -> ModelVerdict:
    measured = [verdict.measured for verdict in found if verdict.measured is not None]
    worst = min if promise.least_is_worst else max
    failing = sum(verdict.failing_classes for verdict in found)
    return replace(found[0], measured=worst(measured, default=None), failing_classes=failing)


def _united_checks(verdicts: Sequence[Verdict]) -> list[Check]:
    """Each check of the parts once: one that failed, if any did."""
    found: dict[str, Check] = {}
    for check in (check for verdict in verdicts for check in verdict.checks):
        if check.name not in found or check.holds is False:
            found[check.name] = check
    return list(found.values())


def _counts(parts: Sequence[PartFound], name: str) -> np.ndarray:
    """How often each value of a sensitive column occurs in all parts."""
    counts: np.ndarray = reduce(add, (part.counts[name] for part in parts))
    return counts


def _checks_of_whole(parts: Sequence[PartFound], demands: PartDemands, whole: WholeFound) -> list[Check]:
    """Whether columns that must stay as they are do so, and whose people classes were compared with.

    Sensitive values are counted once more, and compared with the values that parts found.
    """
    checks = []
    for name in whole.untouched:
        same = whole.unchanged
        if name in demands.sensitive:
            same = same and np.array_equal(_counts(parts, name), demands.sensitive[name].counts)
        good, bad = f"Column {name!r} is as it was.", f"Column {name!r} was changed."
        checks.append(Check.of(f"column {name!r} conserved", not same, good, bad))
    if demands.person is not None:
        checks.append(Check("people", True, f"People were counted, by {demands.person!r} of the original."))
    for name, overall in demands.overall.items():
        total, shares = sum(overall.tolist()), whole.people.get(name, {})
        compared = {code: Fraction(n, total) for code, n in enumerate(overall.tolist()) if n}
        seen = np.flatnonzero(_counts(parts, name)).tolist()
        same = compared == shares and seen == sorted(shares)
        which = "the" if same else "other"
        detail = f"Classes were compared with {which} people of the release, by {name!r}."
        checks.append(Check(f"people by {name!r}", same, detail))
    return checks


def _cautions(parts: Sequence[PartFound], demands: PartDemands, whole: WholeFound) -> tuple[Caution, ...]:
    """Cautions about what no model protects, in records, or in people, each of whom counts once."""
    promises = stated(demands.models)
    cautions, whom = no_promise_at_all(promises), "record" if parts[0].verdict.people is None else "person"
    for name, column in demands.sensitive.items():
        promised = any(promise.attribute == name for promise in promises)
        certainty = reduce(add, (part.certainty[name] for part in parts))
        if whole.n_people:
            certainty = replace(certainty, records=whole.n_people, known=whole.known.get(name, 0))
        cautions += caution_about(name, certainty, promised=promised, whom=whom)
        if promised and column.kind == "string":
            cautions += cautions_of_spelling(name, column.texts, _counts(parts, name))
    return tuple(cautions)


def _united_loss(parts: Sequence[PartFound], verdict: Verdict) -> dict[str, float]:
    """Every cost of the table: sums of those of its parts, or means over records."""
    loss = {}
    for name in COST_NAMES:
        shares = [1.0 if name in _ADD_UP else part.verdict.records / verdict.records for part in parts]
        loss[name] = fsum(part.loss[name] * share for part, share in zip(parts, shares))
    kept = verdict.records - verdict.withheld
    loss["average-class-size"] = kept / verdict.classes if verdict.classes else float(verdict.records)
    # of a withheld record, a part counts its own records instead of those of the table
    loss["discernibility"] += sum(p.verdict.withheld * (verdict.records - p.verdict.records) for p in parts)
    return loss
