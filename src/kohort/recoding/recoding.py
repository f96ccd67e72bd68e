"""What an algorithm returns: how to publish each record, in codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from kohort.problem.attribute import Attribute

__all__ = ["GlobalRecoding", "PublishedColumn", "Recoding"]


@dataclass(frozen=True, eq=False)
class PublishedColumn:
    """A column to publish: distinct labels (None is a missing value) and which one each record has."""

    labels: Sequence[str | None]
    of_record: np.ndarray


class Recoding(Protocol):
    """How to publish each record.

    withheld   per record: published as `*` in every quasi-identifier, or left out
    guarantee  the approximation factor proven for this run, or None
    bound      a lower bound on the least possible cost, or None
    notes      sentences that the user should read
    """

    @property
    def guarantee(self) -> float | None: ...

    @property
    def bound(self) -> float | None: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    @property
    def withheld(self) -> np.ndarray: ...

    def apply(self, attribute: Attribute) -> PublishedColumn:
        """The published column of one quasi-identifier; what withheld records get does not matter."""
        ...


@runtime_checkable
class GlobalRecoding(Protocol):
    """A recoding that publishes a value the same way wherever it occurs.

    search  the scheme of each attribute, the least cost of all recodings of these schemes as far as it is
            proven, how far the recoding is above it, nodes looked at; empty where nothing was searched
    """

    search: Mapping[str, Any]

    def maps(self, attribute: Attribute) -> dict[str | None, str | None]:
        """For every value of the attribute's domain, also those that the data lacks, the published one."""
        ...
