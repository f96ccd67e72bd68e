"""Labels of releases as numbers and times: intervals, sets, periods, open ends, `*`; every kind of column."""

from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kohort as ko
from frames import PLAIN
from kohort.errors import InputError

LABELS = ["23", "[20, 30)", "[20, 30]", ">= 90", "< 18", "{1, 2}", '{1, "[5, 8)"}', "*", None]
LOW = [23, 20, 20, 90, -np.inf, 1, 1, None, None]
HIGH = [23, 29, 30, np.inf, 17, 2, 7, None, None]
MIDDLE = [23, 24.5, 25, 90, 17, 1.5, 3.5, None, None]


def numbers(labels, *how, **more):
    return ko.as_numbers(pa.array(labels, pa.string()), *how, **more).to_pylist()


def bounds(labels, **more):
    found = ko.as_numbers(pa.array(labels, pa.string()), "bounds", **more).to_pydict()
    return list(zip(found["low"], found["high"]))


def test_every_label_has_a_middle_and_bounds():
    assert numbers(LABELS) == MIDDLE
    assert bounds(LABELS) == list(zip(LOW, HIGH))


def test_star_is_missing_or_the_published_range():
    assert numbers(["10", "[20, 30]", "*", None], star="range") == [10, 25, 20, None]
    assert bounds(["10", "[20, 30]", "*"], star="range")[-1] == (10, 30)
    assert numbers(["*", "*"], star="range") == [None, None]


@pytest.mark.parametrize(
    ("labels", "whole", "expected"),
    [
        (["[20, 30)"], None, (20, 29)),
        (["[20, 30)"], False, (20, 30)),
        (["[20.0, 30.0)"], None, (20, 30)),
        (["[20, 30)", "0.5"], None, (20, 30)),  # the column has fractions
        (["[20.5, 30.5)"], True, (21, 30)),
        (["[-5, -3)"], None, (-5, -4)),
        (["[1e3, 2e3)"], None, (1000, 2000)),
    ],
)
def test_whole_numbers_end_before_an_open_end(labels, whole, expected):
    assert bounds(labels, whole=whole)[0] == expected


def test_one_column_may_mix_all_of_them():
    assert numbers(["0.0", "[0.0, 0.5)", "[0, 1)", "*"]) == [0.0, 0.25, 0.5, None]


# -- spread ----------------------------------------------------------------------------------------


def test_spread_draws_within_the_label_evenly_and_by_the_seed():
    labels = ["[20, 30)"] * 4000 + ["{1, 5}"] * 1000 + ["7"]
    drawn = np.array(numbers(labels, "spread", seed=3))
    assert (np.bincount(drawn[:4000].astype(int))[20:] > 300).all()
    assert set(drawn[:4000]) == set(range(20, 30))
    assert set(drawn[4000:5000]) == {1.0, 5.0} and drawn[-1] == 7
    assert numbers(labels, "spread", seed=3) == drawn.tolist()
    assert numbers(labels, "spread", seed=4) != drawn.tolist()


def test_spread_of_fractions_fills_the_interval():
    drawn = np.array(numbers(["[0.0, 1.0)"] * 2000, "spread"))
    assert 0 <= drawn.min() < 0.01 and 0.99 < drawn.max() < 1
    assert abs(drawn.var() - 1 / 12) < 0.01


def test_spread_of_a_star_and_of_open_ends():
    labels = ["*"] * 50 + ["0", "9", ">= 9", "< 0"]
    assert numbers(labels, "spread")[:50] == [None] * 50
    drawn = numbers(labels, "spread", star="range")
    assert len(set(drawn[:50])) > 3 and all(-1 <= value <= 9 for value in drawn)
    assert drawn[-2:] == [9, -1]


