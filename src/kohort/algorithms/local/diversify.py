"""diversify: unite groups until each satisfies every model (Kenig and Tassa, 2012, Algorithm 8)."""

from __future__ import annotations

from dataclasses import replace
from heapq import heapify, heappop, heappush

import numpy as np

from kohort.algorithms.run import Run
from kohort.algorithms.tables import closure_tables
from kohort.kernels.diversify import (
    Climbs,
    Summaries,
    added_costs,
    cheapest_partners,
    fill_buckets,
    merged_cells,
    node_starts,
    raise_costs,
    record_costs,
)
from kohort.kernels.grouping import ranges_by_group
from kohort.kernels.threads import in_threads
from kohort.problem.models import ClassCounts
from kohort.problem.problem import Problem
from kohort.recoding.groups import Groups

__all__ = ["diversify"]

SCALE = 1.0
NORM = lambda i, m, p: i / (i + m)
FIRST = 16
MODES = True
GROWTH = 4
MAX_BLOCK = 1024
START_BLOCK = 64
DIGITS = 12


def diversify(
    problem: Problem, groups: Groups, run: Run, *, w: float = 0.15, partners: int | None = 256
) -> Groups:
    uniting = _Uniting(problem, groups, w, partners)
    n_open = len(uniting.queue)
    if not n_open:
        return groups
    while uniting.queue:
        run.report("uniting groups", 1 - len(uniting.queue) / n_open)
        uniting.unite_some()
    run.report("uniting groups", 1.0)
    return uniting.groups()


