"""The people of a table whose records are elsewhere, such as on a cluster: counted there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kohort.problem.promises import ClassCounts, Model


@dataclass(frozen=True, eq=False)
class PeopleElsewhere:
    """How many people the records are of, and how each model of values counts all of them as one class."""

    n_people: int
    whole: Mapping[Model, ClassCounts]

    def as_one_class(self, model: Model) -> ClassCounts:
        """All people as one class, as a model counts them."""
        if model.attribute is None:
            return ClassCounts.of_sizes(np.array([self.n_people]))
        return self.whole[model]
