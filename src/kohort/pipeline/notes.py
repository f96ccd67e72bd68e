"""What is said besides the verdict about every kind of release: cells like formulas, exact extreme values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from kohort.data.dataset import Dataset
from kohort.data.formulas import formula_cells
from kohort.errors import counted
from kohort.pipeline.publish import as_arrow
from kohort.pipeline.request import Request
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem
from kohort.verification import Caution

__all__ = ["extreme_cautions", "formula_notes"]

Columns = Mapping[str, pa.Array | None]


def formula_notes(dataset: Dataset, request: Request, columns: Columns, kept: np.ndarray | None) -> list[str]:
    """A note where published cells begin like formulas; the choice is the key `formulas` of the spec."""
    names = [name for name in dataset.names if columns.get(name, ...) is not None]
    found = formula_cells(as_arrow(dataset, dict(columns), names, kept))
    if not found:
        return []
    cells = counted(sum(found.values()), "published cell begins", "published cells begin")
    where = f"{cells} like a formula (= + - @), in {', '.join(map(repr, found))}"
    if request.formulas == "escape":
        return [f"{where}: a CSV file has an apostrophe before each of them (formulas: escape)."]
    return [
        f"{where}: spreadsheet programs may compute them when they open a CSV file. To have an apostrophe "
        "written before each of them, add formulas: escape to the spec."
    ]


def extreme_cautions(problem: Problem, columns: Columns) -> list[Caution]:
    """A caution for each column whose least or greatest value, of fewer than k people, is published exactly.

    That is so where intervals end at values of the data: without a hierarchy, and with labels: tight.
    """
    return [
        Caution(
            kind="exact-extremes",
            what=f"The smallest or the largest value of {attribute.name!r}, which few people have, can be "
            "read from the release: its intervals begin and end at values of the data.",
            advice=f"Set limits of your own in the spec: hierarchy: {_limits(attribute)}, "
            "and no labels: tight.",
            column=attribute.name,
        )
        for attribute in problem.attributes
        if _shows_extremes(attribute, columns[attribute.name], problem.k)
    ]


def _limits(attribute: Attribute) -> str:
    if attribute.column.kind in ("date", "datetime"):
        return "{date: [month, year]}"
    return "{intervals: [5, 10, 20], top: 90, bottom: 20} (with widths and limits that suit the column)"


def _shows_extremes(attribute: Attribute, published: pa.Array | None, k: int) -> bool:
    column = attribute.column
    known = [text for text in column.texts if text is not None]
    if published is None or not column.ordered or column.listed or len(known) < 2:
        return False
    labels = set(published.unique().to_pylist())
    least = column.counts[0] < k and any(_begins(label, known[0]) for label in labels)
    greatest = column.counts[len(known) - 1] < k and any(_ends(label, known[-1]) for label in labels)
    return bool(least or greatest)


def _begins(label: str | None, value: str) -> bool:
    return label is not None and (label == value or (label.startswith(f"[{value}, ") and label[-1] == "]"))


def _ends(label: str | None, value: str) -> bool:
    return label is not None and (label == value or (label[0] == "[" and label.endswith(f", {value}]")))
