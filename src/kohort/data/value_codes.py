"""Codes for a column of any type: one for values that are the same to the last bit, in natural order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def value_codes(values: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Numbers from 0 on, one per distinct value, by size or alphabet; a missing value has the last one.

    Texts that are all numbers are ordered as numbers. The codes depend on the values alone, not on how they
    are stored or in which order. O(n + d log d) for d distinct values.

    >>> value_codes(pa.array(["10", None, "9", "10"])).tolist()
    [1, 2, 0, 1]
    """
    array = _plain(values)
    encoded = array.dictionary_encode()
    dictionary = encoded.dictionary
    place = np.empty(len(dictionary) + 1, dtype=np.int64)
    place[_natural_order(dictionary)] = np.arange(len(dictionary))
    place[-1] = len(dictionary)
    return place[pc.fill_null(encoded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)]


def long_decimals(values: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """The values, with decimals of 32 or 64 bits, which Arrow cannot distinguish, in 128 bits."""
    kind = values.type
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return values.cast(pa.decimal128(kind.precision, kind.scale))
    return values


def _plain(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The values in one chunk, as a type whose values Arrow distinguishes by their bits."""
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    kind = values.type
    if pa.types.is_dictionary(kind):
        chunks, kind = [chunk.cast(kind.value_type) for chunk in chunks], kind.value_type
    array = long_decimals(pa.concat_arrays(chunks) if chunks else pa.array([], kind))
    if pa.types.is_floating(kind):
        return _sortable_bits(array)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _list_bytes(array)
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_decode(array)
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        return _spelled(array)
    return array


def _sortable_bits(array: pa.Array) -> pa.Array:
    """Floats as whole numbers in the same order; 0.0 and -0.0 differ, and so do kinds of NaN."""
    size = array.type.bit_width
    there = pc.is_valid(array).to_numpy(zero_copy_only=False)
    count = array.offset + len(array)
    bits = np.frombuffer(array.buffers()[1], dtype=f"i{size // 8}", count=count)[array.offset :]
    below_zero = bits < 0
    turned = np.where(below_zero, bits ^ np.iinfo(bits.dtype).max, bits)
    return pa.array(turned.astype(np.int64), mask=~there)


def _list_bytes(array: pa.Array) -> pa.Array:
    """Lists as the bytes of their values' codes."""
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    there = array.is_valid()
    codes = value_codes(array.filter(there).flatten()).astype(">u8")
    lengths = np.where(there.to_numpy(zero_copy_only=False), lengths, 0)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64) * codes.itemsize
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(codes.tobytes())]
    plain = pa.Array.from_buffers(pa.large_binary(), len(array), buffers)
    return pc.if_else(there, plain, pa.scalar(None, pa.large_binary()))


def _spelled(array: pa.Array) -> pa.Array:
    return pa.array(
        [None if value is None else repr(value) for value in array.to_pylist()], pa.large_string()
    )


def _natural_order(dictionary: pa.Array) -> np.ndarray:
    """The places of distinct values in their order."""
    try:
        order = pc.sort_indices(dictionary).to_numpy(zero_copy_only=False)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        order = pc.sort_indices(_spelled(dictionary)).to_numpy(zero_copy_only=False)
    if not (pa.types.is_string(dictionary.type) or pa.types.is_large_string(dictionary.type)):
        return order
    try:
        numbers = dictionary.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return order
    return order[np.argsort(numbers[order], kind="stable")]
