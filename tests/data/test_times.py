"""Times in the order in which they happened, with every digit that they have."""

import random
import re
from datetime import datetime, timedelta, timezone
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from kohort.data.column import code_column
from kohort.errors import InputError
from kohort.io.tables import read_table, write_table
from kohort.verification.scale import Scale, moment_as_written

SECOND = 1_000_000_000
AUTUMN = 1_729_987_200  # 2024-10-27 00:00 UTC; clocks in Madrid go back from 03:00 to 02:00 an hour later
ZONES = ("Europe/Madrid", "America/New_York", "Australia/Lord_Howe", "UTC", "+05:30")


def true_time(text):
    """Nanoseconds since 1970 by definition: the clock less its offset."""
    clock, sign, offset = re.fullmatch(r"([^+]{10}[^+-]*)([+-]?)(.*)", text).groups()
    whole, _, fraction = clock.partition(".")
    seconds = int((datetime.fromisoformat(whole) - datetime(1970, 1, 1)).total_seconds())
    hours, minutes = (int(part) for part in (offset or "00:00").split(":"))
    ahead = (hours * 60 + minutes) * 60 * (-1 if sign == "-" else 1)
    return (seconds - ahead) * SECOND + int(Fraction(f"0.{fraction or 0}") * SECOND)


def zoned(seconds, zone="Europe/Madrid"):
    return pa.array(seconds, pa.timestamp("s", zone))


def around_the_change(n=200, seed=1):
    rng = random.Random(seed)
    return [AUTUMN + 60 * rng.randrange(-120, 240) for _ in range(n)]


@pytest.mark.parametrize("labels", ["hierarchy", "tight"])
@pytest.mark.parametrize("algorithm", ["mondrian", "forest"])
def test_labels_around_a_change_of_clocks_cover_their_records_in_true_time(labels, algorithm):
    seconds = around_the_change()
    table = pa.table({"seen": zoned(seconds)})
    release = ko.anonymize(
        table, quasi_identifiers=["seen"], k=5, algorithm=algorithm, labels=labels, shuffle=False
    )
    for second, label in zip(seconds, release.table["seen"].to_pylist()):
        ends = [true_time(end) for end in label.strip("[]").split(", ")]
        assert ends[0] <= second * SECOND <= ends[-1]
    spec = {
        "attributes": {"seen": {"role": "quasi-identifier"}},
        "privacy": {"k": 5},
        "labels": labels,
    }
    assert ko.verify(release.table, spec=spec, original=table).holds


def test_a_label_that_ends_before_it_begins_covers_nobody():
    """As version 0.1.0 published it: by the clocks 02:20 is 02:20."""
    original = pa.table({"seen": zoned([AUTUMN + 20 * 60, AUTUMN + 80 * 60])})
    spec = {"attributes": {"seen": {"role": "quasi-identifier"}}, "privacy": {"k": 2}, "shuffle": False}
    backwards = "[2024-10-27 02:20:00+01:00, 2024-10-27 02:20:00+02:00]"
    verdict = ko.verify(pa.table({"seen": [backwards] * 2}), spec=spec, original=original)
    assert not verdict.holds
    assert any("2 values of 'seen' do not cover" in reason for reason in verdict.reasons())
    forwards = "[2024-10-27 02:20:00+02:00, 2024-10-27 02:20:00+01:00]"
    assert ko.verify(pa.table({"seen": [forwards] * 2}), spec=spec, original=original).holds