class _Uniting:
    def __init__(self, problem: Problem, groups: Groups, w: float, partners: int | None) -> None:
        self.problem, self.given, self.w, self.partners = problem, groups, w, partners
        kept = groups.group_of_record >= 0
        _, number = np.unique(groups.group_of_record[kept], return_inverse=True)
        self.number = np.full(len(kept), -1, dtype=np.int64)
        self.number[kept] = number
        n = int(number.max(initial=-1)) + 1
        self.tables = closure_tables(problem)
        self.climbs = Climbs(self.tables, *node_starts(self.tables))
        ranges = [ranges_by_group(a.leaves, self.number, n) for a in problem.attributes]
        lo = np.column_stack([lo for lo, _ in ranges]).astype(np.int32)
        hi = np.column_stack([hi for _, hi in ranges]).astype(np.int32)
        self.summaries = Summaries(
            lo, hi, np.bincount(number, minlength=n), record_costs(self.tables, lo, hi)
        )
        self.cells = {
            name: _Cells.of_records(
                number, problem.sensitive[name].column.codes[kept], n, problem.sensitive[name].n_values
            )
            for name in {m.attribute for m in problem.models if m.attribute is not None}
        }
        self.joined = np.arange(n)
        self.n_alive = n
        self.deficits = self._deficits_of(np.arange(n))
        self.queue = [(-d, g) for g, d in enumerate(self.deficits.tolist()) if d > 0]
        heapify(self.queue)
        self.block = START_BLOCK if partners is not None else 1
        self._regrow()
        self._set_mode(np.arange(n))
        self.stats = dict(blocks=0, pairs=0, heads=0, commits=0, uncert=0)

    def _set_mode(self, g):
        if not hasattr(self, 'mode'): self.mode = np.zeros(self.n_alive, dtype=np.int64)
        self.mode[g] = 0
        for c in self.cells.values():
            k = c.of(g)
            order = np.lexsort((k.value_of, -k.count, k.class_of))
            self.mode[g] = self.mode[g] * c.n_values + k.value_of[order][k.starts]

    def _regrow(self):
        self.buckets = fill_buckets(self.tables, self.summaries, np.flatnonzero(self.summaries.size))
        self.n_grown = self.n_alive

    def _deficits_of(self, g):
        size = self.summaries.size[g]
        return self._total({a: c.of(g) for a, c in self.cells.items()}, size)

    def _deficits_of_unions(self, a, b):
        size = self.summaries.size[a] + self.summaries.size[b]
        return self._total({name: c.of_unions(a, b) for name, c in self.cells.items()}, size)

    def _total(self, counts, sizes):
        total = np.zeros(len(sizes))
        for m in self.problem.models:
            if m.attribute is None:
                total += m.deficit(ClassCounts.of_sizes(sizes))
            else:
                total += m.deficit(counts[m.attribute], self.problem.sensitive[m.attribute].context)
        return total

    def unite_some(self):
        heads = []
        while self.queue and len(heads) < self.block:
            d, g = heappop(self.queue)
            if self.joined[g] == g and self.deficits[g] == -d and (not heads or heads[-1] != g):
                heads.append(g)
        if not heads:
            return
        heads = np.array(heads)
        best = self.best_partners(heads)
        a, b = [], []
        changed = set()
        for h, p in zip(heads.tolist(), best.tolist()):
            if h in changed:
                continue
            if p in changed:
                heappush(self.queue, (-float(self.deficits[h]), h))
                continue
            changed.add(h)
            changed.add(p)
            a.append(min(h, p))
            b.append(max(h, p))
        self.stats["blocks"] += 1
        self.stats["heads"] += len(heads)
        self.stats["commits"] += len(a)
        self.unite(np.array(a), np.array(b))
        if self.partners is not None:
            self.block = (
                min(2 * self.block, MAX_BLOCK) if 2 * len(a) > len(heads) else max(1, self.block // 2)
            )

    def unite(self, a, b):
        s = self.summaries
        for c in self.cells.values():
            c.unite(a, b)
        s.lo[a] = np.minimum(s.lo[a], s.lo[b])
        s.hi[a] = np.maximum(s.hi[a], s.hi[b])
        s.size[a] += s.size[b]
        s.size[b] = 0
        s.cost[a] = record_costs(self.tables, s.lo[a], s.hi[a])
        self.joined[b] = a
        self.n_alive -= len(a)
        self.deficits[a] = self._deficits_of(a)
        self.deficits[b] = 0
        self._set_mode(a)
        for g, d in zip(a.tolist(), self.deficits[a].tolist()):
            if d > 0:
                heappush(self.queue, (-d, g))
        if 2 * self.n_alive < self.n_grown:
            self._regrow()
        else:
            raise_costs(self.buckets, s, a)

    def best_partners(self, heads):
        best = np.full(len(heads), -1)
        todo = np.arange(len(heads))
        wanted = FIRST if self.partners is not None else self.n_alive
        while len(todo):
            wanted = min(wanted, self.n_alive - 1)
            hs = heads[todo]
            if wanted == self.n_alive - 1 and len(hs) == 1:
                p = np.flatnonzero(self.summaries.size)
                p = p[p != hs[0]][None]
                added = added_costs(self.climbs, self.summaries, hs[0], p[0])[None]
                radius = added.max(axis=1)
            else:
                def find(differ):
                    return in_threads(lambda r: cheapest_partners(self.climbs, self.summaries, self.buckets, hs[r], wanted, self.mode, differ), np.ones(len(hs))) if len(hs) > 32 else [cheapest_partners(self.climbs, self.summaries, self.buckets, hs, wanted, self.mode, differ)]
                parts = find(False)
                p = np.concatenate([x for x, _ in parts])
                added = np.concatenate([y for _, y in parts])
                radius = added.max(axis=1)
                if MODES:
                    parts = find(True)
                    p = np.concatenate([p, np.concatenate([x for x, _ in parts])], axis=1)
                    added = np.concatenate([added, np.concatenate([y for _, y in parts])], axis=1)
                    bad = p < 0
                    p = np.where(bad, p[:, :1], p)
                    added = np.where(bad, added[:, :1], added)
            self.stats["pairs"] += p.size
            D = self._deficits_of_unions(np.repeat(hs, p.shape[1]), p.ravel()).reshape(p.shape)
            I = NORM(added, self.summaries.size[hs][:, None], self.summaries.size[p])
            cost = np.round(self.w * I + (1 - self.w) * D, DIGITS)
            rows = np.arange(len(hs))
            order = np.zeros(len(hs), dtype=np.int64)
            tie = cost == cost.min(axis=1)[:, None]
            r, c = np.nonzero(tie)
            o = np.lexsort((p[r, c], I[r, c], D[r, c], r))
            first = np.searchsorted(r, rows)
            order = c[o][first]
            best[todo] = p[rows, order]
            sure = cost[rows, order] <= self.w * radius / (radius + self.summaries.size[hs])
            if self.partners is None or wanted >= self.partners or wanted == self.n_alive - 1:
                self.stats["uncert"] += int((~sure).sum())
                break
            todo = todo[~sure]
            wanted = min(wanted * GROWTH, self.partners)
        return best

    def groups(self):
        root = self.joined
        while True:
            up = root[root]
            if (up == root).all():
                break
            root = up
        _, dense = np.unique(root, return_inverse=True)
        out = np.full(len(self.number), -1, dtype=np.int32)
        kept = self.number >= 0
        out[kept] = dense[self.number[kept]]
        return replace(self.given, group_of_record=out, guarantee=None)


class _Cells:
    def __init__(self, start, end, value, count, n_values):
        self.start, self.end, self.value, self.count, self.n_values = start, end, value, count, n_values
        self.used = len(value)

    @classmethod
    def of_records(cls, g, v, n, n_values):
        c = ClassCounts.from_records(g, v, n, n_values)
        return cls(c.starts.copy(), c.starts + c.distinct, c.value_of, c.count, n_values)

    def of_unions(self, a, b):
        first, value, count = merged_cells(self.start, self.end, self.value, self.count, a, b)
        distinct = np.diff(first)
        cls = np.repeat(np.arange(len(a)), distinct)
        return ClassCounts(np.add.reduceat(count, first[:-1]), cls, value, count, self.n_values)

    def of(self, g):
        lengths = self.end[g] - self.start[g]
        before = np.cumsum(lengths) - lengths
        at = np.arange(lengths.sum()) + np.repeat(self.start[g] - before, lengths)
        count = self.count[at]
        return ClassCounts(
            np.add.reduceat(count, before),
            np.repeat(np.arange(len(g)), lengths),
            self.value[at],
            count,
            self.n_values,
        )

    def unite(self, a, b):
        first, value, count = merged_cells(self.start, self.end, self.value, self.count, a, b)
        need = self.used + len(value)
        if need > len(self.value):
            self.value = np.resize(self.value, 2 * need)
            self.count = np.resize(self.count, 2 * need)
        self.value[self.used : need] = value
        self.count[self.used : need] = count
        self.start[a] = self.used + first[:-1]
        self.end[a] = self.used + first[1:]
        self.used = need
