"""The records of a problem, and room to work in, in the layout that compiled code cuts them in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kohort.algorithms.compact_rows import compact_rows
from kohort.algorithms.mondrian.kernels.cut_parts import cut_groups
from kohort.algorithms.mondrian.kernels.cut_table import (
    CUT,
    CUT_UP,
    DEAL,
    FIND,
    MAX_BINS,
    PART,
    SAMPLE,
    BestCuts,
    Bins,
    Children,
    CutTable,
    Edges,
    Marks,
    Moving,
    Pooling,
    Records,
    Rules,
    Sorting,
    Steps,
    Summary,
    Workspace,
)
from kohort.algorithms.run import Run
from kohort.kernels.threads import thread_count
from kohort.problem.encoding.layout import TREE, Tables
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups


def cut_table_of(problem: Problem, *, strict: bool, widest: bool) -> CutTable:
    """All records of a problem in the order in which they came, as one group. O(records * attributes)."""
    table = cut_table(compact_rows(problem), problem.coded.tables, Rules(problem.k, strict, widest))
    persons, masses = problem.units.persons.astype(np.int32), problem.masses.each.astype(np.float64)
    return table._replace(records=table.records._replace(persons=persons, masses=masses))


def cut_table(rows: np.ndarray, tables: Tables, rules: Rules) -> CutTable:
    """Rows as `compact_rows` gives them, which will be moved, as one group of records that weigh the same."""
    number = np.arange(len(rows), dtype=np.int32)
    records = Records(rows, rows.view(np.int64), number, np.zeros(0, dtype=np.int32), np.zeros(0))
    return CutTable(records, tables, children_of(tables), rules)


def _depths(tables: Tables) -> np.ndarray:
    """How many steps each node of a hierarchy is below its root."""
    depth = np.zeros(len(tables.parent), dtype=np.int64)
    above = tables.parent
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, tables.parent[above], -1)
    return depth


def children_of(tables: Tables) -> Children:
    """For each depth and leaf, the place among its siblings of the leaf's ancestor one step below.

    O(leaves * height).
    """
    depth = _depths(tables)
    ends = np.append(tables.leaf_start[1:], len(tables.leaf_node))
    found = [np.zeros(0, dtype=np.int32)]
    for kind, start, end in zip(tables.kind, tables.leaf_start, ends):
        node = tables.leaf_node[start:end]
        places = np.zeros((int(depth[node].max()) if kind == TREE else 0, len(node)), dtype=np.int32)
        below = np.flatnonzero(depth[node] > 0) if kind == TREE else node[:0]
        while len(below):
            at = node[below]
            places[depth[at] - 1, below] = tables.sibling[at]
            node = node.copy()
            node[below] = tables.parent[at]
            below = below[depth[node[below]] > 0]
        found.append(places.ravel())
    return Children(depth, np.cumsum([len(places) for places in found])[:-1], np.concatenate(found))


def new_workspace(table: CutTable, largest: int, n_cuts: int) -> Workspace:
    """Room to work on groups of up to `largest` records, of which the best `n_cuts` cuts are found."""
    records, tables = table.records, table.tables
    sample, width, n_words = min(largest, 2 * SAMPLE), records.rows.shape[1], int(tables.word_start[-1])
    n_leaves = int(np.diff(np.append(tables.leaf_start, len(tables.leaf_cost))).max())
    n_places = max(MAX_BINS, int(tables.n_children.max(initial=0))) + 2
    n_bins = max(MAX_BINS, min(n_places, 4 * sample + 64))

    def numbers(*shape: int) -> np.ndarray:
        return np.empty(shape, dtype=np.int64)

    def short(n: int) -> np.ndarray:
        return np.empty(n, dtype=np.int32)

    def summary(*n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        lo, hi = (np.empty((*n, width), dtype=records.rows.dtype) for _ in range(2))
        return lo, hi, np.empty((*n, n_words), dtype=np.uint64)

    first, last, left, right = numbers(4, MAX_BINS)
    n_sorted = max(sample, n_places // 4)
    n_people = int(records.persons.max(initial=-1)) + 1
    return Workspace(
        bins=Bins(short(sample), numbers(n_places), np.empty(n_places), *summary(n_bins)),
        side=Summary(*summary()),
        group=Summary(*summary()),
        pooling=Pooling(np.empty(n_places, dtype=bool), short(n_places), numbers(n_places)),
        edges=Edges(first, last, np.empty(MAX_BINS + 1), left, right),
        sorting=Sorting(
            short(sample), short(n_sorted), short(n_sorted), short(min(n_leaves, 4 * sample + 1))
        ),
        marks=Marks(
            np.zeros((n_people, 2), dtype=np.int32), np.zeros(1, dtype=np.int32), short(n_people and largest)
        ),
        moving=Moving(short(largest), numbers(n_places), numbers(n_places), numbers(largest)),
        best=BestCuts(np.empty(n_cuts, dtype=CUT).view(np.recarray), np.empty(n_cuts)),
        stack=numbers(largest // (2 * table.rules.k) + 2, 2),
    )


_SUBTREE = 65_536  # records, about, that fit the cache of a core
_SHARE = 262_144  # records that a thread cuts between two looks at the clock
_LEAST_SHARE = 2_048
_NO_CUTS = np.empty((0, 0), dtype=CUT).view(np.recarray)
_NO_PARTS, _NO_NUMBERS = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
_STOPPED = "Stopped at the time limit: some groups could still be cut."


def cells_of(rows: np.ndarray, tables: Tables, size: int) -> np.ndarray:
    """The cell of each row, where rows are cut into cells of `size` or more as mondrian cuts records.

    rows    as `compact_rows` gives them; they are moved
    tables  the costs by which cuts are chosen
    """
    table, is_start = cut_table(rows, tables, Rules(size, False, False)), np.zeros(len(rows), dtype=bool)
    whole = Steps(CUT_UP, _NO_CUTS, _NO_PARTS, _NO_NUMBERS)
    ends = np.array([0]), np.array([len(rows)])
    cut_groups(table, new_workspace(table, len(rows), 4), *ends, 0, is_start, whole)
    cell = np.empty(len(rows), dtype=np.int64)
    is_start[0] = True
    cell[table.records.number] = np.cumsum(is_start) - 1
    return cell


class Cutting:
    """The records in the order of their groups, and where each group starts.

    Groups do not depend on each other, so that the order in which they are cut, and by how many threads,
    does not matter to the result.
    """

    def __init__(self, problem: Problem, *, strict: bool, widest: bool) -> None:
        self.problem = problem
        self.only_k = all(not model.attribute for model in problem.models)
        self.n_cuts = 4 if self.only_k else 2 * len(problem.attributes)
        self.table = cut_table_of(problem, strict=strict, widest=widest)
        self.is_start = np.zeros(problem.n_records, dtype=bool)
        self.is_start[0] = True
        self._free: list[Workspace] = []

    def cut_up(self, run: Run) -> Groups:
        """The groups that cannot be cut any more; as they are, when the time is up.

        Large groups are cut first, until each fits into a cache; these are then cut to the end.
        """
        run.report("cutting groups", 0.0)
        coarse = max(self.problem.n_records // 8, _LEAST_SHARE)
        for largest in (coarse, min(coarse, _SUBTREE), 0):
            if not self._cut_down_to(largest, run):
                return self.groups(_STOPPED)
        run.report("cutting groups", 1.0)
        return self.groups()

    def _cut_down_to(self, largest: int, run: Run) -> bool:
        """Cut all groups until none that can be cut has more records; return whether there was time to."""
        starts = np.flatnonzero(self.is_start)
        ends = np.append(starts[1:], len(self.is_start))
        large = ends - starts >= max(largest + 1, 2 * self.problem.k)
        starts, ends = starts[large], ends[large]
        shares = _shares(ends - starts)

        def cut(share: slice) -> bool:
            return not running.out_of_time and self._cut_share(starts[share], ends[share], largest, running)

        with ThreadPoolExecutor(thread_count()) as pool, run.until_failure() as running:
            cutting = [pool.submit(cut, share) for share in shares]
            for share, cut_up in zip(shares, cutting):
                run.report("cutting groups", 0.0 if largest else starts[share.start] / len(self.is_start))
                cut_up.result()
        self._free.clear()  # groups are smaller by now: they need less room
        return all(cut_up.result() for cut_up in cutting)

    def _cut_share(self, starts: np.ndarray, ends: np.ndarray, largest: int, run: Run) -> bool:
        """Cut some groups until each has at most `largest` records; return whether there was time to."""
        space = self._workspace(int((ends - starts).max()))
        if self.only_k:
            self._do(space, starts, ends, Steps(CUT_UP, _NO_CUTS, _NO_PARTS, _NO_NUMBERS), largest)
        while not self.only_k and len(starts):
            if run.out_of_time:
                return False
            starts, ends = self._cut_by_models(space, starts, ends)
            self.is_start[starts] = True
            large = ends - starts >= max(largest + 1, 2 * self.problem.k)
            starts, ends = starts[large], ends[large]
        self._free.append(space)
        return True

    def _workspace(self, largest: int) -> Workspace:
        """Room to work on groups of up to `largest` records: such that was used before, or a new one."""
        while self._free:
            space = self._free.pop()
            if len(space.moving.part) >= largest:
                return space
        return new_workspace(self.table, largest, self.n_cuts)

    def _cut_by_models(
        self, space: Workspace, starts: np.ndarray, ends: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cut each group once, by its best cut that satisfies the models, if there is one.

        Returns the starts and ends of the new groups.
        """
        cuts = np.empty((len(starts), self.n_cuts), dtype=CUT).view(np.recarray)
        self._do(space, starts, ends, Steps(FIND, cuts, _NO_PARTS, _NO_NUMBERS))
        found = [(starts[:0], ends[:0])]
        for attempt in range(self.n_cuts):
            possible = cuts["way"][:, attempt] >= 0
            starts, ends, cuts = starts[possible], ends[possible], cuts[possible].view(np.recarray)
            if not starts.size:
                break
            tried = np.ascontiguousarray(cuts[:, attempt : attempt + 1]).view(np.recarray)
            succeeded, *parts = self._cut_where_satisfied(space, starts, ends, tried)
            found.append((parts[0], parts[1]))
            left = ~succeeded
            starts, ends, cuts = starts[left], ends[left], cuts[left].view(np.recarray)
        new_starts, new_ends = zip(*found)
        return np.concatenate(new_starts), np.concatenate(new_ends)

    def _cut_where_satisfied(
        self, space: Workspace, starts: np.ndarray, ends: np.ndarray, cuts: np.recarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Carry out one cut per group where it satisfies the models.

        Returns whether each group was cut, and the starts and ends of the new parts.
        """
        sizes = ends - starts
        parts, n_parts = np.empty(sizes.sum(), dtype=np.int32), np.empty(len(starts), dtype=np.int64)
        self._do(space, starts, ends, Steps(PART, cuts, parts, n_parts))
        before = np.cumsum(sizes) - sizes
        group = np.repeat(np.arange(len(starts), dtype=np.int32), sizes)
        records = self.table.records.number[np.arange(len(parts)) + np.repeat(starts - before, sizes)]
        parted = _satisfying(self.problem, records, group, parts, n_parts)
        kept = parted.cut
        dealt = Steps(DEAL, _NO_CUTS, parted.parts[kept[group]], n_parts[kept])
        self._do(space, starts[kept], ends[kept], dealt)
        return kept, *parted.runs(starts)

    def _do(
        self, space: Workspace, starts: np.ndarray, ends: np.ndarray, steps: Steps, largest: int = 0
    ) -> None:
        cut_groups(self.table, space, starts, ends, largest, self.is_start, steps)

    def groups(self, *notes: str) -> Groups:
        """The group of each record, numbered in the order of the groups."""
        group_of_record = np.empty(len(self.is_start), dtype=np.int32)
        number = np.cumsum(self.is_start, dtype=np.int32)
        number -= 1
        group_of_record[self.table.records.number] = number
        return Groups(group_of_record, notes=notes)


def _shares(sizes: np.ndarray) -> list[slice]:
    """Runs of groups, about as large as a thread should cut at a time; several for each thread."""
    total = np.cumsum(sizes)
    if not len(total):
        return []
    share = int(np.clip(total[-1] // 16, _LEAST_SHARE, _SHARE))
    bounds = np.unique(np.searchsorted(total, np.arange(share, total[-1], share)) + 1)
    return [slice(a, b) for a, b in pairwise([0, *bounds[bounds < len(sizes)], len(sizes)])]


@dataclass(frozen=True, eq=False)
class Parted:
    """The parts of the records of some groups after one cut each.

    parts       per record its part, counted inside its group
    part_sizes  per part, group after group
    n_parts     per group
    cut         per group, whether it can be cut like that
    """

    parts: np.ndarray
    part_sizes: np.ndarray
    n_parts: np.ndarray
    cut: np.ndarray

    def runs(self, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Starts and ends of the parts of the groups that are cut, given the starts of all groups."""
        n_parts, sizes = self.n_parts[self.cut], self.part_sizes[np.repeat(self.cut, self.n_parts)]
        ends, first = np.cumsum(sizes), np.cumsum(n_parts) - n_parts
        before = (ends - sizes)[first] if len(first) else ends
        ends = ends + np.repeat(starts[self.cut] - before, n_parts)
        return (ends - sizes)[sizes > 0], ends[sizes > 0]


def _satisfying(
    problem: Problem, records: np.ndarray, group: np.ndarray, parts: np.ndarray, n_parts: np.ndarray
) -> Parted:
    """Move parts that fail a model into part 0, the pool of a cut into children; see which groups are cut.

    records, group, parts  records, group after group: their numbers, groups, and parts inside these
    n_parts                per group
    """
    first_part = (np.cumsum(n_parts) - n_parts)[group]
    for _ in range(2):
        holds = _hold(problem, records, first_part + parts, int(n_parts.sum()))
        failing = ~holds[first_part + parts] & (n_parts > 2)[group]
        if not failing.any():
            break
        parts = np.where(failing, 0, parts).astype(np.int32)
    part_sizes = np.bincount(first_part + parts, minlength=int(n_parts.sum()))
    group_of_part = np.repeat(np.arange(len(n_parts)), n_parts)
    used = part_sizes > 0
    n_used = np.bincount(group_of_part, weights=used, minlength=len(n_parts))
    broken = np.bincount(group_of_part, weights=used & ~holds, minlength=len(n_parts)) > 0
    return Parted(parts, part_sizes, n_parts, (n_used > 1) & ~broken)


def _hold(problem: Problem, records: np.ndarray, part: np.ndarray, n_parts: int) -> np.ndarray:
    """Whether each part satisfies the models; a part without records does."""
    present = np.bincount(part, minlength=n_parts) > 0
    number = np.cumsum(present) - 1
    holds = np.ones(n_parts, dtype=bool)
    holds[present] = problem.satisfied(number[part], records, int(present.sum()))
    return holds
