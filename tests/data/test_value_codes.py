"""Codes of values of any type: equal where values are, in natural order, whatever the order of records."""

from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from kohort.data.arrow_values import take_records, value_codes

COLUMNS = {
    "numbers": (pa.array([3, 1, None, 3]), [1, 0, 2, 1]),
    "floats": (pa.array([0.5, -0.0, 0.0, None, -7.0]), [3, 1, 2, 4, 0]),
    "halves": (pa.array(np.array([1, -2], dtype=np.float16)), [1, 0]),
    "sliced": (pa.array([9.0, 2.0, 1.0]).slice(1), [1, 0]),
    "texts": (pa.array(["b", "a", None]), [1, 0, 2]),
    "numbers as texts": (pa.array(["10", "9", "010"]), [2, 0, 1]),
    "views": (pa.array(["b", "a"], pa.string_view()), [1, 0]),
    "categories": (pa.array(["z", "a", None]).dictionary_encode(), [1, 0, 2]),
    "dates": (pa.array([date(2024, 1, 2), date(2023, 1, 1)]), [1, 0]),
    "decimals": (pa.array([Decimal("1.5"), Decimal("0.5")]), [1, 0]),
    "short decimals": (pa.array([Decimal("1.5"), Decimal("0.5")], pa.decimal32(4, 1)), [1, 0]),
    "lists": (pa.array([["b"], ["a", "b"], [], None, ["a", "b"]]), [2, 1, 0, 3, 1]),
    "lists of lists": (pa.array([[["b"]], [["a"]], [["b"]]]), [1, 0, 1]),
    "structures": (pa.array([{"a": 2}, {"a": 1}, None]), [1, 0, 2]),
    "chunks": (pa.chunked_array([["b"], [], ["a", "b"]], pa.string()), [1, 0, 1]),
    "runs": (pa.RunEndEncodedArray.from_arrays([2, 3], ["b", "a"]), [1, 1, 0]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_values_have_codes_in_their_order(name):
    values, expected = COLUMNS[name]
    assert value_codes(values).tolist() == expected


@pytest.mark.parametrize("name", COLUMNS)
def test_codes_do_not_depend_on_the_order_of_records(name):
    values, _ = COLUMNS[name]
    rows = np.random.default_rng(1).permutation(len(values))
    taken = take_records(values, rows)
    assert taken.type == values.type
    assert value_codes(taken).tolist() == value_codes(values)[rows].tolist()
