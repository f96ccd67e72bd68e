"""History-keeping: who was published together stays together; newcomers form valid groups of their own.

Groups of earlier releases are never split. A place that somebody left is taken over by a newcomer with the
same sensitive values, the nearest one, so that nobody sees from the release who has gone; a cell in which a
place stays vacant, or of a large one the block with that place, or that no longer keeps a model, rests: its
people are withheld until it can be filled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kohort.algorithms.again.blocks import with_blocks
from kohort.algorithms.again.joining import swapped
from kohort.algorithms.again.kernels.vacancies import fill_vacancies
from kohort.algorithms.again.standing import Standing
from kohort.algorithms.run import Run
from kohort.algorithms.solver import Solver
from kohort.errors import InfeasibleError, UnsupportedError, counted
from kohort.problem.costs import cost_named
from kohort.problem.encoding.coded import Coded
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups, PlacedGroups
from kohort.recoding.recoding import Recoding

_COMPARED = 4096  # newcomers that are compared for one vacant place


@dataclass(frozen=True)
class HistoryKeeping:
    """An algorithm around an algorithm that makes groups.

    inner     puts newcomers into groups
    standing  what earlier releases say of the records
    """

    inner: Solver
    standing: Standing

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for a problem that the inner algorithm cannot solve."""
        self.inner.refuse(problem)

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """Earlier groups with their vacancies filled, and groups of the other newcomers.

        At the end newcomers with the same sensitive values change places and groups where that costs less.
        """
        standing = self.standing
        if not standing.n_places:
            first = self._groups(problem, run)
            told = {"waiting": int(first.withheld.sum())}
            return _placed(
                first, np.arange(problem.n_records), np.full(problem.n_records, -1), standing, told
            )
        standing = with_blocks(problem, standing)
        record_of_place, n_filled = _filled(problem, standing)
        place_of_record = np.full(problem.n_records, -1, dtype=np.int64)
        shown = np.flatnonzero(record_of_place >= 0)
        place_of_record[record_of_place[shown]] = shown
        left = np.flatnonzero((standing.place_of_record < 0) & (place_of_record < 0))
        resting = int(((standing.place_of_record >= 0) & (place_of_record < 0)).sum())
        refuse_withholding(problem, resting)
        groups = self._newcomers(problem, left, problem.max_withheld - resting, run)
        waiting = len(left) if groups is None else int(groups.withheld.sum())
        refuse_withholding(problem, resting + waiting)
        told = {"passed_on": n_filled, "resting": resting, "waiting": waiting}
        return _settled(problem, standing, _placed(groups, left, place_of_record, standing, told), run)

    def _newcomers(self, problem: Problem, left: np.ndarray, may_wait: int, run: Run) -> Groups | None:
        """Groups of newcomers; None where they cannot keep the models by themselves, and have to wait."""
        if not len(left):
            return None
        try:
            part = _part_of_problem(problem, left, may_wait)
        except InfeasibleError:
            return None
        return self._groups(part, run)

    def _groups(self, problem: Problem, run: Run) -> Groups:
        groups = self.inner.solve(problem, run)
        if not isinstance(groups, Groups):
            raise UnsupportedError(
                "With a ledger, an algorithm that makes groups is needed. Choose mondrian."
            )
        return groups


def _filled(problem: Problem, standing: Standing) -> tuple[np.ndarray, int]:
    """Per place the record published in it, -1 where its cell rests; and how many newcomers got one."""
    record_of_place = standing.seated()
    vacant = record_of_place < 0
    n_cells = int(standing.cell_of_place.max()) + 1
    people = np.bincount(standing.cell_of_place[~vacant], minlength=n_cells)
    wanted = np.flatnonzero(vacant & (people[standing.cell_of_place] > 0))
    record_of_place[wanted] = _newcomers_for(problem, standing, record_of_place, wanted, people)
    complete = np.ones(n_cells, dtype=bool)
    complete[standing.cell_of_place[record_of_place < 0]] = False
    complete &= _valid(problem, standing.cell_of_place, record_of_place, complete)
    record_of_place[~complete[standing.cell_of_place]] = -1
    return record_of_place, int((record_of_place[wanted] >= 0).sum())


