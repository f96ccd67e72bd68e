"""What goes with what in a statement: everything that cannot be asked together is refused here, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kohort.data.hierarchies.build_hierarchy import Auto
from kohort.data.hierarchies.categories import Mask
from kohort.data.hierarchies.intervals import Quantiles
from kohort.data.hierarchies.orders import ByFrequency, Order
from kohort.errors import InputError, KohortError, UnsupportedError
from kohort.problem.promises import RiskLimit
from kohort.problem.roles import Role
from kohort.statement.approval import check_recipients
from kohort.statement.columns import refuse_for_other_roles, wrong_join

if TYPE_CHECKING:
    from kohort.statement.statement import Statement

_FROM_THE_DATA = (Auto, ByFrequency, Mask, Order, Quantiles)
"""Builders whose labels of a value depend on the other values: a mask is as long as the longest one."""
_NOT_GENERALIZED: tuple[Role, ...] = ("sensitive", "insensitive", "items", "weight", "household", "person")


def refuse_what_does_not_go_together(asked: Statement) -> None:
    """Raise the first reason why this cannot be asked."""
    for rules in _RULES:
        for refusal in rules(asked):
            raise refusal
    for name, column in asked.columns.items():
        refuse_for_other_roles(name, column)
    check_recipients(asked.recipients, asked.roles.having("quasi-identifier"))


def _of_events(asked: Statement) -> Iterator[KohortError]:
    """The key of two tables has a role and a treatment: a pseudonym, which links their records."""
    if not asked.events:
        return
    key = asked.events.key
    column = asked.columns.get(key)
    if column and column.role not in ("person", "identifier"):
        yield InputError(
            f"{key!r} is the key of the events and has the role {column.role}. Give it the role person, or "
            "none."
        )
    if column and column.how not in ("", "pseudonym"):
        yield InputError(
            f"{key!r} is the key of the events, which links the two tables: it is published as a pseudonym. "
            "Leave its treatment out."
        )
    if asked.roles.having("household"):
        yield UnsupportedError("Two tables are linked by person, not by household. Leave that role out.")


def _of_columns(asked: Statement) -> Iterator[KohortError]:
    for name in asked.joins:
        if asked.treatments.get(name) != "pseudonym":
            yield wrong_join(name)
    if asked.linked and asked.publish:
        yield UnsupportedError("Linked records publish intervals. Leave out 'publish'.")


def _of_items(asked: Statement) -> Iterator[KohortError]:
    named = asked.roles.having("items")
    if len(named) > 1:
        yield UnsupportedError(
            f"{len(named)} columns have the role items; one is possible. Put all items into one column, or "
            "drop the others with the role identifier."
        )
    if named and not asked.km:
        yield InputError(
            f"Column {named[0]!r} has the role items, but nothing is promised about it. Say how many items "
            "others may know, such as privacy: {k: 5, m: 2}, or drop it with the role identifier."
        )
    about = asked.km or asked.confidence
    if about and not named:
        yield InputError(f"{about.spec_key!r} is about a column of items, but no column has the role items.")
    protected = asked.confidence and asked.confidence.attribute
    if protected and asked.roles.of.get(protected) != "sensitive":
        yield InputError(
            f"'confidence' protects the values of {protected!r}, which is not a sensitive column. Give it "
            "the role sensitive."
        )
    if named and asked.suppression > 0:
        yield UnsupportedError("A table with items cannot withhold records. Set suppression: 0.")
    if asked.shape and asked.formulas == "escape":
        yield UnsupportedError(
            "formulas: escape is for tables; a file of baskets is written as it is. Leave it out."
        )
    if asked.shape and asked.events:
        yield InputError("A file of baskets has no events beside it. Leave out 'items' or 'events'.")
    if asked.shape and len(asked.columns) > 1:
        yield InputError(
            "'items' is for files that hold nothing but baskets. To publish a column of items, give it the "
            "role items."
        )


def _of_people(asked: Statement) -> Iterator[KohortError]:
    person, household = asked.roles.only("person"), asked.roles.only("household")
    if household is not None:
        if asked.treatments.get(person or "") == "pseudonym":
            yield UnsupportedError(
                "Records are linked by household, and cannot be linked by person as well. Leave out the "
                "treatment pseudonym of the person, or give the household the role identifier."
            )
        if asked.slot is not None:
            yield UnsupportedError(
                "The records of a household are an unordered bag: they have no slots. Leave out the history."
            )
        if asked.items:
            yield UnsupportedError(
                "A table with a column of items counts records, not households. Give the household the role "
                "identifier, or drop the items with it."
            )
    if asked.roles.having("weight") and not asked.roles.having("quasi-identifier"):
        yield UnsupportedError("Weights of records are for tables with quasi-identifiers.")
    if person is not None and asked.items:
        yield UnsupportedError(
            "A table with a column of items counts records, not people. Leave out the role person, if "
            "everybody has one record; publish the items as events beside a table of people (see 'events'); "
            "or drop them with the role identifier."
        )


def _of_linked_records(asked: Statement) -> Iterator[KohortError]:
    for name, treatment in asked.treatments.items():
        if treatment == "shift" and not asked.linked:
            yield InputError(
                f"The treatment shift of {name!r} moves all dates of a person alike, and is for linked "
                "records: give the column with the role person the treatment pseudonym."
            )
        if treatment == "shift" and name == asked.slot:
            yield InputError(f"The slot {name!r} is published as it is, and cannot be shifted.")
    if asked.slot is not None:
        if not asked.linked:
            yield InputError(
                "'history' is about linked records, and the records of a person are not linked: give the "
                "column with the role person the treatment pseudonym."
            )
        column = asked.columns.get(asked.slot)
        if column and column.role != "insensitive":
            yield InputError(
                f"The slot {asked.slot!r} has the role {column.role}, but slots are published as they are: "
                "give it the role insensitive."
            )
    if not asked.linked:
        return
    if asked.has_scheme:
        yield UnsupportedError(
            "Linked records are published in groups of people, which no scheme does. Leave 'scheme' out."
        )
    for model in asked.models:
        if model.compares_with_whole_table or not model.survives_unions:
            why = (
                "classes that look alike are united, and with rounding: ceiling a union may break the promise"
            )
            if model.compares_with_whole_table:
                why = "classes are made among people with the same slots, and it compares them with everybody"
            yield UnsupportedError(
                f"{model.name} as asked is not possible for linked records: {why}. "
                "Ask for another model, or do not link the records (leave out the treatment pseudonym of the "
                "person)."
            )


def _of_promises_about_tables(asked: Statement) -> Iterator[KohortError]:
    for name in [model.name for model in asked.models if model.of_table][:1]:
        if asked.suppression > 0:
            yield UnsupportedError(
                f"{name} is a promise about a whole table, of which no record may be withheld. Set "
                "suppression: 0."
            )
        if asked.roles.having("person") or asked.roles.having("household"):
            yield UnsupportedError(
                f"{name} counts records, not people. Leave out the role person, if everybody has one record, "
                "or ask for another model."
            )
        if asked.labels != "hierarchy" or asked.has_scheme:
            yield UnsupportedError(
                f"{name} is kept by searches over the levels of hierarchies. Leave out 'scheme', and set "
                "labels: hierarchy."
            )


def _of_sampling(asked: Statement) -> Iterator[KohortError]:
    sampled = [model.name for model in asked.models if model.by_sampling]
    if not sampled:
        return
    others = [m.name for m in asked.models if not (m.by_sampling or m.only_counts)]
    if others or len(sampled) > 1 or asked.km:
        yield UnsupportedError(f"{sampled[0]} goes together with k alone. Leave out the other promises.")
    named = [column for role in _NOT_GENERALIZED for column in asked.roles.having(role)]
    if named or asked.roles.others == "keep" or asked.events:
        told = f" Not so: {', '.join(map(repr, named))}." if named else ""
        yield UnsupportedError(
            f"Under {sampled[0]} every published column counts, whatever others know: give every column the "
            f"role quasi-identifier, with a hierarchy, or drop it with the role identifier.{told}"
        )
    if asked.labels == "tight" or asked.publish:
        yield UnsupportedError(
            f"Under {sampled[0]} labels must not depend on the data. Set labels: hierarchy, and leave out "
            "'publish'."
        )
    for column, source in asked.hierarchies.items():
        if isinstance(source, _FROM_THE_DATA):
            yield UnsupportedError(
                f"The hierarchy of {column!r} is built from the data, and {sampled[0]} needs one that does "
                "not depend on them: a file, intervals, date, groups or code."
            )


def _of_treatments(asked: Statement) -> Iterator[KohortError]:
    if asked.counterfeits and asked.again != "m-invariance":
        yield InputError(
            f"'counterfeits' are for again: m-invariance, and this release is made with {asked.again}, which "
            "publishes none. Set counterfeits: 0, or again: m-invariance."
        )
    if asked.perturbations and (asked.linked or asked.events):
        yield UnsupportedError(
            "Columns of linked records cannot be perturbed one record at a time: the records of a person "
            "would tell what they have in common. Leave the treatments out."
        )


def _of_ledger(asked: Statement) -> Iterator[KohortError]:
    if not asked.ledger:
        return
    if not asked.roles.having("person"):
        yield InputError(
            "A ledger ties releases of the same people together: give the column that says who somebody is "
            "the role person."
        )
    if asked.key is None:
        yield InputError(
            "A ledger needs a secret key: give a key file (--key-file, or key= in Python) or set the "
            "environment variable KOHORT_KEY."
        )
    for there, what in (
        (asked.linked, "linked records or households"),
        (bool(asked.items), "a column of items"),
        (bool(asked.events), "a table of events"),
        (asked.has_scheme, "a scheme"),
        (asked.sample < 1, "a sample of the records"),
        (bool(asked.perturbations), "treatments that change values"),
        (bool(asked.publish), "means or medians"),
    ):
        if there:
            yield UnsupportedError(
                f"A ledger does not go together with {what}: the promise over several releases is about one "
                "record for each person, in groups. Leave one of them out."
            )
    yield from _of_models_with_ledger(asked)


def _of_models_with_ledger(asked: Statement) -> Iterator[KohortError]:
    for model in asked.models:
        if isinstance(model, RiskLimit):
            yield UnsupportedError(
                "A limit on the risk is not possible with a ledger, which counts the candidates that all "
                f"releases leave. Ask for k: {model.least_class} instead."
            )
        alone = model.of_table or model.by_sampling or not model.survives_unions
        if model.compares_with_whole_table or alone:
            yield UnsupportedError(
                f"{model.name} as asked is not possible with a ledger: what it allows changes with the whole "
                "table, or from one union of classes to the next. Ask for another model."
            )
    sensitive = asked.roles.having("sensitive")
    if asked.again == "m-invariance" and len(sensitive) != 1:
        yield UnsupportedError(
            f"m-invariance protects the values of one sensitive column, and {len(sensitive)} have that role. "
            "Name one, or set again: history-keeping."
        )


_RULES: tuple[Callable[[Statement], Iterator[KohortError]], ...] = (
    _of_events,
    _of_columns,
    _of_items,
    _of_people,
    _of_linked_records,
    _of_promises_about_tables,
    _of_treatments,
    _of_sampling,
    _of_ledger,
)
