"""Dates and times as texts and as exact moments: whole nanoseconds since 1970, in the order of true time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import InputError

DATE_TEXT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME_TEXT = re.compile(
    r"(?P<whole>[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2})?)(\.(?P<fraction>[0-9]{1,9}))?"
    r"(?P<zone>Z|(?P<sign>[+-])(?P<hours>[0-9]{2})(:?(?P<minutes>[0-9]{2})(:?(?P<seconds>[0-9]{2}))?)?)?"
)
_SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1)


def moment_of_text(text: str) -> int | None:
    """Nanoseconds since 1970-01-01: in universal time if the text has an offset, else as it is written.

    None for a text that is not an ISO time; ValueError for one that looks like one, such as 2024-02-31 10:00.
    """
    found = _TIME_TEXT.fullmatch(text)
    if found is None:
        return None
    written = _nanoseconds(datetime.fromisoformat(found["whole"]) - _EPOCH)
    written += int((found["fraction"] or "").ljust(9, "0"))
    if found["sign"] is None:
        return written
    hours, minutes, seconds = (int(found[part] or 0) for part in ("hours", "minutes", "seconds"))
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError("no such offset")
    offset = (hours * 3600 + minutes * 60 + seconds) * _SECOND
    return written - offset if found["sign"] == "+" else written + offset


def moment_of_time(time: datetime) -> int:
    """Nanoseconds since 1970-01-01 of a Python datetime; in universal time if it has an offset."""
    if time.tzinfo is None:
        return _nanoseconds(time - _EPOCH)
    return _nanoseconds(time - _EPOCH.replace(tzinfo=timezone.utc))


def is_zoned(text: str) -> bool:
    """Whether an ISO time says how far its clock is from universal time."""
    found = _TIME_TEXT.fullmatch(text)
    return found is not None and found["zone"] is not None


def local_days(texts: Sequence[str]) -> list[int]:
    """The days since 1970-01-01 on which ISO dates and times lie by their own clocks."""
    return [date.fromisoformat(text[:10]).toordinal() - _EPOCH.toordinal() for text in texts]


def temporal_values(name: str, values: pa.Array) -> list:
    """Times, times of day and durations as Python's objects, or as texts if these would lose nanoseconds."""
    _require_known_zone(name, values.type)
    if values.type.unit != "ns":
        return values.to_pylist()
    in_microseconds = pa.time64("us") if pa.types.is_time(values.type) else pa.duration("us")
    if pa.types.is_timestamp(values.type):
        in_microseconds = pa.timestamp("us", values.type.tz)
    fine = pc.cast(values, pa.int64()).to_pylist()
    parts = [(None, 0) if value is None else divmod(value, 1000) for value in fine]
    times = pa.array([whole for whole, _ in parts], pa.int64()).cast(in_microseconds).to_pylist()
    if not any(rest for _, rest in parts):
        return times
    return [None if time is None else _with_nanoseconds(time, rest) for time, (_, rest) in zip(times, parts)]


def _require_known_zone(name: str, kind: pa.DataType) -> None:
    try:
        pa.array([0], kind).to_pylist()
    except (pa.ArrowException, KeyError):  # zoneinfo and pytz raise a KeyError
        raise InputError(
            f"Column {name!r} has a time zone that this computer does not know. Install the package tzdata, "
            "or convert the column to UTC."
        ) from None


def _with_nanoseconds(time: object, more: int) -> str:
    """The text of a time and of up to 999 nanoseconds after it."""
    text = str(time)
    if not more:
        return text
    clock = text.find(":")  # an offset has colons, too, after those of the clock
    head, tail = text[: clock + 6], text[clock + 6 :]
    dot = tail.startswith(".")
    return f"{head}.{tail[1:7] if dot else '000000'}{more:03d}{tail[7:] if dot else tail}"


def _nanoseconds(span: timedelta) -> int:
    return (span // timedelta(microseconds=1)) * 1000
