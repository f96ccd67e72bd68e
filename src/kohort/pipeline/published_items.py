"""What became of the items column of a release, for its certificate and report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kohort.algorithms import ItemsAlgorithm, parameters_of
from kohort.pipeline.prepare_items import hierarchy_description
from kohort.pipeline.request import Request
from kohort.problem.items import ItemsProblem
from kohort.problem.problem import Problem
from kohort.recoding.item_nodes import DROPPED, ItemNodes
from kohort.recoding.recoding import Recoding


@dataclass(frozen=True, eq=False)
class ItemsPart:
    """What became of the items: how they were published, by what, and what that cost.

    `class_size` is the smallest class that the table was given for their sake; None for baskets alone.
    """

    problem: ItemsProblem
    recoding: ItemNodes
    algorithm: ItemsAlgorithm
    hierarchy: Any
    ncp: float
    class_size: int | None = None

    @classmethod
    def of(
        cls, problem: Problem, recoding: Recoding, algorithm: ItemsAlgorithm | None, request: Request
    ) -> ItemsPart | None:
        """The items part of a recoding; None where the problem has no items."""
        if problem.items is None:
            return None
        assert recoding.items is not None and algorithm is not None and request.items is not None
        posed = replace(problem.items, class_of_record=recoding.class_of_record)
        return cls(
            problem=posed,
            recoding=recoding.items,
            algorithm=algorithm,
            hierarchy=hierarchy_description(request.items),
            ncp=posed.ncp(recoding.items.node_of_occurrence),
            class_size=recoding.class_size,
        )

    def facts(self) -> dict[str, Any]:
        """The facts for the certificate; no item is among them."""
        occurrences = len(self.problem.leaves)
        dropped = int((self.recoding.node_of_occurrence == DROPPED).sum())
        return {
            "column": self.problem.baskets.name,
            "algorithm": self.algorithm.name,
            "parameters": parameters_of(self.algorithm),
            "hierarchy": self.hierarchy,
            "items": len(self.problem.baskets.items.texts),
            "occurrences": occurrences,
            "published_items": len(self.recoding.nodes_used()),
            "withheld": int(self.recoding.withheld.sum()),
            "dropped": dropped,
            "dropped_share": dropped / max(occurrences, 1),
            "dropped_sensitive": self.recoding.dropped_sensitive,
            "class_size": self.class_size,
            "ncp": self.ncp,
            "bound": self.recoding.bound,
        }
