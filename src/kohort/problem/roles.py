"""What each column is for. A column without a role is an error, never silently kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from kohort.errors import InputError, counted, did_you_mean
from kohort.parameters import Option

Role = Literal[
    "identifier", "quasi-identifier", "sensitive", "insensitive", "items", "person", "household", "weight"
]
ROLES: tuple[Role, ...] = get_args(Role)
WHO: tuple[Role, ...] = ("identifier", "person", "household")
"""The roles of columns that tell who somebody is."""
OF_ONE_COLUMN: tuple[Role, ...] = ("person", "household", "weight")


@dataclass(frozen=True)
class Roles:
    """The role of each column; `others` says what becomes of columns that are not named."""

    of: Mapping[str, Role] = field(default_factory=dict)
    others: Annotated[Literal["error", "keep", "drop"], Option("columns that are not named")] = "error"

    def __post_init__(self) -> None:
        for role in OF_ONE_COLUMN:
            if len(named := self.having(role)) > 1:
                raise InputError(
                    f"{len(named)} columns have the role {role}: {', '.join(map(repr, named))}. "
                    "Keep one, and give the others the role identifier, which drops them."
                )

    def having(self, role: Role) -> list[str]:
        return [name for name, given in self.of.items() if given == role]

    def only(self, role: Role) -> str | None:
        """The column that has a role of which a table has one column at most; None if there is none."""
        return next(iter(self.having(role)), None)

    def dropped(self, treatments: Mapping[str, str]) -> list[str]:
        """The columns that are not published: those that tell who it is, and weights, unless treated."""
        may_drop = [name for name, role in self.of.items() if role in (*WHO, "weight")]
        return [name for name in may_drop if treatments.get(name, "drop") == "drop"]

    def untouched(self, treatments: Mapping[str, str]) -> list[str]:
        """The columns that are published as they came."""
        kept = [name for name in self.having("weight") if treatments.get(name) == "keep"]
        plain = [*self.having("sensitive"), *self.having("insensitive")]
        return [*(name for name in plain if treatments.get(name, "keep") == "keep"), *kept]

    def settled(self, names: Sequence[str]) -> Roles:
        """The roles of exactly these columns, with `others` applied to those that are not named."""
        if len(self.of) > 1 and not set(self.of) & set(names):  # the names may be a person's values
            raise InputError(
                f"The table has none of the {len(self.of)} columns that have a role. Is it another table, or "
                "does its first line not name the columns (--no-header, in Python: header=False)?"
            )
        for name in self.of:
            if name not in names:
                raise InputError(f"The table has no column {name!r}. {did_you_mean(name, names)}")
        unnamed = [name for name in names if name not in self.of]
        if unnamed and self.others == "error":
            raise InputError(
                f"{counted(len(unnamed), 'column has', 'columns have')} no role: "
                f"{', '.join(map(repr, unnamed))}. Give each one a role (identifier, quasi-identifier, "
                "sensitive or insensitive), or set others: keep or others: drop."
            )
        rest: Role = "insensitive" if self.others == "keep" else "identifier"
        return Roles({name: self.of.get(name, rest) for name in names}, "error")
