"""Hierarchies that mask one more character per level: 4350, 435*, 43**, 4***, `*`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from kohort.data.builder import values_of
from kohort.data.column import Column
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError
from kohort.parameters import check_parameters, shown


@dataclass(frozen=True)
class Mask:
    """Masks values from one `side`, a character per level: values that agree in the rest are one node.

    Values of different lengths: whole numbers are filled with zeros on the left, so that 950 among numbers
    of four digits becomes `095*`, `09**`, `0***`. Text is aligned at the end that is kept, so that the code
    A01 goes with A01.1 and A01.2 under `A01**`.
    """

    side: Literal["right", "left"] = "right"
    char: str = "*"

    def __post_init__(self) -> None:
        if not isinstance(self.char, str) or len(self.char) != 1 or self.char.isspace():
            raise InputError(f"The 'char' of a mask must be one visible character. Got {shown(self.char)}.")
        check_parameters(self, say="The {name!r} of a mask")

    def build(self, column: Column) -> Hierarchy:
        values = values_of(column)
        length = max(len(value) for value in values)
        if column.kind == "integer":
            codes = [value.zfill(length) for value in values]
        else:
            codes = values
        masked = self._masked_right if self.side == "right" else self._masked_left
        paths = [(value, *masked(code, length), STAR) for value, code in zip(values, codes)]
        return Hierarchy.from_paths(_apart_from_values(path, set(values)) for path in paths)

    def to_spec(self) -> dict[str, Any]:
        return {"mask": self.side} if self.char == STAR else {"mask": self.side, "char": self.char}

    def _masked_right(self, code: str, length: int) -> list[str]:
        kept = range(min(len(code), length - 1), 0, -1)
        return [code[:n] + self.char * (length - n) for n in kept]

    def _masked_left(self, code: str, length: int) -> list[str]:
        kept = range(min(len(code), length - 1), 0, -1)
        return [self.char * (length - n) + code[-n:] for n in kept]


def _apart_from_values(path: tuple[str, ...], values: set[str]) -> tuple[str, ...]:
    """The path, where no mask is spelled like a value of the column: it gets the label above it added.

    A reader could not tell 1*, a value that came masked, from the mask of 12, and would have to take it
    for the wider one.
    """
    masked = (f"{label} ({above})" if label in values else label for label, above in pairwise(path[1:]))
    return (path[0], *masked, path[-1])


def mask(side: Literal["right", "left"] = "right", char: str = STAR) -> Mask:
    """Mask from the right (4350, 435*, 43**) or from the left (4350, *350, **50).

    >>> mask("left").to_spec()
    {'mask': 'left'}
    """
    return Mask(side, char)