@given(
    st.lists(st.integers(-(10**18), 4 * 10**18), min_size=1, max_size=20),
    st.sampled_from(ZONES),
    st.sampled_from(["s", "ms", "us", "ns"]),
)
def test_codes_are_in_the_order_of_true_time_and_lose_no_digit(moments, zone, unit):
    per_unit = {"s": SECOND, "ms": 10**6, "us": 1000, "ns": 1}[unit]
    ticks = [moment // per_unit for moment in moments]
    column = code_column("x", pa.array(ticks, pa.timestamp(unit, zone)))
    assert [true_time(text) for text in column.texts] == sorted({tick * per_unit for tick in ticks})
    assert [true_time(column.texts[code]) for code in column.codes] == [tick * per_unit for tick in ticks]
    again = code_column("x", pa.array(column.texts))  # as a CSV file has it
    assert (again.kind, again.texts) == ("datetime", column.texts)
    assert Scale(column).positions == [true_time(text) for text in column.texts]


def test_periods_are_those_of_the_clocks_people_saw():
    midnight = AUTUMN - 2 * 3600  # in Madrid; the evening before in UTC
    table = pa.table({"seen": zoned([midnight, midnight + 1, midnight - 1, midnight - 2])})
    release = ko.anonymize(
        table,
        quasi_identifiers={"seen": ko.dates("day", "month")},
        privacy=[ko.KAnonymity(2)],
        algorithm="mondrian",
        shuffle=False,
    )
    assert release.table["seen"].to_pylist() == ["2024-10-27"] * 2 + ["2024-10-26"] * 2


@pytest.mark.parametrize(
    "kind, texts",
    [
        (
            pa.timestamp("ns"),
            ("1970-01-01 00:00:00", "1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.000001"),
        ),
        (pa.time64("ns"), ("00:00:00", "00:00:00.000000001", "00:00:00.000001")),
        (pa.duration("ns"), ("0:00:00", "0:00:00.000000001", "0:00:00.000001")),
    ],
)
def test_nanoseconds_are_kept(kind, texts):
    column = code_column("x", pa.array([1000, 0, 1, None], pa.int64()).cast(kind))
    assert column.texts == (*texts, None)
    assert column.codes.tolist() == [2, 0, 1, 3]


def test_records_that_differ_by_a_nanosecond_are_not_alike():
    table = pa.table({"seen": pa.array([1, 2, 3, 4], pa.timestamp("ns"))})
    release = ko.anonymize(
        table, quasi_identifiers=["seen"], privacy=[ko.KAnonymity(2)], algorithm="mondrian", shuffle=False
    )
    assert release.table["seen"].to_pylist()[0] == (
        "[1970-01-01 00:00:00.000000001, 1970-01-01 00:00:00.000000002]"
    )
    assert release.verdict.classes == 2


@pytest.mark.parametrize(
    "texts, kind",
    [
        (["2024-10-27T02:20+02:00", "2024-10-27 02:20:00.5+01:00"], "datetime"),
        (["2024-10-27T00:20:00Z", "2024-10-27T02:20:00+0200"], "datetime"),
        (["2024-10-27 02:20", "2024-10-27 02:20+01:00"], "string"),  # which of them was first?
        (["2024-10-27 02:20+25:00"], "string"),
    ],
)
def test_times_with_offsets_as_text(texts, kind):
    column = code_column("x", pa.array(texts))
    assert column.kind == kind
    if kind == "datetime":
        assert column.texts == tuple(texts)


def test_an_unknown_time_zone_is_an_error_of_the_input():
    with pytest.raises(InputError, match="Column 'x' has a time zone that this computer does not know"):
        code_column("x", pa.array([0], pa.timestamp("s", "Nowhere/Land")))


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), st.integers(-14 * 60, 14 * 60))
def test_verification_reads_clocks_by_itself(clock, minutes):
    seconds = (clock - datetime(1970, 1, 1)) // timedelta(microseconds=1) * 1000
    assert moment_as_written(str(clock)) == moment_as_written(clock.isoformat()) == seconds
    aware = clock.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    column = code_column("x", pa.array([str(aware)]))
    assert Scale(column).positions == [seconds - minutes * 60 * SECOND]


@pytest.mark.parametrize(
    "text", ["2024-02-30", "2023-02-29", "2024-13-01", "2024-01-01 24:00", "0000-01-01", "1"]
)
def test_what_is_no_time_has_no_moment(text):
    assert moment_as_written(text) is None


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".xlsx", ".sav", ".dta", ".parquet"])
def test_times_in_files_are_as_they_were(tmp_path, suffix):
    """A zone that a format cannot keep leaves the clocks; what is finer than a format's times is text."""
    original = pa.table(
        {
            "age": ["a", "a"],
            "seen": zoned([AUTUMN - 3600, AUTUMN + 7200]),
            "fine": pa.array([1_234_567_891, 5], pa.timestamp("ns")),
        }
    )
    write_table(original, tmp_path / f"t{suffix}")
    attributes = {"age": {"role": "quasi-identifier"}}
    spec = {"attributes": attributes, "others": "keep", "privacy": {"k": 2}}
    verdict = ko.verify(read_table(tmp_path / f"t{suffix}").table, spec=spec, original=original)
    assert verdict.holds, verdict.reasons()
