"""What is said about a release besides its verdict: notes, and cautions about exact extreme values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from kohort.errors import counted
from kohort.job.choose import Choice
from kohort.job.prepare import Prepared
from kohort.job.publish import Published
from kohort.job.solve import Solution
from kohort.job.two_files import TwoFiles
from kohort.job.withheld import withheld_notes
from kohort.problem.attribute import Attribute
from kohort.problem.items import ItemsProblem
from kohort.problem.problem import Problem
from kohort.statement import Statement
from kohort.treatments import Treatment
from kohort.verification import Caution, Verdict

Columns = Mapping[str, pa.Array | None]


def release_notes(
    prepared: Prepared,
    choice: Choice,
    solution: Solution,
    published: Published,
    verdict: Verdict,
) -> tuple[str, ...]:
    """Sentences that the person who signs should read."""
    return (
        *choice.notes,
        *_household_notes(prepared.request),
        *_sample_note(prepared.request, prepared.dataset.n_records),
        *_treatment_notes(prepared, published),
        *([] if prepared.files is None else _file_notes(prepared.files)),
        *withholding_notes(prepared.problem, verdict.withheld),
        *model_notes(prepared.problem),
        *basket_notes(prepared.items if not prepared.attributes else None),
        *withheld_notes(verdict.withheld, published.n_left_out, published.broken),
        *_counterfeit_notes(published.counterfeits),
        *solution.recoding.notes,
        *formula_notes(published, prepared.request),
        *solution.notes,
    )


def _counterfeit_notes(number: int) -> list[str]:
    """A note for readers of the release, who take every record for a person's."""
    if not number:
        return []
    are = counted(number, "published record is a counterfeit", "published records are counterfeits")
    return [
        f"{are}: nobody's, so that no group lacks a sensitive value. Whoever counts records counts them, "
        "too. The figures of loss, risk and utility are about people alone."
    ]


def _sample_note(request: Statement, n_records: int) -> list[str]:
    """A sentence on what was drawn."""
    if request.sample == 1:
        return []
    return [
        f"{n_records:,} records, {request.sample:g} of all, were drawn at random; the others are not "
        "published. Every promise and figure is about those that were drawn."
    ]


def _household_notes(request: Statement) -> list[str]:
    if request.roles.only("household") is None:
        return []
    return ["Households are counted: where figures speak of people, read households."]


def _treatment_notes(prepared: Prepared, published: Published) -> list[str]:
    """Notes of each treatment about all columns that have it."""
    columns: dict[Treatment, list[str]] = {}
    for name, how in prepared.treatments.items():
        columns.setdefault(how, []).append(name)
    return [
        note
        for how, names in columns.items()
        for note in how.notes(names, prepared.dataset, published.columns)
    ]


def _file_notes(files: TwoFiles) -> list[str]:
    """Notes about two tables: how they are counted, and what was left out.

    Numbers are not said, as they may be small; the certificate has them.
    """
    notes = [
        f"People and events are published together. The pseudonyms in {files.key!r} are fresh, and link the "
        "two files and nothing else."
    ]
    if files.items is None:
        notes.append(
            "Where figures speak of records, they are those of the two files joined: one for each event, and "
            "one for each person without any."
        )
    else:
        notes.append(f"Each item of {files.items!r} is published once for a person, however often it came.")
    if files.orphans:
        notes.append("Events of people who are not in the table of people were left out (orphans: drop).")
    return notes


def withholding_notes(problem: Problem, n_withheld: int) -> list[str]:
    """A note where records could have been withheld, and none was."""
    if not problem.attributes or not problem.max_withheld or n_withheld:
        return []
    return [f"Up to {counted(problem.max_withheld, 'record')} could have been withheld; none was."]


def model_notes(problem: Problem) -> list[str]:
    """Notes of the models about the sensitive columns of the table."""
    return [
        note
        for model in problem.models
        if model.attribute
        for note in model.notes(problem.sensitive[model.attribute].context)
    ]


def basket_notes(items: ItemsProblem | None) -> list[str]:
    """Notes about baskets without quasi-identifiers."""
    if items is None:
        return []
    baskets, notes = items.baskets, []
    if baskets.repeated:
        notes.append(
            f"Items that a basket names more than once count once ({baskets.repeated:,} of them); "
            "multiset: true keeps the repetitions."
        )
    sensitive = 0 if items.sensitive is None else items.sensitive.sizes
    if (empty := int((baskets.sizes + sensitive == 0).sum())) > 0:
        are = counted(empty, "empty basket is", "empty baskets are")
        notes.append(f"{are} published as such: they hold nothing by which somebody could be recognized.")
    if items.confidence is not None:
        absent = sum(not held.any() for held in items.holds)
        if absent:
            notes.append(f"{counted(absent, 'sensitive item occurs', 'sensitive items occur')} in no basket.")
    if items.model.m > int(baskets.sizes.max(initial=0)):
        notes.append(
            f"m = {items.model.m} is larger than any basket, so the promise holds even if others know a "
            "whole basket."
        )
    return notes


def formula_notes(published: Published, request: Statement) -> list[str]:
    """A note where published cells begin like formulas; the choice is the key `formulas` of the spec."""
    found = published.formulas
    if not found:
        return []
    cells = counted(sum(found.values()), "published cell begins", "published cells begin")
    where = f"{cells} like a formula (= + - @), in {', '.join(map(repr, found))}"
    if request.formulas == "escape":
        return [f"{where}: a CSV file has an apostrophe before each of them (formulas: escape)."]
    return [
        f"{where}: spreadsheet programs may compute them when they open a CSV file. Add formulas: escape to "
        "the spec to have an apostrophe written before each of them."
    ]


def extreme_cautions(attributes: Sequence[Attribute], columns: Columns, k: int) -> list[Caution]:
    """A caution for each column whose least or greatest value, of fewer than k people, is published exactly.

    That is so where intervals end at values of the data: without a hierarchy, and with labels: tight.
    """
    return [extreme_caution(a) for a in attributes if shows_extremes(a, columns[a.name], k)]


def extreme_caution(attribute: Attribute) -> Caution:
    """The caution about a column that shows its least or greatest value."""
    return Caution(
        kind="exact-extremes",
        what=f"The smallest or the largest value of {attribute.name!r}, which few people have, can be "
        "read from the release: its intervals begin and end at values of the data.",
        advice=f"Set limits of your own in the spec: hierarchy: {_limits(attribute)}, and no labels: tight.",
        column=attribute.name,
    )


def _limits(attribute: Attribute) -> str:
    if attribute.column.kind in ("date", "datetime"):
        return "{date: [month, year]}"
    return "{intervals: [5, 10, 20], top: 90, bottom: 20} (with widths and limits that suit the column)"


def shows_extremes(attribute: Attribute, published: pa.Array | None, k: int) -> bool:
    """Whether a published column shows its least or greatest value, which fewer than k people have."""
    column = attribute.column
    known = [text for text in column.texts if text is not None]
    if published is None or not column.ordered or column.listed or len(known) < 2:
        return False
    labels = {None if label is None else str(label) for label in published.unique().to_pylist()}
    least = column.counts[0] < k and any(_begins(label, known[0]) for label in labels)
    greatest = column.counts[len(known) - 1] < k and any(_ends(label, known[-1]) for label in labels)
    return bool(least or greatest)


def _begins(label: str | None, value: str) -> bool:
    return label is not None and (label == value or (label.startswith(f"[{value}, ") and label[-1] == "]"))


def _ends(label: str | None, value: str) -> bool:
    return label is not None and (label == value or (label[0] == "[" and label.endswith(f", {value}]")))
