"""Tables in cells, and numbers for records. No Spark is started here."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from kohort.tables.spark import (
    compact_dictionary,
    dictionary_of_places,
    hashed_rows,
    joined_tables,
    packed,
    sorted_by,
    unpacked,
)

COLUMNS = {
    "text": pa.array(["a", None, "b", "a"]),
    "number": pa.array([1.5, 2.5, None, 1.5]),
    "day": pa.array([date(2024, 3, 5), date(2024, 3, 6), None, date(2024, 3, 5)]),
    "amount": pa.array([Decimal("1.10"), Decimal("2.00"), None, Decimal("1.10")]),
    "bytes": pa.array([b"x", b"\xff", None, b"x"]),
    "list": pa.array([[1, 2], [], None, [1, 2]]),
}


def test_a_table_is_unpacked_as_it_was_packed():
    table = pa.table(COLUMNS)
    assert unpacked(packed(table)).equals(table)


def test_tables_with_different_dictionaries_are_joined():
    first = pa.table({"x": pa.array(["a", "b"]).dictionary_encode()})
    second = pa.table({"x": pa.array(["c", None, "a"]).dictionary_encode()})
    joined = joined_tables([first, second])
    assert joined.column("x").to_pylist() == ["a", "b", "c", None, "a"]
    assert joined.column("x").num_chunks == 1


@pytest.mark.parametrize("n_values", [4, 1_000])
def test_a_dictionary_has_the_values_that_occur(n_values):
    values = pa.array([None, *(f"v{number}" for number in range(1, n_values))])
    column = dictionary_of_places(np.array([3, 0, 3, 2]), values)
    assert column.to_pylist() == ["v3", None, "v3", "v2"]
    assert sorted(column.dictionary.to_pylist()) == ["v2", "v3"]
    missing = pa.DictionaryArray.from_arrays(pa.array([1, None, 1]), pa.array(["a", "b", "c"]))
    assert compact_dictionary(missing).to_pylist() == ["b", None, "b"]
    assert compact_dictionary(missing).dictionary.to_pylist() == ["b"]
    nobody = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array([None], pa.string()))
    assert compact_dictionary(nobody).to_pylist() == [None, None]


def test_records_are_sorted_by_key():
    for n_keys in (4, 100_000):
        order, start = sorted_by(np.array([2, 0, 2, 1]), n_keys)
        assert order.tolist() == [1, 3, 0, 2]
        assert start[:5].tolist() == [0, 1, 2, 4, 4]


@pytest.mark.parametrize("name", COLUMNS)
def test_equal_values_have_one_number_and_others_another(name):
    found = hashed_rows([COLUMNS[name]], 4)
    assert found[0] == found[3]
    assert len(set(found.tolist())) == 3
    assert hashed_rows([COLUMNS[name]], 4, seed=1)[0] != found[0]


def test_a_number_does_not_depend_on_how_values_are_held():
    plain = COLUMNS["text"]
    encoded = pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 1]), pa.array(["b", "a"]))
    assert (hashed_rows([plain], 4) == hashed_rows([encoded], 4)).all()
    assert (hashed_rows([plain, COLUMNS["day"]], 4) != hashed_rows([COLUMNS["day"], plain], 4)).any()
