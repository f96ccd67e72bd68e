"""Publish the mean or the median of every class in the place of its interval: microaggregation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.counting import row_keys
from kohort.data.domain import STAR
from kohort.errors import InputError
from kohort.problem.attribute import Attribute


def refuse_averages(attributes: tuple[Attribute, ...], publish: Mapping[str, str], cost: str) -> None:
    """Raise InputError for columns whose values have no mean, and for squares of what is no number."""
    for attribute in attributes:
        asked = publish.get(attribute.name, "interval")
        if asked == "interval" and cost != "squares":
            continue
        if attribute.plain_numbers is None:
            what = f"publish: {asked}" if asked != "interval" else "The cost squares"
            raise InputError(
                f"{what} is for numbers without a hierarchy and without missing values, which "
                f"{attribute.name!r} is not. Leave its hierarchy out, fill in what is missing, or publish it "
                "in another way."
            )


def averaged_columns(
    attributes: tuple[Attribute, ...], columns: Mapping[str, Any], publish: Mapping[str, str]
) -> dict[str, pa.Array]:
    """The columns that publish means or medians; `columns` are the labels of all quasi-identifiers."""
    asked = {name: how for name, how in publish.items() if how != "interval"}
    if not asked:
        return {}
    looks = [columns[a.name].indices.cast(pa.int64()).fill_null(-1).to_numpy() for a in attributes]
    _, class_of = np.unique(row_keys([look + 1 for look in looks]), return_inverse=True)
    found = {}
    for attribute in attributes:
        if attribute.name in asked:
            labels = columns[attribute.name].to_pylist()
            starred = np.array([label == STAR for label in labels], dtype=bool)
            found[attribute.name] = _averaged(attribute, class_of, starred, asked[attribute.name])
    return found


def _averaged(attribute: Attribute, class_of: np.ndarray, starred: np.ndarray, how: str) -> pa.Array:
    assert attribute.plain_numbers is not None
    numbers = attribute.plain_numbers[attribute.column.codes].astype(float)
    digits = 2 + max(_decimals(text) for text in attribute.column.texts)
    sizes = np.bincount(class_of)
    if how == "mean":
        of_class = np.bincount(class_of, numbers) / sizes
    else:
        order = np.lexsort((numbers, class_of))
        starts = np.cumsum(sizes) - sizes
        of_class = (numbers[order][starts + (sizes - 1) // 2] + numbers[order][starts + sizes // 2]) / 2
    rounded = np.round(of_class, digits)
    if not starred.any():
        return pa.array(rounded[class_of], pa.float64()).dictionary_encode()
    texts = [STAR if star else repr(float(value)) for star, value in zip(starred, rounded[class_of])]
    return pa.array(texts, pa.string()).dictionary_encode()


def _decimals(text: str | None) -> int:
    if text is None or "e" in text.lower():
        return 0
    return len(text.partition(".")[2])
