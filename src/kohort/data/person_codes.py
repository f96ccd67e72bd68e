"""Numbers for the people that a column names, and the numbers in a column of weights."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.value_codes import long_decimals
from kohort.errors import InputError


def person_codes(name: str, values: pa.ChunkedArray) -> np.ndarray:
    """The number of each record's person, by first appearance; -1 where the cell is missing, NaN or blank.

    O(n), by a hash table of Arrow's: a table has about as many people as records, too many for Python.

    >>> person_codes("patient", pa.chunked_array([["b", "a", None, "b", " "]])).tolist()
    [0, 1, -1, 0, -1]
    """
    if pa.types.is_nested(values.type) or isinstance(values.type, pa.BaseExtensionType):
        raise InputError(
            f"Column {name!r} says whose record it is, but holds lists, structures or values of a special "
            "type. Convert it to text or numbers."
        )
    if pa.types.is_dictionary(values.type):
        return _codes_of_dictionary(name, values)
    encoded = long_decimals(values).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):  # an empty column has no chunk to combine
        return np.empty(0, dtype=np.int32)
    codes = pc.fill_null(encoded.indices.cast(pa.int32()), -1).to_numpy(zero_copy_only=False)
    blank = _blanks(encoded.dictionary)
    if not blank.any():
        return codes
    number = np.append(np.where(blank, -1, np.cumsum(~blank) - 1), -1).astype(np.int32)
    return number[codes]


def _codes_of_dictionary(name: str, values: pa.ChunkedArray) -> np.ndarray:
    """The same numbers of values that are in a dictionary, which may list them in another order."""
    encoded = values.unify_dictionaries().combine_chunks()
    parts = encoded.chunks if isinstance(encoded, pa.ChunkedArray) else [encoded]
    codes = np.concatenate(
        [pc.fill_null(part.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False) for part in parts]
    )
    distinct, first = np.unique(codes, return_index=True)
    in_turn = distinct[np.argsort(first)]
    in_turn = in_turn[in_turn >= 0]
    dictionary = parts[0].dictionary
    number_of = np.full(len(dictionary) + 1, -1, dtype=np.int32)
    # equal values of the dictionary, if there are any, have one number
    number_of[in_turn] = person_codes(name, pa.chunked_array([dictionary.take(pa.array(in_turn))]))
    return number_of[codes]


def _blanks(values: pa.Array) -> np.ndarray:
    """Whether each value is a blank text, or a number that is none."""
    if pa.types.is_floating(values.type):
        blank = pc.is_nan(values)
    elif pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        blank = pc.equal(pc.utf8_trim_whitespace(values), "")
    else:
        return np.zeros(len(values), dtype=bool)
    return pc.fill_null(blank, True).to_numpy(zero_copy_only=False)


def record_weights(name: str, values: pa.ChunkedArray) -> np.ndarray:
    """The numbers in a column of weights; NaN where a cell is missing.

    >>> record_weights("weight", pa.chunked_array([[1, None]])).tolist()
    [1.0, nan]
    """
    try:
        if pa.types.is_boolean(values.type) or pa.types.is_temporal(values.type):
            raise pa.ArrowNotImplementedError
        numbers = values.cast(pa.float64())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise InputError(
            f"Column {name!r} has the role weight, but not all of its values are numbers. Correct them."
        ) from None
    return pc.fill_null(numbers, float("nan")).to_numpy()
