"""Verification: read a published table as a stranger would, and say which promises it keeps.

A table in one place is one part; of a table on a cluster every worker verifies parts of whole classes, and
the verdicts are united: see `parts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from kohort.data.arrow_values import record_weights
from kohort.data.baskets import Baskets, read_baskets
from kohort.data.compact_column import CountedColumn
from kohort.data.hierarchy import Hierarchy
from kohort.problem.attribute import Attribute
from kohort.problem.roles import Roles
from kohort.tables.table import Table
from kohort.verification.against_original import Original, check_columns_alone, check_coverage, label_pairs
from kohort.verification.alignment import Alignment, align, counting_people, set_apart
from kohort.verification.classes import PublishedClasses, published_classes
from kohort.verification.items import Holders, Levels, holders_of, verify_baskets, with_items
from kohort.verification.measure import BY_RECORD, MEANS, PublishedTable, measure_costs
from kohort.verification.parts import PartDemands, PartFound, Verification, judge, verify_models
from kohort.verification.people import RECORDS, Units, linked, persons_in_release
from kohort.verification.promises import Promise, Stated, stated, stated_items
from kohort.verification.reading import read_column
from kohort.verification.scale import compare_tree
from kohort.verification.treated import Read, check_hidden, check_perturbed, lost_squares, read_averages
from kohort.verification.two_files import EVENTS_OF_ALL, Eventless
from kohort.verification.verdict import Check, Verdict
from kohort.verification.written import AsWritten, compare_codes

if TYPE_CHECKING:
    from kohort.statement import Statement

_NO_HIERARCHIES: Mapping[str, Hierarchy] = MappingProxyType({})


def verify(
    published: Table,
    demands: Statement,
    original: Original | None = None,
    *,
    hierarchies: Mapping[str, Hierarchy] = _NO_HIERARCHIES,
    eventless: Eventless = EVENTS_OF_ALL,
    population: Sequence[Attribute] = (),
    checks: Sequence[Check] = (),
) -> Verification:
    """Measure every promise on the published table; with the original, compare the two and measure costs.

    hierarchies  of sensitive columns, for models that compare values by them
    eventless    of a table that was joined from people and events: the people without any
    population   the quasi-identifiers of everybody whom promises compare the table with
    checks       what else was checked, as a part of the verdict
    """
    for tree in _hierarchies(demands, original, hierarchies):
        compare_tree(tree)
    published, original, averages = _read(published, demands, original)
    asked = demands.items
    shown = read_baskets(published, asked.column, separator=asked.separator) if asked else None
    apart = set_apart(published, demands, original)
    original = apart.original
    if original is None:
        columns = check_columns_alone(apart.published, demands.roles, demands.treatments)
        found = Alignment(None, (columns,))
    else:
        found = align(apart.published, original, demands, shown)
    treated = _treated(published, demands, original, found)
    found = replace(found, checks=(*checks, *averages, *apart.checks, *found.checks, *treated))
    roles = demands.roles if original is None else original.roles
    items = None
    if shown is not None and demands.km is not None:
        items = _Items.of(shown, demands.km, published, demands, original, found)
    if items is not None and not roles.having("quasi-identifier"):
        verdict = items.alone(found.checks, roles)
        is_measured = verdict.holds and found.items_ncp is not None
        return Verification(verdict, {"ncp": found.items_ncp or 0.0} if is_measured else None)
    whose = _whose_records(demands, roles, original, found)
    number = apart.number or found.counterfeits
    expected = _expected_records(demands, original)
    dropped = 0
    if original is not None and (original.rows is not None or demands.may_drop):
        dropped = max(expected - (published.n_records - number), 0)
    checks = (*found.checks, *whose.checks, *_sampled(published, demands, original, expected))

    def judged(
        table: Table, models: Sequence[Promise], units: Units, counterfeits: int = 0
    ) -> tuple[PublishedClasses, Verdict]:
        """The classes of some records, and the verdict on them; `counterfeits` of them are nobody's."""
        if demands.linked_by is not None:
            units = linked(table, demands.linked_by, demands.slot, eventless)
        classes = published_classes(
            table,
            roles.having("quasi-identifier"),
            models,
            hierarchies=hierarchies,
            orders=demands.orders,
            units=units,
            population=population,
        )
        verdict = verify_models(
            classes,
            models,
            suppression=demands.suppression,
            dropped=dropped,
            checks=checks,
            sensitive=[table.sensitive_column(n) for n in roles.having("sensitive") if n in table.names],
            counterfeits=counterfeits,
        )
        return classes, verdict

    classes, verdict = judged(published, whose.models, whose.units.beside(apart.genuine), number)
    if apart.number:  # numbers of people, and every cost, are those of people alone
        of_numbers = [model for model in whose.models if model.attribute is None]
        classes, alone = judged(apart.published, of_numbers, whose.units)
        verdict = counting_people(verdict, alone)
    if items is not None:
        verdict = with_items(verdict, classes, items.shown, items.known, items.holders, items.levels)
    if original is None or not verdict.holds or found.rows is None:
        return Verification(verdict)
    if demands.sample != 1 and original.rows is None:  # which records were drawn, nobody knows
        return Verification(verdict)
    return Verification(verdict, *_losses(verdict, demands, original, found, classes))


