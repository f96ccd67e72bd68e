"""Questions about the table itself: what is in it, who is in it, and who stands out."""

from __future__ import annotations

from typing import Any

import numpy as np

import kohort as ko
from kohort.data.arrow_values import person_codes
from kohort.data.counting import distinct_rows
from kohort.io.write_spec import suggested_attribute
from kohort.profiling.profile import ColumnProfile
from kohort.profiling.uniqueness import class_sizes, contributions
from kohort.studio.worker.basket_files import open_baskets, recognized
from kohort.studio.worker.cells import first_rows, shortened
from kohort.studio.worker.telling import Telling
from kohort.studio.worker.workplace import Source, Workplace
from kohort.tables.table import Table


def open_table(
    workplace: Workplace, telling: Telling, *, source: Source, recognize: bool = True
) -> dict[str, Any]:
    """The profile of a table and its first rows; afterwards every column is coded.

    recognize  whether a file of nothing but baskets is found out; not where it was said how to read it
    """
    telling("reading", 0.0)
    source = recognized(source) if recognize else source
    if source.get("baskets") is not None:
        return open_baskets(workplace, telling, source)
    file, dataset = workplace.file(source), workplace.dataset(source)
    telling.tell({"what": "profiling", "share": 0.3, "seconds": 0.0})
    found = ko.profile(file.table)
    for place, column in enumerate(found.columns):
        telling("counting", 0.6 + 0.4 * place / len(found.columns))
        if column.kind not in ("items", "nested"):
            dataset.column(column.name)
    return {
        "records": found.records,
        "format": file.format,
        "notes": list(file.notes),
        "columns": [_described(column) for column in found.columns],
        "attributes": {column.name: suggested_attribute(column) for column in found.columns},
        "rows": first_rows(file.table),
        "shape": None,
        "baskets": None,
    }


def _described(column: ColumnProfile) -> dict[str, Any]:
    """The profile of a column as plain data; its most common value is shown on the steward's machine."""
    facts = column.to_dict(show_values=True)
    if facts["most_common"] is not None:
        facts["most_common"] = shortened(facts["most_common"])
    return facts


def people(workplace: Workplace, telling: Telling, *, source: Source, column: str | None) -> dict[str, Any]:
    """How many people (or households) a table is of, and how many records they have."""
    dataset = workplace.dataset(source)
    if column is None:
        return {"people": dataset.n_records, "most": 1, "several": 0, "without": 0}
    persons = _persons(dataset, column)
    records = np.bincount(persons[persons >= 0])
    return {
        "people": len(records),
        "most": int(records.max(initial=0)),
        "several": int((records > 1).sum()),
        "without": int((persons < 0).sum()),
    }


def people_and_events(
    workplace: Workplace, telling: Telling, *, source: Source, events: Source, key: str
) -> dict[str, Any]:
    """How many people have how many events, and how many events are of nobody in the table of people."""
    own, named = (workplace.dataset(table).column(key) for table in (source, events))
    in_people, in_events = (
        {text: count for text, count in zip(column.texts, column.counts.tolist()) if text is not None}
        for column in (own, named)
    )
    theirs = [count for text, count in in_events.items() if text in in_people]
    return {
        "people": len(in_people),
        "twice": sum(in_people.values()) - len(in_people),
        "events": workplace.dataset(events).n_records,
        "most": max(theirs, default=0),
        "none": len(in_people) - len(theirs),
        "orphans": sum(in_events.values()) - sum(theirs),
    }


def _persons(dataset: Table, column: str) -> np.ndarray:
    dataset.require([column])
    return person_codes(column, dataset.arrow(column))


def uniqueness(
    workplace: Workplace, telling: Telling, *, source: Source, columns: list[str], person: str | None
) -> dict[str, Any]:
    """How many people are alone with their values in these columns, and how much each column adds to that."""
    dataset = workplace.dataset(source)
    codes = {name: dataset.column(name).codes for name in columns}
    counted = "records" if person is None else "people"
    if not columns:
        total = dataset.n_records if person is None else people_in(dataset, person)
        return {"counted": counted, "of": total, "unique": 0, "smallest": total, "adds": {}}
    sizes = class_sizes(list(codes.values()), dataset.n_records)
    adds = contributions(codes, dataset.n_records, 0)
    if person is None:
        unique, of, smallest = int((sizes == 1).sum()), dataset.n_records, int(sizes.min())
    else:
        unique, of, smallest = _unique_people(list(codes.values()), _persons(dataset, person))
    return {"counted": counted, "of": of, "unique": unique, "smallest": smallest, "adds": adds}


def people_in(dataset: Table, person: str) -> int:
    """How many people the records are of."""
    persons = _persons(dataset, person)
    return len(np.unique(persons[persons >= 0]))


def _unique_people(codes: list[np.ndarray], persons: np.ndarray) -> tuple[int, int, int]:
    """People with a record that no other person's is like, all people, and the fewest people in a class."""
    class_of = distinct_rows(np.column_stack(codes))[2]
    known = persons >= 0
    pairs = distinct_rows(np.column_stack([class_of[known], persons[known]]))[0]
    in_class = np.bincount(pairs[:, 0])
    alone = in_class[pairs[:, 0]] == 1
    sizes = in_class[in_class > 0]
    return (
        len(np.unique(pairs[alone, 1])),
        len(np.unique(persons[known])),
        int(sizes.min()) if len(sizes) else 0,
    )
