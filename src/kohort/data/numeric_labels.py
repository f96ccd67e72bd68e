"""Turn the labels of a published column into numbers or times that can be computed with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrow_values import is_text
from kohort.data.hierarchies.label_ranges import LabelRanges, Range, Scale, label_ranges, scale_of
from kohort.errors import InputError, counted
from kohort.parameters import Seed, check_option

How = Literal["midpoint", "bounds", "spread"]
Star = Literal["missing", "range"]


def as_numbers(
    column: Any, how: How = "midpoint", *, star: Star = "missing", whole: bool | None = None, seed: int = 0
) -> Any:
    """The numbers or times that the labels of a published column stand for, of the kind that came in.

    Parameters
    ----------
    column
        A column of a release, such as one read from a CSV file: a series of pandas or Polars, or an array of
        PyArrow.
    how
        `midpoint`: the middle of an interval, the mean of a set. `bounds`: a table with the least and the
        greatest value that each label covers. `spread`: a number drawn at random from what the label covers.
    star
        What `*` is: `missing`, or the `range` from the least to the greatest value of all other labels.
    whole
        Whether the values are whole numbers, so that `[20, 30)` ends at 29. If not said, they are where every
        number in the labels is written as one.
    seed
        For `spread`.

    An open end, as of `>= 90`, counts as the limit it names, and as infinite in `bounds`. Dates and times
    (also `2024-Q1`) become timestamps; a column of numbers stays as it is.

    >>> import pyarrow as pa
    >>> as_numbers(pa.array(["23", "[20, 30)", "{1, 2}", "*"])).to_pylist()
    [23.0, 24.5, 1.5, None]
    >>> as_numbers(pa.array(["23", "[20, 30)", "*"]), "bounds", star="range").to_pydict()
    {'low': [23.0, 20.0, 20.0], 'high': [23.0, 29.0, 29.0]}
    """
    check_option("whole", whole, bool | None)
    given: Scale | None = None if whole is None else "integer" if whole else "float"
    return numbers_of_labels(column, how, star=star, seed=seed, scale=given)


def numbers_of_labels(
    column: Any,
    how: How,
    *,
    star: Star,
    seed: int,
    scale: Scale | None = None,
    known: Mapping[str, Range] | None = None,
) -> Any:
    """The same as `as_numbers`, with the scale of the original values and the ranges of `known` labels."""
    check_option("how", how, How)
    check_option("star", star, Star)
    check_option("seed", seed, Seed)
    series = _series(column)
    labels, codes = _distinct(series)
    if labels is None:
        ranges, codes = _of_plain_values(series)
    else:
        found = scale_of(label for label in labels if label not in (known or {}))
        are_times = found in ("date", "datetime")  # then it means nothing whether they are whole
        ranges = label_ranges(labels, found if scale is None or are_times else scale, known)
    if ranges.unreadable:
        raise InputError(
            f"{_named(series.name)}: {counted(ranges.unreadable, 'label')} cannot be read as a number, a "
            "date, an interval such as [20, 30), a set such as {1, 2}, or *. Where it holds codes or names, "
            "use it as a category."
        )
    low, high = ranges.low.copy(), ranges.high.copy()
    ends = np.concatenate([low, high])
    if star == "range" and len(ends := ends[np.isfinite(ends)]):  # `*` covers what all the others do
        low[ranges.star], high[ranges.star] = ends.min(), ends.max()
    if how == "bounds":
        prefix = f"{series.name}_" if series.name else ""
        both = {
            f"{prefix}{name}": _column(end[codes], ranges.scale)
            for name, end in (("low", low), ("high", high))
        }
        return _table(column, series, both)
    values = _midpoints(ranges, low, high)[codes]
    if how == "spread":
        values = _drawn(ranges, low[codes], high[codes], codes, values, np.random.default_rng(seed))
    return _like(column, series, _column(values, ranges.scale))


def _series(column: Any) -> nw.Series:
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    try:
        return nw.from_native(column, series_only=True)
    except TypeError:
        raise InputError(
            "as_numbers takes one column: a series of pandas or Polars, or an array of PyArrow. "
            f"Got {type(column).__name__}."
        ) from None


def _distinct(series: nw.Series) -> tuple[list[str | None] | None, np.ndarray]:
    """The different labels, a missing one last, and the place of each record's; None if it holds no texts."""
    values = _arrow(series)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    if not is_text(values.type):
        return None, np.empty(0, dtype=np.int64)
    encoded = values.combine_chunks().dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    labels = encoded.dictionary.to_pylist()
    codes = pc.fill_null(encoded.indices, len(labels)).to_numpy(zero_copy_only=False)
    return [*labels, None], codes.astype(np.int64)


