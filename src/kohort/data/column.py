"""A column, coded once: integers for its values, a dictionary of the values in their natural order."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrow_values import long_decimals
from kohort.data.times import DATE_TEXT, is_zoned, local_days, moment_of_text, moment_of_time, temporal_values
from kohort.errors import InputError

AnyColumn = TypeVar("AnyColumn", bound="Column")
Kind = Literal["integer", "float", "string", "boolean", "date", "datetime"]

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,18})")  # no leading zeros: 01234 is a code, not a number
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.0*)?")  # also as programs write it that hold it as a float
_FLOAT = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NEGATIVE_ZERO = re.compile(r"-(0+\.?0*|\.0+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table in codes.

    `texts[c]` is the value with code c as text, in natural order (numbers and dates by size, text by
    alphabet); a missing value is None and always has the last code: it is a value of its own.
    `numbers` holds the same values as numbers (dates as days, times as seconds since 1970) where the
    column has an order that is more than alphabetical. Times with an offset or in a time zone are in the
    order in which they happened, whatever their clocks showed.
    """

    name: str
    kind: Kind
    codes: np.ndarray
    texts: tuple[str | None, ...]
    numbers: np.ndarray | None
    is_part: ClassVar[bool] = False  # whether `counts` are those of a larger table: see PartColumn
    listed: tuple[str, ...] = ()  # the order that was given, if one was
    apart: int = 0  # how many of the last values, null aside, have no place in the order: no answers

    def __len__(self) -> int:
        return len(self.codes)

    def at(self, rows: np.ndarray | slice) -> np.ndarray:
        """The codes of some records."""
        return self.codes[rows]

    @property
    def ordered(self) -> bool:
        """Whether intervals of values mean something."""
        return self.numbers is not None

    @property
    def has_null(self) -> bool:
        return bool(self.texts) and self.texts[-1] is None

    @property
    def present(self) -> list[str]:
        """The texts of all values but a missing one."""
        return [text for text in self.texts if text is not None]

    @property
    def loners(self) -> int:
        """How many of the last values belong to no interval, a missing one included."""
        return self.apart + self.has_null

    def in_order(self, texts: Sequence[str]) -> Column:
        """The same column with its values in a given order, which must name every one of them."""
        if self.kind in ("integer", "float"):
            texts = [unsigned_zero(text) for text in texts]
        rank: dict[str | None, int] = {text: place for place, text in enumerate(texts)}
        known = self.present
        missing = sum(text not in rank for text in known)
        if missing or len(rank) < len(texts):
            raise InputError(
                f"Column {self.name!r}: {missing} of its values are missing from the given order, "
                f"{len(texts) - len(rank)} are named twice. Name each value once."
            )
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
            apart=0,
        )

    def with_equal_numbers_merged(self) -> Column:
        """The same column with one code per number, however it is written: 0 and 0.0, 1.5 and 1.50."""
        if self.kind != "float" or self.numbers is None or len(np.unique(self.numbers)) == len(self.numbers):
            return self
        first: dict[Decimal | None, int] = {}
        numbers = [None if text is None else Decimal(text) for text in self.texts]
        same = np.array([first.setdefault(number, code) for code, number in enumerate(numbers)])
        kept = np.flatnonzero(same == np.arange(len(same)))
        return replace(
            self,
            codes=np.searchsorted(kept, same).astype(np.int32)[self.codes],
            texts=tuple(self.texts[code] for code in kept),
            numbers=self.numbers[kept[kept < len(self.numbers)]],
        )

    def like(self, kind: type[AnyColumn], codes: Any, **more: Any) -> AnyColumn:
        """A column of another kind with the same values, and other codes."""
        known = {field.name: getattr(self, field.name) for field in fields(Column) if field.name != "codes"}
        return kind(**known, codes=codes, **more)

    @cached_property
    def counts(self) -> np.ndarray:
        """How many records have each value."""
        return np.bincount(self.codes, minlength=len(self.texts))


