"""Hierarchies that are written out by hand, and the flat one that needs no writing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kohort.data.builder import tree_over
from kohort.data.check_hierarchy import check
from kohort.data.column import Column, text_of
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError

_DEEPEST = 100  # nested mappings and lists


@dataclass(frozen=True)
class Flat:
    """A value stays as it is or becomes `*`."""

    def build(self, column: Column) -> Hierarchy:
        return tree_over(column, [])

    def to_spec(self) -> dict[str, Any]:
        return {"flat": True}


@dataclass(frozen=True)
class Groups:
    """A tree of nested mappings and lists; all its leaves are kept, whether or not the column has them.

    A value of the column that is in no group is an error, as it is with a hierarchy file.
    """

    mapping: Mapping[Any, Any] | Sequence[Any]
    root: str = STAR

    def __post_init__(self) -> None:
        if not isinstance(self.mapping, (Mapping, list, tuple)) or not self.mapping:
            raise InputError("Groups must be a mapping from a group's name to its values or smaller groups.")
        self.paths()

    def paths(self) -> list[tuple[str | None, ...]]:
        """One path per leaf, the leaf first, the root last."""
        return list(_paths(self.mapping, (self.root,)))

    def build(self, column: Column) -> Hierarchy:
        paths = self.paths()
        check(paths, column).raise_if_broken(column.name, allow_missing=True)
        return Hierarchy.from_paths(paths)

    def to_spec(self) -> dict[str, Any]:
        return {"groups": self.mapping} if self.root == STAR else {"tree": {self.root: self.mapping}}


def flat() -> Flat:
    """A value stays as it is or becomes `*`."""
    return Flat()


def groups(mapping: Mapping[Any, Any]) -> Groups:
    """Values in named groups, which may hold groups.

    >>> groups({"Europe": ["France", "Spain"], "Asia": {"East": ["Japan"]}}).paths()[-1]
    ('Japan', 'East', 'Asia', '*')
    """
    return Groups(mapping)


def _paths(tree: Any, above: tuple[str | None, ...], depth: int = 0) -> Iterator[tuple[str | None, ...]]:
    if depth > _DEEPEST:
        raise InputError(f"Groups are nested more than {_DEEPEST} deep. Does one of them contain itself?")
    if isinstance(tree, Mapping):
        for name, below in tree.items():
            if below is None or below == [] or below == {}:
                yield (_text(name), *above)
            else:
                yield from _paths(below, (_text(name), *above), depth + 1)
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from _paths(item, above, depth + 1)
    else:
        yield (None if tree is None else _text(tree), *above)


def _text(name: Any) -> str:
    if isinstance(name, bool):  # YAML reads the unquoted words yes, no, on and off so
        raise InputError(f"A name in groups was read as the truth value {text_of(name)}. Put it in quotes.")
    return text_of(name)
