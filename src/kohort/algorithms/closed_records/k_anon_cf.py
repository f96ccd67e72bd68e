"""k-ANON-CF: closed frequent generalized records, a greedy cover, a clustering (Kenig and Tassa, 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.closed_records.greedy_cover import cover_guarantee, disjoint_cover
from kohort.algorithms.mining.closed_records import ClosedRecords, MinedRows, guess_number, mine
from kohort.algorithms.out_of_time import SHARE_BEFORE, mondrian_instead
from kohort.algorithms.refusals import refuse_without_hierarchies
from kohort.algorithms.run import Run
from kohort.data.counting import distinct_rows
from kohort.errors import UnsupportedError
from kohort.parameters import Within
from kohort.problem.counted_cells import first_slots, groups_from_slots
from kohort.problem.encoding.coded import lineages_of
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

_BYTES_PER_RECORD = 48  # weight, cost, key, place in the heap and start; 4 more per attribute
_FEW_ATTRIBUTES, _FIRST_TRY = 10, 4_000_000  # closed records that are mined before their number is estimated
_MOST_SPLIT = 200_000  # records; larger tables are looked at before, by samples, and not split
_MOST_ROWS, _ROWS_SAMPLE = 300_000, 2_000_000  # different records, among at most so many
_SAMPLE = 20_000  # records from which the number of closed records is estimated
_MOST_ESTIMATED = 1e8  # closed records; greater estimates are too uncertain to be stated


@dataclass(frozen=True)
class KAnonCF(Algorithm):
    """k-anonymity within 2(1 + ln 2k) of the least cost (Kenig and Tassa, Algorithms 4 to 7).

    Mines all closed generalized records that at least k records support, covers the table greedily by
    their supports, each time the one of least cost per newly covered record, and makes the cover disjoint.
    The guarantee holds for monotone costs (all but `entropy`).

    memory   gigabytes that supports may take; beyond, they are recomputed whenever they are needed, which is
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
        "covers the table with closed generalized records; low loss, for up to a dozen attributes"
    )
    paper: ClassVar[str] = (
        "Kenig, Tassa: A practical approximation algorithm for optimal k-anonymity, DMKD 25 (2012)"
    )
    promise: ClassVar[str] = "at most 2(1 + ln 2k) times the least cost, for monotone costs"
    theorem: ClassVar[str] = "Kenig and Tassa, 2012, Theorem 4"
    recoding: ClassVar[type[Groups]] = Groups

    memory: Annotated[float, Within(above=0, most=1_000_000)] = 1.0
    records: Annotated[float, Within(above=0, most=1_000_000)] = 10.0

    def refuse(self, problem: Problem) -> None:
        self.refuse_cost(problem.cost)
        refuse_without_hierarchies(problem)
        self._refuse_endless(problem)

    def _refuse_endless(self, problem: Problem) -> None:
        """Raise UnsupportedError for a large table that could not be covered in reasonable time."""
        if problem.n_records <= _MOST_SPLIT:
            return
        if len(_sample(problem, _ROWS_SAMPLE)[1]) > _MOST_ROWS:
            raise UnsupportedError(
                f"k-anon-cf is for tables of up to {_MOST_ROWS:,} different records; this one has more. "
                "Choose improve or mondrian."
            )
        expected = _number_by_sample(problem)
        if expected > self.records * 1e6:
            raise UnsupportedError(
                f"k-anon-cf would have to mine {_in_words(expected)} closed records, but 'records' allows "
                f"{self.records:g} million, and a table of {problem.n_records:,} records takes too long to "
                "split. Choose improve or mondrian, fewer quasi-identifiers, or a larger k."
            )

    def solve(self, problem: Problem, run: Run) -> Groups:
        found = self._covered(problem, run.share_of_time(SHARE_BEFORE))
        return mondrian_instead(problem, run, "the table was covered") if found is None else found

    def _covered(self, problem: Problem, run: Run) -> Groups | None:
        """The clusters of a cover by closed records; None when the time is up."""
        table = MinedRows.of(problem)
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
            guarantee = cover_guarantee(problem)
        else:
            clusters, n_regions = self._by_regions(problem, table, run)
            notes, guarantee = (_regions_note(expected, self, n_regions),), None
        if clusters is None:
            return None
        return Groups(groups_from_slots(problem.rows.of_record, clusters), guarantee=guarantee, notes=notes)

    def _mined(self, table: MinedRows, k: int, run: Run, max_records: int) -> ClosedRecords:
        rows = int(self.memory * 1e9 / 4)
        return mine(table, k, max_records=max_records, max_support_rows=rows, run=run)

    def _by_regions(self, problem: Problem, table: MinedRows, run: Run) -> tuple[np.ndarray | None, int]:
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
            parts = _split_region(part, problem) if part.counts.sum() >= 2 * problem.k else None
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

    def _mined_part(self, part: MinedRows, k: int, run: Run, *, may_refuse: bool) -> ClosedRecords | None:
        """The closed records of a part of the table, or None where they are too many or the time is up."""
        most = int(self.records * 1e6)
        if may_refuse and guess_number(part, k, run=run) > most:
            return None
        closed = self._mined(part, k, run, max(most, 1) if may_refuse else 2**62)
        return closed if closed.complete else None