def code_column(
    name: str, values: pa.ChunkedArray | pa.Array, *, apart: Collection[str] = frozenset()
) -> Column:
    """Code one Arrow column: O(n + d log d) for d distinct values; Python touches only these.

    Categories (words in an Arrow dictionary) that are marked as ordered keep their order, but `apart` are
    those of them that have no place in it: they come last.
    """
    column = _coded(name, values)
    if column.kind != "string" or not (pa.types.is_dictionary(values.type) and values.type.ordered):
        return column
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    words = dict.fromkeys(
        word for chunk in chunks for word in chunk.dictionary.to_pylist() if word is not None
    )
    ordered = column.in_order(sorted(map(text_of, words), key=lambda word: word in apart))
    return replace(ordered, apart=sum(text in apart for text in ordered.present))


def _coded(name: str, values: pa.ChunkedArray | pa.Array) -> Column:
    codes, dictionary = _dictionary(name, values)
    codes, distinct = _equal_texts_merged(codes, _natural(dictionary))
    order = distinct.order()
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = len(order)  # the code -1 of a missing value becomes the last one
    has_null = bool(len(codes)) and bool((codes < 0).any())
    ordered_texts: list[str | None] = [distinct.texts[i] for i in order]
    return Column(
        name=name,
        kind=distinct.kind,
        codes=rank[codes],
        texts=tuple(ordered_texts + [None] * has_null),
        numbers=None if distinct.numbers is None else distinct.numbers[order],
    )