def verify_part(published: Table, original: Table, demands: PartDemands) -> PartFound:
    """Measure every promise on a part of a published table that has whole classes, and compare the records.

    original  the same records as they were, in the same order
    """
    attributes = [_of_part(attribute, original) for attribute in demands.attributes]
    names = [attribute.name for attribute in attributes]
    published = AsWritten(published, names)
    readings = [read_column(published.column(a.name), a) for a in attributes]
    pairs = label_pairs(published, readings, slice(None))
    units, persons = RECORDS, np.empty(0)
    if demands.person is not None:
        units = persons_in_release(original, demands.person, slice(None))
        persons = original.arrow(demands.person).to_numpy()
    classes = published_classes(
        published,
        names,
        demands.models,
        hierarchies=demands.hierarchies,
        orders=demands.orders,
        units=units,
        overall=demands.overall,
    )
    columns = [published.sensitive_column(name) for name in demands.sensitive]
    checks = check_coverage(readings, pairs)
    found = judge(classes, demands, columns, checks=checks, persons=persons)
    aligned = Alignment(slice(None), tuple(checks), readings=readings, pairs=pairs)
    return replace(found, loss=measure_costs(_beside_original(found.verdict, classes, aligned)))


def _of_part(attribute: Attribute, original: Table) -> Attribute:
    column = attribute.column
    assert isinstance(column, CountedColumn)
    values = original.arrow(attribute.name)
    part = column.part(values)
    compare_codes(part, values)
    return replace(attribute, column=part)


def _hierarchies(
    demands: Statement, original: Original | None, sensitive: Mapping[str, Hierarchy]
) -> list[Hierarchy]:
    """Every hierarchy that something is looked up in."""
    found: list[object] = [*sensitive.values()]
    if original is not None:
        items = () if original.items is None else (original.items.hierarchy,)
        found += [*items, *(attribute.domain for attribute in original.attributes)]
    elif demands.items:
        found.append(demands.items.hierarchy)
    return [tree for tree in found if isinstance(tree, Hierarchy)]


def _read(published: Table, demands: Statement, original: Original | None) -> Read:
    """The published table as it is written, means in it as intervals; codes of the original are compared."""
    if original is not None:
        for attribute in original.attributes:
            compare_codes(attribute.column, original.dataset.arrow(attribute.name))
    names = (demands.roles if original is None else original.roles).having("quasi-identifier")
    table, known, checks = read_averages(AsWritten(published, names), demands, original)
    return (AsWritten(table, names) if checks else table), known, checks


def _treated(
    published: Table, demands: Statement, original: Original | None, found: Alignment
) -> list[Check]:
    """What can be seen of masks, pseudonyms, noise and the like in the published columns."""
    before = None if original is None else original.dataset
    perturbed = [
        check_perturbed(published, before, name, how, found.rows, sure=found.sure)
        for name, how in demands.perturbations.items()
    ]
    return [*check_hidden(published, before, demands.treatments), *perturbed]


@dataclass(frozen=True, eq=False)
class _Items:
    """The published baskets, what is promised of them, and what tells which labels lie above which items.

    known    what is promised to whoever knows items; beside sensitive ones, these are the others
    holders  who holds what is sensitive; None where nothing is promised about that
    levels   None where the hierarchy is not known
    """

    shown: Baskets
    known: Promise
    holders: Holders | None
    levels: Levels | None

    @classmethod
    def of(
        cls,
        shown: Baskets,
        km: Stated,
        table: Table,
        demands: Statement,
        original: Original | None,
        found: Alignment,
    ) -> _Items:
        holders = None
        if demands.confidence is not None:
            promise, values = stated_items(demands.confidence), None
            if promise.attribute is not None:
                table.require([promise.attribute])
                values = table.column(promise.attribute)
            holders = holders_of(shown, promise, values, multiset=demands.items.multiset)
        of_others = holders is not None and holders.promise.attribute is None
        given, levels = demands.items.hierarchy, None
        if original is not None and original.items is not None:
            assert not isinstance(found.rows, slice)
            known = (original.items.baskets, found.rows) if found.sure and found.rows is not None else None
            levels = Levels(original.items.hierarchy, known)
        elif isinstance(given, Hierarchy):
            levels = Levels(given, None)
        return cls(shown, stated_items(km, sensitive=of_others), holders, levels)

    def alone(self, checks: Sequence[Check], roles: Roles) -> Verdict:
        """The verdict where there is nothing but baskets."""
        column = None if self.holders is None else self.holders.promise.attribute
        others = [name for name in roles.having("sensitive") if name != column]
        return verify_baskets(
            self.shown, self.known, self.holders, levels=self.levels, checks=checks, sensitive_columns=others
        )


