import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.data.column import code_column
from kohort.data.hierarchies.build_hierarchy import from_spec
from kohort.data.hierarchies.intervals import Intervals, Quantiles, intervals, roundest_between
from kohort.errors import InputError


def column(values, type=None):
    return code_column("x", pa.array(values, type))


def paths(builder, values):
    return {path[0]: path[1:] for path in builder.build(column(values)).paths()}


def contains(label, number):
    """Whether a published interval holds a number, as a reader would say."""
    if label.startswith("< "):
        return number < float(label[2:])
    if label.startswith(">= "):
        return number >= float(label[3:])
    low, high = label.strip("[)").split(", ")
    return float(low) <= number < float(high)


def test_nested_intervals_in_the_columns_own_units():
    assert paths(intervals(5, 10, 20), [22, 25, 41, -3]) == {
        "-3": ("[-5, 0)", "[-10, 0)", "[-20, 0)", "*"),
        "22": ("[20, 25)", "[20, 30)", "[20, 40)", "*"),
        "25": ("[25, 30)", "[20, 30)", "[20, 40)", "*"),
        "41": ("[40, 45)", "[40, 50)", "[40, 60)", "*"),
    }


def test_decimal_widths_are_exact():
    found = paths(intervals(0.1, 0.5, 1), [0.3, 0.1 + 0.2, 0.7, 1.1, -0.1])
    assert found["0.3"] == ("[0.3, 0.4)", "[0.0, 0.5)", "[0, 1)", "*")
    assert found["0.30000000000000004"][0] == "[0.3, 0.4)"
    assert found["0.7"][0] == "[0.7, 0.8)"
    assert found["1.1"][0] == "[1.1, 1.2)"
    assert found["-0.1"] == ("[-0.1, 0.0)", "[-0.5, 0.0)", "[-1, 0)", "*")


def test_origin_and_null():
    h = intervals(10, origin=3).build(column([3, 12, 13, None]))
    assert h.label == ("*", "[3, 13)", "3", "12", "[13, 23)", "13")
    assert paths(intervals(10, origin=0.5), [0.5])["0.5"] == ("[0.5, 10.5)", "*")


def test_top_and_bottom_coding_cut_the_intervals():
    found = paths(intervals(10, 20, top=85, bottom=15), [7, 15, 25, 80, 85, 99])
    assert found["7"] == ("< 15", "*")
    assert found["15"] == ("[15, 20)", "*")
    assert found["25"] == ("[20, 30)", "[20, 40)", "*")
    assert found["80"] == ("[80, 85)", "*")
    assert found["85"] == found["99"] == (">= 85", "*")


def test_infinite_numbers_need_a_top():
    with pytest.raises(InputError, match="1 value that is infinite or too large"):
        intervals(5).build(column([1.0, np.inf]))
    assert paths(intervals(5, top=90), [1.0, np.inf])["inf"] == (">= 90", "*")
    with pytest.raises(InputError, match="too large for intervals this narrow"):
        intervals(5).build(column([1.5, 1e300]))


def test_very_large_whole_numbers():
    huge = intervals(2**62).build(column([2**63, 7], pa.uint64()))
    assert list(huge.paths())[-1] == (str(2**63), f"[{2**63}, {2**63 + 2**62})", "*")
    assert paths(intervals(10**30), [7, 8])["7"] == (f"[0, {10**30})", "*")


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
    st.sampled_from([(0.1, 0.2, 1), (0.25, 0.5), (3, 9), (0.001, 10), (0.7, 1.4, 4.2)]),
    st.sampled_from([0, 0.05, -7, 0.3]),
)
def test_every_interval_holds_its_values_and_lies_in_the_next(values, widths, origin):
    h = Intervals(widths, origin).build(column(values, pa.float64()))
    for leaf, *labels in h.paths():
        assert labels[-1] == "*"
        assert all(contains(label, float(leaf)) for label in labels[:-1])
        assert len(labels) == len(widths) + 1
    assert [float(leaf) for leaf in h.leaves] == sorted(float(leaf) for leaf in h.leaves)


