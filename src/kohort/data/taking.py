"""Take records of an Arrow column of any type, and nothing of the others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PICKED_AS = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}


def take_records(
    values: pa.ChunkedArray | pa.Array, rows: np.ndarray | pa.Array
) -> pa.ChunkedArray | pa.Array:
    """The given records of a column, in the given order; where a row is missing, so is the value.

    >>> take_records(pa.array(["a", "b"], pa.string_view()), np.array([1, 0])).to_pylist()
    ['b', 'a']
    """
    kind = values.type
    if str(kind) in _PICKED_AS:
        return values.cast(_PICKED_AS[str(kind)]).take(pa.array(rows)).cast(kind)
    if pa.types.is_run_end_encoded(kind):
        picked = pc.run_end_decode(values).take(pa.array(rows))
        return pc.run_end_encode(picked, run_end_type=kind.run_end_type)
    return values.take(pa.array(rows))


def without_unused(values: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """A column without dictionary entries that no record has: these may be values of other records.

    Dictionaries within lists and structures become plain values.

    >>> column = pa.DictionaryArray.from_arrays(pa.array([1, 1]), pa.array(["a", "b"]))
    >>> without_unused(column).dictionary.to_pylist()
    ['b']
    """
    kind = values.type
    if not pa.types.is_dictionary(kind):
        plain = without_dictionaries(kind)
        return values if plain == kind else values.cast(plain)
    if isinstance(values, pa.ChunkedArray):
        chunks = values.unify_dictionaries().chunks or [pa.array([], kind)]
        return pa.chunked_array([without_unused(pa.concat_arrays(chunks))])
    there = values.indices.is_valid()
    codes = pc.fill_null(values.indices, 0).to_numpy(zero_copy_only=False)
    entries = values.dictionary.cast(without_dictionaries(kind.value_type))
    used = np.zeros(len(entries), dtype=bool)
    used[codes[there.to_numpy(zero_copy_only=False)]] = True
    number = np.maximum(np.cumsum(used) - 1, 0)
    numbers = pa.array(
        number[codes] if len(entries) else codes, mask=pc.invert(there).to_numpy(zero_copy_only=False)
    )
    entries = take_records(entries, np.flatnonzero(used))
    return pa.DictionaryArray.from_arrays(numbers.cast(kind.index_type), entries, ordered=kind.ordered)


def without_dictionaries(kind: pa.DataType) -> pa.DataType:
    """The type with plain values in place of dictionaries, at any depth."""
    if pa.types.is_dictionary(kind):
        return without_dictionaries(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(without_dictionaries(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(without_dictionaries(kind.key_type), without_dictionaries(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        make = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return make(kind.value_field.with_type(without_dictionaries(kind.value_type)))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(without_dictionaries(kind.value_type)), kind.list_size)
    return kind
