"""A column, coded once: integers for its values, a dictionary of the values in their natural order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import InputError

__all__ = ["Column", "Kind", "code_column", "local_time", "text_of"]

Kind = Literal["integer", "float", "string", "boolean", "date", "datetime"]

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,18})")  # no leading zeros: 01234 is a code, not a number
_FLOAT = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATETIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?")
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table in codes.

    `texts[c]` is the value with code c as text, in natural order (numbers and dates by size, text by
    alphabet); a missing value is None and always has the last code: it is a value of its own.
    `numbers` holds the same values as numbers (dates as days, times as seconds since 1970) where the
    column has an order that is more than alphabetical.
    """

    name: str
    kind: Kind
    codes: np.ndarray
    texts: tuple[str | None, ...]
    numbers: np.ndarray | None
    listed: tuple[str, ...] = ()  # the order that was given, if one was

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def ordered(self) -> bool:
        """Whether intervals of values mean something."""
        return self.numbers is not None

    @property
    def has_null(self) -> bool:
        return bool(self.texts) and self.texts[-1] is None

    def in_order(self, texts: Sequence[str]) -> Column:
        """The same column with its values in a given order, which must name every one of them."""
        rank: dict[str | None, int] = {text: place for place, text in enumerate(texts)}
        missing = sum(text not in rank for text in self.texts if text is not None)
        if missing or len(rank) < len(texts):
            raise InputError(
                f"Column {self.name!r}: {missing} of its values are missing from the given order, "
                f"{len(texts) - len(rank)} are named twice. Name each value once."
            )
        known = [text for text in self.texts if text is not None]
        order = sorted(range(len(known)), key=lambda code: rank[known[code]])
        new_code = np.arange(len(self.texts), dtype=np.int32)
        new_code[order] = np.arange(len(order), dtype=np.int32)
        ordered: list[str | None] = [known[code] for code in order]
        numbers = np.array([rank[text] for text in ordered], dtype=np.int64)
        return replace(
            self,
            codes=new_code[self.codes],
            texts=tuple(ordered + [None] * self.has_null),
            numbers=numbers,
            listed=tuple(texts),
        )

    @cached_property
    def counts(self) -> np.ndarray:
        """How many records have each value."""
        return np.bincount(self.codes, minlength=len(self.texts))


def code_column(name: str, values: pa.ChunkedArray | pa.Array) -> Column:
    """Code one Arrow column: O(n + d log d) for d distinct values; Python touches only these."""
    codes, dictionary = _dictionary(name, values)
    kind, texts, numbers = _natural(dictionary)
    codes, texts, numbers = _equal_texts_merged(codes, texts, numbers)
    order = _natural_order(texts, numbers)
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = len(order)  # the code -1 of a missing value becomes the last one
    has_null = bool(len(codes)) and bool((codes < 0).any())
    ordered_texts: list[str | None] = [texts[i] for i in order]
    return Column(
        name=name,
        kind=kind,
        codes=rank[codes],
        texts=tuple(ordered_texts + [None] * has_null),
        numbers=None if numbers is None else numbers[order],
    )


