"""Questions about the table itself: what is in it, who is in it, and who stands out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import kohort as ko
from kohort.data.arrow_values import person_codes
from kohort.data.baskets import Baskets
from kohort.data.column import text_of
from kohort.data.counting import distinct_rows
from kohort.errors import UnsupportedError
from kohort.io.data_files import recognized_baskets, separator_for
from kohort.io.formats import format_of
from kohort.io.source_file import Files
from kohort.io.write_spec import suggested_attribute
from kohort.profiling.profile import profile_baskets
from kohort.profiling.uniqueness import class_sizes, contributions
from kohort.statement.items import BASKETS, BasketShape
from kohort.studio.worker.workplace import Source, Workplace
from kohort.tables.table import Table

_FIRST_ROWS = 100
_LONGEST_CELL = 80  # characters
_MOST_COMMON = 20


def open_table(workplace: Workplace, *, source: Source, recognize: bool = True) -> dict[str, Any]:
    """The profile of a table and its first rows; afterwards every column is coded.

    recognize  whether a file of nothing but baskets is found out; not where it was said how to read it
    """
    workplace.tell("reading", 0.0)
    source = _recognized(source) if recognize else source
    if source.get("baskets") is not None:
        return _open_baskets(workplace, source)
    file, dataset = workplace.file(source), workplace.dataset(source)
    workplace.tell.at_once("profiling", 0.3)
    found = ko.profile(file.table)
    for place, column in enumerate(found.columns):
        workplace.tell("counting", 0.6 + 0.4 * place / len(found.columns))
        if column.kind not in ("items", "nested"):
            dataset.column(column.name)
    return {
        "records": found.records,
        "format": file.format,
        "notes": list(file.notes),
        "columns": [
            facts
            | {"most_common": shortened(facts["most_common"]) if facts["most_common"] is not None else None}
            for facts in (column.to_dict(show_values=True) for column in found.columns)
        ],
        "attributes": {column.name: suggested_attribute(column) for column in found.columns},
        "rows": first_rows(file.table),
        "shape": None,
        "baskets": None,
    }


def _recognized(source: Source) -> Source:
    """The source with the shape of its baskets, where it holds one per line or is said to; else as it is."""
    path, said = Path(source["path"]), source.get("baskets")
    Files.at(path)  # refused where it cannot be read
    if said is None and (source.get("header") is not None or format_of(path).name != "csv"):
        return source
    try:
        found = recognized_baskets(path)
    except UnsupportedError:  # by its name it is no table, but it may hold baskets
        found = None
    if found is None:
        return source
    return {**source, "header": None, "baskets": {"separator": found.separator}}


def _open_baskets(workplace: Workplace, source: Source) -> dict[str, Any]:
    """The profile of a file of baskets, its first ones and its most common items."""
    file, shape = workplace.file(source), BasketShape(**source["baskets"])
    workplace.tell.at_once("counting", 0.5)
    baskets = workplace.baskets(source, BASKETS, {})
    separator = None if shape.id is not None else separator_for(shape, Path(source["path"]))
    found = profile_baskets(baskets).to_dict()
    return {
        "records": len(baskets),
        "format": file.format,
        "notes": list(file.notes),
        "columns": [],
        "attributes": {},
        "rows": first_rows(file.table),
        "shape": source["baskets"],
        "baskets": found | {"separator": separator, "common": most_common(baskets)},
    }


def most_common(baskets: Baskets, count: int = _MOST_COMMON) -> list[dict[str, Any]]:
    """The items that most baskets have, and how many have each."""
    counts = baskets.items.counts
    order = np.argsort(-counts, kind="stable")[:count]
    texts = baskets.items.texts
    return [{"item": shortened(str(texts[code])), "baskets": int(counts[code])} for code in order]


def first_rows(table: pa.Table, first: int = 0, count: int = _FIRST_ROWS) -> list[list[str | None]]:
    """Some rows of a table as texts, cut where they are long."""
    part = table.slice(first, count)
    columns = [[_cell(value) for value in part[name].to_pylist()] for name in part.column_names]
    return [list(row) for row in zip(*columns)]


def _cell(value: Any) -> str | None:
    if value is None:
        return None
    return shortened("; ".join(map(str, value)) if isinstance(value, list) else text_of(value))


def shortened(text: str) -> str:
    """A text that is not too long for a cell of a page."""
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"


def people(workplace: Workplace, *, source: Source, column: str | None) -> dict[str, int]:
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


def people_and_events(workplace: Workplace, *, source: Source, events: Source, key: str) -> dict[str, Any]:
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
    workplace: Workplace, *, source: Source, columns: list[str], person: str | None
) -> dict[str, Any]:
    """How many people are alone with their values in these columns, and how much each column adds to that."""
    dataset = workplace.dataset(source)
    codes = {name: dataset.column(name).codes for name in columns}
    counted, n = "records" if person is None else "people", dataset.n_records
    if person is not None:
        unique, of, smallest = _unique_people(list(codes.values()), _persons(dataset, person))
    elif columns:
        sizes = class_sizes(list(codes.values()), n)
        unique, of, smallest = int((sizes == 1).sum()), n, int(sizes.min())
    else:
        unique, of, smallest = 0, n, n
    adds = contributions(codes, n, 0) if columns else {}
    return {"counted": counted, "of": of, "unique": unique, "smallest": smallest, "adds": adds}


def _unique_people(codes: list[np.ndarray], persons: np.ndarray) -> tuple[int, int, int]:
    """People with a record that no other person's is like, all people, and the fewest people in a class."""
    known = persons >= 0
    people = len(np.unique(persons[known]))
    if not codes:
        return 0, people, people
    class_of = distinct_rows(np.column_stack(codes))[2]
    pairs = distinct_rows(np.column_stack([class_of[known], persons[known]]))[0]
    in_class = np.bincount(pairs[:, 0])
    alone, sizes = in_class[pairs[:, 0]] == 1, in_class[in_class > 0]
    return len(np.unique(pairs[alone, 1])), people, int(sizes.min()) if len(sizes) else 0
