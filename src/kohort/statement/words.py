"""The nouns of a call: what belongs to a column, to people, events, a ledger or a file is said there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from kohort.errors import InputError
from kohort.parameters import check_parameters


@dataclass(frozen=True)
class ColumnWords:
    """What is said of a column besides its role, by the keys of `Column`; see `column`."""

    said: Mapping[str, Any]


def column(
    hierarchy: Any = None,
    *,
    order: Sequence[Any] | None = None,
    weight: float | None = None,
    publish: Literal["interval", "mean", "median"] | None = None,
    scheme: str | None = None,
    on_missing: Literal["error", "suppress"] | None = None,
    treatment: Any = None,
    join: str | None = None,
) -> ColumnWords:
    """What is said of a column, where a hierarchy or a treatment alone is not enough.

    hierarchy   a builder such as `ko.intervals(5, 10)`, a Hierarchy or the path of a file
    order       all of its values in order
    weight      how much its detail is worth
    publish     of numbers without a hierarchy, what classes publish: interval, mean or median
    scheme      how its values may be merged, in all records alike
    on_missing  what becomes of values missing from its hierarchy: error, or suppress
    treatment   of columns that are not generalized: a word such as pseudonym, or `ko.Noise(0.1)`
    join        columns of the same join have the same pseudonyms
    """
    said = dict(locals())
    return ColumnWords({key: value for key, value in said.items() if value is not None})


@dataclass(frozen=True)
class Person:
    """Whose record it is: promises count people then.

    column     the column that says so
    linked     whether it is published as a pseudonym, so that promises are about all records of a person
    slot       of linked records: the column that says which one of a person's it is; without it, the records
               are an unordered bag
    household  the column that says whose household it is: promises are about whole households then
    weight     the column that says how many people a record stands for; dropped, or with
               `{"weight": "keep"}` published
    """

    column: str | None = None
    linked: bool = False
    slot: str | None = None
    household: str | None = None
    weight: str | Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        check_parameters(self, say="The {name!r} of ko.Person")
        if self.linked and self.column is None:
            raise InputError("ko.Person(linked=True) needs the column that says whose record it is.")


@dataclass(frozen=True, eq=False)
class Events:
    """A second table, of events, where the first has one record for each person.

    table    a dataframe or the path of a file
    orphans  what becomes of events whose person is not in the first table: error, or drop
    """

    table: Any
    orphans: str = "error"


@dataclass(frozen=True)
class Ledger:
    """The file of a ledger, which ties releases of the same people together.

    again         how a release is made safe together with the earlier ones
    counterfeits  the most records of nobody's that m-invariance may publish, so that fewer people wait
    """

    path: str | Path
    again: str = "history-keeping"
    counterfeits: int = 0


@dataclass(frozen=True)
class File:
    """A file and how it is read; see `file`."""

    path: str | Path
    header: bool | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        check_parameters(self, say="The {name!r} of ko.file")

    @property
    def reading(self) -> dict[str, Any]:
        """How it is read: what is said, and whether there is a header."""
        said = {name: getattr(self, name) for name in ("delimiter", "encoding", "sheet")}
        return {"header": self.header, **{name: value for name, value in said.items() if value is not None}}


def file(
    path: str | Path,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> File:
    """A file, and how it is read where that is not plain to see.

    header     whether the first line of a CSV or Excel file names its columns; otherwise they are called
               `column_1`, `column_2`, and so on
    delimiter  between the cells of a CSV file
    encoding   of a CSV file
    sheet      of an Excel file
    """
    return File(path, header, delimiter, encoding, sheet)


class Options(TypedDict, total=False):
    """The options of `kohort.anonymize` that are needed less often; they are those of the spec."""

    sample: float
    suppressed: Literal["star", "drop"]
    nulls: Literal["value", "star", "refuse"]
    formulas: Literal["keep", "escape"]
    scheme: str | None
    diversify_weight: float
    shift_days: int
    on_missing: Literal["error", "suppress"]
    title: str | None
    owner: str | None
    recipients: Sequence[Mapping[str, Any]]
    context: Mapping[str, str] | None
    utility: Mapping[str, Any] | None
    engine: str
    stop: Any
    household: str | None
    weight: str | Mapping[str, str] | None
    history: Mapping[str, str] | None
    orphans: Literal["error", "drop"]
    weights: Mapping[str, float] | None
    publish: Mapping[str, str] | None
    orders: Mapping[str, Sequence[Any]] | None
    joins: Mapping[str, str] | None
    again: str
    counterfeits: int
    header: bool | None


class Checking(TypedDict, total=False):
    """The options of `kohort.verify` that are needed less often."""

    header: bool | None
    original_header: bool | None
    order_file: str | Path | None
    ledger: str | Path | None
    key: bytes | None
    earlier: Sequence[Sequence[Any]]


INSTEAD = {
    "household": "person=ko.Person(household='home')",
    "weight": "person=ko.Person(weight='people')",
    "history": "person=ko.Person('patient', linked=True, slot='year')",
    "orphans": "events=ko.Events(table, orphans='drop')",
    "weights": "quasi_identifiers={'age': ko.column(weight=2)}",
    "publish": "quasi_identifiers={'age': ko.column(publish='mean')}",
    "orders": "quasi_identifiers={'stage': ko.column(order=['early', 'late'])}",
    "joins": "identifiers={'name': ko.column(treatment='pseudonym', join='people')}",
    "again": "ledger=ko.Ledger(path, again='m-invariance')",
    "counterfeits": "ledger=ko.Ledger(path, again='m-invariance', counterfeits=10)",
    "header": "ko.file(path, header=False)",
}
"""What to write instead of keywords that were there before the nouns."""