# -- dates and times -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "first", "last"),
    [
        ("2024-02-05", (2024, 2, 5), (2024, 2, 5)),
        ("2024-02", (2024, 2, 1), (2024, 2, 29)),
        ("2024-Q4", (2024, 10, 1), (2024, 12, 31)),
        ("2024-H1", (2024, 1, 1), (2024, 6, 30)),
        ("2024", (2024, 1, 1), (2024, 12, 31)),
        ("2020s", (2020, 1, 1), (2029, 12, 31)),
        ("2024-W01", (2024, 1, 1), (2024, 1, 7)),
        ("[2024-01-01, 2024-02-01)", (2024, 1, 1), (2024, 1, 31)),
        ("[2024-01-01, 2024-02-01]", (2024, 1, 1), (2024, 2, 1)),
        ("{2024-01-01, 2024-03-01}", (2024, 1, 1), (2024, 3, 1)),
    ],
)
def test_dates_and_periods(label, first, last):
    assert bounds([label, "2000-01-01"])[0] == (datetime(*first), datetime(*last))


def test_the_labels_of_the_builder_of_dates_are_read():
    days = pa.array(np.arange("2019-12-20", "2021-02-01", dtype="datetime64[D]"))
    for levels in (("month", "quarter", "half", "year", "decade"), ("week",)):
        tree = ko.dates(*levels).build(ko_column("day", days))
        low_high = dict(zip(tree.published, zip(tree.lo, tree.hi)))
        labels = [label for label in tree.published if label != "*"]
        for label, (low, high) in zip(labels, bounds(labels)):
            first, last = (datetime.fromisoformat(tree.leaves[leaf]) for leaf in low_high[label])
            assert low <= first <= last <= high


def ko_column(name, values):
    from kohort.data.column import code_column

    return code_column(name, values)


def test_times_have_no_smallest_step():
    times = ["[2024-01-01 10:00:00, 2024-01-01 12:00:00)", "2024-01-01 08:30:00", "2024-01-02"]
    assert numbers(times)[:2] == [datetime(2024, 1, 1, 11), datetime(2024, 1, 1, 8, 30)]
    assert bounds(times)[2] == (datetime(2024, 1, 2), datetime(2024, 1, 3))


# -- kinds of columns ------------------------------------------------------------------------------


def test_pandas_keeps_name_and_index():
    series = pd.Series(LABELS, name="age", index=list("abcdefghi"))
    found = ko.as_numbers(series)
    pd.testing.assert_series_equal(found, pd.Series(MIDDLE, series.index, dtype=float, name="age"))
    table = ko.as_numbers(series, "bounds")
    assert list(table.columns) == ["age_low", "age_high"] and list(table.index) == list(series.index)


def test_polars_keeps_its_name():
    found = ko.as_numbers(pl.Series("age", LABELS))
    assert found.name == "age" and found.dtype == pl.Float64 and found.to_list() == MIDDLE
    assert ko.as_numbers(pl.Series("age", LABELS), "bounds").columns == ["age_low", "age_high"]


def test_categories_and_chunks_are_read():
    for column in (
        pd.Series(LABELS, dtype="category"),
        pl.Series(LABELS, dtype=pl.Categorical),
        pa.array(LABELS).dictionary_encode(),
        pa.chunked_array([LABELS[:4], [], LABELS[4:]], pa.string()),
    ):
        found = ko.as_numbers(column)
        assert [
            None if pd.isna(v) else v
            for v in pd.Series(found.to_pylist() if isinstance(found, pa.Array) else found)
        ] == MIDDLE


def test_numbers_and_dates_stay_as_they_are():
    assert ko.as_numbers(pl.Series([1, None, 3])).to_list() == [1.0, None, 3.0]
    assert ko.as_numbers(pd.Series([1.5, np.nan])).isna().tolist() == [False, True]
    day = datetime(2024, 1, 2)
    assert ko.as_numbers(pa.array([day.date(), None])).to_pylist() == [day, None]


@pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN)
def test_an_empty_column(make):
    table = make({"age": ["*", None]})
    column = table["age"]
    assert len(ko.as_numbers(column)) == 2


