"""WithItems: an algorithm for quasi-identifiers, if there are any, and one for the items in each class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kohort.algorithms.algorithm import ItemsAlgorithm
from kohort.algorithms.items.class_cuts import records_of_classes
from kohort.algorithms.run import Run
from kohort.algorithms.solver import Solver
from kohort.data.counting import distinct_rows
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import UnsupportedError, counted, percent
from kohort.problem.attribute import Attribute
from kohort.problem.items import ItemsProblem
from kohort.problem.problem import Problem
from kohort.problem.promises import ItemInference, KAnonymity
from kohort.problem.units import Weights
from kohort.recoding.items import ItemNodes, TableAndItems
from kohort.recoding.recoding import PublishedColumn, Recoding


@dataclass(frozen=True)
class WithItems:
    """Recodes quasi-identifiers in classes of at least k, 2k, 4k, ... records, and the items in each class.

    The larger the classes, the more the quasi-identifiers lose and the less the items do. Keeps the recoding
    with the largest weighted geometric mean of what is kept: 1 - `loss` of each quasi-identifier, 1 - NCP of
    the items. A sum would give up one of them, since what is lost already costs nothing more; here, the less
    is left of something, the dearer it gets. With weight 0, only classes of k are tried.

    table         the algorithm for the quasi-identifiers; None where no column is one
    items         the algorithm for the items
    weight        how much the loss of the items counts against that of the quasi-identifiers, 0 to 1
    null_is_star  whether a missing value is published as `*`
    """

    table: Solver | None
    items: ItemsAlgorithm
    weight: float
    null_is_star: bool

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for what the algorithm for the quasi-identifiers cannot do."""
        if self.table is not None:
            self.table.refuse(problem)

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """The recoding of the quasi-identifiers and of the items with the least weighted loss."""
        assert problem.items is not None
        if self.table is None:
            return self._baskets(problem, run)
        best: TableAndItems | None = None
        tried: list[Trade] = []
        for size in _class_sizes(problem) if self.weight > 0 else [problem.k]:
            try:
                found, trade = self._in_classes(problem, self.table, size, run)
            except UnsupportedError:
                if best is None:
                    raise
                break
            tried.append(trade)
            if best is None or best_trade(tried, self.weight) is trade:
                best = found
            if run.out_of_time:
                break
        assert best is not None
        return replace(best, trade_notes=trade_notes(tried, self.weight))

    def _baskets(self, problem: Problem, run: Run) -> TableAndItems:
        assert problem.items is not None
        nodes = solve_items(self.items, problem.items, run)
        ncp = problem.items.ncp(nodes.node_of_occurrence)
        is_least = nodes.bound is not None and nodes.bound >= ncp - 1e-12
        nobody = np.zeros(problem.n_records, dtype=bool)
        return TableAndItems(
            table=None,
            items=nodes,
            withheld=nobody,
            bound=nodes.bound,
            guarantee=1.0 if is_least else None,
        )

    def _in_classes(
        self, problem: Problem, table: Solver, size: int, run: Run
    ) -> tuple[TableAndItems, Trade]:
        """The recoding with classes of at least `size` records, and what it loses."""
        assert problem.items is not None
        recoding = table.solve(problem.varied(models=_with_k(problem, size)), run)
        columns = [recoding.apply(attribute) for attribute in problem.attributes]
        classes = distinct_rows(np.column_stack([self._shown(column) for column in columns]))[2]
        posed = replace(problem.items, class_of_record=classes)
        nodes = solve_items(self.items, posed, run)
        losses = np.array([self._loss(*both, problem.masses) for both in zip(problem.attributes, columns)])
        trade = Trade(size, losses, problem.weights, posed.ncp(nodes.node_of_occurrence))
        found = TableAndItems(
            table=recoding,
            items=nodes,
            withheld=recoding.withheld,
            class_of_record=classes,
            class_size=size,
            bound=recoding.bound if size == problem.k else None,  # otherwise the bound is for larger classes
            proof=recoding.proof if size == problem.k else None,
        )
        return found, trade

    def _shown(self, column: PublishedColumn) -> np.ndarray:
        """A number for each record's published label, the same for labels that read the same."""
        number: dict[str | None, int] = {}
        texts = [STAR if label is None and self.null_is_star else label for label in column.labels]
        code_of_label = np.array([number.setdefault(text, len(number)) for text in texts], dtype=np.int32)
        return code_of_label[column.of_record]

    def _loss(self, attribute: Attribute, column: PublishedColumn, masses: Weights) -> float:
        """The mean share of the other values that a published cell also covers; `masses` weigh records."""
        by_leaf = isinstance(attribute.domain, Hierarchy) and not attribute.tight
        n = attribute.n_leaves if by_leaf else len(attribute.column.texts)
        star = [label == STAR or (label is None and self.null_is_star) for label in column.labels]
        widths = np.where(star, n, column.widths)
        uses = masses.totals(column.of_record, np.bincount(column.of_record, minlength=len(widths)))
        return float(np.dot(uses, (widths - 1) / max(n - 1, 1)) / len(column.of_record))


