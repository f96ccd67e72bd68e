"""Records in memory, in blocks, as `cut_regions` asks for them."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.compact_rows import compact_rows
from kohort.algorithms.mondrian.region_cuts import BinCounts
from kohort.algorithms.mondrian.region_records import (
    Block,
    Questions,
    cuts_of_samples,
    records_to_borrow,
    stride_of,
)


class InMemory:
    def __init__(self, problem, rules, block=10_000):
        self.problem, self.rules, self.borrowed = problem, rules, {}
        rows = compact_rows(problem)
        codes = {name: s.column.codes for name, s in problem.sensitive.items()}
        self.blocks = [
            Block(
                at,
                rows[at : at + block],
                {n: c[at : at + block] for n, c in codes.items()},
                problem.units.persons[at : at + block] if problem.units.several else None,
            )
            for at in range(0, len(rows), block)
        ]

    def best_cuts(self, tree, sizes):
        before, samples = dict.fromkeys(sizes, 0), {node: [] for node in sizes}
        for block in self.blocks:
            chosen = {node: (before[node], stride_of(size)) for node, size in sizes.items()}
            for sample in block.samples(tree, chosen):
                samples[sample.node].append(sample)
            here = block.sizes(tree)
            before = {node: n + here[node] for node, n in before.items()}
        rules = self.rules
        return {
            node: cuts_of_samples(rules.tables, rules.rules, samples[node], size, rules.n_cuts)
            for node, size in sizes.items()
        }

    def count(self, tree, asked):
        questions = Questions(asked)
        n_values = {None: 1} | {name: s.n_values for name, s in self.problem.sensitive.items()}
        total = {name: np.zeros(questions.starts[-1] * n, dtype=np.int64) for name, n in n_values.items()}
        for block in self.blocks:
            for name, (keys, counts) in questions.count(tree, block, n_values).items():
                total[name][keys] += counts
        people = self._people(tree, questions)
        ends = zip(questions.starts, questions.starts[1:])
        return [self._counts(total, n_values, people, start, end) for start, end in ends]

    def _people(self, tree, questions):
        if not self.problem.units.several:
            return None
        pairs = [np.column_stack(questions.people(tree, block)) for block in self.blocks]
        pairs = np.unique(np.concatenate(pairs), axis=0)
        return np.bincount(pairs[:, 0], minlength=questions.starts[-1])

    def _counts(self, total, n_values, people, start, end):
        cells = {}
        for name, n in n_values.items():
            if name is not None:
                here = total[name][start * n : end * n]
                keys = np.flatnonzero(here)
                cells[name] = (keys // n, keys % n, here[keys])
        return BinCounts(total[None][start:end], cells, None if people is None else people[start:end])

    def people(self, tree, nodes):
        node = np.concatenate([block.nodes(tree) for block in self.blocks])
        records = np.flatnonzero(np.isin(node, nodes))
        group = np.argsort(nodes)[np.searchsorted(np.sort(nodes), node[records])]
        return [self.problem.counts(model, group, records, len(nodes)) for model in self.problem.models]

    def first_records(self, tree, lending):
        found = {node: [] for node in lending}
        for block in self.blocks:
            for node, places in block.first_records(tree, lending):
                found[node] += [(block, place) for place in places]
        return {
            node: (
                np.array([b.first + p for b, p in some[: lending[node][2]]]),
                {
                    name: np.array([b.sensitive[name][p] for b, p in some[: lending[node][2]]])
                    for name in self.problem.sensitive
                },
            )
            for node, some in found.items()
        }

    def records_to_borrow(self, tree, asked):
        found = {question.node: [] for question in asked}
        for block in self.blocks:
            for node, piece in block.first_people(tree, asked):
                found[node].append(piece)
        self.borrowed |= {q.node: records_to_borrow(found[q.node], q.k) for q in asked}
        return {question.node: self.borrowed[question.node] for question in asked}
