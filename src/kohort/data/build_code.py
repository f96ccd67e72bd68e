"""Hierarchies of codes that have levels in them: J45.0, J45, J40-J49, J00-J99, `*`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kohort.data.builder import values_of
from kohort.data.code_systems import CODE_SYSTEMS, CodeSystem
from kohort.data.column import Column
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, did_you_mean


@dataclass(frozen=True)
class Code:
    """Codes of a `system` that Kohort knows, generalized by their structure.

    Values that are not codes of this system get no place in the tree: like values that a hierarchy file
    lacks, they are an error or, with on_missing: suppress, published as `*`.
    """

    system: str

    def __post_init__(self) -> None:
        if not isinstance(self.system, str) or self.system not in CODE_SYSTEMS:
            raise InputError(f"Unknown codes {self.system!r}. {did_you_mean(str(self.system), CODE_SYSTEMS)}")

    @property
    def title(self) -> str:
        """What these codes are called."""
        return self._system.title

    @property
    def expected(self) -> str:
        """What the values should be, for messages."""
        return f"{self.title} such as {self._system.example}"

    def build(self, column: Column) -> Hierarchy:
        values = values_of(column)
        is_number = column.kind == "integer"
        levels = [self._system.levels(value, is_number=is_number) for value in values]
        paths = sorted(
            ((*reversed(above), value) for value, above in zip(values, levels) if above is not None),
        )
        if not paths:
            raise InputError(
                f"Column {column.name!r}: none of its {len(values):,} values looks like {self.expected}. "
                "Choose another hierarchy."
            )
        return Hierarchy.from_paths((*reversed(path), STAR) for path in paths)

    def to_spec(self) -> dict[str, Any]:
        return {"code": self.system}

    @property
    def _system(self) -> CodeSystem:
        return CODE_SYSTEMS[self.system]


def code(system: str) -> Code:
    """Codes of a known system: postcodes, ICD-10, NACE, occupations, countries.

    >>> code("icd10").to_spec()
    {'code': 'icd10'}
    """
    return Code(system)