def _class_sizes(problem: Problem) -> Iterator[int]:
    size = problem.k
    while size <= problem.n_records:
        yield size
        size *= 2


def _with_k(problem: Problem, k: int) -> tuple:
    return tuple(KAnonymity(k) if isinstance(model, KAnonymity) else model for model in problem.models)


_LEAST_KEPT = 0.01  # counts as kept where nothing is: one lost column of many is bad, not the end
_SHOWN_WEIGHTS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Trade:
    """What a recoding loses.

    size     the least number of records of a class
    losses   the loss of each quasi-identifier, 0 to 1
    weights  the share of each quasi-identifier in the loss of the table; they sum up to 1
    ncp      the loss of the items, 0 to 1
    """

    size: int
    losses: np.ndarray
    weights: np.ndarray
    ncp: float

    @property
    def loss(self) -> float:
        """The loss of all quasi-identifiers together."""
        return float(np.dot(self.weights, self.losses))

    def kept(self, weight: float) -> float:
        """The weighted geometric mean of what is kept of quasi-identifiers and items, as a logarithm.

        >>> trade = Trade(10, np.array([0.0, 0.75]), np.array([0.5, 0.5]), ncp=0.5)
        >>> round(float(np.exp(trade.kept(0.5))), 6)  # the square root of 1/2 * 1/2
        0.5
        """
        columns = np.log(np.maximum(1 - self.losses, _LEAST_KEPT))
        items = np.log(max(1 - self.ncp, _LEAST_KEPT))
        return float((1 - weight) * np.dot(self.weights, columns) + weight * items)


def best_trade(tried: Sequence[Trade], weight: float) -> Trade:
    """The trade that keeps most when items have this weight; of equal ones, that of the smallest classes."""
    return max(tried, key=lambda trade: (trade.kept(weight), -trade.size))


def trade_notes(tried: Sequence[Trade], weight: float) -> tuple[str, ...]:
    """A note on what the chosen weight gave and what others would give; none where there was no choice."""
    if len(tried) < 2:
        return ()
    chosen = best_trade(tried, weight)
    others = [other for other in _SHOWN_WEIGHTS if other != weight]
    found = " ".join(f"A weight of {other:g} gives {_figures(best_trade(tried, other))}." for other in others)
    return (
        "Larger classes keep more of the items and less of the quasi-identifiers. items_weight "
        f"{weight:g} gave {_figures(chosen)}. {found}",
    )


def _figures(trade: Trade) -> str:
    return (
        f"classes of at least {trade.size:,} records, a loss of {trade.loss:.3f} for the quasi-identifiers "
        f"and of {trade.ncp:.3f} for the items"
    )


def solve_items(algorithm: ItemsAlgorithm, problem: ItemsProblem, run: Run) -> ItemNodes:
    """The recoding that an algorithm finds once sensitive items that imply others have been dropped.

    Where they may be. That is by class, and an item is dropped from all of its baskets: what is published of
    it is true. Whatever other items become then, the promise can be kept: as `*` they tell nothing.
    """
    if not problem.drops_sensitive:
        return algorithm.solve(problem, run)
    holds = [held.copy() for held in problem.holds]
    for records in records_of_classes(problem):
        assert problem.confidence is not None
        filled = problem.baskets.sizes[records] > 0
        for number in telling_items(problem.confidence, [held[records] for held in holds], filled):
            holds[number][records] = False
    found = algorithm.solve(replace(problem, holds=holds), run)
    gone = _gone(problem, holds)
    dropped, occurrences = int(gone.sum()), len(gone)
    if not dropped:
        return found
    note = (
        f"{counted(dropped, 'sensitive item')} of {occurrences:,} ({percent(dropped / occurrences)}) "
        f"{'is' if dropped == 1 else 'are'} dropped: known sensitive items would imply others."
    )
    return replace(found, gone=gone, notes=(*found.notes, note))


def telling_items(confidence: ItemInference, holds: list[np.ndarray], filled: np.ndarray) -> list[int]:
    """The numbers of sensitive items to drop from some records, so that sensitive items imply no others.

    One by one, the item that takes part in most broken rules for each record that holds it.

    filled  whether each record has other items: among those, too, no rule may be broken
    """
    dropped: list[int] = []
    while True:
        left = [held & (number not in dropped) for number, held in enumerate(holds)]
        parts = (left, [held[filled] for held in left])
        broken = Counter(
            item
            for besides, part in enumerate(parts)
            for rule, _ in confidence.broken_rules(part, besides=besides)
            for item in rule.items
        )
        if not broken:
            return dropped
        dropped.append(max(broken, key=lambda item: (broken[item] / left[item].sum(), -item)))


def _gone(problem: ItemsProblem, holds: list[np.ndarray]) -> np.ndarray:
    """Whether each occurrence of a sensitive item is one that its record is no longer said to hold."""
    secret = problem.sensitive
    assert secret is not None and problem.confidence is not None
    number_of = {name: number for number, name in enumerate(problem.confidence.sensitive)}
    number = np.array([number_of[name] for name in secret.names(problem.multiset)], dtype=np.int64)
    return ~np.array(holds)[number[secret.items.codes], secret.record_of_item]
