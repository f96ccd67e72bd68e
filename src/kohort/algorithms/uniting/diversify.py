"""diversify: unite groups until each satisfies every model (Kenig and Tassa, 2012, Algorithm 8)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from kohort.algorithms.run import Run
from kohort.algorithms.uniting.group_values import GroupValues, one_group_per_look
from kohort.algorithms.uniting.kernels.diversify import (
    Climbs,
    Summaries,
    added_costs,
    cheapest_partners,
    fill_buckets,
    first_leaves,
    raise_costs,
    range_costs,
)
from kohort.algorithms.uniting.tallies import Counts, tallies_of
from kohort.errors import InfeasibleError, UnsupportedError
from kohort.kernels.grouping import ranges_by_group
from kohort.kernels.threads import in_threads
from kohort.parameters import Share, check_option
from kohort.problem.costs import SeparableCost, cost_named
from kohort.problem.encoding.coded import Coded
from kohort.problem.encoding.layout import Tables
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

WEIGHT = 0.15  # weight of the cost against the models, as in the paper

FEW, MORE = 16, 128  # partners that are tried first, and next if none of those is sure to be the best
MANY, TRIES = 1024, 10_000_000  # partners that are tried last; more if TRIES over all groups allow it
BLOCK = 64  # groups that may be united in one step
PAIRS, CELLS = 100_000, 1_000_000  # most that are tried at a time, to keep working memory near 100 MB
DIGITS = 12  # costs that differ by rounding only are equal


def diversify(
    problem: Problem, groups: Groups, run: Run, *, w: float = WEIGHT, exact: bool = False
) -> Groups:
    """Unite groups until every group satisfies every model of the problem.

    The group C with the greatest deficit is united with the partner P of least w * cost_I + (1 - w) * cost_D,
    and so on until no group has a deficit. The paper's costs have different scales. Here,

    - cost_D is the deficit of the union: the sum of the models' deficits, each from 0 to 1. If a model
      requires l and the union has d, its deficit is (l - d) / (l - 1).
    - cost_I is x / (1 + x), where x is the cost that the union adds to the table (Eq. 9), divided by the cost
      of the records of C if the whole table is one group.

    Ties go to the least cost_D, then to the least cost_I, then to the group with the lowest number.

    w : with 1 only the cost counts; with 0 only the models, and the cost on ties
    exact : Algorithm 8 to the letter: one step at a time, all groups are tried at every step. Otherwise
        1,024 groups or more are tried, those that add least cost (fewer where no other can be better), and
        up to 64 groups at a time choose their partners independently; one whose partner is taken has to wait.
        Groups of equal deficit take their turns in a random order. Then the work is near-linear in practice.

    All models must survive unions, with one exception: where people have several records, no model of shares
    does. Then a union that breaks such a model goes on to be united, and groups that look alike are united,
    too, since a reader takes them for one class. Raises InfeasibleError if not even one group of all records
    keeps the models.

    Withheld records stay so, unless the models cannot be satisfied without them. A cost that is no sum over
    cells is replaced by the loss. When time is up, neighbouring groups with a deficit are united without a
    search.

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"age": [21, 22, 41, 42], "ill": ["flu", "flu", "flu", "cold"]})
    >>> problem = ko.anonymize(
    ...     people, quasi_identifiers=["age"], sensitive=["ill"], privacy=[ko.LDiversity("ill", "4/3")]
    ... ).problem
    >>> diversify(problem, Groups(np.array([0, 0, 1, 1])), Run()).group_of_record
    array([0, 0, 0, 0], dtype=int32)
    """
    check_option("diversify_weight", w, Share)
    _refuse_models(problem)
    if not groups.n_groups:
        return groups
    if not problem.units.several or problem.all_survive_unions:
        return _united(problem, groups, run, w, exact)
    return _united_with_lookalikes(problem, groups, run, w, exact)


def _refuse_models(problem: Problem) -> None:
    for model in problem.models:
        if not problem.units.several and not model.survives_unions:
            raise UnsupportedError(f"diversify unites groups, which {model.name} as asked does not survive.")


def _united_with_lookalikes(problem: Problem, groups: Groups, run: Run, w: float, exact: bool) -> Groups:
    """The groups united until each look is one group and every group satisfies the models."""
    while True:
        apart = one_group_per_look(problem, groups)
        united = _united(problem, apart, run, w, exact)
        if united is groups:
            return groups
        groups = united


def _united(problem: Problem, groups: Groups, run: Run, w: float, exact: bool) -> Groups:
    """The groups united until every group satisfies the models."""
    uniting = _Uniting(problem, groups, w, exact)
    n_short = uniting.n_short
    if not n_short:
        return groups
    note: tuple[str, ...] = ()
    while uniting.n_short and uniting.n_left > 1:
        run.report("uniting groups", 1 - uniting.n_short / n_short)
        if run.out_of_time and uniting.n_short > 1:
            note = (
                "Stopped at the time limit: groups that did not satisfy the models were united with their "
                "neighbours, without a search for the best ones.",
            )
            uniting.unite_neighbours()
        else:
            uniting.unite_best()
    run.report("uniting groups", 1.0)
    return uniting.result(*note)


class _Uniting:
    """The current groups, and those of them that fall short of a model.

    A union keeps the lower of two numbers; the other group has no records from then on.
    """

    def __init__(self, problem: Problem, given: Groups, w: float, exact: bool) -> None:
        self.problem, self.given, self.w = problem, given, w
        kept = ~given.withheld
        _, number = np.unique(given.group_of_record[kept], return_inverse=True)
        self.group_of_record = np.full(problem.n_records, -1, dtype=np.int32)
        self.group_of_record[kept] = number
        self.n_left = n = int(number.max()) + 1
        self.exact = exact
        self.block = 1 if exact else BLOCK
        self.joined = np.arange(n)  # the group that each has joined, or itself
        self.changes = np.zeros(n, dtype=np.int64)  # how often each was united
        self.climbs = _climbs(problem)
        self.groups = self._summaries(n)
        self.tallies = tallies_of(problem)
        counts = self.tallies.of_groups(number, np.flatnonzero(kept), n)
        self.values = {name: GroupValues(of_groups) for name, of_groups in counts.items()}
        self.deficits = self._deficits(self.groups.size, counts)
        self.n_short = int(np.count_nonzero(self.deficits))
        self.most = n if exact else max(MANY, TRIES // max(self.n_short, 1))
        # neighbours choose the same partners, so groups of equal deficit take turns in a random order
        self.turn = np.arange(n) if exact else np.random.default_rng(problem.seed).permutation(n)
        self.queue: list[tuple[float, int, int, int]] = []
        self._enqueue(np.flatnonzero(self.deficits))
        self._fill_buckets()

    def _summaries(self, n: int) -> Summaries:
        kept, tables = self.group_of_record >= 0, self.climbs.tables
        ranges = [ranges_by_group(a.leaves, self.group_of_record, n) for a in self.problem.attributes]
        lo, hi = (np.column_stack(ends) for ends in zip(*ranges))
        self.whole_cost = float(range_costs(tables, lo.min(axis=0)[None], hi.max(axis=0)[None])[0])
        size = np.bincount(self.group_of_record[kept], minlength=n)
        return Summaries(lo, hi, size, range_costs(tables, lo, hi))

    def _fill_buckets(self) -> None:
        self.buckets = fill_buckets(self.climbs.tables, self.groups, np.flatnonzero(self.groups.size))
        self.n_in_buckets = self.n_left

    def _deficits(self, sizes: np.ndarray, counts: Counts) -> np.ndarray:
        """The deficits of groups with these sizes and sensitive values, summed over all models."""
        deficits = (self.tallies.deficit(model, sizes, counts) for model in self.problem.models)
        return np.zeros(len(sizes)) + sum(deficits)

    def _enqueue(self, groups: np.ndarray) -> None:
        """Put groups into the queue, which serves the greatest deficit first."""
        deficits = np.round(self.deficits[groups], DIGITS)
        for entry in zip(
            (-deficits).tolist(), self.turn[groups].tolist(), groups.tolist(), self.changes[groups].tolist()
        ):
            heappush(self.queue, entry)

    def unite_best(self) -> None:
        """Unite a block of the groups of greatest deficit with their best partners."""
        heads = self._next_heads()
        pairs: list[tuple[int, int]] = []
        taken: set[int] = set()
        for head, partner in zip(heads.tolist(), self._best_partners(heads).tolist()):
            if head not in taken and partner not in taken:
                taken |= {head, partner}
                pairs.append((head, partner))
        self._unite(*np.array(pairs).T)
        self._enqueue(heads[[head not in taken for head in heads.tolist()]])
        if not self.exact:
            well_spent = 3 * len(pairs) > 2 * len(heads)
            self.block = min(2 * self.block, BLOCK) if well_spent else max(1, self.block // 2)

    def _next_heads(self) -> np.ndarray:
        heads: list[int] = []
        while self.queue and len(heads) < self.block:
            _, _, group, changes = heappop(self.queue)
            if changes == self.changes[group]:  # otherwise it has been united since
                heads.append(group)
        return np.array(heads)

    def _best_partners(self, heads: np.ndarray) -> np.ndarray:
        """The best partner of each head among the groups that add least cost: few, or more if needed."""
        best = np.empty(len(heads), dtype=np.int64)
        unsure = np.arange(len(heads))
        most = min(self.most, self.n_left - 1)
        for n in (most,) if self.exact else sorted({min(n, most) for n in (FEW, MORE, most)}):
            sure = np.empty(len(unsure), dtype=bool)
            step = max(1, PAIRS // n)
            for start in range(0, len(unsure), step):
                some = slice(start, start + step)
                best[unsure[some]], sure[some] = self._best_of(heads[unsure[some]], n)
            unsure = unsure[~sure]
        return best

    def _best_of(self, heads: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The best of the n partners that add least cost, and whether no other group can be better."""
        partners, added = self._cheapest(heads, n)
        spread = self.groups.size[heads] * self.whole_cost
        added = np.maximum(added, 0.0) / np.where(spread > 0, spread, 1.0)[:, None]
        information = added / (1 + added)
        deficits = self._deficits_of_unions(np.repeat(heads, n), partners.ravel()).reshape(partners.shape)
        cost = self.w * information + (1 - self.w) * deficits
        row, place = np.arange(len(heads)), _least(cost, deficits, information, partners)
        return partners[row, place], cost[row, place] <= self.w * information.max(axis=1)

    def _deficits_of_unions(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The deficits of the unions of groups a[i] and b[i]."""
        sizes = self.groups.size[a] + self.groups.size[b]
        n_cells = sum((values.n_cells(a) + values.n_cells(b) for values in self.values.values()), 0 * sizes)
        deficits = []
        for part in np.split(np.arange(len(a)), np.flatnonzero(np.diff(np.cumsum(n_cells) // CELLS)) + 1):
            counts = {name: values.of_unions(a[part], b[part]) for name, values in self.values.items()}
            deficits.append(self._deficits(sizes[part], counts))
        return np.concatenate(deficits)

    def _cheapest(self, heads: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The n groups that add least cost to each head, and how much they add."""
        if 4 * n > self.n_left:
            return self._cheapest_of_all(heads, n)
        found = in_threads(
            lambda run: cheapest_partners(self.climbs, self.groups, self.buckets, heads[run], n),
            np.full(len(heads), self.n_left),
        )
        return np.concatenate([p for p, _ in found]), np.concatenate([a for _, a in found])

    def _cheapest_of_all(self, heads: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The n groups that add least cost to each head, found without buckets.

        Used where n is so large that no bucket could be left out.
        """
        left = np.flatnonzero(self.groups.size)
        partners = np.tile(left, (len(heads), 1))[left != heads[:, None]].reshape(len(heads), -1)
        added = added_costs(self.climbs, self.groups, heads, partners)
        if n == partners.shape[1]:
            return partners, added
        cheapest = np.argpartition(added, n - 1, axis=1)[:, :n]
        return np.take_along_axis(partners, cheapest, axis=1), np.take_along_axis(added, cheapest, axis=1)

    def _united(self, groups: np.ndarray) -> np.ndarray:
        """The groups that these have become part of."""
        while (groups != self.joined[groups]).any():
            groups = self.joined[groups]
        return groups

    def unite_neighbours(self) -> None:
        """Unite the groups that fall short two by two, as they lie in the buckets."""
        short = np.flatnonzero(self.deficits)
        short = short[np.argsort(self.buckets.of[short], kind="stable")]
        n_pairs = len(short) // 2
        self._unite(short[: 2 * n_pairs : 2], short[1 : 2 * n_pairs : 2])

    def _unite(self, first: np.ndarray, second: np.ndarray) -> None:
        """Unite groups pair by pair; no group is in two pairs."""
        a, b = np.minimum(first, second), np.maximum(first, second)
        groups = self.groups
        groups.lo[a] = np.minimum(groups.lo[a], groups.lo[b])
        groups.hi[a] = np.maximum(groups.hi[a], groups.hi[b])
        groups.size[a] += groups.size[b]
        groups.size[b] = 0
        groups.cost[a] = range_costs(self.climbs.tables, groups.lo[a], groups.hi[a])
        self.joined[b] = a
        self.n_left -= len(a)
        self.changes[a] += 1
        self.changes[b] += 1
        self.n_short -= np.count_nonzero(self.deficits[a]) + np.count_nonzero(self.deficits[b])
        counts = {name: values.unite(a, b) for name, values in self.values.items()}
        self.deficits[a], self.deficits[b] = self._deficits(groups.size[a], counts), 0.0
        self.n_short += np.count_nonzero(self.deficits[a])
        self._enqueue(a[self.deficits[a] > 0])
        if 4 * self.n_left < 3 * self.n_in_buckets:
            self._fill_buckets()
        else:
            raise_costs(self.buckets, groups, a)

    def result(self, *notes: str) -> Groups:
        _, number = np.unique(self._united(self.joined), return_inverse=True)
        kept = self.group_of_record >= 0
        self.group_of_record[kept] = number[self.group_of_record[kept]]
        if self.n_short:  # one group is left; with all records it is the whole table, which satisfies them
            self.group_of_record[:] = 0
            self._refuse_whole_table()
            notes += (
                "No record is withheld: without the records to be withheld, the others could not satisfy "
                "the models.",
            )
        return replace(
            self.given,
            group_of_record=self.group_of_record,
            guarantee=None,
            notes=(*self.given.notes, *notes),
        )

    def _refuse_whole_table(self) -> None:
        """Raise InfeasibleError if all records as one group break a model: then none of our ways is left."""
        if self.problem.satisfied(self.group_of_record, slice(None), 1).all():
            return
        raise InfeasibleError(
            "No release was found that keeps every promise: groups were united until one was left, and not "
            "even that one, of all records, keeps them. This does not prove that there is none, since "
            "whoever has records in several groups counts in each. Lower the demand, or choose another "
            "algorithm."
        )


def _climbs(problem: Problem) -> Climbs:
    tables = _tables(problem)
    return Climbs(tables, *first_leaves(tables))


def _tables(problem: Problem) -> Tables:
    """Tables of the problem's cost or, where that is no sum over cells, of the loss."""
    if isinstance(problem.cost, SeparableCost):
        with suppress(UnsupportedError):  # not every cost is known for free intervals
            return problem.coded.closure_tables
    return Coded(problem.attributes, cost_named("loss")).closure_tables


def _least(*keys: np.ndarray) -> np.ndarray:
    """The place of the least entry in each row of the first key; ties are broken by the next keys."""
    equal = np.ones(keys[0].shape, dtype=bool)
    for key in keys:
        rounded = np.where(equal, np.round(key, DIGITS), np.inf)
        equal &= rounded == rounded.min(axis=1, keepdims=True)
    return equal.argmax(axis=1)
