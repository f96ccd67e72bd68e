"""Dataframes of every kind, plain and awkward, made from lists or Arrow and turned back into lists."""

import pandas as pd
import polars as pl
import pyarrow as pa


def to_pandas(columns):
    return pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})


PLAIN = {"pandas": to_pandas, "polars": pl.DataFrame, "pyarrow": pa.table}
FROM_ARROW = {"pandas": pa.Table.to_pandas, "polars": pl.from_arrow, "pyarrow": lambda table: table}

# -- the same records, held otherwise --------------------------------------------------------------


def _cut(n):
    """Ends of three slices of n records; the middle one may be empty."""
    return [(0, n // 3), (n // 3, n // 3), (n // 3, n)]


def _chunked_pandas(frame):
    """In chunks of Arrow's where pandas has such, and with an index that repeats itself."""
    parts = _parts_of_pandas(frame)
    return pd.concat([part.convert_dtypes(dtype_backend="pyarrow") for part in parts])


def _concatenated_pandas(frame):
    """As `pd.concat([p, p])` gives it: texts in several chunks, each index twice."""
    return pd.concat(_parts_of_pandas(frame))


def _parts_of_pandas(frame):
    return [frame.iloc[a:b].reset_index(drop=True) for a, b in _cut(len(frame)) if a < b] or [frame]


def _sliced_pandas(frame):
    """Every other record of a frame twice as long: neither dense in memory nor in its index."""
    return frame.loc[frame.index.repeat(2)].reset_index(drop=True).iloc[::2]


def _categorical_pandas(frame):
    """Texts as categories, in an order of their own, some of which nobody has."""
    frame = frame.copy()
    for name in frame.columns:
        values = frame[name].dropna()
        if len(values) and values.map(lambda value: isinstance(value, str)).all():
            categories = [*sorted(values.unique(), reverse=True), "nobody has it"]
            frame[name] = pd.Categorical(frame[name], categories=categories, ordered=True)
    return frame


def _indexed(index):
    return lambda frame: frame.set_axis(index(len(frame)), axis="index")


def _categorical_polars(frame):
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def _enum_polars(frame):
    return frame.with_columns(
        column.cast(pl.Enum([*column.drop_nulls().unique().sort(descending=True), "nobody has it"]))
        for column in frame.select(pl.col(pl.String))
    )


def _chunked_polars(frame):
    return pl.concat([frame[a:b] for a, b in _cut(len(frame))], rechunk=False)


def _sliced_polars(frame):
    return pl.concat([frame, frame, frame])[len(frame) : 2 * len(frame)]


def _chunked_arrow(table):
    """In chunks, the first, the last and one in the middle of them empty."""
    nothing = table.slice(0, 0)
    parts = [table.slice(a, b - a) for a, b in _cut(table.num_rows)]
    chunks = zip(*(part.columns for part in [nothing, *parts, nothing]))
    arrays = [
        pa.chunked_array([c for col in of for c in col.chunks or [pa.array([], col.type)]]) for of in chunks
    ]
    return pa.table(arrays, schema=table.schema)


def _sliced_arrow(table):
    return pa.concat_tables([table, table, table]).combine_chunks().slice(table.num_rows, table.num_rows)


def _encoded_arrow(table):
    """Texts in dictionaries, another one in each chunk."""
    arrays = []
    for column in _chunked_arrow(table).columns:
        text = pa.types.is_string(column.type)
        chunks = [chunk.dictionary_encode() if text else chunk for chunk in column.chunks]
        arrays.append(pa.chunked_array(chunks))
    return pa.table(arrays, names=table.column_names)


def _large_arrow(table):
    """Texts in the types of Arrow's for long ones."""
    return pa.table(
        [c.cast(pa.large_string()) if pa.types.is_string(c.type) else c for c in table.columns],
        names=table.column_names,
    )


AWKWARD = {
    "pandas chunked": ("pandas", _chunked_pandas),
    "pandas concatenated": ("pandas", _concatenated_pandas),
    "pandas sliced": ("pandas", _sliced_pandas),
    "pandas categorical": ("pandas", _categorical_pandas),
    "pandas nullable": ("pandas", lambda frame: frame.convert_dtypes()),
    "pandas Arrow": ("pandas", lambda frame: frame.convert_dtypes(dtype_backend="pyarrow")),
    "pandas object": ("pandas", lambda frame: frame.astype(object).where(frame.notna(), None)),
    "pandas indexed by text": ("pandas", _indexed(lambda n: [f"r{i % 3}" for i in range(n)])),
    "pandas indexed backwards": ("pandas", _indexed(lambda n: range(n, 0, -1))),
    "pandas indexed twice": (
        "pandas",
        _indexed(lambda n: pd.MultiIndex.from_arrays([[0] * n, range(n)], names=["age", "b"])),
    ),
    "polars chunked": ("polars", _chunked_polars),
    "polars sliced": ("polars", _sliced_polars),
    "polars categorical": ("polars", _categorical_polars),
    "polars enum": ("polars", _enum_polars),
    "pyarrow chunked": ("pyarrow", _chunked_arrow),
    "pyarrow sliced": ("pyarrow", _sliced_arrow),
    "pyarrow dictionary": ("pyarrow", _encoded_arrow),
    "pyarrow large": ("pyarrow", _large_arrow),
}


def _made_from_lists(kind, held_otherwise):
    return lambda columns: held_otherwise(PLAIN[kind](columns))


MAKERS = PLAIN | {name: _made_from_lists(*how) for name, how in AWKWARD.items()}
"""Makes a dataframe from a mapping of lists."""


def from_arrow(table, name):
    """The table as a dataframe of this kind: a name of MAKERS."""
    kind, held_otherwise = AWKWARD.get(name, (name, lambda frame: frame))
    return held_otherwise(FROM_ARROW[kind](table))


def as_lists(frame):
    """Any kind of dataframe as a mapping of lists; NaN and other missing values are None."""
    if isinstance(frame, pd.DataFrame):
        return pa.Table.from_pandas(frame, preserve_index=False).to_pydict()
    return (frame.to_arrow() if isinstance(frame, pl.DataFrame) else frame).to_pydict()
