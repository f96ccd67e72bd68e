"""Treatments that have no size: pseudonyms and masks, shifted dates, and the averages of classes."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrow_values import value_type
from kohort.data.column import Column
from kohort.data.counting import row_keys
from kohort.data.domain import STAR
from kohort.errors import InputError
from kohort.problem.attribute import Attribute
from kohort.tables.table import Table
from kohort.treatments.treatment import Part, Scope, Secret, Treatment, decimals_of

if TYPE_CHECKING:
    from kohort.statement import Statement


MASK = "*****"  # of one length, so that it does not reveal the length of what it hides
_MIN_KEY = 16


@dataclass(frozen=True)
class Pseudonym(Treatment):
    """Keyed pseudonyms of the values.

    join   columns with the same have the same pseudonyms; None: those of the column's own name
    fresh  whether they link the records of this release and nothing else, and so need no key of the user's
    """

    name: ClassVar[str] = "pseudonym"
    scope: ClassVar[Scope] = "record"
    join: str | None = None
    fresh: bool = False

    @classmethod
    def asked(cls, request: Statement, column: str) -> Treatment:
        return cls(request.joins.get(column), column == request.fresh_key)

    def publish(self, column: str, part: Part, secret: Secret) -> pa.Array:
        return pseudonyms(
            part.table.column(column), secret.fresh if self.fresh else secret.key, join=self.join
        )


class Mask(Treatment):
    """The same for every record."""

    name: ClassVar[str] = "mask"
    scope: ClassVar[Scope] = "record"
    reads: ClassVar[bool] = False

    def publish(self, column: str, part: Part, secret: Secret) -> pa.Array:
        codes = np.zeros(part.table.n_records, dtype=np.int32)
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array([MASK]))


def pseudonyms(column: Column, key: bytes | None, *, join: str | None = None) -> pa.DictionaryArray:
    """Keyed pseudonyms of the values, 128 bits in hexadecimal; a missing value stays missing.

    Values are pseudonymized by HMAC-SHA-256 under a key of their own for each `join`, which is the name of
    the column unless another is given. So the same value has the same pseudonym wherever key and `join` are
    the same, in any table, and other pseudonyms elsewhere: nobody sees that the value of one column occurs in
    another. Without the key nobody can find a value by trying.
    """
    if not isinstance(key, bytes) or len(key) < _MIN_KEY:
        raise InputError(
            f"Pseudonyms for {column.name!r} need a secret key of at least {_MIN_KEY} bytes: give a key file "
            "(--key-file, or key= in Python) or set the environment variable KOHORT_KEY."
        )
    own = _digest(f"kohort pseudonyms of {column.name if join is None else join}", key)
    texts = np.array(
        ["" if text is None else _digest(text, own).hex()[:32] for text in column.texts], dtype=str
    )
    order = np.argsort(texts)  # the order of the originals is no hint
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    codes = rank[column.codes]
    missing = np.array([text is None for text in column.texts], dtype=bool)[column.codes]
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=missing), pa.array(texts[order], pa.string()))


def _digest(text: str, key: bytes) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


_DAY = 86_400_000_000_000  # nanoseconds


@dataclass(frozen=True)
class Shift(Treatment):
    """Dates that move by at most so many days, all of a person alike.

    people  the column that says whose record it is
    most    the largest number of days
    """

    name: ClassVar[str] = "shift"
    scope: ClassVar[Scope] = "person"
    people: str
    most: int

    @classmethod
    def asked(cls, request: Statement, column: str) -> Treatment:
        assert request.linked_by is not None  # a request refuses it where records are not linked
        return cls(request.linked_by, request.shift_days)

    def publish(self, column: str, part: Part, secret: Secret) -> pa.Array:
        days = days_of_people(part.table.column(self.people), secret.fresh, self.most)
        return shifted(column, part.table.arrow(column), part.table.column(column).kind, days)


def days_of_people(people: Column, key: bytes, most: int) -> np.ndarray:
    """The number of days by which the dates of each record's person move: from -most to most, and never 0.

    It is drawn from an HMAC-SHA-256 of the person under the key: whoever lacks the key cannot find it by
    trying, and under the same key a person has the same one in every table.
    """
    own = hmac.new(key, b"kohort shift of dates", hashlib.sha256).digest()
    drawn = [
        int.from_bytes(hmac.new(own, (text or "").encode(), hashlib.sha256).digest()[:16], "big") % (2 * most)
        for text in people.texts
    ]
    days = np.array([number - most if number < most else number - most + 1 for number in drawn])
    return days[people.codes]


def shifted(name: str, values: pa.ChunkedArray, kind: str, days: np.ndarray) -> pa.Array:
    """A column of dates or times, each of which is moved by its number of days; missing ones stay so.

    kind  what the column holds: date or datetime, also where they are texts
    """
    if kind not in ("date", "datetime"):
        raise InputError(
            f"The treatment shift of {name!r} is impossible: it is not a column of dates or times, such as "
            "2024-03-05. Leave the treatment out, or give the column another role."
        )
    plain = values.cast(value_type(values.type))
    try:
        return _moved(pa.concat_arrays([*plain.chunks, pa.array([], plain.type)]), days)
    except (pa.ArrowInvalid, OverflowError):
        raise InputError(
            f"Some dates of {name!r} are too near the year 1 or 9999 to be shifted. Correct them."
        ) from None


def _moved(values: pa.Array, days: np.ndarray) -> pa.Array:
    if pa.types.is_date(values.type):
        number = values.cast(pa.date32()).cast(pa.int32())
        moved = pc.add_checked(number, pa.array(days, pa.int32())).cast(pa.date32())
        years = pc.min_max(pc.year(moved)).as_py()
        if moved.null_count < len(moved) and not 1 <= years["min"] <= years["max"] <= 9999:
            raise OverflowError
        return moved.cast(values.type)
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        # by its clock: the time of the day would change with summer time, and tell the half of the year
        moved = _moved(pc.local_timestamp(values), days)
        return pc.assume_timezone(moved, values.type.tz, ambiguous="earliest", nonexistent="latest")
    if pa.types.is_timestamp(values.type):
        ticks = {"s": _DAY // 10**9, "ms": _DAY // 10**6, "us": _DAY // 10**3, "ns": _DAY}[values.type.unit]
        moved = pc.add_checked(values.cast(pa.int64()), pa.array(days.astype(np.int64) * ticks))
        return moved.cast(values.type)
    date = pc.utf8_slice_codeunits(values, 0, 10).cast(pa.date32())
    return pc.binary_join_element_wise(
        _moved(date, days).cast(pa.string()), pc.utf8_slice_codeunits(values, 10), ""
    ).cast(values.type)


class Average(Treatment):
    """A number for every class: `of_runs` says which."""

    scope: ClassVar[Scope] = "class"

    def of_runs(self, numbers: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """The average of each run of sorted numbers."""
        raise NotImplementedError

    def refuse(self, attribute: Attribute) -> None:
        refuse_no_numbers(attribute, f"publish: {self.name}")

    def publish(self, column: str, part: Part, secret: Secret) -> pa.Array:
        values = part.table.column(column)
        assert values.numbers is not None
        numbers = values.numbers[values.codes].astype(float)
        looks = [labels.indices.cast(pa.int64()).fill_null(-1).to_numpy() for labels in part.labels.values()]
        _, class_of = np.unique(row_keys([look + 1 for look in looks]), return_inverse=True)
        sizes = np.bincount(class_of)
        of_class = self.of_runs(numbers[np.lexsort((numbers, class_of))], np.cumsum(sizes) - sizes, sizes)
        rounded = np.round(of_class, 2 + decimals_of(values))[class_of]
        labels = part.labels[column]
        starred = np.array([label == STAR for label in labels.dictionary.to_pylist()], dtype=bool)
        if not starred.any():
            return pa.array(rounded, pa.float64()).dictionary_encode()
        hidden = starred[labels.indices.to_numpy()]
        texts = [STAR if star else repr(float(value)) for star, value in zip(hidden, rounded)]
        return pa.array(texts, pa.string()).dictionary_encode()

    def notes(self, columns: Sequence[str], before: Table, after: Mapping[str, Any]) -> list[str]:
        return [
            f"The {self.name} of every class is published of {', '.join(map(repr, columns))}. Loss, risk and "
            "utility are those of the intervals that the values of a class span."
        ]


class Mean(Average):
    """The mean of every class."""

    name: ClassVar[str] = "mean"

    def of_runs(self, numbers: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return np.add.reduceat(numbers, starts) / sizes


class Median(Average):
    """The median of every class."""

    name: ClassVar[str] = "median"

    def of_runs(self, numbers: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return (numbers[starts + (sizes - 1) // 2] + numbers[starts + sizes // 2]) / 2


def refuse_no_numbers(attribute: Attribute, what: str) -> None:
    """Raise InputError for a quasi-identifier whose values have no mean, which `what` asks for."""
    if attribute.plain_numbers is None:
        raise InputError(
            f"{what} is for numbers without a hierarchy and without missing values, which {attribute.name!r} "
            "is not. Leave its hierarchy out, fill in what is missing, or publish it in another way."
        )
