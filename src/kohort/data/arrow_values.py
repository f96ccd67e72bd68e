"""Arrow columns of any type: taken, in types that can be computed with, their values and people numbered."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import InputError

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


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values, without the dictionary that they may be in."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of texts, in a dictionary or not."""
    kind = value_type(kind)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_bytes(kind: pa.DataType) -> bool:
    """Whether a type is one of raw bytes."""
    plain = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return plain or pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind)


# Columns in types that Arrow can compute with: no dictionaries of views or of what is no text.
def usual_type(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column itself or, where Arrow can hardly compute with its type, the same values as text.

    So are dictionaries of views of text, and the intervals that pandas cuts numbers into.
    """
    kind = values.type
    if not pa.types.is_dictionary(kind):
        return values
    words = kind.value_type
    is_of_pandas = isinstance(words, pa.BaseExtensionType) and words.extension_name.startswith("pandas.")
    if not is_of_pandas and not pa.types.is_string_view(words):
        return values
    chunks = []
    for chunk in values.chunks:
        known = chunk.dictionary
        texts = [str(word) for word in known.to_pandas()] if is_of_pandas else known.to_pylist()
        plain = pa.array(texts, pa.string())
        chunks.append(pa.DictionaryArray.from_arrays(chunk.indices, plain, ordered=kind.ordered))
    return pa.chunked_array(chunks, pa.dictionary(kind.index_type, pa.string(), kind.ordered))


# Codes for a column of any type: one for values that are the same to the last bit, in natural order.
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
    try:
        order = pc.sort_indices(dictionary).to_numpy(zero_copy_only=False)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        order = pc.sort_indices(_spelled(dictionary)).to_numpy(zero_copy_only=False)
    if not is_text(dictionary.type):
        return order
    try:
        numbers = dictionary.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return order
    return order[np.argsort(numbers[order], kind="stable")]


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
    if not len(values):
        return np.empty(0, dtype=np.int32)
    if pa.types.is_dictionary(values.type):  # which may list the values in another order, and some twice
        whole = pa.concat_arrays(values.unify_dictionaries().chunks)
        met = whole.indices.dictionary_encode()
        number = person_codes(name, pa.chunked_array([whole.dictionary.take(met.dictionary)]))
        codes = met.indices
    else:
        encoded = pa.concat_arrays(long_decimals(values).chunks).dictionary_encode()
        blank, codes = _blanks(encoded.dictionary), encoded.indices
        number = np.where(blank, -1, np.cumsum(~blank) - 1)
    number = np.append(number, -1).astype(np.int32)
    return number[pc.fill_null(codes.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)]


def _blanks(values: pa.Array) -> np.ndarray:
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
