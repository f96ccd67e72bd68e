"""Columns in types that Arrow can compute with: no dictionaries of views or of what is no text."""

from __future__ import annotations

import pyarrow as pa


def usual_type(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column itself or, where Arrow can hardly compute with its type, the same values as text.

    So are dictionaries of views of text, and the intervals that pandas cuts numbers into.
    """
    kind = values.type
    if pa.types.is_dictionary(kind) and _is_unusual(kind.value_type):
        to = pa.dictionary(kind.index_type, pa.string(), kind.ordered)
        return pa.chunked_array([_with_texts(chunk) for chunk in values.chunks], to)
    return values


def _is_unusual(kind: pa.DataType) -> bool:
    is_of_pandas = isinstance(kind, pa.BaseExtensionType) and kind.extension_name.startswith("pandas.")
    return pa.types.is_string_view(kind) or is_of_pandas


def _with_texts(encoded: pa.DictionaryArray) -> pa.DictionaryArray:
    words = encoded.dictionary
    if pa.types.is_string_view(words.type):
        texts = words.cast(pa.string())
    else:
        texts = pa.array([str(word) for word in words.to_pandas()], pa.string())
    return pa.DictionaryArray.from_arrays(encoded.indices, texts, ordered=encoded.type.ordered)
