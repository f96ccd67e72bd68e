"""Models as analysts write them: `income ~ age + sex`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kohort.errors import InputError

__all__ = ["Formula", "read_formula"]

_NAME = re.compile(r"`([^`]+)`|([^`~+*:()^|]+)")


@dataclass(frozen=True)
class Formula:
    """A response and the columns that explain it."""

    text: str
    response: str
    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.response, *self.columns)


def read_formula(text: object) -> Formula:
    """Read `response ~ column + column`; a name with signs in it stands in backticks.

    >>> read_formula("income ~ age + `hours per week`").columns
    ('age', 'hours per week')
    """
    sides = text.split("~") if isinstance(text, str) else []
    if len(sides) != 2:
        raise InputError(
            f"A model is written as 'income ~ age + sex': one column, a tilde, and others. Got {text!r}."
        )
    response, columns = _name(sides[0], text), tuple(_name(part, text) for part in sides[1].split("+"))
    if len({response, *columns}) != len(columns) + 1:
        raise InputError(f"The model {text!r} names a column twice. Name each one once.")
    return Formula(str(text).strip(), response, columns)


def _name(part: str, text: object) -> str:
    found = _NAME.fullmatch(part.strip())
    if found is None:
        raise InputError(
            f"The model {text!r} has {part.strip()!r} where the name of a column should be. Columns are "
            "added with +; products, powers and functions are not possible, and names with signs stand in "
            "backticks."
        )
    return (found[1] or found[2]).strip()
