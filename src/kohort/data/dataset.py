"""The name under which most of the house knows `Table`."""

from kohort.tables.table import Table as Dataset

__all__ = ["Dataset"]
