"""Rules that keep the share of every sensitive value in a class near its share in the whole table."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from kohort.errors import InternalError
from kohort.problem.promises.class_counts import ClassCounts
from kohort.problem.promises.exact import INT64_MAX
from kohort.problem.promises.promise import Model, TallyRule, ValueContext

Ratios = tuple[np.ndarray, np.ndarray]
"""Per cell of a class, the share of its value there over that in the table: numerator and denominator."""


class ShareBand(Model):
    """A rule of the form: in every class, the share of each value lies between two limits of its own.

    The limits follow from the share of the value in the whole table. Such a rule survives unions: the share
    in a union lies between the shares in its parts.
    """

    compares_with_whole_table: ClassVar[bool] = True
    attribute: str

    @property
    def of_people(self) -> Literal["having", "spread"]:
        return "spread"

    @abstractmethod
    def band(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest share that each value may have in a class, in floating point.

        shares  of the values in the whole table
        """

    def tally_rule(self) -> TallyRule | None:
        return TallyRule("within", 0.0, band=self.band)

    def _gaps(self, counts: ClassCounts, context: ValueContext) -> tuple[np.ndarray, float]:
        """The shares of values outside their bands, added up."""
        overall = self._overall(counts, context).astype(float)
        low, high = self.band(overall / max(overall.sum(), 1.0))
        share = (counts.count / counts.sizes[counts.class_of]).astype(float)
        below, above = low[counts.value_of], high[counts.value_of]
        outside = np.maximum(share - above, 0.0) + np.maximum(below - share, 0.0) - below
        return np.add.reduceat(outside, counts.starts) + low.sum(), 1.0

    def _overall(self, counts: ClassCounts, context: ValueContext) -> np.ndarray:
        if len(context.overall) != counts.n_values or (counts.n_classes and not context.overall.any()):
            raise InternalError(f"The counts of {self.attribute!r} in the whole table are needed.")
        return context.overall

    def _ratios(self, counts: ClassCounts, context: ValueContext) -> Ratios:
        """(c / n) / (q / N) of each cell, in whole numbers."""
        overall = self._overall(counts, context)
        total = int(overall.sum())
        bound = total * int(counts.sizes.max(initial=1))
        kind = np.int64 if bound <= INT64_MAX else object
        sizes = counts.sizes.astype(kind)[counts.class_of]
        return counts.count.astype(kind) * total, overall.astype(kind)[counts.value_of] * sizes

    def _lacks_values(self, counts: ClassCounts, context: ValueContext) -> np.ndarray:
        """Per class whether a value of the whole table does not occur in it."""
        return counts.distinct < int(np.count_nonzero(self._overall(counts, context)))
