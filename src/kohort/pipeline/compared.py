"""A dataframe that is handed out, compared with the table that was verified."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kohort.data.dataset import Dataset
from kohort.verification import WrittenCheck

__all__ = ["compared"]


def compared(native: Any, verified: pa.Table) -> Any:
    """A dataframe, refused unless it holds what was verified."""
    found, check = Dataset(native), WrittenCheck.of(verified, "the dataframe", holds_all=True)
    check.compare(pa.table({name: found.arrow(name) for name in found.names}))
    check.finish()
    return native
