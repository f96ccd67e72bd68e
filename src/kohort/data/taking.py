"""Take records of an Arrow column of any type: Arrow itself cannot do so for some types."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["take_records"]

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
