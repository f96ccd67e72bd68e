"""Sorting and searching of kernels against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.kernels.sorting import (
    distinct_values,
    heap_of,
    place_among,
    pop_least,
    sorted_copy,
    stable_order,
)

DTYPES = [np.int64, np.int32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
@given(values=st.lists(st.integers(-5, 5), max_size=90))
def test_orders_like_numpy(dtype, values):
    array = np.array(values, dtype=dtype)
    before = array.copy()
    assert sorted_copy(array).tolist() == np.sort(array).tolist()
    assert stable_order(array).tolist() == np.argsort(array, kind="stable").tolist()
    assert distinct_values(array).tolist() == np.unique(array).tolist()
    assert array.tolist() == before.tolist()
    assert sorted_copy(array).dtype == dtype


@given(values=st.lists(st.integers(-5, 5), max_size=90))
def test_pops_in_the_stable_order(values):
    array = np.array(values, dtype=np.float64)
    heap = heap_of(array)
    popped = [int(pop_least(array, heap, size)) for size in range(len(array), 0, -1)]
    assert popped == np.argsort(array, kind="stable").tolist()


@given(ordered=st.lists(st.integers(0, 9), max_size=40).map(sorted), values=st.lists(st.integers(-1, 10)))
def test_finds_places_like_numpy(ordered, values):
    ordered, values = np.array(ordered, dtype=np.int64), np.array(values, dtype=np.int64)
    places = np.searchsorted(ordered, values)
    assert [place_among(ordered, value) for value in values] == places.tolist()


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 31, 32, 33, 64, 1000, 12345])
def test_lengths_around_the_runs(n):
    values = np.random.default_rng(n).integers(0, max(1, n // 3), n)
    assert stable_order(values).tolist() == np.argsort(values, kind="stable").tolist()
    assert sorted_copy(values[::-1]).tolist() == np.sort(values).tolist()
