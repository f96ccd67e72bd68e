"""Regions of a table: the leaves of a tree whose cuts are those that mondrian would make first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kohort.algorithms.mondrian.cutting import cut_table, new_workspace
from kohort.algorithms.mondrian.kernels.best_cuts import find_cuts_of_sample
from kohort.algorithms.mondrian.kernels.cut_parts import TreeArrays, find_nodes
from kohort.algorithms.mondrian.kernels.cut_table import SAMPLE, Rules, Sample
from kohort.problem.encoding.layout import Tables
from kohort.problem.problem import Problem
from kohort.problem.promises import ClassCounts, Model, PeopleTally, PersonCells, ValueContext, counted_as


@dataclass(frozen=True, eq=False)
class NodeCut:
    """The cut of one region.

    attribute     which attribute is cut
    part_of_leaf  per leaf of it, the part that records with this leaf go to
    lends         per leaf, whether the first records with it go to part 0, the pool, instead; None: none does
    last_lent     the number of the last record that does
    """

    attribute: int
    part_of_leaf: np.ndarray
    lends: np.ndarray | None = None
    last_lent: int = -1


@dataclass(frozen=True, eq=False)
class RegionTree:
    """A tree of cuts, by which every record finds its region; small, whatever the size of the table."""

    arrays: TreeArrays

    @classmethod
    def of_one_region(cls) -> RegionTree:
        """The whole table as one region, node 0."""
        none, nothing = np.array([-1]), np.zeros(0, dtype=np.int64)
        return cls(TreeArrays(none, np.zeros(1, np.int64), nothing, nothing.astype(bool), none, none))

    @property
    def n_nodes(self) -> int:
        return len(self.arrays.attribute)

    def nodes_of(self, rows: np.ndarray, number: np.ndarray) -> np.ndarray:
        """The region of each record, given its leaves and its number in the table."""
        node = np.empty(len(rows), dtype=np.int32)
        find_nodes(self.arrays, rows, number.astype(np.int64, copy=False), node)
        return node

    def with_cuts(self, cuts: Mapping[int, NodeCut]) -> tuple[RegionTree, dict[tuple[int, int], int]]:
        """The tree after some of its regions were cut; and the new node of each old one and part."""
        old = self.arrays
        number: dict[tuple[int, int], int] = {}
        attribute, first, last_lent, pool = (a.tolist() for a in (old[0], old[1], old[4], old[5]))
        child, lends, place = [old.child], [old.lends], len(old.child)
        for node, cut in cuts.items():
            for part in np.unique(np.append(cut.part_of_leaf, [] if cut.lends is None else [0])).tolist():
                number[node, part] = self.n_nodes + len(number)
            attribute[node], first[node], last_lent[node] = cut.attribute, place, cut.last_lent
            pool[node] = number.get((node, 0), -1)
            child.append(np.array([number[node, part] for part in cut.part_of_leaf.tolist()]))
            lends.append(np.zeros(len(child[-1]), dtype=bool) if cut.lends is None else cut.lends)
            place += len(child[-1])
        n_new = len(number)
        arrays = TreeArrays(
            np.array(attribute + [-1] * n_new),
            np.array(first + [0] * n_new),
            np.concatenate(child),
            np.concatenate(lends),
            np.array(last_lent + [-1] * n_new),
            np.array(pool + [-1] * n_new),
        )
        return replace(self, arrays=arrays), number


@dataclass(frozen=True, eq=False)
class Regions:
    """A table in regions.

    sizes     the records of each region, by its node in the tree
    finished  the regions that mondrian would not cut any further: each is one group
    """

    tree: RegionTree
    sizes: dict[int, int]
    finished: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive records of a table, in codes.

    first      the number of the first record
    rows       records by attributes, as `compact_rows` gives them
    sensitive  the codes of sensitive columns by name
    persons    a number for the person of each record; None where records are counted
    """

    first: int
    rows: np.ndarray
    sensitive: Mapping[str, np.ndarray] = field(default_factory=dict)
    persons: np.ndarray | None = None

    @property
    def number(self) -> np.ndarray:
        """The number of each record in the table."""
        return np.arange(self.first, self.first + len(self.rows))

    def nodes(self, tree: RegionTree) -> np.ndarray:
        """The region of each record."""
        return tree.nodes_of(self.rows, self.number)

    def sizes(self, tree: RegionTree) -> np.ndarray:
        """The records of each node of the tree; of those that are cut, 0."""
        return np.bincount(self.nodes(tree), minlength=tree.n_nodes)

    def samples(self, tree: RegionTree, chosen: Mapping[int, tuple[int, int]]) -> list[NodeSample]:
        """What the best cuts of some regions are found by.

        chosen  per region how many of its records are in earlier blocks, and the stride of its sample
        """
        nodes = self.nodes(tree)
        small = nodes.astype(np.int16) if tree.n_nodes < 1 << 15 else nodes  # these are sorted much faster
        order = np.argsort(small, kind="stable")
        starts = np.searchsorted(nodes[order], np.arange(tree.n_nodes + 1))
        found = []
        for node, (before, stride) in chosen.items():
            records = order[starts[node] : starts[node + 1]]
            if not len(records):
                continue
            sample = records[-before % stride :: stride]
            persons = None if self.persons is None else self.persons[sample]
            rows = self.rows[records]
            found.append(
                NodeSample(node, self.first, self.rows[sample], rows.min(axis=0), rows.max(axis=0), persons)
            )
        return found

    def first_records(self, tree: RegionTree, lending: Lending) -> list[tuple[int, np.ndarray]]:
        """Per region that lends records, the places in this block of the first ones that it may lend."""
        nodes = self.nodes(tree)
        found = []
        for node, (attribute, lends, n_lent) in lending.items():
            here = np.flatnonzero(nodes == node)
            found.append((node, here[lends[self.rows[here, attribute]]][:n_lent]))
        return found

    def first_people(self, tree: RegionTree, asked: Sequence[Borrowing]) -> list[tuple[int, FirstPeople]]:
        """Per region whose pool has too few people, who is in it, and who the first ones are to borrow."""
        assert self.persons is not None
        nodes = self.nodes(tree)
        found = []
        for question in asked:
            here = np.flatnonzero(nodes == question.node)
            leaves = self.rows[here, question.attribute]
            persons = self.persons[here[question.lends[leaves]]]
            first = np.sort(np.unique(persons, return_index=True)[1])[: question.k]
            pool = np.unique(self.persons[here[question.in_pool[leaves]]])
            found.append((question.node, FirstPeople(self.first, pool, len(persons), first, persons[first])))
        return found