def _newcomers_for(
    problem: Problem, standing: Standing, record_of_place: np.ndarray, wanted: np.ndarray, people: np.ndarray
) -> np.ndarray:
    """The newcomer for each vacant place, -1 where there is none.

    Only of cells that rest for no reason which would tell who left: see `_cells_to_fill`.
    """
    found = np.full(len(wanted), -1, dtype=np.int64)
    newcomers = standing.newcomers
    if not len(wanted) or not len(newcomers):
        return found
    cell, kind = standing.cell_of_place[wanted], standing.kind_of_place[wanted]
    chosen = np.flatnonzero(np.isin(cell, _cells_to_fill(standing, cell, people)))
    turn = chosen[np.lexsort((kind[chosen], cell[chosen]))]
    kinds = standing.kind_of_record[newcomers]
    pool = newcomers[np.argsort(kinds, kind="stable")]
    n_kinds = int(max(standing.kind_of_record.max(), standing.kind_of_place.max())) + 1
    start = np.searchsorted(np.sort(kinds), np.arange(n_kinds + 1)).astype(np.int64)
    coded = problem.coded if problem.cost.adds_up else Coded(problem.attributes, cost_named("loss"))
    leaves = coded.searched_leaves()
    ranges = _ranges(leaves, standing.cell_of_place, record_of_place, len(people))
    vacancies = np.stack([cell[turn], kind[turn]]).astype(np.int64)  # of a cell together, by kind
    found[turn] = fill_vacancies(coded.cell_costs, leaves, ranges, vacancies, (start, pool), _COMPARED)
    return found


def _cells_to_fill(standing: Standing, vacant: np.ndarray, people: np.ndarray) -> list[int]:
    """The cells for which there are newcomers whichever of their places are vacant.

    If a cell rested just because nobody has the values of the places that are vacant, its rest would tell
    that those who left had them. So cells are chosen by what everybody can see: how many places of each are
    vacant, not which. Newcomers of every kind must suffice for the most vacancies that there can be of it, or
    for as many as there are by chance and three standard deviations more. Cells that show most people for
    each newcomer come first.

    vacant  the cell of each vacancy
    people  how many people of each cell are there
    """
    n_kinds = int(max(standing.kind_of_record.max(), standing.kind_of_place.max())) + 1
    there = np.bincount(standing.kind_of_record[standing.newcomers], minlength=n_kinds)
    n_vacant = np.bincount(vacant, minlength=len(people))
    affected = np.flatnonzero(n_vacant)
    pairs = standing.cell_of_place * n_kinds + standing.kind_of_place
    pairs, times = np.unique(pairs[np.isin(standing.cell_of_place, affected)], return_counts=True)
    first = np.searchsorted(pairs, affected * n_kinds)
    last = np.searchsorted(pairs, (affected + 1) * n_kinds)
    most, expected, found = np.zeros(n_kinds), np.zeros(n_kinds), []
    for number in np.argsort(-people[affected] / n_vacant[affected], kind="stable").tolist():
        mine, v = slice(first[number], last[number]), n_vacant[affected[number]]
        kinds, count = pairs[mine] % n_kinds, times[mine]
        at_most = most[kinds] + np.minimum(count, v)
        by_chance = expected[kinds] + count * v / count.sum()
        if (np.minimum(at_most, by_chance + 3 * np.sqrt(by_chance) + 1) <= there[kinds]).all():
            most[kinds], expected[kinds] = at_most, by_chance
            found.append(int(affected[number]))
    return found


def _ranges(leaves: np.ndarray, cell_of_place: np.ndarray, record_of_place: np.ndarray, n: int) -> np.ndarray:
    """The least and the greatest leaf of each cell in each attribute."""
    taken = record_of_place >= 0
    ranges = np.empty((2, n, leaves.shape[1]), dtype=np.int32)
    ranges[0], ranges[1] = np.iinfo(np.int32).max, -1
    np.minimum.at(ranges[0], cell_of_place[taken], leaves[record_of_place[taken]])
    np.maximum.at(ranges[1], cell_of_place[taken], leaves[record_of_place[taken]])
    return ranges


