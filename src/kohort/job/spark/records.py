"""The records of a table on a cluster, as `cut_regions` asks for them: passes over coded blocks.

What comes back to the driver are counts by region and value, never records; samples are searched where they
are.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms.mondrian.cut_regions import Lent, RegionRules
from kohort.algorithms.mondrian.region_cuts import BinCounts
from kohort.algorithms.mondrian.region_records import (
    Block,
    Borrowing,
    Lending,
    Question,
    Questions,
    RegionTree,
    counts_of_tallies,
    cuts_of_samples,
    person_cells,
    records_to_borrow,
    sizes_of_children,
    stride_of,
    views_of,
)
from kohort.job.spark.coding import (
    BLOCKS,
    PERSON_CELLS,
    Coder,
    blocks_in,
    cells_batch,
    coded_blocks,
    numbers_batch,
    tallied,
)
from kohort.problem.promises import ClassCounts
from kohort.tables.spark import ROW, quoted
from kohort.tables.spark_session import give_up, spark_failures

_LEAST_BLOCK, _MOST_BLOCKS = 1 << 16, 1 << 10
Batches = Iterator[pa.RecordBatch]


class SparkRecords:
    """Coded blocks that Spark holds, and passes over them.

    blocks  a dataframe of them, which are held where several passes go over them (`hold`)
    """

    def __init__(self, frame: Any, coder: Coder, rules: RegionRules, n_records: int, *, hold: bool) -> None:
        from pyspark import StorageLevel

        self.rules, self.coder = rules, coder
        self._counted: dict[int, tuple[Question, np.ndarray]] = {}
        self._firsts = np.zeros(0, dtype=np.int64)
        size = max(_LEAST_BLOCK, -(-n_records // _MOST_BLOCKS))
        columns = [*map(quoted, coder.names), ROW]
        with spark_failures("code the records"):
            self.blocks = frame.select(*columns).mapInArrow(coded_blocks(coder, size), BLOCKS)
            if hold:  # on disk: a partition may have more bytes than there is memory to spare
                self.blocks = self.blocks.persist(StorageLevel.DISK_ONLY)

    def release(self) -> None:
        """Let Spark give up the blocks."""
        give_up(self.blocks)

    def _pass(self, look: Callable[[Block], Iterable[pa.RecordBatch]], schema: str) -> Any:
        """A dataframe of what a function finds in the blocks, without what is beside them."""

        def found(batches: Batches) -> Batches:
            for block in blocks_in(batches):
                yield from look(block)

        return self.blocks.select("first", "block").mapInArrow(found, schema)

    def _found(self, doing: str, look: Callable[[Block], Iterable[tuple[int, Any]]]) -> dict[int, list[Any]]:
        """What a function finds in the blocks, by the number of a region or block."""
        with spark_failures(doing):
            rows = self._pass(lambda block: [_batch(look(block))], _FOUND).toArrow().to_pydict()
        found: dict[int, list[Any]] = defaultdict(list)
        for node, piece in zip(rows["node"], rows["found"]):
            found[node].append(pickle.loads(piece))
        return found

    def best_cuts(self, tree: RegionTree, sizes: Mapping[int, int]) -> dict[int, np.recarray]:
        rules = self.rules
        tables, limits, n_cuts = rules.tables, rules.rules, rules.n_cuts
        nodes = list(sizes)
        before = self._before(tree, nodes)
        strides = [stride_of(n) for n in sizes.values()]

        def samples(block: Block) -> Iterator[pa.RecordBatch]:
            earlier = before.get(block.first)
            chosen = {
                node: (block.first if earlier is None else int(earlier[place]), strides[place])
                for place, node in enumerate(nodes)
            }
            yield _batch((sample.node, sample) for sample in block.samples(tree, chosen))

        def search(table: pa.Table) -> pa.Table:
            pieces = [pickle.loads(piece.as_buffer()) for piece in table.column("found")]
            node = pieces[0].node
            cuts = cuts_of_samples(tables, limits, pieces, sizes[node], n_cuts)
            return pa.Table.from_batches([_batch([(node, cuts)])])

        with spark_failures("cut the table into regions"):
            parts = self._pass(samples, _FOUND).groupBy("node")
            found = parts.applyInArrow(search, _FOUND).toArrow().to_pydict()
        cuts = {node: pickle.loads(piece) for node, piece in zip(found["node"], found["found"])}
        return {node: cuts[node] for node in sizes}

    def _before(self, tree: RegionTree, nodes: list[int]) -> dict[int, np.ndarray]:
        """Per block, by its first record, how many records of each region are in the blocks before it.

        Nothing where the whole table is one region: then it is the number of the block's first record.
        """
        counted, self._counted = self._counted, {}
        if tree.n_nodes == 1:
            return {}
        derived = sizes_of_children(tree, counted)
        unknown = [node for node in nodes if node not in derived]
        derived |= self._sizes_by_block(tree, unknown) if unknown else {}
        in_block = np.stack([derived[node] for node in nodes], axis=1)
        return dict(zip(self._firsts.tolist(), np.cumsum(in_block, axis=0) - in_block))

    def _sizes_by_block(self, tree: RegionTree, nodes: list[int]) -> dict[int, np.ndarray]:
        """Per region, how many of its records are in each block."""
        return dict(zip(nodes, self._by_block(lambda block: block.sizes(tree)[nodes]).T))

    def _by_block(self, look: Callable[[Block], np.ndarray]) -> np.ndarray:
        """The numbers that a function finds in each block, blocks in the order of the table."""
        found = self._found("count the records of regions", lambda block: [(block.first, look(block))])
        self._firsts = np.array(sorted(found))
        return np.stack([found[first][0] for first in sorted(found)])

    def count(self, tree: RegionTree, asked: Sequence[Question]) -> list[BinCounts]:
        if self.coder.looked_at or self.coder.has_people:
            return self._count_values(tree, asked)
        questions = Questions(asked)
        by_block = self._by_block(lambda block: questions.sizes(tree, block))
        found = []
        for question, start, end in zip(asked, questions.starts, questions.starts[1:]):
            self._counted[question.node] = question, by_block[:, start:end]
            found.append(BinCounts(by_block[:, start:end].sum(axis=0), {}))
        return found

    def _count_values(self, tree: RegionTree, asked: Sequence[Question]) -> list[BinCounts]:
        """The answers where models look at sensitive values, or people are counted: summed on the cluster."""
        import pyspark.sql.functions as F

        questions = Questions(asked)
        n_values: dict[str | None, int] = {None: 1}
        n_values |= {column.name: len(column.texts) for column in self.coder.looked_at}

        def counts(block: Block) -> Iterator[pa.RecordBatch]:
            for which, (keys, times) in enumerate(questions.count(tree, block, n_values).values()):
                yield numbers_batch(which=np.full(len(keys), which), key=keys, n=times)

        with spark_failures("count the records of regions"):
            parts = self._pass(counts, "which long, key long, n long").groupBy("which", "key")
            summed = parts.agg(F.sum("n").alias("n")).toArrow()
        columns = (summed.column(name).to_numpy() for name in ("which", "key", "n"))
        found = _bin_counts(questions, n_values, *columns)
        return self._with_people(tree, questions, found) if self.coder.has_people else found

    def _with_people(self, tree: RegionTree, questions: Questions, found: list[BinCounts]) -> list[BinCounts]:
        """The counts together with the different people of each bin, counted exactly."""
        import pyspark.sql.functions as F

        def people(block: Block) -> Iterator[pa.RecordBatch]:
            keys, persons = questions.people(tree, block)
            yield numbers_batch(key=keys, person=persons)

        with spark_failures("count the people of regions"):
            parts = self._pass(people, "key long, person long").groupBy("key")
            counted = parts.agg(F.count_distinct("person").alias("n")).toArrow()
        total = np.zeros(questions.starts[-1], dtype=np.int64)
        total[counted.column("key").to_numpy()] = counted.column("n").to_numpy()
        ends = zip(questions.starts, questions.starts[1:])
        return [replace(counts, people=total[s:e]) for counts, (s, e) in zip(found, ends)]

    def people(self, tree: RegionTree, nodes: Sequence[int]) -> list[ClassCounts]:
        models, sensitive = self.rules.problem.models, self.rules.problem.sensitive
        views = views_of(models, {name: s.context for name, s in sensitive.items()})

        def cells(block: Block) -> Iterator[pa.RecordBatch]:
            for place, found in enumerate(person_cells(block, tree, nodes, views)):
                yield cells_batch(place, *found)

        with spark_failures("count the people of regions"):
            return counts_of_tallies(models, tallied(self._pass(cells, PERSON_CELLS), views, len(nodes)))

    def first_records(self, tree: RegionTree, lending: Lending) -> dict[int, Lent]:
        names = [column.name for column in self.coder.looked_at]

        def first(block: Block) -> Iterator[tuple[int, Lent]]:
            for node, places in block.first_records(tree, lending):
                if len(places):
                    values = {name: block.sensitive[name][places] for name in names}
                    yield node, (block.number[places], values)

        pieces = self._found("find the first records of regions", first)
        return {node: _first_of(pieces[node], lending[node][2]) for node in lending}

    def records_to_borrow(self, tree: RegionTree, asked: Sequence[Borrowing]) -> dict[int, int]:
        pieces = self._found(
            "find the first people of regions", lambda block: block.first_people(tree, asked)
        )
        return {question.node: records_to_borrow(pieces[question.node], question.k) for question in asked}


_FOUND = "node long, found binary"


def _batch(found: Iterable[tuple[int, Any]]) -> pa.RecordBatch:
    """What was found by the number of a region or block, as Spark takes it."""
    rows = [(node, pickle.dumps(piece, protocol=5)) for node, piece in found]
    nodes, pieces = zip(*rows) if rows else ((), ())
    return pa.RecordBatch.from_pydict(
        {"node": pa.array(nodes, pa.int64()), "found": pa.array(pieces, pa.binary())}
    )


def _bin_counts(
    questions: Questions,
    n_values: Mapping[str | None, int],
    which: np.ndarray,
    keys: np.ndarray,
    counts: np.ndarray,
) -> list[BinCounts]:
    """The counts of each question, from keys that number the bins of all questions through."""
    sizes = np.zeros(questions.starts[-1], dtype=np.int64)
    sizes[keys[which == 0]] = counts[which == 0]
    cells = {}
    for number, (name, n) in enumerate(n_values.items()):
        if name is not None:
            order = np.flatnonzero(which == number)
            order = order[np.argsort(keys[order])]
            cells[name] = (*np.divmod(keys[order], n), counts[order])
    found = []
    for start, end in zip(questions.starts, questions.starts[1:]):
        of_part = {}
        for name, (bins, values, times) in cells.items():
            here = slice(*np.searchsorted(bins, [start, end]))
            of_part[name] = (bins[here] - start, values[here], times[here])
        found.append(BinCounts(sizes[start:end], of_part))
    return found


def _first_of(pieces: list[Lent], n_lent: int) -> Lent:
    """The first records of all that were found, and their values."""
    number = np.concatenate([piece[0] for piece in pieces])
    order = np.argsort(number)[:n_lent]
    values = {name: np.concatenate([piece[1][name] for piece in pieces])[order] for name in pieces[0][1]}
    return number[order], values