@dataclass(frozen=True, eq=False)
class Borrowing:
    """A pool of a region that has fewer than k people, and the child that may lend it some records.

    lends, in_pool  per leaf of the attribute, whether records with it may be lent, or are in the pool
    """

    node: int
    attribute: int
    lends: np.ndarray
    in_pool: np.ndarray
    k: int


@dataclass(frozen=True, eq=False)
class FirstPeople:
    """What one block knows of such a pool.

    place     the number of the block's first record
    pool      the different people in the pool
    n_lender  how many records of the block may be lent
    rank      of the first k different people with such records, their first record's place among these
    person    these people
    """

    place: int
    pool: np.ndarray
    n_lender: int
    rank: np.ndarray
    person: np.ndarray


def records_to_borrow(pieces: Sequence[FirstPeople], k: int) -> int:
    """How many records, the first ones that may be lent, bring k people into a pool; all if none do."""
    people = {person for piece in pieces for person in piece.pool.tolist()}
    before = 0
    for piece in sorted(pieces, key=lambda piece: piece.place):
        for rank, person in zip(piece.rank.tolist(), piece.person.tolist()):
            people.add(person)
            if len(people) == k:
                return before + rank + 1
        before += piece.n_lender
    return before


Lending = Mapping[int, tuple[int, np.ndarray, int]]
"""Per region that lends records: the attribute, the leaves that lend, and how many records."""