def _sample(problem: Problem, n_records: int) -> tuple[np.ndarray, np.ndarray, int]:
    """The different rows among about so many records of the table, their counts, and the stride."""
    stride = -(-problem.n_records // n_records)
    rows = np.column_stack([a.leaf_of_code[a.column.codes[::stride]] for a in problem.attributes])
    leaves, counts, _ = distinct_rows(rows)
    return leaves, counts.astype(np.int64), stride


def _number_by_sample(problem: Problem) -> float:
    """An estimate of the number of closed records from a sample of the table, in about a second."""
    leaves, counts, stride = _sample(problem, _SAMPLE)
    coded = problem.coded
    sample = MinedRows(lineages_of(coded.hierarchies, leaves), coded.node_start, counts)
    return guess_number(sample, problem.k, run=Run(), copies=stride)


def _low_memory_note(n_records: int) -> str:
    return (
        f"The supports of {n_records:,} closed records do not fit into the memory allowed, so they were "
        "computed again whenever they were needed; the result is the same."
    )


def _in_words(expected: float) -> str:
    return f"about {expected:,.0f}" if expected < _MOST_ESTIMATED else f"over {_MOST_ESTIMATED:,.0f}"


def _regions_note(expected: float, algorithm: KAnonCF, n_regions: int) -> str:
    gigabytes = min(expected, _MOST_ESTIMATED) * _BYTES_PER_RECORD / 1e9
    return (
        f"{_in_words(expected).capitalize()} closed records would need {gigabytes:,.1f} GB or more, so the "
        f"table was split into {n_regions} regions of at most about {algorithm.records:g} million each, "
        "solved one by one. The guarantee holds inside each region only."
    )


def _split_region(table: MinedRows, problem: Problem) -> list[np.ndarray] | None:
    """The rows of each part of a table, or None if the table cannot be cut.

    The parts are the children of the table's node in one attribute, where children with fewer than k records
    are pooled. The attribute is the one whose parts cost least.
    """
    best, best_cost = None, np.inf
    for attribute, node in enumerate(table.closure()):
        parts = _parts(table, attribute, int(node), problem.k)
        if len(parts) < 2:
            continue
        cost = sum(_cost(table.part(rows), problem.coded.node_costs) for rows in parts)
        if cost < best_cost:
            best, best_cost = parts, cost
    return best


def _parts(table: MinedRows, attribute: int, node: int, k: int) -> list[np.ndarray]:
    child = table.nodes_at(attribute, table.lineages.depth[node] + 1)
    if child is None:
        return []
    parts = [np.flatnonzero(child == c) for c in np.unique(child)]
    parts.sort(key=lambda rows: int(table.counts[rows].sum()))
    while len(parts) > 1 and table.counts[parts[0]].sum() < k:  # pool the smallest two until none is small
        parts[:2] = [np.sort(np.concatenate(parts[:2]))]
        parts.sort(key=lambda rows: int(table.counts[rows].sum()))
    return parts


def _cost(part: MinedRows, node_costs: list[np.ndarray]) -> float:
    nodes = part.closure() - part.node_start
    return float(part.counts.sum()) * sum(float(cost[node]) for cost, node in zip(node_costs, nodes))
