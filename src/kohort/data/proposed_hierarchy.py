"""The hierarchy of a quasi-identifier that was given none and need not be without: codes can be masked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kohort.data.column import Column
from kohort.data.profile_roles import suggest_hierarchy

__all__ = ["proposed_hierarchy"]

_NEED_NONE = ("intervals", "date", "quantiles")  # numbers and dates are published as any interval


def proposed_hierarchy(column: Column) -> Mapping[str, Any] | None:
    """The hierarchy that `kohort init` suggests for codes, as the spec writes it; None for everything else.

    Numbers and dates lose least as intervals of any length. Groups of names that only the data suggests would
    mean nothing to a reader: names are published as they are or as `*`.

    >>> import pyarrow as pa
    >>> from kohort.data.column import code_column
    >>> proposed_hierarchy(code_column("postcode", pa.array([f"43{n}" for n in range(10, 40)])))
    {'mask': 'right'}
    """
    found = suggest_hierarchy(column)
    if not isinstance(found, Mapping) or any(kind in found for kind in _NEED_NONE):
        return None
    return found
