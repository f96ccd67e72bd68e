"""What is asked of a release: one tree of fields, which YAML, keywords and flags state."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kohort.statement.columns import Column
    from kohort.statement.items import Items
    from kohort.statement.statement import Statement

__all__ = ["Column", "Items", "Statement"]


def __getattr__(name: str) -> Any:
    """Load them when they are asked for: the command line needs the options alone to answer `--help`."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'columns' if name == 'Column' else name.lower()}"), name)
