"""k-ANON-CF: closed frequent generalized records, a greedy cover, a clustering (Kenig and Tassa, 2012)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from kohort.algorithms.hierarchy_trees import hierarchies_of
from kohort.algorithms.local.closed_records import ClosedRecords, Table, guess_number, mine
from kohort.algorithms.local.graph import in_measured_units
from kohort.algorithms.local.out_of_time import SHARE_BEFORE, mondrian_instead
from kohort.algorithms.local.regions import split_region
from kohort.algorithms.run import Run
from kohort.errors import UnsupportedError
from kohort.kernels.cover import LEFT, cover_greedily, new_cover
from kohort.kernels.supports import Sets, bit_sets, rarest_first
from kohort.parameters import Within, check_parameters
from kohort.problem.costs import SeparableCost
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

__all__ = [
    "SEPARABLE_COSTS",
    "KAnonCF",
    "cover_sets",
    "disjoint_cover",
    "first_slots",
    "guarantee_of",
    "node_costs",
    "of_records",
    "record_costs",
]

SEPARABLE_COSTS = ("loss", "ncp", "tree", "suppressions", "entropy", "monotone-entropy")
_BYTES_PER_RECORD = 48  # besides 4 per attribute: weight, cost, key, place in the heap, start
_FEW_ATTRIBUTES, _FIRST_TRY = 10, 4_000_000  # so many closed records are mined before their number is guessed
_UNTOLD = 1e8  # closed records; how many more there are is anybody's guess
_SETS_AT_A_TIME = 500_000  # looked at between two looks at the clock


@dataclass(frozen=True)
class KAnonCF:
    """k-anonymity within 2(1 + ln 2k) of the least cost (Kenig and Tassa, Algorithms 4 to 7).

    Mines all closed generalized records that at least k records support, covers the table greedily by
    their supports, each time the one of least cost per newly covered record, and makes the cover disjoint.
    The guarantee holds for monotone costs (all but `entropy`).

    memory   gigabytes that supports may take; beyond, they are found anew whenever they are needed, which is
             slower and gives the same clusters
    records  millions of closed records that may be mined; a table with more (many attributes, small k) is
             split into regions that are solved one by one, and the guarantee is lost

    Time: O(support * attributes) per closed record, whose number grows fast with the attributes.

    >>> import kohort as ko
    >>> adult = ko.datasets.load_adult().select(["sex", "education", "salary-class"]).slice(0, 500)
    >>> release = ko.anonymize(
    ...     adult, quasi_identifiers={"sex": ko.flat(), "education": ko.auto()}, sensitive=["salary-class"],
    ...     privacy=[ko.KAnonymity(5)], algorithm="k-anon-cf",
    ... )
    >>> round(release.guarantee, 2)
    6.61
    """

    name: ClassVar[str] = "k-anon-cf"
    summary: ClassVar[str] = (
        "covers the table by closed generalized records; low loss, for up to a dozen attributes"
    )
    paper: ClassVar[str] = (
        "Kenig, Tassa: A practical approximation algorithm for optimal k-anonymity, DMKD 25 (2012)"
    )
    promise: ClassVar[str] = "at most 2(1 + ln 2k) times the least cost, for monotone costs"
    models: ClassVar[tuple[str, ...]] = ("k-anonymity",)
    costs: ClassVar[tuple[str, ...]] = SEPARABLE_COSTS

    memory: Annotated[float, Within(above=0, most=1_000_000)] = 1.0
    records: Annotated[float, Within(above=0, most=1_000_000)] = 10.0

    def __post_init__(self) -> None:
        check_parameters(self)

    def refuse(self, problem: Problem) -> None:
        if problem.cost.name not in self.costs:
            raise UnsupportedError(
                f"k-anon-cf cannot minimise {problem.cost.name!r}. Choose one of {', '.join(self.costs)}."
            )
        hierarchies_of(problem)

    def solve(self, problem: Problem, run: Run) -> Groups:
        found = self._covered(problem, run.share_of_time(SHARE_BEFORE))
        return mondrian_instead(problem, run, "the table was covered") if found is None else found

    def _covered(self, problem: Problem, run: Run) -> Groups | None:
        """The clusters of a cover by closed records; None when the time is up."""
        table = Table.of(problem)
        most = int(self.records * 1e6)
        closed, expected = None, 0.0
        if len(problem.attributes) <= _FEW_ATTRIBUTES:
            closed = self._mined(table, problem.k, run, min(_FIRST_TRY, most))
        if closed is None or not closed.complete:
            expected = guess_number(table, problem.k, run=run.in_silence())
            run.report(f"mining {_in_words(expected)} closed records", 0.0)
            if expected <= most and (closed is None or len(closed) < most):
                closed = self._mined(table, problem.k, run, most)
        if closed is not None and closed.complete:
            clusters = disjoint_cover(table, closed, problem, run)
            notes = () if closed.has_supports else (_low_memory_note(len(closed)),)
            guarantee = guarantee_of(problem)
        else:
            clusters, n_regions = self._by_regions(problem, table, run)
            notes, guarantee = (_regions_note(expected, self, n_regions),), None
        if clusters is None:
            return None
        return Groups(of_records(problem, clusters), guarantee=guarantee, notes=notes)

    def _mined(self, table: Table, k: int, run: Run, max_records: int) -> ClosedRecords:
        rows = int(self.memory * 1e9 / 4)
        return mine(table, k, max_records=max_records, max_support_rows=rows, run=run)

    def _by_regions(self, problem: Problem, table: Table, run: Run) -> tuple[np.ndarray | None, int]:
        """Split the table until every part can be mined, and solve the parts one by one.

        Returns the cluster of each slot, None when the time is up, and the number of parts.
        """
        group_of_slot = np.full(int(table.counts.sum()), -1, dtype=np.int64)
        first_slot = first_slots(table.counts)
        todo = [np.arange(len(table.counts))]
        n_regions = n_groups = 0
        while todo and not run.out_of_time:
            rows = todo.pop()
            part = table.part(rows)
            run.report("solving regions", float((group_of_slot >= 0).mean()))
            parts = split_region(part, problem) if part.counts.sum() >= 2 * problem.k else None
            closed = self._mined_part(part, problem.k, run.in_silence(), may_refuse=parts is not None)
            if closed is None:
                todo.extend(rows[inside] for inside in reversed(parts or []))
                continue
            clusters = disjoint_cover(part, closed, problem, run.in_silence())
            if clusters is None:
                break
            slots = np.concatenate([np.arange(first_slot[row], first_slot[row + 1]) for row in rows])
            group_of_slot[slots] = clusters + n_groups
            n_groups += int(clusters.max()) + 1
            n_regions += 1
        return (None if (group_of_slot < 0).any() else group_of_slot), n_regions

    def _mined_part(self, part: Table, k: int, run: Run, *, may_refuse: bool) -> ClosedRecords | None:
        """The closed records of a part of the table, or None where they are too many or the time is up."""
        most = int(self.records * 1e6)
        if may_refuse and guess_number(part, k, run=run) > most:
            return None
        closed = self._mined(part, k, run, max(most, 1) if may_refuse else 2**62)
        return closed if closed.complete else None


def disjoint_cover(table: Table, closed: ClosedRecords, problem: Problem, run: Run) -> np.ndarray | None:
    """GEN-COVER-CF and the cover made disjoint: the cluster of each slot, or None when the time is up."""
    sets, slots = cover_sets(table, closed, problem), first_slots(table.counts)
    cover = new_cover(sets, slots, problem.k)
    while cover.counts[LEFT]:
        run.report("covering", 1 - float(cover.counts[LEFT] / slots[-1]))
        if run.out_of_time:
            return None
        cover_greedily(sets, slots, problem.k, cover, _SETS_AT_A_TIME)
    return np.unique(cover.owner, return_inverse=True)[1]


def cover_sets(table: Table, closed: ClosedRecords, problem: Problem) -> Sets:
    """The supports of closed records as sets to cover with."""
    words = np.zeros((0, 0), dtype=np.uint64)
    nodes = np.zeros((0, 0), dtype=np.int32)
    if not closed.has_supports:
        nodes, words = _bit_sets(table, closed)
    return Sets(record_costs(problem, closed), closed.weight, closed.start, closed.rows, nodes, words)


def node_costs(problem: Problem) -> list[np.ndarray]:
    """Per attribute the weighted cost of a cell published as each node."""
    assert isinstance(problem.cost, SeparableCost)
    return [
        weight * problem.cost.cell(attribute.nodes())
        for attribute, weight in zip(problem.attributes, problem.weights)
    ]


def record_costs(problem: Problem, closed: ClosedRecords) -> np.ndarray:
    """The cost of one record published as each closed record."""
    total = np.zeros(len(closed))
    for cost, node in zip(node_costs(problem), closed.nodes.T):
        total += cost[node]
    return total


def of_records(problem: Problem, group_of_slot: np.ndarray) -> np.ndarray:
    """Groups of slots (copies of distinct rows, side by side) as groups of records, numbered from 0."""
    slots = np.argsort(problem.rows.of_record, kind="stable")
    _, dense = np.unique(group_of_slot, return_inverse=True)
    groups = np.empty(len(slots), dtype=np.int32)
    groups[slots] = dense
    return groups


def first_slots(counts: np.ndarray) -> np.ndarray:
    """Per distinct row, and one more, its first slot: the copies of a row are side by side."""
    return np.concatenate([[0], np.cumsum(counts)])


def _bit_sets(table: Table, closed: ClosedRecords) -> tuple[np.ndarray, np.ndarray]:
    """Per closed record its nodes, rarest first, and per node the rows under it as bits."""
    n_rows, n_nodes = len(table.counts), len(table.lineages.depth)
    rows_under = np.bincount(table.lineages.node[table.lineages.node >= 0], minlength=n_nodes)
    used = np.zeros(n_nodes, dtype=bool)
    nodes = closed.nodes + table.node_start.astype(np.int32)
    for column in nodes.T:
        used[column] = True
    used &= rows_under < n_rows
    number = np.where(used, np.cumsum(used) - 1, -1)
    words = bit_sets(table.lineages.node, number, int(used.sum()))
    return rarest_first(nodes, number, rows_under, n_rows), words


def guarantee_of(problem: Problem) -> float | None:
    """The factor of Theorem 4, where the cost is monotone, and what is searched is what is measured.

    Not where records may be withheld: the theorem is about releases that publish all of them, as this does.
    """
    if not problem.cost.monotone or problem.tight or in_measured_units(problem, 0.0) is None:
        return None
    if problem.max_withheld:
        return None
    return 2 * (1 + math.log(2 * problem.k))


def _low_memory_note(n_records: int) -> str:
    return (
        f"The supports of {n_records:,} closed records would not fit into the memory allowed, so they were "
        "found anew whenever they were needed, with the same result."
    )


def _in_words(expected: float) -> str:
    return f"about {expected:,.0f}" if expected < _UNTOLD else f"over {_UNTOLD:,.0f}"


def _regions_note(expected: float, algorithm: KAnonCF, n_regions: int) -> str:
    gigabytes = min(expected, _UNTOLD) * _BYTES_PER_RECORD / 1e9
    return (
        f"{_in_words(expected).capitalize()} closed records would need {gigabytes:,.1f} GB or more, so the "
        f"table was split into {n_regions} regions of at most about {algorithm.records:g} million each, "
        "solved one by one. The guarantee holds inside each region only."
    )
