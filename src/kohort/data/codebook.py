"""What a statistics file says about a column: its label, its codes and their meanings, missing values.

It travels as a note on the column's field in Arrow, so that a release can be written with the same labels.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

_KEY = b"kohort.codebook"
Value = float | int | str


@dataclass(frozen=True)
class Codebook:
    """The labels of one column of an SPSS or Stata file.

    label          of the column
    labels         codes and their meanings, in the order of the codes; the missing ones come last
    categories     whether the values are published as their meanings: everything in the column is a code
    measure        nominal, ordinal, scale or unknown
    missing        codes that mean missing: {"lo": 8, "hi": 9} of SPSS, letters of Stata
    missing_codes  those of them that have a label or occur
    null_code      the code that stands for missing where no cell is just empty
    """

    label: str | None = None
    categories: bool = False
    labels: tuple[tuple[Value, str], ...] = ()
    measure: str = "unknown"
    missing: tuple[Any, ...] = ()
    missing_codes: tuple[Value, ...] = ()
    null_code: Value | None = None

    @cached_property
    def code_of_text(self) -> dict[str, Value]:
        """The code of each value as it is published: its label, and the code where two have the same."""

        def plain(code: Value) -> Value:
            return int(code) if isinstance(code, float) and code.is_integer() else code

        uses = Counter(label for _, label in self.labels)
        return {
            label if uses[label] == 1 and label else f"{label} ({plain(code)})".strip(): code
            for code, label in self.labels
        }

    @property
    def missing_texts(self) -> frozenset[str]:
        """The published values that mean missing."""
        return frozenset(text for text, code in self.code_of_text.items() if code in self.missing_codes)

    def means_missing(self, code: Value) -> bool:
        """Whether a code stands for a missing value."""
        ranges = [part if isinstance(part, dict) else {"lo": part, "hi": part} for part in self.missing]
        return any(
            isinstance(part["lo"], str) == isinstance(code, str) and part["lo"] <= code <= part["hi"]
            for part in ranges
        )


NO_CODEBOOK = Codebook()


def with_codebook(field: pa.Field, codebook: Codebook) -> pa.Field:
    """The field with a note of the codebook, if that says anything."""
    return field.with_metadata(None if codebook == NO_CODEBOOK else {_KEY: json.dumps(asdict(codebook))})


def codebook_of(field: pa.Field) -> Codebook:
    """The codebook that is noted on a field; an empty one if there is none."""
    note = (field.metadata or {}).get(_KEY)
    if note is None:
        return NO_CODEBOOK
    facts: dict[str, Any] = json.loads(note)
    facts["labels"] = [(code, label) for code, label in facts["labels"]]
    listed = {name: tuple(part) for name, part in facts.items() if isinstance(part, list)}
    return Codebook(**(facts | listed))
