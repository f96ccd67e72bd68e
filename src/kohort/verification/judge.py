"""Judge records of a release by the models: all of them, or those of people alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kohort.data.dataset import Dataset
from kohort.problem.roles import Roles
from kohort.verification.classes import PublishedClasses
from kohort.verification.demands import Demands
from kohort.verification.promises import Promise
from kohort.verification.verdict import Check, Verdict
from kohort.verification.verify_models import published_classes, verify_models

__all__ = ["Judge"]


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges records of a release by the models.

    dropped  how many records were left out
    checks   what else was checked
    context  what the classes are read with
    """

    demands: Demands
    roles: Roles
    models: Sequence[Promise]
    dropped: int
    checks: Sequence[Check]
    context: Mapping[str, Any]

    def of_numbers(self) -> Judge:
        """The same for the models that are about numbers of people alone, not about values."""
        return replace(self, models=[model for model in self.models if model.attribute is None])

    def judged(
        self, table: Dataset, persons: np.ndarray | None, counterfeits: int = 0
    ) -> tuple[PublishedClasses, Verdict]:
        """The classes of the records, and the verdict on them; `counterfeits` of them are nobody's."""
        classes = published_classes(
            table,
            self.roles.having("quasi-identifier"),
            self.models,
            orders=self.demands.orders,
            linked_by=self.demands.linked_by,
            slot=self.demands.slot,
            persons=persons,
            **self.context,
        )
        sensitive = [n for n in self.roles.having("sensitive") if n in table.names]
        verdict = verify_models(
            classes,
            self.models,
            suppression=self.demands.suppression,
            dropped=self.dropped,
            checks=self.checks,
            sensitive=[table.sensitive_column(name) for name in sensitive],
            counterfeits=counterfeits,
        )
        return classes, verdict
