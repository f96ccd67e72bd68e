"""Cautions: what a release gives away although its promises hold. One makes a verdict amber, not green."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Caution"]


@dataclass(frozen=True)
class Caution:
    """Something that the promises do not cover, although every one of them holds.

    It is public: certificate and report show it. So it says only what anybody can count in the release.

    kind     a short name for machines, such as `no-promise`
    what     a sentence: what is not protected; it names columns and counts, never a value
    advice   a sentence: what to do about it
    add      what to add to the spec for that, as in the spec, or None
    column   the column that it is about, or None
    records  how many published records it is about, or None where that cannot be counted
    """

    kind: str
    what: str
    advice: str
    column: str | None = None
    records: int | None = None
    add: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "column": self.column,
            "records": self.records,
            "what": self.what,
            "advice": self.advice,
            "add": self.add,
        }
