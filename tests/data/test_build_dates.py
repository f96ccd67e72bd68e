from datetime import date, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.data.column import code_column
from kohort.data.hierarchies.build_hierarchy import from_spec
from kohort.data.hierarchies.dates import Dates, dates
from kohort.errors import InputError


def column(values):
    return code_column("x", pa.array(values))


def paths(builder, values):
    return {path[0]: path[1:] for path in builder.build(column(values)).paths()}


def test_every_period_has_its_label():
    every = dates("day", "month", "quarter", "half", "year", "decade")
    found = paths(every, ["2024-03-05", "1969-12-31"])
    assert found["2024-03-05"] == ("2024-03", "2024-Q1", "2024-H1", "2024", "2020s", "*")
    assert found["1969-12-31"] == ("1969-12", "1969-Q4", "1969-H2", "1969", "1960s", "*")
    assert paths(dates("week"), ["2024-03-05"])["2024-03-05"] == ("2024-W10", "*")
    assert paths(dates(), ["2024-03-05"])["2024-03-05"] == ("2024-03", "2024-Q1", "2024", "*")


def test_the_leaf_of_a_time_is_the_time():
    found = paths(dates("day", "week"), [datetime(2024, 3, 5, 14, 30), datetime(2024, 3, 5, 9), None])
    assert found["2024-03-05 14:30:00"] == ("2024-03-05", "2024-W10", "*")
    assert len(found) == 2


@given(st.dates())
def test_weeks_and_periods_are_those_of_the_calendar(day):
    year, week, _ = day.isocalendar()
    assert paths(dates("week"), [day])[str(day)][0] == f"{year:04d}-W{week:02d}"
    found = paths(dates("month", "quarter", "half", "year", "decade"), [day])[str(day)]
    quarter, half = (day.month + 2) // 3, (day.month + 5) // 6
    y = f"{day.year:04d}"
    assert found == (f"{y}-{day.month:02d}", f"{y}-Q{quarter}", f"{y}-H{half}", y, f"{y[:3]}0s", "*")


def test_days_are_in_order():
    days = [date(2023, 12, 1) + timedelta(days=17 * i) for i in range(40)]
    h = dates("month", "year").build(column(days))
    assert h.leaves == tuple(map(str, days))


@pytest.mark.parametrize(
    "levels, message",
    [
        (("week", "month"), "periods week and month are not nested"),
        (("week", "year"), "a week may lie in two"),
        (("month", "week"), "not nested"),
        (("year", "month"), "month does not contain year"),
        (("month", "month"), "from short to long"),
        (("mnth",), "Unknown period of dates 'mnth'. Did you mean 'month'"),
        ((), "must be periods"),
        ((3,), "Unknown period"),
    ],
)
def test_wrong_levels(levels, message):
    with pytest.raises(InputError, match=message):
        Dates(levels)


@pytest.mark.parametrize("values", [["05.03.2024"], [2024, 2025], [True]])
def test_only_dates_have_periods(values):
    with pytest.raises(InputError, match=r"Column 'x' holds .* values, not dates") as error:
        dates().build(column(values))
    assert "05.03" not in str(error.value)


def test_specs_come_back():
    for builder in (dates(), dates("day", "week"), Dates("year")):
        assert from_spec(builder.to_spec()) == builder