def text_of(value: Any) -> str:
    """The text by which a value is known in hierarchies and published tables.

    >>> text_of(3.0), text_of(True), text_of(date(2024, 3, 5))
    ('3.0', 'true', '2024-03-05')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def local_time(text: str) -> datetime:
    """An ISO time as it is written, without its zone."""
    whole, dot, fraction = text.partition(".")
    padded = f"{whole}.{fraction:0<6}" if dot else whole  # Python before 3.11 reads six digits only
    return datetime.fromisoformat(padded).replace(tzinfo=None)


def _dictionary(name: str, values: pa.ChunkedArray | pa.Array) -> tuple[np.ndarray, list]:
    """Codes (-1 where missing) and the distinct values in use, in any order."""
    if pa.types.is_nested(values.type):
        raise InputError(
            f"Column {name!r} holds lists or structures, which have no single value per record. "
            "Give it the role items, insensitive or identifier."
        )
    if isinstance(values.type, pa.BaseExtensionType):
        raise InputError(
            f"Column {name!r} holds values of the type {values.type.extension_name}. Convert them to text, "
            "or give it the role insensitive or identifier."
        )
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    if isinstance(values, pa.Array):
        values = pa.chunked_array([values])
    encoded = values if pa.types.is_dictionary(values.type) else pc.dictionary_encode(values)
    encoded = encoded.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # an empty column has no chunk to combine
        encoded = pa.concat_arrays(encoded.chunks) if encoded.num_chunks else pa.array([], encoded.type)
    codes = pc.fill_null(encoded.indices.cast(pa.int32()), -1).to_numpy(zero_copy_only=False)
    dictionary = _python_values(name, encoded.dictionary)
    used = np.bincount(codes + 1, minlength=len(dictionary) + 1)[1:] > 0
    used &= np.array([v is not None and v == v for v in dictionary], dtype=bool)  # NaN is missing
    if used.all():
        return codes, dictionary
    new = np.full(len(dictionary) + 1, -1, dtype=np.int32)
    new[:-1][used] = np.arange(used.sum(), dtype=np.int32)
    return new[codes], [v for v, keep in zip(dictionary, used) if keep]


def _python_values(name: str, dictionary: pa.Array) -> list:
    if pa.types.is_float16(dictionary.type) or pa.types.is_float32(dictionary.type):
        # in as many digits as the type has: 0.1 and not 0.10000000149011612
        return [None if v is None else float(str(v)) for v in dictionary.to_numpy(zero_copy_only=False)]
    if pa.types.is_timestamp(dictionary.type) and dictionary.type.unit == "ns":
        # Python's times have microseconds
        dictionary = dictionary.cast(pa.timestamp("us", dictionary.type.tz), safe=False)
    try:
        return dictionary.to_pylist()
    except (OverflowError, ValueError):
        raise InputError(
            f"Column {name!r} has dates or times outside the years 1 to 9999. Correct them, or use text."
        ) from None


def _equal_texts_merged(
    codes: np.ndarray, texts: list[str], numbers: np.ndarray | None
) -> tuple[np.ndarray, list[str], np.ndarray | None]:
    """One code per text: 0.0 and -0.0 are the same value, and a dictionary may repeat itself."""
    first = {text: code for code, text in reversed(list(enumerate(texts)))}
    if len(first) == len(texts):
        return codes, texts, numbers
    kept = np.array(sorted(first.values()), dtype=np.int64)
    new = np.full(len(texts) + 1, -1, dtype=np.int32)
    new[:-1] = np.searchsorted(kept, [first[text] for text in texts])
    return new[codes], [texts[i] for i in kept], None if numbers is None else numbers[kept]


def _natural(values: list) -> tuple[Kind, list[str], np.ndarray | None]:
    """Kind, texts and, where there is an order, numbers of the distinct values."""
    first = values[0] if values else ""
    if isinstance(first, bool):
        return "boolean", [text_of(v) for v in values], None
    if isinstance(first, str):
        return _natural_text(values)
    if isinstance(first, datetime):
        naive = [v.replace(tzinfo=None) for v in values]
        return "datetime", [text_of(v) for v in values], _seconds(naive)
    if isinstance(first, date):
        return "date", [text_of(v) for v in values], _days(values)
    if isinstance(first, int):
        return "integer", [str(v) for v in values], _integers(values)
    numbers = _floats(values)
    if numbers is None:
        return "string", [text_of(v) for v in values], None
    if np.all(numbers == np.floor(numbers)) and np.all(np.abs(numbers) < 2**53):
        # whole numbers that became floats because some were missing
        return "integer", [str(int(v)) for v in values], numbers.astype(np.int64)
    return "float", [text_of(v) for v in values], numbers


def _natural_text(texts: list[str]) -> tuple[Kind, list[str], np.ndarray | None]:
    """Text may hold numbers or dates: CSV files are read as text, so that nothing is rewritten."""
    if not texts:
        return "string", texts, None
    try:
        if all(_INTEGER.fullmatch(t) for t in texts):
            return "integer", texts, _integers([int(t) for t in texts])
        if all(_FLOAT.fullmatch(t) for t in texts) and not any(_has_leading_zero(t) for t in texts):
            return "float", texts, _floats([float(t) for t in texts])
        if all(_DATE.fullmatch(t) for t in texts):
            return "date", texts, _days([date.fromisoformat(t) for t in texts])
        if all(_DATETIME.fullmatch(t) for t in texts):
            return "datetime", texts, _seconds([local_time(t) for t in texts])
    except ValueError:  # looks like a date but is none, such as 2024-02-31
        return "string", texts, None
    return "string", texts, None


def _has_leading_zero(text: str) -> bool:
    digits = text.lstrip("-")
    return len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()


def _integers(values: list[int]) -> np.ndarray:
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=np.float64)


def _floats(values: list) -> np.ndarray | None:
    try:
        return np.array([float(v) for v in values], dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _days(values: list[date]) -> np.ndarray:
    return np.array([v.toordinal() - _EPOCH.toordinal() for v in values], dtype=np.int64)


def _seconds(values: list[datetime]) -> np.ndarray:
    return np.array([(v - _EPOCH).total_seconds() for v in values], dtype=np.float64)


def _natural_order(texts: list[str], numbers: np.ndarray | None) -> np.ndarray:
    alphabetical = np.array(sorted(range(len(texts)), key=texts.__getitem__), dtype=np.int64)
    if numbers is None:
        return alphabetical
    return alphabetical[np.argsort(numbers[alphabetical], kind="stable")]