def text_of(value: Any) -> str:
    """The text that stands for a value in hierarchies and published tables.

    >>> text_of(3.0), text_of(True), text_of(date(2024, 3, 5))
    ('3.0', 'true', '2024-03-05')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return unsigned_zero(str(value)) if isinstance(value, (float, Decimal)) else str(value)


def unsigned_zero(text: str) -> str:
    """A number as text; zero has no sign: -0.0 and 0.0 are one value.

    >>> unsigned_zero("-0.0"), unsigned_zero("-0.5")
    ('0.0', '-0.5')
    """
    return text[1:] if _NEGATIVE_ZERO.fullmatch(text) else text


def whole_number(text: str) -> str:
    """A whole number without a point and without the sign of zero; any other text as it is.

    >>> whole_number("3.0"), whole_number("-0"), whole_number("3.5")
    ('3', '0', '3.5')
    """
    plain = unsigned_zero(text)
    return plain.partition(".")[0] if _WHOLE.fullmatch(plain) else plain


def number_of(text: str | None) -> Decimal | None:
    """The exact number that a text spells; None for any other text, such as 007, which is a code."""
    return Decimal(text) if text and _FLOAT.fullmatch(text) and not _has_leading_zero(text) else None


def refuse_uncodable(name: str, kind: pa.DataType) -> None:
    """Raise InputError for a column whose type has no single value per record."""
    if pa.types.is_nested(kind):
        raise InputError(
            f"Column {name!r} holds lists or structures, which have no single value per record. "
            "Give it the role items, insensitive or identifier."
        )
    if isinstance(kind, pa.BaseExtensionType):
        raise InputError(
            f"Column {name!r} holds values of the type {kind.extension_name}. Convert them to text, "
            "or give it the role insensitive or identifier."
        )


def _dictionary(name: str, values: pa.ChunkedArray | pa.Array) -> tuple[np.ndarray, list]:
    """Codes (-1 where missing) and the distinct values in use, in any order."""
    refuse_uncodable(name, values.type)
    if not len(values):
        return np.empty(0, dtype=np.int32), []
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    if isinstance(values, pa.Array):
        values = pa.chunked_array([values])
    values = long_decimals(values)
    encoded = values if pa.types.is_dictionary(values.type) else pc.dictionary_encode(values)
    encoded = encoded.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = pa.concat_arrays(encoded.chunks)
    indices = encoded.indices.cast(pa.int32())
    codes = (pc.fill_null(indices, -1) if indices.null_count else indices).to_numpy(zero_copy_only=False)
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
    try:
        if any(of(dictionary.type) for of in (pa.types.is_timestamp, pa.types.is_time, pa.types.is_duration)):
            return temporal_values(name, dictionary)
        return dictionary.to_pylist()
    except InputError:
        raise
    except (OverflowError, ValueError):
        raise InputError(
            f"Column {name!r} has dates or times outside the years 1 to 9999. Correct them, or convert the "
            "column to text."
        ) from None


@dataclass(frozen=True, eq=False)
class _Distinct:
    """The distinct values of a column; `numbers` if they have an order, `moments` if they are times."""

    kind: Kind
    texts: list[str]
    numbers: np.ndarray | None = None
    moments: list[int] | None = None

    def order(self) -> np.ndarray:
        """The codes of the values in their natural order; values of equal size by alphabet."""
        alphabetical = sorted(range(len(self.texts)), key=self.texts.__getitem__)
        if self.moments is not None:
            alphabetical.sort(key=self.moments.__getitem__)
        order = np.array(alphabetical, dtype=np.int64)
        if self.numbers is None or self.moments is not None:
            return order
        return order[np.argsort(self.numbers[order], kind="stable")]


def _equal_texts_merged(codes: np.ndarray, values: _Distinct) -> tuple[np.ndarray, _Distinct]:
    """One code per text: 0.0 and -0.0 are the same value, and a dictionary may repeat itself."""
    first = {text: code for code, text in reversed(list(enumerate(values.texts)))}
    if len(first) == len(values.texts):
        return codes, values
    kept = np.array(sorted(first.values()), dtype=np.int64)
    new = np.append(np.searchsorted(kept, [first[text] for text in values.texts]), -1).astype(np.int32)
    texts = [values.texts[i] for i in kept]
    numbers = None if values.numbers is None else values.numbers[kept]
    moments = None if values.moments is None else [values.moments[i] for i in kept]
    return new[codes], _Distinct(values.kind, texts, numbers, moments)


def _natural(values: list) -> _Distinct:
    """Kind, texts and, where there is an order, numbers of the distinct values."""
    first = values[0] if values else ""
    if isinstance(first, str):
        return _natural_text(values)
    texts = [text_of(v) for v in values]
    if isinstance(first, bool):
        return _Distinct("boolean", texts)
    if isinstance(first, datetime):
        return _times(texts, [moment_of_time(v) for v in values])
    if isinstance(first, date):
        return _Distinct("date", texts, np.array(local_days(texts), dtype=np.int64))
    if isinstance(first, int):
        return _Distinct("integer", texts, _integers(values))
    numbers = _floats(values)
    if numbers is None:
        return _Distinct("string", texts)
    if np.all(numbers == np.floor(numbers)) and np.all(np.abs(numbers) < 2**53):
        # whole numbers that became floats because some were missing
        return _Distinct("integer", [str(int(v)) for v in values], numbers.astype(np.int64))
    return _Distinct("float", texts, numbers)


def _natural_text(texts: list[str]) -> _Distinct:
    """Kind, texts and numbers of distinct texts, which may spell numbers or dates, as in CSV files."""
    if not texts:
        return _Distinct("string", texts)
    try:
        if all(_INTEGER.fullmatch(t) for t in texts):
            return _Distinct("integer", [unsigned_zero(t) for t in texts], _integers([int(t) for t in texts]))
        if all(_WHOLE.fullmatch(t) for t in texts):
            whole = [whole_number(t) for t in texts]
            return _Distinct("integer", whole, _integers([int(t) for t in whole]))
        if all(_FLOAT.fullmatch(t) for t in texts) and not any(_has_leading_zero(t) for t in texts):
            return _Distinct("float", [unsigned_zero(t) for t in texts], _floats([float(t) for t in texts]))
        if all(DATE_TEXT.fullmatch(t) for t in texts):
            return _Distinct("date", texts, np.array(local_days(texts), dtype=np.int64))
        moments = [moment for moment in map(moment_of_text, texts) if moment is not None]
    except ValueError:  # looks like a date but is not one, such as 2024-02-31
        return _Distinct("string", texts)
    alike = len(moments) == len(texts) and len({is_zoned(text) for text in texts}) == 1
    return _times(texts, moments) if alike else _Distinct("string", texts)


def _times(texts: list[str], moments: list[int]) -> _Distinct:
    seconds = np.array([moment / 1_000_000_000 for moment in moments], dtype=np.float64)
    return _Distinct("datetime", texts, seconds, moments)


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
        return np.array([float(v) for v in values], dtype=np.float64) + 0.0  # which makes 0.0 of -0.0
    except (TypeError, ValueError):
        return None
