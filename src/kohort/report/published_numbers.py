"""A published column of a release as numbers or times, by what is known of its original."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.data.label_ranges import Range, Scale, label_ranges
from kohort.data.numeric_labels import How, Star, numbers_of_labels
from kohort.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from kohort.problem.attribute import Attribute
    from kohort.release.release import Release

_SCALES: dict[str, Scale] = {"integer": "integer", "float": "float", "date": "date", "datetime": "datetime"}


def published_numbers(release: Release, name: str, how: How, *, star: Star, seed: int) -> Any:
    """A published column as numbers or times, of the kind of dataframe that the release is."""
    if name not in release.published_names:
        raise InputError(
            f"The release has no column {name!r}. {did_you_mean(str(name), release.published_names)}"
        )
    of_events = release.files is not None and name not in release.files.people.names
    table = nw.from_native(release.events if of_events else release.table, eager_only=True)
    column = table[name].to_native()
    attribute = next((a for a in release.problem.attributes if a.name == name), None)
    if attribute is None:
        return numbers_of_labels(column, how, star=star, seed=seed)
    scale = _SCALES.get(attribute.column.kind)
    known = {} if scale is None else _nodes(attribute, scale)
    return numbers_of_labels(column, how, star=star, seed=seed, scale=scale, known=known)


def _nodes(attribute: Attribute, scale: Scale) -> dict[str, Range]:
    """The least and the greatest value under each node of a hierarchy, by its label."""
    tree = attribute.domain
    if not isinstance(tree, Hierarchy):
        return {}
    leaves = label_ranges(tree.leaves, scale)
    found: dict[str, Range] = {}
    for label, first, last in zip(tree.published, tree.lo, tree.hi):
        low, high = leaves.low[first : last + 1], leaves.high[first : last + 1]
        if label is not None and np.isfinite(low).any() and np.isfinite(high).any():
            found[label] = (float(np.nanmin(low)), float(np.nanmax(high)))
    return found