def _valid(
    problem: Problem, cell_of_place: np.ndarray, record_of_place: np.ndarray, complete: np.ndarray
) -> np.ndarray:
    """Whether each complete cell keeps every model with the values that its people have now."""
    valid = np.zeros(len(complete), dtype=bool)
    chosen = complete[cell_of_place]
    if chosen.any():
        cells, group = np.unique(cell_of_place[chosen], return_inverse=True)
        valid[cells] = problem.satisfied(group, record_of_place[chosen], len(cells))
    return valid


def refuse_withholding(problem: Problem, n_withheld: int) -> None:
    """Raise InfeasibleError where more records must be withheld than may be, and say how many."""
    if n_withheld <= problem.max_withheld:
        return
    share = -(-n_withheld * 10_000 // problem.n_records) / 10_000
    raise InfeasibleError(
        f"Together with the earlier releases, {counted(n_withheld, 'record')} of {problem.n_records:,} must "
        "be withheld: of people whose group has a place that no newcomer can take over, or no longer keeps a "
        "promise, and of newcomers who are too few for a group. "
        f"Set suppression: {share:g} to allow that, or publish later, when more newcomers have come."
    )


def _placed(
    groups: Groups | None,
    newcomers: np.ndarray,
    place_of_record: np.ndarray,
    standing: Standing,
    told: dict[str, int],
) -> PlacedGroups:
    """The recoding of all records: cells of earlier releases are groups, and newcomers get new places."""
    place = place_of_record.copy()
    group_of_record = np.full(len(place), -1, dtype=np.int64)
    kept = place >= 0
    group_of_record[kept] = standing.cell_of_place[place[kept]] if kept.any() else 0
    if groups is not None:
        shown = newcomers[~groups.withheld]
        after = int(standing.cell_of_place.max(initial=-1)) + 1
        group_of_record[shown] = after + groups.group_of_record[~groups.withheld]
        place[shown] = standing.n_places + np.arange(len(shown))
    grouped = group_of_record >= 0
    group_of_record[grouped] = np.unique(group_of_record[grouped], return_inverse=True)[1]
    notes = () if groups is None else groups.notes
    return PlacedGroups(group_of_record.astype(np.int32), notes=notes, place_of_record=place, told=told)


def _settled(problem: Problem, standing: Standing, placed: PlacedGroups, run: Run) -> PlacedGroups:
    """The same with newcomers exchanged, by which places and groups keep their sensitive values."""
    movable = (standing.place_of_record < 0) & ~placed.withheld
    group_of, place_of = placed.group_of_record.copy(), placed.place_of_record.copy()
    affected = np.flatnonzero(np.isin(group_of, np.unique(group_of[movable])) & ~placed.withheld)
    if not len(affected):
        return placed
    order = affected[np.argsort(group_of[affected], kind="stable")]
    before = np.split(order, np.flatnonzero(np.diff(group_of[order])) + 1)
    coded = problem.coded if problem.cost.adds_up else Coded(problem.attributes, cost_named("loss"))
    kinds = np.where(movable, standing.kind_of_record, -1).astype(np.int64)
    after = swapped(coded, kinds, ~movable, before, np.arange(len(before)), problem.seed, run)
    left, entered = np.concatenate(before), np.concatenate(after)
    group_of[entered], place_of[entered] = group_of[left], place_of[left]
    return replace(placed, group_of_record=group_of, place_of_record=place_of)


def _part_of_problem(problem: Problem, records: np.ndarray, max_withheld: int) -> Problem:
    """What is asked of some records alone; raises InfeasibleError where it is impossible for them.

    max_withheld  how many of them may be withheld
    """
    n_records = len(records)
    columns = {
        name: replace(s, column=replace(s.column, codes=s.column.codes[records]))
        for name, s in problem.sensitive.items()
    }
    return problem.varied(
        attributes=tuple(
            replace(a, column=replace(a.column, codes=a.column.codes[records])) for a in problem.attributes
        ),
        sensitive=columns,
        suppression=_share(max_withheld, n_records),
        masses=problem.masses.of(records).scaled(),
    )


def _share(max_withheld: int, n_records: int) -> float:
    """A share of the records that is at most this many of them, in few digits so that it is exact in text."""
    return min(max_withheld * 1_000_000 // max(n_records, 1), 999_999) / 1_000_000
