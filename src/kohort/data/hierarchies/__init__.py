"""What every builder of hierarchies has in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from itertools import repeat
from typing import Any, ClassVar, Protocol

import numpy as np

from kohort.data.column import Column
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError


class Builder(Protocol):
    """Makes a hierarchy for a column.

    In a release spec the first of its fields stands under its `key`, and others beside it: those that are not
    as usual or, if it `says_all`, all of them.
    """

    key: ClassVar[str]
    says_all: ClassVar[bool] = False

    def build(self, column: Column) -> Hierarchy:
        """A tree over the values of the column without null, which the caller adds."""
        ...

    def to_spec(self) -> dict[str, Any]:
        """The builder as the value of `hierarchy:` in a release spec."""
        own: Any = self
        said = [(field.name, field.default, getattr(self, field.name)) for field in fields(own)]
        spec = {self.key: said[0][2] if said else True}
        spec |= {name: value for name, usual, value in said[1:] if self.says_all or value != usual}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in spec.items()}


def values_of(column: Column) -> list[str]:
    """The column's values but null, in natural order; at least one."""
    if not column.present:
        raise InputError(
            f"Column {column.name!r} has no values to build a hierarchy from. Give it hierarchy: none."
        )
    return column.present


def tree_over(column: Column, levels: Iterable[list[str]]) -> Hierarchy:
    """The tree whose levels above the values bear these labels (one list per level, the finest first)."""
    return Hierarchy.from_paths(zip(values_of(column), *levels, repeat(STAR)))


def labels_of(keys: np.ndarray, label: Callable[[int], str]) -> list[str]:
    """One label per key; equal keys are labelled once."""
    distinct, which = np.unique(keys, return_inverse=True)
    labels = np.array([label(int(key)) for key in distinct], dtype=object)
    return labels[which].tolist()
