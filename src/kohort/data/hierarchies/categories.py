"""Hierarchies of categories and codes: named groups, masked characters, levels of code systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

from kohort.data.column import Column, text_of
from kohort.data.domain import STAR
from kohort.data.hierarchies import Builder, tree_over, values_of
from kohort.data.hierarchies.checks import check
from kohort.data.hierarchies.code_systems import CODE_SYSTEMS, CodeSystem
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, did_you_mean
from kohort.parameters import check_parameters, shown

_DEEPEST = 100  # nested mappings and lists


@dataclass(frozen=True)
class Flat(Builder):
    """A value stays as it is or becomes `*`."""

    key: ClassVar[str] = "flat"

    def build(self, column: Column) -> Hierarchy:
        return tree_over(column, [])


@dataclass(frozen=True)
class Groups(Builder):
    """A tree of nested mappings and lists; all its leaves are kept, whether or not the column has them.

    A value of the column that is in no group is an error, as it is with a hierarchy file.
    """

    key: ClassVar[str] = "groups"
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


flat = Flat


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


@dataclass(frozen=True)
class Mask(Builder):
    """Masks values from one `side`, a character per level: values that agree in the rest are one node.

    Values of different lengths: whole numbers are filled with zeros on the left, so that 950 among numbers
    of four digits becomes `095*`, `09**`, `0***`. Text is aligned at the end that is kept, so that the code
    A01 goes with A01.1 and A01.2 under `A01**`.

    >>> Mask("left").to_spec()
    {'mask': 'left'}
    """

    key: ClassVar[str] = "mask"
    side: Literal["right", "left"] = "right"
    char: str = "*"

    def __post_init__(self) -> None:
        if not isinstance(self.char, str) or len(self.char) != 1 or self.char.isspace():
            raise InputError(f"The 'char' of a mask must be one visible character. Got {shown(self.char)}.")
        check_parameters(self, say="The {name!r} of a mask")

    def build(self, column: Column) -> Hierarchy:
        values = values_of(column)
        length = max(len(value) for value in values)
        codes = [value.zfill(length) for value in values] if column.kind == "integer" else values
        known = set(values)
        return Hierarchy.from_paths(
            (value, *_apart_from_values(self._masked(code, length), known), STAR)
            for value, code in zip(values, codes)
        )

    def _masked(self, code: str, length: int) -> list[str]:
        kept = range(min(len(code), length - 1), 0, -1)
        if self.side == "right":
            return [code[:n] + self.char * (length - n) for n in kept]
        return [self.char * (length - n) + code[-n:] for n in kept]


def _apart_from_values(masks: Sequence[str], values: set[str]) -> list[str]:
    """The masks, of which none is spelled like a value of the column: it gets the label above it added.

    A reader could not tell 1*, a value that came masked, from the mask of 12, and would have to take it
    for the wider one.
    """
    return [f"{label} ({above})" if label in values else label for label, above in pairwise([*masks, STAR])]


mask = Mask


@dataclass(frozen=True)
class Code(Builder):
    """Codes of a `system` that Kohort knows, generalized by their structure.

    Values that are not codes of this system get no place in the tree: like values that a hierarchy file
    lacks, they are an error or, with on_missing: suppress, published as `*`.

    >>> Code("icd10").to_spec()
    {'code': 'icd10'}
    """

    key: ClassVar[str] = "code"
    system: str

    def __post_init__(self) -> None:
        if not isinstance(self.system, str) or self.system not in CODE_SYSTEMS:
            raise InputError(f"Unknown codes {self.system!r}. {did_you_mean(str(self.system), CODE_SYSTEMS)}")

    @property
    def title(self) -> str:
        """What these codes are called."""
        return self._system.title

    @property
    def expected(self) -> str:
        """What the values should be, for messages."""
        return f"{self.title} such as {self._system.example}"

    def build(self, column: Column) -> Hierarchy:
        values = values_of(column)
        is_number = column.kind == "integer"
        levels = [self._system.levels(value, is_number=is_number) for value in values]
        paths = sorted(
            ((*reversed(above), value) for value, above in zip(values, levels) if above is not None)
        )
        if not paths:
            raise InputError(
                f"Column {column.name!r}: none of its {len(values):,} values looks like {self.expected}. "
                "Choose another hierarchy."
            )
        return Hierarchy.from_paths((*reversed(path), STAR) for path in paths)

    @property
    def _system(self) -> CodeSystem:
        return CODE_SYSTEMS[self.system]


code = Code
