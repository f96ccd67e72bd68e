"""Shifted dates: all dates of a person move by one secret number of days, so that intervals survive."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import kohort as ko
from job.test_linked_records import panel, released
from kohort.errors import InputError
from kohort.tables.memory import MemoryTable
from kohort.treatments.identifiers import shifted
from kohort.verification.treated import check_shifted

DAYS = [date(2020, 1, 31) + timedelta(days=37 * i) for i in range(panel().num_rows)]
KEY = b"a secret of 16 bytes or more"
SPEC = {
    "attributes": {
        "patient": {"role": "person", "treatment": "pseudonym"},
        "sex": {"role": "quasi-identifier"},
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4]}},
        "town": {"role": "quasi-identifier"},
        "year": {"role": "insensitive"},
        "illness": {"role": "sensitive"},
        "seen": {"role": "insensitive", "treatment": "shift"},
    },
    "privacy": {"k": 3},
    "history": {"slot": "year"},
    "shuffle": False,
    "algorithm": "mondrian",
}


def with_days(values) -> pa.Table:
    return panel().append_column("seen", pa.array(values))


def moved(table, release) -> dict[str, set]:
    """By how much the dates of each person moved."""
    found: dict[str, set] = {}
    for row, new in zip(release.original_rows.tolist(), release.arrow["seen"].to_pylist()):
        old = table["seen"][row].as_py()
        if old is not None:
            found.setdefault(table["patient"][row].as_py(), set()).add(new - old)
    return found


@pytest.mark.parametrize(
    "values",
    [
        DAYS,
        [datetime(d.year, d.month, d.day, 13, 45, 7) for d in DAYS],
        [datetime(d.year, d.month, d.day, 13, 45, 7, tzinfo=timezone.utc) for d in DAYS],
        [None if i % 5 == 0 else d for i, d in enumerate(DAYS)],
    ],
    ids=["dates", "times", "zoned", "missing"],
)
def test_all_dates_of_a_person_move_by_the_same_days(values):
    table = with_days(values)
    release = ko.anonymize(table, spec=SPEC)
    assert release.arrow["seen"].type == table["seen"].type
    assert release.arrow["seen"].null_count == table["seen"].null_count
    found = moved(table, release)
    assert all(len(days) == 1 for days in found.values())
    days = {next(iter(one)) for one in found.values()}
    assert len(days) > 20
    assert all(timedelta(0) != one and abs(one) <= timedelta(182) for one in days)
    assert ko.verify(release.arrow, spec=SPEC, original=table).holds


@pytest.mark.parametrize(
    ("written", "rest"),
    [("{:%Y-%m-%d}", ""), ("{:%Y-%m-%d} 07:30", " 07:30"), ("{:%Y-%m-%d}T07:30:01+02:00", "T07:30:01+02:00")],
)
def test_dates_that_are_texts_stay_texts(written, rest):
    table = with_days([written.format(day) for day in DAYS])
    release = ko.anonymize(table, spec=SPEC)
    shown = release.arrow["seen"].to_pylist()
    assert all(text[10:] == rest for text in shown)
    assert all(text != before for text, before in zip(shown, table["seen"].to_pylist()))
    assert ko.verify(release.arrow, spec=SPEC, original=table).holds


@pytest.mark.parametrize("to", [pd.DataFrame, pl.DataFrame])
def test_other_dataframes_keep_their_kind(to):
    table = with_days([datetime(d.year, d.month, d.day) for d in DAYS])
    frame = table.to_pandas() if to is pd.DataFrame else pl.from_arrow(table)
    release = ko.anonymize(frame, spec=SPEC)
    assert isinstance(release.table, to)
    assert release.table["seen"].dtype == frame["seen"].dtype


def test_the_key_decides_and_the_limit_holds():
    table = with_days(DAYS)
    first, again = (ko.anonymize(table, spec=SPEC, key=KEY).arrow["seen"] for _ in range(2))
    other = ko.anonymize(table, spec=SPEC, key=KEY[::-1]).arrow["seen"]
    assert first == again
    assert first != other
    near = ko.anonymize(table, spec=SPEC | {"shift_days": 1})
    assert {next(iter(d)) for d in moved(table, near).values()} == {timedelta(-1), timedelta(1)}


def test_verification_finds_a_date_that_moved_alone():
    table = with_days(DAYS)
    release = ko.anonymize(table, spec=SPEC)
    days = release.arrow["seen"].to_pylist()
    days[0] += timedelta(days=1)
    changed = release.arrow.set_column(6, "seen", pa.array(days))
    failing = [
        check for check in ko.verify(changed, spec=SPEC, original=table).checks if check.holds is False
    ]
    assert [check.name for check in failing] == ["shift of 'seen'"]
    unmoved = release.arrow.set_column(6, "seen", table["seen"])
    assert not ko.verify(unmoved, spec=SPEC, original=table).holds
    assert not ko.verify(release.arrow, spec=SPEC | {"shift_days": 3}, original=table).holds


def test_python_takes_the_treatment_of_a_column():
    release = released(
        with_days(DAYS), insensitive={"seen": "shift"}, shift_days=30, suppression=0.0, shuffle=False
    )
    assert max(abs(next(iter(d))) for d in moved(with_days(DAYS), release).values()) <= timedelta(30)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"insensitive": {"seen": "shift"}, "person": "patient", "history": None}, "for linked records"),
        ({"insensitive": {"seen": "shift"}, "history": {"slot": "seen"}}, "cannot be shifted"),
        ({"insensitive": {"seen": "move"}}, "must be .* or shift"),
        ({"insensitive": {"seen": "mask"}}, "takes keep or shift"),
        ({"insensitive": {"seen": "shift"}, "shift_days": 0}, "'shift_days' must be"),
    ],
)
def test_wrong_input_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        released(with_days(DAYS), **changes)


def test_what_is_no_date_cannot_be_shifted():
    with pytest.raises(InputError, match="'seen' is impossible: it is not a column of dates"):
        ko.anonymize(with_days([f"day {i}" for i in range(len(DAYS))]), spec=SPEC)


def test_dates_at_the_end_of_time_are_refused():
    with pytest.raises(InputError, match="too near the year 1 or 9999"):
        ko.anonymize(with_days([date(9999, 12, 31)] * len(DAYS)), spec=SPEC)


def test_the_clock_shows_the_same_time_of_the_day_in_summer_and_winter():
    """Half past two on the day when clocks are put forward does not exist: it becomes three o'clock."""
    clocks = [datetime(d.year, d.month, d.day, 2, 30) for d in DAYS]
    table = with_days(
        pc.assume_timezone(pa.array(clocks), "Europe/Madrid", ambiguous="earliest", nonexistent="latest")
    )
    for key in (KEY, KEY[::-1]):
        release = ko.anonymize(table, spec=SPEC, key=key)
        shown = pc.local_timestamp(release.arrow["seen"]).to_pylist()
        same = [(time.hour, time.minute) == (2, 30) for time in shown]
        assert sum(same) > 0.9 * len(same)
        assert {(time.hour, time.minute) for time in shown} <= {(2, 30), (3, 0)}
        assert len({time.utcoffset() for time in release.arrow["seen"].to_pylist()}) == 2
        assert ko.verify(release.arrow, spec=SPEC, original=table).holds


def test_a_time_that_clocks_skip_becomes_the_next_one():
    before = pa.chunked_array([pc.assume_timezone(pa.array([datetime(2024, 3, 30, 2, 30)]), "Europe/Madrid")])
    found = shifted("seen", before, "datetime", np.array([1]))
    assert pc.local_timestamp(found).to_pylist() == [datetime(2024, 3, 31, 3)]
    for day, holds in ((31, True), (30, False)):
        time = pc.assume_timezone(pa.array([datetime(2024, 3, day, 3)]), "Europe/Madrid")
        tables = [MemoryTable(pa.table({"seen": times})) for times in (time, before)]
        assert check_shifted(*tables, "seen", np.array([0]), np.array([0]), 5).holds is holds
