"""The risk of a release, before and after: plain facts, each with a sentence that says what it means.

k-map: how many people of a population every published class fits (Sweeney, 2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa

from kohort.algorithms import Progress, Run
from kohort.data.column import Column
from kohort.errors import InputError, UnsupportedError, counted, did_you_mean, percent
from kohort.job.columns import build_attributes
from kohort.job.sides import BeforeAfter, Classes, classes_of
from kohort.parameters import Seed, Within, check_parameters
from kohort.problem.attribute import Attribute
from kohort.problem.roles import Roles
from kohort.problem.uniqueness import population_uniqueness
from kohort.risk.class_tally import (
    SIDES,
    attribute_disclosure,
    class_tally,
    dominance,
    people_by_size,
    record_risks,
    unique_share,
    weighted_population,
)
from kohort.risk.histories import household_risk
from kohort.risk.linkage import linkage_attack
from kohort.risk.order import order_attack
from kohort.risk.seen import ClassIndex
from kohort.statement import Statement
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.verification.reading import read_covering

if TYPE_CHECKING:
    from kohort.release.release import Release


@dataclass(frozen=True, eq=False)
class Population:
    """How many people of a population match each record.

    before  the people who have the same values as each original record
    after   the people whom each published class fits
    """

    records: int
    before: np.ndarray
    after: np.ndarray


def population_of(release: Release, population: Any, labels: tuple[Column, ...], run: Run) -> Population:
    """How many people of a population look like each original class, and fit each published one.

    Both tables are read together, so that an interval covers values that only one of them has.
    O(distinct people * classes * attributes) at most, mostly far less.
    """
    everybody = population if isinstance(population, Table) else MemoryTable(population)
    refuse_lacking(everybody, [column.name for column in labels])
    attributes = attributes_of_both(release.dataset, everybody, release.request)
    n = release.dataset.n_records
    codes = [attribute.column.codes for attribute in attributes]
    classes = classes_of([column.codes for column in labels], len(labels[0]))
    both = classes_of(codes, n + everybody.n_records)
    people_like_each = np.bincount(both.of_record[n:], minlength=len(both.sizes))
    return Population(
        records=everybody.n_records,
        before=people_like_each[both.of_record[:n]],
        after=people_fitting(labels, classes, attributes, n, run),
    )


def refuse_lacking(population: Table, names: Sequence[str]) -> None:
    """Refuse a population without one of these quasi-identifiers."""
    for name in names:
        if name not in population.names:
            raise InputError(f"The population has no column {name!r}, which is a quasi-identifier.")


def people_fitting(
    labels: Sequence[Column], classes: Classes, attributes: Sequence[Attribute], n: int, run: Run
) -> np.ndarray:
    """How many people of a population each published class fits; it is in `attributes` after `n` records."""
    codes = [attribute.column.codes[n:] for attribute in attributes]
    people = classes_of(codes, len(codes[0]))
    coverings = [read_covering(column.texts, a) for column, a in zip(labels, attributes)]
    return ClassIndex(classes.codes, coverings).count_people(list(people.codes.T), people.sizes, run)


def attributes_of_both(original: Table | None, other: Table, request: Statement) -> tuple[Attribute, ...]:
    """The quasi-identifiers over the records of an original, if there is one, and then of another table.

    Hierarchies that are built from the data are built from both; values that a given one lacks are covered
    by `*` only.
    """
    names = request.roles.having("quasi-identifier")
    tables = [other] if original is None else [original, other]
    texts = {
        name: pa.chunked_array([pa.array(c.texts, pa.string()).take(pa.array(c.codes)) for c in columns])
        for name, columns in ((name, [table.column(name) for table in tables]) for name in names)
    }
    together = MemoryTable(pa.table(texts))
    lenient = replace(request.with_columns(on_missing=dict.fromkeys(names, "suppress")), nulls="value")
    return build_attributes(together, lenient, Roles(dict.fromkeys(names, "quasi-identifier")))


_THRESHOLD = 0.2  # at least five people to a record, the usual rule of statistical offices


@dataclass(frozen=True, kw_only=True)
class Adversary:
    """Whom the risk is measured against; `assess_risk` says what each field is."""

    known: Sequence[str] | None = None
    known_items: Annotated[int, Within(0)] | None = None
    population: Any = None
    sampling_fraction: Annotated[float, Within(above=0, most=1)] | None = None
    threshold: Annotated[float, Within(above=0, most=1)] | None = None
    targets: Annotated[int, Within(1)] = 1000
    show_values: bool = False
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_parameters(self, say="{name!r}")

    def refuse_unknown(self, release: Release) -> None:
        """Refuse to know what is no quasi-identifier."""
        quasi = release.roles.having("quasi-identifier")
        if self.known is not None and not self.known and release.items is None:
            raise InputError("'known' must name at least one quasi-identifier.")
        for name in self.known or ():
            if name not in quasi:
                raise InputError(f"{name!r} is not a quasi-identifier. {did_you_mean(name, quasi)}")

    def threshold_of(self, release: Release) -> float:
        if self.threshold is not None:
            return self.threshold
        k = release.problem.k
        k = max(k, 1 if release.request.km is None else release.request.km.k)
        return 1 / k if k > 1 else _THRESHOLD


def assess_risk(release: Release, *, progress: Progress | None = None, **asked: Any) -> dict[str, Any]:
    """How likely people are found in a release, or something about them is learnt, before and after.

    Parameters
    ----------
    known
        The quasi-identifiers that the adversary of the linkage attack knows; all of them by default.
    known_items
        How many items of each target's basket the adversary knows; the release's m by default.
    population
        A table of the population that the records are from, with the same quasi-identifiers.
    sampling_fraction
        The share of the population that the table holds: needed to estimate who is unique in it.
    threshold
        The risk above which a record counts as at risk: 1/k of the release, else 0.2.
    targets
        How many people the linkage attack looks up, drawn at random.
    show_values
        Whether sensitive values are named among those guessed with most confidence.
    """
    adversary = Adversary(**asked)
    adversary.refuse_unknown(release)
    threshold = adversary.threshold_of(release)
    run = Run(progress=progress)
    run.report("reading the release", 0.0)
    sides = release.sides
    left_out = _left_out(sides, adversary)
    run.report("looking people up", 0.2)
    attack = None if "linkage" in left_out else linkage_attack(sides, adversary, threshold)
    run.report("counting the population", 0.4)
    people = None
    if adversary.population is not None:
        if sides.units.linked:
            raise UnsupportedError("A population is compared record by record, and these records are linked.")
        if not sides.attributes:
            raise InputError("A population is compared by quasi-identifiers, but the release has none.")
        people = population_of(release, adversary.population, sides.labels, run)
    by_labels = bool(sides.attributes)
    return {
        "kohort": "risk",
        "records": sides.n_published - sides.n_withheld,
        "withheld": sides.n_records - sides.n_published + sides.n_withheld,
        "quasi_identifiers": [attribute.name for attribute in sides.attributes],
        "counted": sides.counted,
        "people": None if sides.counted == "records" else sides.n_people,
        "threshold": threshold,
        **_class_risks(sides, people, threshold),
        "population_uniqueness": _population_uniqueness(sides, adversary.sampling_fraction),
        "attribute_disclosure": (
            attribute_disclosure(sides, show_values=adversary.show_values) if by_labels else []
        ),
        "households": household_risk(sides) if release.roles.only("household") is not None else None,
        "sampling_weights": weighted_population(sides) if by_labels else None,
        "dominance": dominance(sides) if by_labels else None,
        "linkage": attack,
        "order": None if "order" in left_out else order_attack(release, sides, release.problem.k),
        "left_out": list(left_out.values()),
    }


def _left_out(sides: BeforeAfter, adversary: Adversary) -> dict[str, str]:
    """What is not measured of a table on a cluster, with a sentence that says why."""
    if not sides.in_parts:
        return {}
    for name in ("population", "sampling_fraction"):
        if getattr(adversary, name) is not None:
            raise UnsupportedError(f"The Spark engine does not support {name!r}. Leave it out.")
    order = (
        "The order of the records was not attacked: on a cluster it depends on what is published, and on the "
        "seed, alone."
    )
    linkage = "No attack was simulated: on a cluster, people with several records are not looked up."
    return {"order": order} | ({"linkage": linkage} if sides.counted == "people" else {})


def _class_risks(sides: BeforeAfter, people: Population | None, threshold: float) -> dict[str, Any]:
    """The risks that follow from the sizes of classes, each by its name; those that do not apply are None."""
    if not sides.attributes:
        return dict.fromkeys(("prosecutor", "journalist", "marketer", "k_map", "uniqueness"))
    prosecutor = _prosecutor(sides, threshold)
    others = _in_sample(sides, prosecutor) if people is None else _in_population(sides, people, threshold)
    return {"prosecutor": prosecutor, **others, "uniqueness": _uniqueness(sides)}


def _prosecutor(sides: BeforeAfter, threshold: float) -> dict[str, Any]:
    """The chances of people, who are counted by the size of the smallest class that they are in."""
    counts = [people_by_size(sides, side) for side in SIDES]
    before, after = (record_risks(1 / people.size, people.times, threshold) for people in counts)
    whom = "the record" if sides.counted == "records" else "them, by their worst record,"
    sentence = (
        "Somebody who knows that a person is in the table, and all quasi-identifiers of that person, finds "
        f"{whom} with a chance of at most {percent(after['maximum'])}, {percent(after['average'])} on "
        f"average; in the original it was {percent(before['maximum'])} and {percent(before['average'])}."
    )
    return {"before": before, "after": after, "sentence": sentence}


def _in_sample(sides: BeforeAfter, prosecutor: dict[str, Any]) -> dict[str, Any]:
    """The chances of those who do not know who is in the table, where no population is given."""
    sentence = (
        "Somebody who wants to find any person, without knowing who is in the table, succeeds with a "
        f"chance of at most {percent(prosecutor['after']['maximum'])}. With a table of the population, this "
        "chance could be computed."
    )
    sizes = [class_tally(sides, side).sizes for side in SIDES]
    before, after = (float(s.classes / s.members.sum()) if s.classes else 0.0 for s in sizes)
    journalist = prosecutor | {"basis": "sample", "sentence": sentence}
    return {"journalist": journalist, "marketer": _marketer(before, after, "sample"), "k_map": None}


def _in_population(sides: BeforeAfter, people: Population, threshold: float) -> dict[str, Any]:
    """The chances of those who compare the table with a population, and how many people classes fit there."""
    kept = sides.kept("after")
    before = record_risks(1 / np.maximum(people.before, 1), np.ones(sides.n_records), threshold)
    after = record_risks(1 / np.maximum(people.after[kept], 1), sides.sizes_after[kept], threshold)
    sentence = (
        "Somebody who wants to find any person, and compares the table with the population of "
        f"{people.records:,} people, finds a record with a chance of at most {percent(after['maximum'])}; in "
        f"the original it was {percent(before['maximum'])}."
    )
    average = float((1 / np.maximum(people.before, 1)).mean())
    return {
        "journalist": {"before": before, "after": after, "basis": "population", "sentence": sentence},
        "marketer": _marketer(average, after["average"], "population"),
        "k_map": _k_map(people, people.after[kept]),
    }


def _marketer(before: float, after: float, basis: str) -> dict[str, Any]:
    sentence = (
        f"Somebody who links all records at once, and accepts errors, gets {percent(after)} of them right on "
        f"average; in the original it was {percent(before)}."
    )
    return {"before": {"average": before}, "after": {"average": after}, "basis": basis, "sentence": sentence}


def _k_map(people: Population, fitting: np.ndarray) -> dict[str, Any]:
    """The fewest people of the population who look like a record, or whom a published class fits.

    fitting  the people whom each class fits
    """
    before, least = int(people.before.min()), int(fitting.min()) if len(fitting) else None
    unseen = int((people.before == 0).sum())
    sentence = (
        f"Every published class fits at least {least or 0:,} of {people.records:,} people of the population "
        f"(k-map); every record of the original fitted at least {before:,}."
    )
    if unseen:
        sentence += (
            f" {counted(unseen, 'record fits', 'records fit')} nobody there: the table is not a sample of "
            "this population."
        )
    found = {"population": people.records, "before": before, "after": least}
    return found | {"not_in_population": unseen, "sentence": sentence}


def _uniqueness(sides: BeforeAfter) -> dict[str, Any]:
    before, after = (unique_share(people_by_size(sides, side)) for side in SIDES)
    if sides.counted == "records":
        words = ("of the original records were the only ones with", "of the published ones are")
    else:
        words = ("of the people were the only ones with", "of those published are")
    sentence = f"{percent(before)} {words[0]} their quasi-identifiers; {percent(after)} {words[1]}."
    return {"before": before, "after": after, "sentence": sentence}


def _population_uniqueness(sides: BeforeAfter, fraction: float | None) -> dict[str, Any] | None:
    if fraction is None or not sides.attributes:
        return None
    before = population_uniqueness(sides.sizes_before, fraction)
    after = population_uniqueness(sides.sizes_after[sides.kept("after")], fraction)
    sentence = (
        f"If the table holds {percent(fraction)} of the population, an estimated {percent(before['share'])} "
        f"of that population were unique in the original quasi-identifiers ({before['model']}); as "
        f"published, {percent(after['share'])} are."
    )
    return {"sampling_fraction": fraction, "before": before, "after": after, "sentence": sentence}