@dataclass(frozen=True, eq=False)
class _Whose:
    """What is known of the people behind the published records, and what can be checked so.

    checks  what was counted, in words
    """

    units: Units
    models: Sequence[Promise]
    checks: tuple[Check, ...] = ()


def _whose_records(demands: Statement, roles: Roles, original: Original | None, found: Alignment) -> _Whose:
    """Find whose records are published; without a column of persons, every record is another person's.

    Linked records say themselves whose they are.

    Where the originals of the records are not known for certain, people cannot be counted. Then only models
    are checked that are necessary for people, too: k people have k records, and different values are the same
    ones. Of shares, records say nothing about people.
    """
    name, models = roles.only("person"), stated(demands.table_models)
    if name is None or demands.linked_by is not None:
        return _Whose(RECORDS, models)
    if original is not None and found.rows is not None and found.sure:
        detail = f"People were counted, by {name!r} of the original."
        units = persons_in_release(original.dataset, name, found.rows)
        return _Whose(units, models, (Check("people", True, detail),))
    checked = [model for model in models if model.is_necessary_for_people]
    left_out = sorted({model.name for model in models if model not in checked})
    needed = "the original" if original is None else "an order file"
    detail = f"Records were counted; people cannot be counted without {needed}, and may be fewer."
    if left_out:
        detail += f" Not checked, as it is about people: {', '.join(left_out)}."
    return _Whose(RECORDS, checked, (Check("people", None, detail),))


def _expected_records(demands: Statement, original: Original | None) -> int:
    """How many records there are to publish: all of the original, or those of a sample of it.

    The publisher, who states which records are which, compares with the sample itself.
    """
    n_records = 0 if original is None else original.dataset.n_records
    drawn = demands.sample == 1 or (original is not None and original.rows is not None)
    return n_records if drawn else int(Fraction(str(demands.sample)) * n_records)


def _sampled(published: Table, demands: Statement, original: Original | None, most: int) -> list[Check]:
    """Whether a sample is no larger than asked for."""
    if original is None or demands.sample == 1 or original.rows is not None:
        return []
    detail = (
        f"Of {original.dataset.n_records:,} records at most {most:,} were to be drawn; "
        f"{published.n_records:,} are published."
    )
    return [Check("sample", published.n_records <= most, detail)]


def _beside_original(verdict: Verdict, classes: PublishedClasses, found: Alignment) -> PublishedTable:
    """The published table beside its original, as costs see it."""
    assert found.rows is not None
    n_records, n_published = len(found.readings[0].attribute.column), len(classes.columns[0])
    withheld = np.full(n_records, n_published < n_records)
    starred = verdict.withheld > n_records - n_published
    if starred or n_published < n_records:
        withheld[found.rows] = classes.all_star_records if starred else False
    sizes = classes.sizes[~classes.all_star] if starred else classes.sizes
    pairs = () if withheld.any() else found.pairs
    return PublishedTable.of(classes.columns, found.readings, found.rows, withheld, sizes, pairs)


def _losses(
    verdict: Verdict, demands: Statement, original: Original, found: Alignment, classes: PublishedClasses
) -> tuple[dict[str, float], dict[str, float] | None]:
    """Every cost, and those that weights of records change as they would be without them, if there are any.

    Where originals are not known one by one, only costs that do not depend on them. The share of the variance
    of numbers that is lost is measured where it is asked for or means are published.
    """
    table, name = _beside_original(verdict, classes, found), original.roles.only("weight")
    # how many people of the population each original record stands for
    weights = None if name is None else record_weights(name, original.dataset.arrow(name))
    loss = measure_costs(table, weights if found.sure else None)
    if not found.sure:
        unknown = [*BY_RECORD, *(() if weights is None else MEANS)]
        loss = {name: value for name, value in loss.items() if name not in unknown}
    if found.items_ncp is not None:
        loss["items-ncp"] = found.items_ncp
    squares = demands.cost == "squares" or any(how != "interval" for how in demands.publish.values())
    if squares and found.sure and found.rows is not None:
        lost = lost_squares(original.attributes, found.rows, classes, original.dataset.n_records)
        loss |= {} if lost is None else {"squares": lost}
    if weights is None:
        return loss, None
    return loss, {name: value for name, value in measure_costs(table).items() if name in MEANS}