def _arrow(series: nw.Series) -> pa.ChunkedArray:
    try:
        values = series.to_arrow()
    except (pa.ArrowException, TypeError):
        raise InputError(f"{_named(series.name)} mixes types. Convert it to texts.") from None
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def _of_plain_values(series: nw.Series) -> tuple[LabelRanges, np.ndarray]:
    """Numbers, dates or times that were published as they are: each is a range of its own."""
    values = _arrow(series)
    scale: Scale = "float"
    if pa.types.is_temporal(values.type) and not pa.types.is_time(values.type):
        scale = "date" if pa.types.is_date(values.type) else "datetime"
        values = values.cast(pa.timestamp("us")).cast(pa.int64())
    elif not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise InputError(f"{_named(series.name)} holds neither labels nor numbers, dates or times.")
    plain = values.cast(pa.float64(), safe=False).to_numpy()
    star = np.zeros(len(plain), dtype=bool)
    parts = [() if np.isnan(value) else ((value, value),) for value in plain]
    return LabelRanges(plain, plain, star, parts, 0, scale), np.arange(len(plain))


def _named(name: str | None) -> str:
    return f"Column {name!r}" if name else "The column"


def _midpoints(ranges: LabelRanges, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The middle of each range, the mean over the members of a set; of an open end, its limit."""
    found = _middle(low, high)
    for place, parts in enumerate(ranges.parts):
        if len(parts) > 1:
            found[place] = np.mean([_middle(*(np.array([end]) for end in part))[0] for part in parts])
    return found


def _middle(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        middle = low + (high - low) / 2
    return np.where(np.isinf(low), high, np.where(np.isinf(high), low, middle))


def _drawn(
    ranges: LabelRanges,
    low: np.ndarray,
    high: np.ndarray,
    codes: np.ndarray,
    middle: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """A value for each record, drawn evenly from its label's range; of a set, from one of its members."""
    for place in [place for place, parts in enumerate(ranges.parts) if len(parts) > 1]:
        of_label = np.flatnonzero(codes == place)
        ends = np.array(ranges.parts[place])[rng.integers(len(ranges.parts[place]), size=len(of_label))]
        low[of_label], high[of_label] = ends.T
        middle[of_label] = _middle(*ends.T)
    share = rng.random(len(codes))
    bounded = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(bounded, low, 0.0), np.where(bounded, high, 0.0)
    step = ranges.whole
    if step is None:
        return np.where(bounded, low + share * (high - low), middle)
    steps = np.floor(share * ((high - low) / step + 1))
    return np.where(bounded, np.minimum(low + steps * step, high), middle)


def _column(values: np.ndarray, scale: Scale) -> pa.Array:
    """Floats, or timestamps where the values are dates or times; NaN is missing."""
    if scale in ("integer", "float"):
        return pa.array(values, pa.float64(), from_pandas=True)
    known = np.isfinite(values)  # an open end has no time
    moments = np.where(known, values, 0).round().astype(np.int64)
    return pa.array(moments, pa.timestamp("us"), mask=~known)


def _like(column: Any, series: nw.Series, values: pa.Array) -> Any:
    """The values as a column of the kind that came in, with its name and index."""
    if isinstance(column, pa.Array):
        return values
    found = _table(column, series, {"values": values})["values"]
    return found if isinstance(column, pa.ChunkedArray) else found.rename(series.name)


def _table(column: Any, series: nw.Series, columns: dict[str, pa.Array]) -> Any:
    table = pa.table(columns)
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return table
    if series.implementation.is_polars():
        import polars as pl

        return pl.from_arrow(table)
    return table.to_pandas().set_axis(series.to_native().index)
