"""What is asked of a release: one tree of fields, which YAML, keywords and flags state."""

from kohort.statement.columns import Column
from kohort.statement.items import Items
from kohort.statement.statement import Statement

__all__ = ["Column", "Items", "Statement"]