@pytest.mark.parametrize(
    "values, hint",
    [
        (["a", "b"], "mask, order"),
        (["2024-01-01"], r"date: \[month"),
        ([True], "intervals need numbers"),
    ],
)
def test_only_numbers_have_intervals(values, hint):
    with pytest.raises(InputError, match=f"Column 'x'.*{hint}"):
        intervals(5).build(column(values))


def test_a_column_without_values():
    with pytest.raises(InputError, match="Column 'x' has no values to build a hierarchy from"):
        intervals(5).build(column([None], pa.int64()))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: intervals(5, 12), "Intervals of 12 are not made of whole intervals of 5.*: 10 or 15 would"),
        (lambda: intervals(5, 5), "10 or 15 would fit"),
        (lambda: intervals(10, 5), "20 or 30 would fit"),
        (lambda: intervals(0.1, 0.25), "0.2 or 0.3 would fit"),
        (lambda: intervals(0), "must be positive. Got 0"),
        (lambda: intervals(-5), "must be positive"),
        (lambda: intervals(), "one or more numbers"),
        (lambda: Intervals("5"), "one or more numbers"),
        (lambda: intervals("5"), "'widths' of intervals must be a finite number. Got '5'"),
        (lambda: intervals(True), "must be a finite number"),
        (lambda: intervals(float("inf")), "must be a finite number"),
        (lambda: intervals(5, top=float("nan")), "'top' of intervals must be a finite number"),
        (lambda: intervals(1e-20), "may have 15 decimals. Got 1e-20"),
        (lambda: intervals(5, origin="a"), "'origin' of intervals must be a finite number"),
        (lambda: intervals(5, top=10, bottom=10), "'bottom' of intervals must be below the 'top'"),
    ],
)
def test_wrong_parameters(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_specs_come_back():
    for builder in (intervals(5, 10), intervals(0.5, origin=1, top=90, bottom=10), Quantiles(2, 4)):
        assert from_spec(builder.to_spec()) == builder


def test_quantiles_hold_about_equally_many_records():
    values = np.random.default_rng(1).lognormal(10, 1, 3000).round()
    c = column(values)
    h = Quantiles(3, 2).build(c)
    assert h.height == 3
    top = h.children(0)
    assert len(top) == 3
    counts = c.counts[[c.texts.index(leaf) for leaf in h.leaves]]
    shares = [counts[h.lo[node] : h.hi[node] + 1].sum() / 3000 for node in top]
    assert all(0.25 < share < 0.42 for share in shares)
    assert h.label[top[0]].startswith("< ") and h.label[top[-1]].startswith(">= ")


@given(st.lists(st.one_of(st.floats(-1e9, 1e9), st.just(0.0)), min_size=1, max_size=40))
def test_quantiles_hold_their_values(values):
    h = Quantiles(2, 4).build(column(values, pa.float64()))
    for leaf, *labels in h.paths():
        assert all(contains(label, float(leaf)) for label in labels[:-1])


def test_one_frequent_value_does_not_stop_the_quantiles():
    h = Quantiles().build(column([0] * 900 + list(range(1, 101))))
    assert h.label[1] == "< 1"
    assert h.height == 4


def test_quantiles_need_finite_numbers_and_good_parameters():
    with pytest.raises(InputError, match="infinite values"):
        Quantiles().build(column([1.0, np.inf]))
    with pytest.raises(InputError, match="'split' of quantiles must be"):
        Quantiles(1)
    with pytest.raises(InputError, match="'depth' of quantiles"):
        Quantiles(3, 0)


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
def test_the_roundest_number_lies_between(a, b):
    low, high = min(a, b), max(a, b)
    if low < high:
        assert low < float(roundest_between(low, high)) <= high


def test_round_numbers():
    assert [
        str(roundest_between(*ends)) for ends in [(18, 25), (950, 1040), (0.123, 0.456), (-5, 3), (7, 8)]
    ] == [
        "20",
        "1000",
        "0.4",
        "0",
        "8",
    ]