@dataclass(frozen=True, eq=False)
class NodeSample:
    """A part of the sample of a region: every stride-th of its records in one block.

    place   the number of the block's first record
    lo, hi  least and greatest leaves of all records of the region in the block
    """

    node: int
    place: int
    rows: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    persons: np.ndarray | None = None


def stride_of(size: int) -> int:
    """Every how many records of a region the sample takes one: as mondrian does."""
    return max(1, size // SAMPLE)


def cuts_of_samples(
    tables: Tables, rules: Rules, samples: Sequence[NodeSample], size: int, n_cuts: int
) -> np.recarray:
    """The best cuts of a region of `size` records, found on its sample, as mondrian finds them."""
    samples = sorted(samples, key=lambda sample: sample.place)
    rows = np.concatenate([sample.rows for sample in samples])
    table = cut_table(rows, tables, rules)
    if samples[0].persons is not None:
        persons = np.concatenate([sample.persons for sample in samples])
        number = np.unique(persons, return_inverse=True)[1].astype(np.int32)
        table = table._replace(records=table.records._replace(persons=number))
    space, stride = new_workspace(table, len(rows), n_cuts), stride_of(size)
    space.group.lo[:] = np.min([sample.lo for sample in samples], axis=0)
    space.group.hi[:] = np.max([sample.hi for sample in samples], axis=0)
    need = max(1, (rules.k + stride - 1) // stride)
    find_cuts_of_sample(table, space, Sample(0, 1, len(rows), need), stride == 1)
    return space.best.cuts.copy()


@dataclass(frozen=True, eq=False)
class Question:
    """How the records of a region are to be counted: by the bins of one attribute's leaves."""

    node: int
    attribute: int
    bin_of_leaf: np.ndarray
    n_bins: int


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions about several regions; their bins are numbered through."""

    asked: Sequence[Question]

    @cached_property
    def starts(self) -> np.ndarray:
        """The first bin of each question, and the number of all bins."""
        return np.cumsum([0, *(question.n_bins for question in self.asked)])

    def bins(self, tree: RegionTree, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """The records of a block that are asked about, and the bin of each."""
        question_of = np.full(tree.n_nodes, -1)
        question_of[[question.node for question in self.asked]] = np.arange(len(self.asked))
        which = question_of[block.nodes(tree)]
        records = np.flatnonzero(which >= 0)
        which = which[records]
        first = np.cumsum([0, *(len(question.bin_of_leaf) for question in self.asked)])[:-1]
        bin_of = np.concatenate([q.bin_of_leaf + start for q, start in zip(self.asked, self.starts)])
        attribute = np.array([question.attribute for question in self.asked])[which]
        return records, bin_of[first[which] + block.rows[records, attribute]]

    def sizes(self, tree: RegionTree, block: Block) -> np.ndarray:
        """The records of a block by bin."""
        return np.bincount(self.bins(tree, block)[1], minlength=int(self.starts[-1]))

    def count(self, tree: RegionTree, block: Block, n_values: Mapping[str | None, int]) -> Counted:
        """The records of a block by bin, and by bin and value of each sensitive column.

        n_values  the number of values of each column; None stands for no column
        """
        records, bins = self.bins(tree, block)
        found = {}
        for name, n in n_values.items():
            keys = bins if name is None else bins * n + block.sensitive[name][records]
            found[name] = np.unique(keys, return_counts=True)
        return found

    def people(self, tree: RegionTree, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """The different pairs of a bin and a person in a block, as bins and persons."""
        assert block.persons is not None
        records, bins = self.bins(tree, block)
        known, person = np.unique(block.persons[records], return_inverse=True)
        pairs = np.unique(bins * max(len(known), 1) + person)
        return pairs // max(len(known), 1), known[pairs % max(len(known), 1)]


Counted = dict[str | None, tuple[np.ndarray, np.ndarray]]
"""Per sensitive column (None: by bin alone) the keys `bin * values + value` that occur, and how often."""


def sizes_of_children(
    tree: RegionTree, counted: Mapping[int, tuple[Question, np.ndarray]]
) -> dict[int, np.ndarray]:
    """Sizes of new regions that follow from how the regions were counted that they were cut from.

    counted  per region that may have been cut: how it was counted, and the counts, of which the last axis
             are bins

    Not of the children of a cut that lent records: which these are does not follow from the counts.
    """
    arrays, found = tree.arrays, {}
    for node, (question, counts) in counted.items():
        if arrays.attribute[node] != question.attribute or arrays.last_lent[node] >= 0:
            continue
        first = arrays.first[node]
        child = arrays.child[first : first + len(question.bin_of_leaf)]
        for below in np.unique(child).tolist():
            bins = np.unique(question.bin_of_leaf[child == below])
            found[below] = counts[..., bins].sum(axis=-1)
    return found


@dataclass(frozen=True, eq=False)
class PeopleView:
    """How people are looked at: by a sensitive column, in which one value may stand for others.

    attribute   the column; empty: people are counted whatever they have
    stands_for  per value the one that it is counted as
    """

    attribute: str = ""
    stands_for: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    @property
    def n_values(self) -> int:
        return len(self.stands_for)

    def cells(
        self, class_of: np.ndarray, person: np.ndarray, codes: np.ndarray | None, n_classes: int
    ) -> PersonCells:
        """The people of classes by value, given the class, person and value of each record."""
        values = None if codes is None else self.stands_for[codes]
        return PersonCells.from_records(class_of, person, values, n_classes, self.n_values)


EVERYBODY = PeopleView()
"""People whatever they have: how many there are."""


def views_of(models: Sequence[Model], contexts: Mapping[str, ValueContext]) -> list[PeopleView]:
    """How models look at people: everybody first, then the values that each model looks at."""
    asked = [model for model in models if model.attribute]
    return [EVERYBODY, *(PeopleView(m.attribute, counted_as(m, contexts[m.attribute])) for m in asked)]


def counts_of_tallies(models: Sequence[Model], tallies: Sequence[PeopleTally]) -> list[ClassCounts]:
    """The people of classes as each model counts them, given the tallies of `views_of` the models."""
    everybody, *of_values = tallies
    in_class = np.bincount(everybody.class_of, everybody.people, everybody.n_classes).astype(np.int64)
    found, rest = [], iter(of_values)
    for model in models:
        if not model.attribute:
            found.append(ClassCounts.of_sizes(in_class))
            continue
        tally = next(rest)
        found.append(tally.spread() if model.of_people == "spread" else tally.having(in_class))
    return found


def person_cells(
    block: Block, tree: RegionTree, nodes: Sequence[int], views: Sequence[PeopleView]
) -> Iterator[tuple[PersonCells, np.ndarray]]:
    """Per view the people of some regions in a block by value; and the people that the cells number.

    The regions are the classes of the cells, numbered in this order.
    """
    assert block.persons is not None
    number = np.full(tree.n_nodes, -1)
    number[list(nodes)] = np.arange(len(nodes))
    class_of = number[block.nodes(tree)]
    records = np.flatnonzero(class_of >= 0)
    people, person = np.unique(block.persons[records], return_inverse=True)
    for view in views:
        codes = block.sensitive[view.attribute][records] if view.attribute else None
        yield view.cells(class_of[records], person, codes, len(nodes)), people


def kept_by_people(problem: Problem, counts: Sequence[ClassCounts]) -> np.ndarray:
    """Whether each class keeps every model, given its people as each model counts them."""
    kept = [model.holds(found, problem.context(model)) for model, found in zip(problem.models, counts)]
    return np.logical_and.reduce(kept)
