"""Dates that keep their intervals: all dates of a person move by the same secret number of days."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.column import Column
from kohort.errors import InputError
from kohort.treatments.treatment import Part, Scope, Secret, Treatment

if TYPE_CHECKING:
    from kohort.statement import Statement

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
    plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
    flat = plain.combine_chunks()
    if isinstance(flat, pa.ChunkedArray):
        flat = pa.concat_arrays(flat.chunks) if flat.num_chunks else pa.array([], flat.type)
    try:
        return _moved(flat, days)
    except (pa.ArrowInvalid, OverflowError):
        raise InputError(
            f"Some dates of {name!r} are too near the year 1 or 9999 to be shifted. Correct them."
        ) from None


def _moved(values: pa.Array, days: np.ndarray) -> pa.Array:
    if pa.types.is_date(values.type):
        number = values.cast(pa.date32()).cast(pa.int32())
        return _in_range(pc.add_checked(number, pa.array(days, pa.int32())).cast(pa.date32())).cast(
            values.type
        )
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


def _in_range(dates: pa.Array) -> pa.Array:
    """The dates, all of the years 1 to 9999; raises OverflowError for others."""
    years = pc.year(dates)
    if pc.any(pc.or_(pc.less(years, 1), pc.greater(years, 9999))).as_py():
        raise OverflowError
    return dates
