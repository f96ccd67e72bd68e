from datetime import date, datetime, time
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.data.column import code_column, text_of
from kohort.errors import InputError


def coded(values, type=None):
    return code_column("x", pa.array(values, type))


@pytest.mark.parametrize(
    "values, kind, texts, numbers",
    [
        ([10, 9, -1], "integer", ("-1", "9", "10"), [-1, 9, 10]),
        ([2.5, -1.0], "float", ("-1.0", "2.5"), [-1.0, 2.5]),
        ([3.0, 2.0, None], "integer", ("2", "3", None), [2, 3]),
        ([Decimal("1.10"), Decimal("0.90")], "float", ("0.90", "1.10"), [0.9, 1.1]),
        (["10", "9", "-1"], "integer", ("-1", "9", "10"), [-1, 9, 10]),
        (["1.0", "1.00", ".5"], "float", (".5", "1.0", "1.00"), [0.5, 1, 1]),
        (["1e3", "20"], "float", ("20", "1e3"), [20, 1000]),
        (["010", "9"], "string", ("010", "9"), None),  # a code, not a number
        (["01234", "43500"], "string", ("01234", "43500"), None),
        (["00.5", "1.5"], "string", ("00.5", "1.5"), None),
        (["0.5", "-0.5"], "float", ("-0.5", "0.5"), [-0.5, 0.5]),
        (["b", "a", "10"], "string", ("10", "a", "b"), None),
        (["1", ""], "string", ("", "1"), None),
        ([True, False, True], "boolean", ("false", "true"), None),
        ([date(1970, 1, 3), date(1969, 12, 31)], "date", ("1969-12-31", "1970-01-03"), [-1, 2]),
        (["1970-01-03", "1970-01-02"], "date", ("1970-01-02", "1970-01-03"), [1, 2]),
        (["2024-02-31", "2024-02-01"], "string", ("2024-02-01", "2024-02-31"), None),
        ([datetime(1970, 1, 1, 1), None], "datetime", ("1970-01-01 01:00:00", None), [3600]),
        (["1970-01-01T00:01", "1970-01-01 00:00:30.5"], "datetime", None, [30.5, 60]),
        ([time(10, 30)], "string", ("10:30:00",), None),
    ],
)
def test_values_in_their_natural_order(values, kind, texts, numbers):
    column = coded(values)
    assert column.kind == kind
    assert texts is None or column.texts == texts
    assert (column.numbers is None) == (numbers is None)
    assert column.ordered == (numbers is not None)
    if numbers is not None:
        assert column.numbers.tolist() == numbers


def test_missing_values_have_the_last_code():
    column = coded(["b", None, "a", None])
    assert column.texts == ("a", "b", None)
    assert column.codes.tolist() == [1, 2, 0, 2]
    assert column.has_null
    assert column.counts.tolist() == [1, 1, 2]


def test_nan_is_a_missing_value():
    column = coded([1.5, float("nan"), None])
    assert column.texts == ("1.5", None)
    assert column.codes.tolist() == [0, 1, 1]


def test_only_nulls_and_nothing_at_all():
    assert coded([None, None]).texts == (None,)
    assert coded([None, None], pa.string()).codes.tolist() == [0, 0]
    empty = coded([], pa.string())
    assert (len(empty), empty.texts, empty.has_null) == (0, (), False)
    assert code_column("x", pa.chunked_array([], pa.int64())).texts == ()


def test_unused_and_missing_dictionary_values_are_dropped():
    array = pa.DictionaryArray.from_arrays(pa.array([2, 1, 2, None]), pa.array(["unused", None, "b", "c"]))
    column = code_column("x", array)
    assert column.texts == ("b", None)
    assert column.codes.tolist() == [0, 1, 0, 1]


def test_chunks_with_dictionaries_of_their_own():
    chunks = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "a"]).dictionary_encode()]
    column = code_column("x", pa.chunked_array(chunks))
    assert column.texts == ("a", "b", "c")
    assert column.codes.tolist() == [1, 0, 2, 0]


def test_numbers_beyond_64_bits_are_compared_as_floats():
    column = coded([2**63, 1], pa.uint64())
    assert column.texts == ("1", "9223372036854775808")
    assert column.numbers.tolist() == [1, 2.0**63]


def test_lists_are_refused():
    with pytest.raises(InputError, match="Column 'x' holds lists or structures"):
        coded([[1, 2]])


def test_text_of():
    assert [text_of(v) for v in (True, 3, 3.0, "a")] == ["true", "3", "3.0", "a"]


@given(st.lists(st.one_of(st.none(), st.text(max_size=3), st.integers().map(str))))
def test_codes_lead_back_to_the_values(values):
    column = coded(values, pa.string())
    assert [column.texts[code] for code in column.codes] == values
    assert len(set(column.texts)) == len(column.texts)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1))
def test_integers_are_in_order_as_numbers_and_as_text(values):
    as_numbers, as_text = coded(values), coded([str(v) for v in values])
    assert as_numbers.texts == as_text.texts == tuple(str(v) for v in sorted(set(values)))
    assert (np.diff(as_numbers.numbers) > 0).all()
    assert as_numbers.codes.tolist() == as_text.codes.tolist()


@pytest.mark.parametrize("make", [pl.Series, pa.array])
def test_polars_and_arrow_give_the_same_codes(make):
    series = make(["b", "a", None])
    column = code_column("x", series.to_arrow() if isinstance(series, pl.Series) else series)
    assert column.codes.tolist() == [1, 0, 2]


# -- categories ------------------------------------------------------------------------------------


def ordered(values, categories):
    codes = pa.array([None if value is None else categories.index(value) for value in values], pa.int32())
    return pa.DictionaryArray.from_arrays(codes, pa.array(categories), ordered=True)


def test_ordered_categories_give_the_order():
    column = code_column("pain", ordered(["mild", "none", None, "severe"], ["none", "mild", "bad", "severe"]))
    assert column.texts == ("none", "mild", "severe", None)
    assert column.listed == ("none", "mild", "bad", "severe")
    assert column.ordered and column.loners == 1


def test_some_categories_may_stand_apart_from_the_order():
    values = ordered(["refused", "none", "mild"], ["refused", "none", "mild"])
    column = code_column("pain", values, apart={"refused"})
    assert column.texts == ("none", "mild", "refused")
    assert (column.apart, column.loners) == (1, 1)
    assert column.in_order(["refused", "none", "mild"]).loners == 0


def test_categories_without_an_order_and_numbers_keep_their_natural_order():
    assert not code_column("x", pa.array(["b", "a"]).dictionary_encode()).ordered
    assert code_column("x", ordered([10, 9], [10, 9])).texts == ("9", "10")
    assert code_column("x", ordered(["10", "9"], ["10", "9"])).texts == ("9", "10")


def test_whole_numbers_written_with_a_point_are_whole_numbers():
    for values in (["1.0", "2.0", "10.00"], [1.0, 2.0, 10.0], [1, 2, 10]):
        column = code_column("x", pa.array(values))
        assert (column.kind, column.texts) == ("integer", ("1", "2", "10"))
        assert column.numbers.dtype == np.int64
    assert code_column("x", pa.array(["1.0", "1"])).texts == ("1",)
    assert code_column("x", pa.array(["1.0", "2.5"])).texts == ("1.0", "2.5")
    assert code_column("x", pa.array(["1.0", "01.0"])).kind == "string"
    assert code_column("x", pa.array(["-0.0", "1.0"])).texts == ("0", "1")
