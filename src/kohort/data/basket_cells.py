"""Cells of an items column: lists, or texts whose items are separated; read into codes, and written again."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.baskets import Baskets, code_baskets
from kohort.data.dataset import Dataset
from kohort.errors import InputError


def read_baskets(
    dataset: Dataset, name: str, *, separator: str | None = None, multiset: bool = False
) -> Baskets:
    """The items column in codes; with a separator, its cells are texts, split as in a CSV file."""
    dataset.require([name])
    values = dataset.arrow(name)
    if separator is not None:
        values = split(name, values, separator)
    return code_baskets(name, values, multiset=multiset)


def split(name: str, values: pa.ChunkedArray | pa.Array, separator: str) -> pa.ChunkedArray:
    """Split texts into lists of items, without the spaces around them; quotes protect a separator."""
    if not (
        pa.types.is_string(values.type)
        or pa.types.is_large_string(values.type)
        or pa.types.is_dictionary(values.type)
    ):
        raise InputError(
            f"Column {name!r} has a separator, but its cells are not text. Leave the separator out."
        )
    texts = values.cast(pa.string())
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    return pa.chunked_array([split_texts(chunk, separator) for chunk in chunks])


def split_texts(texts: pa.Array, separator: str) -> pa.ListArray:
    """Split texts into lists of items, each without the spaces around it and none of them empty.

    O(characters); Python touches single texts only where one has a quote.
    """
    if pc.any(pc.match_substring(texts, '"')).as_py():
        lists = [None if text is None else split_text(text, separator) for text in texts.to_pylist()]
        return pa.array(lists, pa.list_(pa.string()))
    parts = pc.split_pattern(texts, separator) if separator.strip() else pc.utf8_split_whitespace(texts)
    items, record = pc.utf8_trim_whitespace(parts.flatten()), pc.list_parent_indices(parts)
    filled = pc.greater(pc.binary_length(items), 0)
    sizes = np.bincount(record.filter(filled).to_numpy(), minlength=len(texts))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), items.filter(filled), mask=pc.is_null(texts))


def split_text(text: str, separator: str) -> list[str]:
    """The items of one text.

    >>> split_text('a;"b; c"; d', ";")
    ['a', 'b; c', 'd']
    """
    cells = next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])
    return [cell.strip() for cell in cells if cell.strip()]


def joined(lists: pa.ListArray, separator: str) -> pa.Array:
    """Join lists into texts; items with a separator or a quote are quoted. A missing list stays missing."""
    values = pc.dictionary_encode(lists.flatten())
    texts = [_quoted(text, separator) for text in values.dictionary.to_pylist()]
    quoted = pa.DictionaryArray.from_arrays(values.indices, pa.array(texts, pa.string())).cast(pa.string())
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    plain = pa.ListArray.from_arrays(pa.array(offsets), quoted, mask=pc.is_null(lists))
    return pc.binary_join(plain, separator)


def _quoted(text: str, separator: str) -> str:
    if separator not in text and '"' not in text and text == text.strip():
        return text
    return '"' + text.replace('"', '""') + '"'
