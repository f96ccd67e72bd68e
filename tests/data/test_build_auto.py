from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kohort.data.column import code_column
from kohort.data.hierarchies.build_hierarchy import _round_widths, auto, from_spec
from kohort.data.hierarchies.categories import Flat, Mask
from kohort.data.hierarchies.dates import Dates
from kohort.data.hierarchies.intervals import Intervals, Quantiles
from kohort.data.hierarchies.orders import ByFrequency, Order
from kohort.errors import InputError

RNG = np.random.default_rng(5)
DAYS = [date(2020, 1, 1) + timedelta(days=3 * i) for i in range(400)]


def column(values, type=None):
    return code_column("x", pa.array(values, type))


@pytest.mark.parametrize(
    "values, builder",
    [
        (RNG.integers(17, 91, 3000), Intervals((2, 10, 20))),
        (RNG.uniform(0, 1, 500).round(3), Intervals((0.02, 0.1, 0.2))),
        (RNG.integers(0, 1_000_000, 3000), Intervals((20_000, 100_000, 200_000))),
        (range(8), Intervals((2,))),
        (RNG.lognormal(10, 2, 3000).round(2), Quantiles()),
        ([0] * 900 + list(range(1, 101)), Quantiles()),
        ([1.0, 2.0, 3.0, 4.0, 5.0, np.inf], Order()),
        ([1, 2, 3], Flat()),
        ([True, False], Flat()),
        (["f", "m", None], Flat()),
        (["01234", "43500", "43511", "20095", "10115"], Mask()),
        (["A1-2", "A1-3", "B7-1", "C3-3", "C3-4"], Mask()),
        (["Anna", "Bert", "Carl", "Dora", "Emil"], ByFrequency()),
        (["ab1", "abc2", "x3", "yy4", "z5"], ByFrequency()),
        (DAYS, Dates(("month", "quarter", "year"))),
        (DAYS[:20], Dates(("month",))),
        (DAYS[:5], Dates(("week",))),
        (DAYS[:1], Flat()),
        ([datetime(2020, 1, 1) + timedelta(hours=7 * i) for i in range(200)], Dates(("day", "month"))),
        ([date(1900 + i, 1, 1) for i in range(90)], Dates(("decade",))),
    ],
)
def test_what_is_chosen(values, builder):
    c = column(list(values))
    assert auto().choose(c).builder == builder
    assert len(auto().build(c).leaves) == len([t for t in c.texts if t is not None])


def test_the_description_says_why_and_shows_no_value():
    text = auto().describe(column(["Anna", "Bert", "Carl", "Dora", "Emil"]))
    assert text == (
        "Column 'x' gets groups that join rare values first, because its values are names without an order."
    )
    assert auto().describe(column(list(range(100)))) == (
        "Column 'x' gets intervals of 2, 10, 20, because its 100 different numbers are spread over their "
        "range."
    )


@given(st.floats(1e-6, 1e9), st.integers(2, 10_000))
def test_round_widths_nest_and_fit(span, n_values):
    widths = _round_widths(span, n_values)
    Intervals(widths)  # checks that each is a multiple of the one before
    assert 1 <= len(widths) <= 5
    assert widths[0] >= 0.019 * span
    assert all(width < span for width in widths[1:])


@given(
    st.one_of(
        st.lists(st.integers(-(10**9), 10**9), min_size=1),
        st.lists(st.floats(allow_nan=False, allow_infinity=True), min_size=1),
        st.lists(st.text(max_size=4), min_size=1),
        st.lists(st.dates(), min_size=1),
        st.lists(st.datetimes(), min_size=1),
    )
)
@example([0.0, 1.0, 2.0, 3.0, 8.98846567431158e307])
@example([0.0, 1.0, 2.0, 3.0, 1.9999999999998694e306])
def test_every_column_gets_a_tree_over_its_values(values):
    c = column(values)
    assert set(auto().build(c).leaves) == set(c.texts)


def test_a_column_without_values():
    with pytest.raises(InputError, match="has no values"):
        auto().build(column([None], pa.string()))


def test_specs_come_back():
    assert from_spec(auto().to_spec()) == auto()