@pytest.mark.parametrize(
    ("column", "more", "says"),
    [
        (pa.array(["435*", "young", "[a, b)", "1"]), {}, "3 labels cannot be read"),
        (pl.Series("x", ["2024-13", "2024-01"]), {}, "Column 'x': 1 label cannot be read"),
        (pa.array(["1"]), {"how": "median"}, "'how' must be midpoint, bounds or spread"),
        (pa.array(["1"]), {"star": 0}, "'star' must be"),
        (pa.array(["1"]), {"seed": -1}, "'seed'"),
        (pa.array(["1"]), {"whole": 1}, "'whole'"),
        (pa.array([True]), {}, "neither labels nor numbers"),
        (pl.DataFrame({"x": ["1"]}), {}, "takes one column"),
        (["1"], {}, "takes one column"),
    ],
)
def test_what_cannot_be_read_is_refused_and_not_shown(column, more, says):
    with pytest.raises(InputError, match=says) as refused:
        ko.as_numbers(column, **more)
    assert "young" not in str(refused.value)


# -- releases --------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN)
def test_the_columns_of_a_release(make):
    table = make({"age": [21, 22, 41, 42], "visits": [1, 2, 3, 4]})
    asked = {"quasi_identifiers": {"age": ko.intervals(10)}, "insensitive": ["visits"], "k": 2}
    release = ko.anonymize(table, **asked, shuffle=False)
    found = release.as_numbers("age")
    assert [float(value) for value in np.array(found.to_numpy())] == [24.5, 24.5, 44.5, 44.5]
    assert type(release.as_numbers("age", "bounds")) is type(table)
    assert np.array(release.as_numbers("visits").to_numpy()).tolist() == [1, 2, 3, 4]
    with pytest.raises(InputError, match="Did you mean 'visits'"):
        release.as_numbers("visit")


def test_a_release_knows_whether_its_values_were_whole():
    asked = {"quasi_identifiers": {"x": ko.intervals(10)}, "k": 2, "shuffle": False}
    fractions = ko.anonymize(pa.table({"x": [1.5, 2.5, 13.5, 14.25]}), **asked)
    assert fractions.as_numbers("x").to_pylist() == [5, 5, 15, 15]
    assert ko.as_numbers(fractions.table["x"]).to_pylist() == [4.5, 4.5, 14.5, 14.5]  # as the labels say
    assert ko.as_numbers(fractions.table["x"], whole=False).to_pylist() == [5, 5, 15, 15]


def test_names_of_a_hierarchy_count_as_the_values_below_them():
    tree = ko.groups({"young": ["20", "25"], "old": ["70", "80"]})
    table = pa.table({"age": [20, 25, 70, 80]})
    release = ko.anonymize(table, quasi_identifiers={"age": tree}, k=2, shuffle=False)
    assert set(release.table["age"].to_pylist()) == {"young", "old"}
    assert release.as_numbers("age").to_pylist() == [22.5, 22.5, 75, 75]
    with pytest.raises(InputError, match="2 labels cannot be read"):
        ko.as_numbers(release.table["age"])


def test_every_published_number_lies_within_the_bounds_of_its_label():
    patients = ko.datasets.generate_hospital(500, seed=1)
    release = ko.anonymize(
        patients,
        quasi_identifiers={
            "age": ko.intervals(5, 10, top=90),
            "admitted": None,
            "length_of_stay": ko.quantiles(),
        },
        others="drop",
        k=5,
        shuffle=False,
        algorithm="mondrian",
    )
    for name in ("age", "admitted", "length_of_stay"):
        found = release.as_numbers(name, "bounds", star="range").to_pandas()
        original = patients[name].to_pandas()
        original = pd.to_datetime(original) if name == "admitted" else original
        assert ((found.iloc[:, 0] <= original) & (original <= found.iloc[:, 1])).mean() > 0.95
        exact = release.as_numbers(name, "bounds").to_pandas().dropna()
        kept = original[exact.index]
        low, high = exact.iloc[:, 0], exact.iloc[:, 1]
        assert ((low <= kept) & (kept <= high)).all()
