"""A profile as a person sees it: a table of the columns, and how many people they single out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.display import Display, Figures
from kohort.errors import counted, percent

if TYPE_CHECKING:
    from kohort.data.profile import Profile

__all__ = ["profile_display"]


def profile_display(found: Profile) -> Display:
    """The columns with their suggested roles, and the risk as the table is; no value is shown."""
    rows = [
        [
            column.name,
            column.kind,
            f"{column.distinct:,}",
            f"{column.nulls:,}",
            f"{column.unique_share:.1%}",
            column.role,
            column.reason,
        ]
        for column in found.columns
    ]
    heading = ["column", "kind", "distinct", "missing", "unique", "suggested role", "why"]
    columns = Figures(heading, rows, left=["column", "kind", "suggested role"], wide=["why"])
    size = f"{counted(found.records, 'record')}, {counted(len(found.columns), 'column')}"
    return Display(size, [columns, _risk(found)])


def _risk(found: Profile) -> str:
    if not found.quasi_identifiers:
        return "No column looks like a quasi-identifier, one that others may know about a person."
    return (
        f"On the suggested quasi-identifiers together, {percent(found.unique_share)} of the records are "
        f"unique; the records form {counted(found.classes, 'class', 'classes')}, the smallest with "
        f"{found.smallest_class:,}. The roles are suggestions: check each one."
    )
