"""The risk for each recipient of a release, by what they may know; and its review at a later date."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np

from kohort.algorithms import Run
from kohort.data.counting import distinct_rows
from kohort.errors import InputError, counted, percent
from kohort.job.sides import BeforeAfter, classes_of
from kohort.problem.promises import RiskLimit
from kohort.problem.units import Units
from kohort.risk.assess import attributes_of_both, people_fitting, refuse_lacking
from kohort.statement import Statement
from kohort.statement.approval import Recipient
from kohort.tables.table import Table
from kohort.verification import Check, Verdict
from kohort.verification.promises import OF_CLASSES, Counts, Values, stated


def recipient_risks(
    sides: BeforeAfter, recipients: Sequence[Recipient], limits: Sequence[RiskLimit]
) -> list[dict[str, Any]]:
    """What each recipient could find with the original and with the release, and whether limits hold.

    limits  the limits on the risk that the spec promises
    """
    names = [attribute.name for attribute in sides.attributes]
    kept = ~sides.withheld
    units = sides.units.part(sides.rows[kept])
    found = []
    for recipient in recipients:
        known = [names.index(name) for name in recipient.knows] if recipient.knows else range(len(names))
        before = sizes_by([sides.attributes[c].column.codes for c in known], sides.units)
        after = sizes_by([sides.labels[c].codes[kept] for c in known], units)
        figures = {"before": _figures(before), "after": _figures(after)}
        facts = recipient.to_dict() | {"known": [names[c] for c in known], **figures}
        facts["limits"] = limit_verdicts(after, limits)
        found.append(facts | {"sentence": _sentence(facts)})
    return found


def sizes_by(columns: Sequence[np.ndarray], units: Units) -> np.ndarray:
    """The size of each class of records that look alike in these columns, in people where they are known."""
    if not columns or not len(columns[0]):
        return np.zeros(0, dtype=np.int64)
    _, counts, class_of = distinct_rows(np.column_stack(columns))
    return units.per_class(class_of, counts)


def _figures(sizes: np.ndarray) -> dict[str, Any]:
    """The highest and the average risk, and the smallest class."""
    if not len(sizes):
        return {"maximum": None, "average": None, "smallest_class": None}
    smallest = int(sizes.min())
    return {"maximum": 1 / smallest, "average": float(len(sizes) / sizes.sum()), "smallest_class": smallest}


def limit_verdicts(sizes: np.ndarray, limits: Sequence[RiskLimit]) -> list[dict[str, Any]]:
    """For each limit what classes of these sizes attain, and whether it holds."""
    verdicts = []
    for promise in stated(limits):
        judged = OF_CLASSES[promise.name](promise, Counts(sizes), Values())
        measured = judged.measured(np.ones(len(sizes), dtype=bool))
        attained = None if measured is None else float(measured)
        found = {"promise": promise.words, "asked": float(judged.asked), "measured": attained}
        verdicts.append(found | {"holds": bool(judged.holds.all())})
    return verdicts


def _sentence(facts: dict[str, Any]) -> str:
    after, before = facts["after"], facts["before"]
    known = "all quasi-identifiers" if facts["knows"] is None else ", ".join(map(repr, facts["known"]))
    if after["maximum"] is None:
        return f"{facts['name']} gets no record."
    stated = counted(len(facts["controls"]), "control")
    controls = (
        f"{stated} stated, which these figures do not count" if facts["controls"] else "No controls stated"
    )
    return (
        f"{facts['name']}, who may know {known} of people, finds somebody with a chance of at most "
        f"{percent(after['maximum'])}, {percent(after['average'])} on average; with the original it would be "
        f"{percent(before['maximum'])} and {percent(before['average'])}. {controls}."
    )


def review_release(
    published: Table,
    request: Statement,
    verdict: Verdict,
    *,
    on: date,
    population: Table | None = None,
    original: Table | None = None,
) -> list[Check]:
    """The findings of a review on a date; the release still stands if none of them fails.

    verdict     what verification has just measured again
    population  a newer table of the people that the release is about
    original    where it is at hand: hierarchies that are built from the data are built from both
    """
    broken = f"Measured again, a promise does not hold. {' '.join(verdict.reasons())}"
    good = "Every promise was measured again, and holds."
    promises = Check.of("promises", not verdict.holds, good, broken)
    found = [promises, *(due_date(recipient, on) for recipient in request.recipients)]
    if not request.recipients:
        found.append(Check("recipients", None, "The spec names no recipient, so no date of review is known."))
    if not request.linked and request.roles.having("quasi-identifier"):
        found += [_recipient_limits(published, request, recipient) for recipient in request.recipients]
        if population is not None:
            found += _in_population(published, request, population, original)
    elif population is not None:
        raise InputError(
            "A population is compared by quasi-identifiers, record by record; this release has none, or its "
            "records are linked. Leave the population out."
        )
    return found


def due_date(recipient: Recipient, on: date) -> Check:
    """Whether the date of review of a recipient has passed."""
    name = f"review for {recipient.name}"
    if recipient.review is None:
        return Check(name, None, f"No date of review is given for {recipient.name}.")
    days, when = (recipient.review - on).days, recipient.review.isoformat()
    late = f"The review for {recipient.name} was due on {when}, {counted(-days, 'day')} ago."
    fine = f"The review for {recipient.name} is due on {when}, in {counted(days, 'day')}."
    return Check.of(name, days < 0, fine, late)


def _limits(request: Statement) -> list[RiskLimit]:
    return [model for model in request.models if isinstance(model, RiskLimit)]


def _recipient_limits(published: Table, request: Statement, recipient: Recipient) -> Check:
    """Whether the limits on the risk hold for what a recipient may know."""
    if request.roles.only("person") is not None:
        words = "People have several records, which cannot be counted as people in the release alone"
        return Check(f"risk for {recipient.name}", None, f"{words}: see the dossier for {recipient.name}.")
    names = recipient.knows or request.roles.having("quasi-identifier")
    sizes = sizes_by([published.column(name).codes for name in names], Units())
    verdicts = limit_verdicts(sizes, _limits(request))
    risk = percent(1 / int(sizes.min())) if len(sizes) else percent(0.0)
    detail = f"By what {recipient.name} may know, somebody is found with a chance of at most {risk}."
    failing = [entry["promise"] for entry in verdicts if not entry["holds"]]
    if failing:
        detail += f" It is not kept that {' and that '.join(failing)}."
    return Check(f"risk for {recipient.name}", not failing if verdicts else None, detail)


def _in_population(
    published: Table, request: Statement, population: Table, original: Table | None
) -> list[Check]:
    """Whether the population contains the people of the release, and whether limits hold within it."""
    names = request.roles.having("quasi-identifier")
    refuse_lacking(population, names)
    labels = [published.column(name) for name in names]
    classes = classes_of([column.codes for column in labels], published.n_records)
    n = 0 if original is None else original.n_records
    fitting = people_fitting(labels, classes, attributes_of_both(original, population, request), n, Run())
    of_people = request.roles.only("person") is not None  # a class then has more records than people
    lacking = int((fitting < (1 if of_people else classes.sizes)).sum())
    enough = "one of them" if of_people else "as many of them as it has records"
    good = (
        f"The population of {population.n_records:,} people contains the release: every class fits {enough}."
    )
    bad = (
        f"{counted(lacking, 'class fits', 'classes fit')} too few people of the population: it does not "
        "contain the sample. Give a table of all people that the release may be about."
    )
    contained = Check.of("population", lacking, good, bad)
    least = int(fitting.min())
    risk = 1 / max(least, 1)
    detail = (
        f"The class that fits fewest people of the population fits {least:,} (k-map): somebody is found "
        f"there with a chance of at most {percent(risk)}."
    )
    limits = [limit for limit in _limits(request) if not limit.of_whole_table]
    failing = [limit for limit in limits if not least or not limit.within(risk)]
    if failing:
        detail += " That is not within the limit on the risk."
    return [contained, Check("risk in the population", not failing if limits else None, detail)]
