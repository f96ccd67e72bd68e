"""Check a release, made by any tool, against a request and, where it is available, its original."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kohort.data.hierarchies.checks import check
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, did_you_mean
from kohort.job.columns import build_attributes, items_problem
from kohort.job.people import population_of
from kohort.job.prepare import Prepared, refuse_nulls, settled_roles
from kohort.job.publish import Published
from kohort.job.two_files import TwoFiles, refuse_no_events
from kohort.problem.attribute import Attribute
from kohort.problem.roles import Roles
from kohort.statement import Statement
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.verification import JoinedTables, Original, Verification, join_tables, verify


def verify_published(prepared: Prepared, published: Published) -> Verification:
    """Measure what was asked on a table that was just published, and compare it with its original.

    Of two files, the verifier joins these, and their originals, itself.
    """
    if isinstance(prepared.files, TwoFiles):
        people, events = published.parted
        refuse_no_events(events)
        return verify_release(
            MemoryTable(people),
            prepared.request,
            original=prepared.files.people,
            events=MemoryTable(events),
            original_events=prepared.files.events,
            rows=published.rows,
        )
    units = prepared.units  # of people, and of items, records are looked at one by one
    one_by_one = prepared.items is not None or units.several or units.linked
    original = Original(
        prepared.dataset,
        prepared.roles,
        prepared.attributes,
        prepared.items,
        rows=published.originals if published.kept is not None or one_by_one else slice(None),
        treatments=prepared.request.treatments,
    )
    return verify(
        published.shown,
        prepared.request,
        original,
        hierarchies=prepared.sensitive_hierarchies,
        population=_population(prepared.request, prepared.roles),
    )


def verify_release(
    published: Table,
    request: Statement,
    *,
    original: Table | None = None,
    order: np.ndarray | None = None,
    events: Table | None = None,
    original_events: Table | None = None,
    rows: np.ndarray | None = None,
    counterfeits: int | None = None,
) -> Verification:
    """Measure the promises of a request on the published table; with the original, compare their records.

    order   per published record the number of its original, where that is known
    events  of two tables: the published events beside `published`, the people; `original_events` likewise
    rows    as `order`, where the publisher states it
    counterfeits  how many published records were announced to be nobody's; None: nobody says
    """
    if not request.models and request.km is None:
        raise InputError("The spec promises nothing: privacy has no k and no other model.")
    if bool(request.events) == (events is None):
        raise InputError(
            "The spec asks for a table of events beside that of people: give both tables of the release."
            if events is None
            else "The spec says nothing of events: leave that table out, or add 'events' to the spec."
        )
    if events is not None and (original is None) != (original_events is None):
        raise InputError("The original is two tables, people and events: give both of them, or none.")
    joined = _joined(published, events, request)
    shown, items = joined.table, request.roles.having("items")
    for name in (*request.roles.having("quasi-identifier"), *items):
        if name not in shown.names:
            raise InputError(
                f"The release has no column {name!r}, which the spec names as a quasi-identifier. "
                f"{did_you_mean(name, shown.names)}"
            )
    known = None
    if original is not None:
        found = _original(original, original_events, request)
        known = replace(found, rows=rows, order=order, counterfeits=counterfeits)
    return verify(
        shown,
        request,
        known,
        hierarchies=_sensitive_hierarchies(shown, request),
        eventless=joined.eventless,
        population=_population(request, request.roles),
        checks=joined.checks,
    )


def _population(request: Statement, roles: Roles) -> tuple[Attribute, ...]:
    """The quasi-identifiers of the population that promises name; values that a hierarchy lacks fit `*`."""
    everybody = population_of(request.models)
    if everybody is None:
        return ()
    names = roles.having("quasi-identifier")
    everybody.require(names)
    lenient = request.with_columns(on_missing=dict.fromkeys(names, "suppress"))
    return build_attributes(everybody, lenient, Roles(dict.fromkeys(names, "quasi-identifier")))


def _joined(people: Table, events: Table | None, request: Statement) -> JoinedTables:
    """The table, or people and their events as one."""
    if events is None or not request.events:
        return JoinedTables(people)
    items = request.roles.only("items")
    return join_tables(people, events, request.events.key, items)


def _original(original: Table, events: Table | None, request: Statement) -> Original:
    tables = [original] if events is None else [original, events]
    if events is not None and request.events:
        listed = request.roles.only("items")
        request.events.refuse_wrong_columns(original.names, events.names, request.roles, listed)
    joined = _joined(original, events, request)
    if request.events:
        people, of_people, _ = joined.checks
        for check in [people] if request.events.orphans == "drop" else [people, of_people]:
            if not check.holds:
                raise InputError(f"The original does not fit together. {check.detail}")
    roles = settled_roles(joined.table, request)
    refuse_nulls(tables, request, roles)
    attributes, items = build_attributes(joined.table, request, roles), items_problem(joined.table, request)
    return Original(joined.table, roles, attributes, items, treatments=request.treatments)


def _sensitive_hierarchies(published: Table, request: Statement) -> dict[str, Hierarchy]:
    """Hierarchies of sensitive columns, over the values that are published."""
    found = {}
    for name in {model.attribute for model in request.models}:
        if (source := request.hierarchies.get(name)) is None:
            continue
        column = published.column(name)
        hierarchy = source if isinstance(source, Hierarchy) else source.build(column)
        check(hierarchy, column).raise_if_broken(name)
        if column.has_null and None not in hierarchy.leaf_of:
            hierarchy = hierarchy.with_leaves([None], hidden=False)
        found[name] = hierarchy
    return found
