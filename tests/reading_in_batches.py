"""Releases of tables that are read in batches, as large ones are, however small they are."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import kohort as ko
from kohort.tables import source as local

__all__ = ["anonymized_in_batches", "no_table_is_small"]


def no_table_is_small() -> Any:
    """A context in which no table is small enough to be held in memory."""
    return patch.object(local, "_SMALL", -1)


def anonymized_in_batches(*given: Any, **asked: Any) -> ko.Release:
    """What `ko.anonymize` makes of a file, folder or database where no table is small enough to be held."""
    with no_table_is_small():
        return ko.anonymize(*given, **asked)
