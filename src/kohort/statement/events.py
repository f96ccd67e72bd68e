"""What is asked of a table of events beside one of people: its key, and what becomes of strays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from kohort.errors import InputError, UnsupportedError, did_you_mean
from kohort.parameters import Option, check_parameters
from kohort.problem.roles import Roles


@dataclass(frozen=True)
class EventsAsked:
    """A table of events, several for each person, that is published beside the table of people.

    key      the column that both tables have: whose record it is
    columns  the columns of the events that have a role; None: not said, a column is found in either table
    orphans  what becomes of events whose person is not in the table of people
    """

    key: str
    columns: tuple[str, ...] | None = None
    orphans: Annotated[
        Literal["error", "drop"], Option("events of people who are not in the table of people")
    ] = "error"

    def __post_init__(self) -> None:
        check_parameters(self, say="The {name!r} of events")

    def refuse_wrong_columns(
        self, people: Sequence[str], events: Sequence[str], roles: Roles, items: str | None
    ) -> None:
        """Raise InputError for columns that are in the wrong table, in both, or in none."""
        for table, names in {"table of people": people, "table of events": events}.items():
            if self.key not in names:
                raise InputError(
                    f"The {table} has no column {self.key!r}, the key of the events. "
                    f"{did_you_mean(self.key, names)}"
                )
        if both := sorted((set(people) & set(events)) - {self.key}):
            raise InputError(
                f"{', '.join(map(repr, both))} is a column of both tables: rename it in one of them, or "
                "leave it out there."
            )
        for name in self.columns or ():
            if name not in events:
                raise InputError(f"The events have no column {name!r}. {did_you_mean(name, events)}")
        of_people = (
            () if self.columns is None else [n for n in roles.of if n not in (*self.columns, self.key)]
        )
        for name in of_people:
            if name in events:
                raise InputError(f"Column {name!r} is one of the events: give its role under 'events'.")
        if items is not None:
            self._refuse_beside_items(items, people, events, roles)

    def _refuse_beside_items(
        self, items: str, people: Sequence[str], events: Sequence[str], roles: Roles
    ) -> None:
        if items in people:
            raise UnsupportedError(
                f"Column {items!r} of the people holds items, which cannot be published beside events. "
                "Publish the people alone, or drop the column with the role identifier."
            )
        if items not in events:
            raise InputError(f"The events have no column {items!r}. {did_you_mean(items, events)}")
        more = [name for name in events if name not in (items, self.key)]
        given = [name for name in more if name in roles.of]
        if given or (more and roles.others != "drop"):
            raise UnsupportedError(
                f"Events that are items are published as {self.key!r} and {items!r} alone, each item once "
                f"for a person: {', '.join(map(repr, given or more))} cannot be. Leave other columns out "
                "with others: drop."
            )
