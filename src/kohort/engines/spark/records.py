"""The records of a table on a cluster, as `cut_regions` asks for them: passes over coded blocks.

What comes back to the driver are counts by region and value, never records; samples are searched where they
are.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.algorithms.mondrian.cut_regions import Lent, RegionRules
from kohort.algorithms.mondrian.region_cuts import BinCounts
from kohort.algorithms.mondrian.region_records import Lending, Question, Questions, cuts_of_samples, stride_of
from kohort.algorithms.mondrian.region_tree import RegionTree
from kohort.engines.spark.coding import BLOCKS, Coder, blocks_in, coded_blocks
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.source import ROW
from kohort.engines.spark.values import quoted

__all__ = ["SparkRecords"]

_LEAST_BLOCK, _MOST_BLOCKS = 1 << 16, 1 << 10
Batches = Iterator[pa.RecordBatch]


class SparkRecords:
    """Coded blocks that Spark holds, and passes over them."""

    def __init__(self, frame: Any, coder: Coder, rules: RegionRules, n_records: int) -> None:
        from pyspark import StorageLevel

        self.rules, self.coder = rules, coder
        size = max(_LEAST_BLOCK, -(-n_records // _MOST_BLOCKS))
        columns = [*map(quoted, coder.names), ROW]
        with spark_failures("code the records"):
            coded = frame.select(*columns).mapInArrow(coded_blocks(coder, size), BLOCKS)
            self.blocks = coded.persist(StorageLevel.MEMORY_AND_DISK)

    def release(self) -> None:
        """Let Spark give up the blocks."""
        self.blocks.unpersist()

    def best_cuts(self, tree: RegionTree, sizes: Mapping[int, int]) -> dict[int, np.recarray]:
        rules = self.rules
        tables, limits, n_cuts = rules.tables, rules.rules, rules.n_cuts
        before = self._before(tree, list(sizes))

        def samples(batches: Batches) -> Batches:
            for block in blocks_in(batches):
                chosen = {node: (before[block.first][node], stride_of(n)) for node, n in sizes.items()}
                found = block.samples(tree, chosen)
                yield _batch([sample.node for sample in found], [pickle.dumps(s, 5) for s in found])

        def search(table: pa.Table) -> pa.Table:
            pieces = [pickle.loads(piece.as_py()) for piece in table.column("found")]
            node = pieces[0].node
            cuts = cuts_of_samples(tables, limits, pieces, sizes[node], n_cuts)
            return pa.Table.from_batches([_batch([node], [pickle.dumps(cuts, 5)])])

        with spark_failures("cut the table into regions"):
            parts = self.blocks.mapInArrow(samples, _FOUND).groupBy("node")
            found = parts.applyInArrow(search, _FOUND).toArrow().to_pydict()
        cuts = {node: pickle.loads(piece) for node, piece in zip(found["node"], found["found"])}
        return {node: cuts[node] for node in sizes}

    def _before(self, tree: RegionTree, nodes: list[int]) -> dict[int, dict[int, int]]:
        """Per block, by its first record, how many records of each region are in the blocks before it."""

        def sizes(batches: Batches) -> Batches:
            for block in blocks_in(batches):
                yield _batch([block.first], [block.sizes(tree)[nodes].tobytes()])

        with spark_failures("count the records of regions"):
            found = self.blocks.mapInArrow(sizes, _FOUND).toArrow().to_pydict()
        counts = {first: np.frombuffer(n, np.int64) for first, n in zip(found["node"], found["found"])}
        before, total = {}, np.zeros(len(nodes), dtype=np.int64)
        for first in sorted(counts):
            before[first] = dict(zip(nodes, total.tolist()))
            total = total + counts[first]
        return before

    def count(self, tree: RegionTree, asked: Sequence[Question]) -> list[BinCounts]:
        import pyspark.sql.functions as F

        questions = Questions(asked)
        n_values: dict[str | None, int] = {None: 1}
        n_values |= {column.name: len(column.texts) for column in self.coder.sensitive}

        def counts(batches: Batches) -> Batches:
            for block in blocks_in(batches):
                for which, found in enumerate(questions.count(tree, block, n_values).values()):
                    yield _counted_batch(which, *found)

        with spark_failures("count the records of regions"):
            parts = self.blocks.mapInArrow(counts, "which int, key long, n long").groupBy("which", "key")
            summed = parts.agg(F.sum("n").alias("n")).toArrow()
        columns = (summed.column(name).to_numpy() for name in ("which", "key", "n"))
        found = _bin_counts(questions, n_values, *columns)
        return self._with_people(tree, questions, found) if self.coder.has_people else found

    def _with_people(self, tree: RegionTree, questions: Questions, found: list[BinCounts]) -> list[BinCounts]:
        """The counts together with the different people of each bin, counted exactly."""
        import pyspark.sql.functions as F

        def people(batches: Batches) -> Batches:
            for block in blocks_in(batches):
                yield _people_batch(*questions.people(tree, block))

        with spark_failures("count the people of regions"):
            parts = self.blocks.mapInArrow(people, "key long, person long").groupBy("key")
            counted = parts.agg(F.count_distinct("person").alias("n")).toArrow()
        total = np.zeros(questions.starts[-1], dtype=np.int64)
        total[counted.column("key").to_numpy()] = counted.column("n").to_numpy()
        ends = zip(questions.starts, questions.starts[1:])
        return [replace(counts, people=total[s:e]) for counts, (s, e) in zip(found, ends)]

    def first_records(self, tree: RegionTree, lending: Lending) -> dict[int, Lent]:
        names = [column.name for column in self.coder.sensitive]

        def first(batches: Batches) -> Batches:
            for block in blocks_in(batches):
                for node, places in block.first_records(tree, lending):
                    values = {name: block.sensitive[name][places] for name in names}
                    if len(places):
                        yield _batch([node], [pickle.dumps((block.number[places], values), 5)])

        with spark_failures("find the first records of regions"):
            found = self.blocks.mapInArrow(first, _FOUND).toArrow().to_pydict()
        pieces: dict[int, list[Lent]] = defaultdict(list)
        for node, piece in zip(found["node"], found["found"]):
            pieces[node].append(pickle.loads(piece))
        return {node: _first_of(pieces[node], lending[node][2]) for node in lending}


_FOUND = "node long, found binary"


def _batch(nodes: list[int], found: list[bytes]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {"node": pa.array(nodes, pa.int64()), "found": pa.array(found, pa.binary())}
    )


def _counted_batch(which: int, keys: np.ndarray, counts: np.ndarray) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "which": pa.array(np.full(len(keys), which, dtype=np.int32)),
            "key": pa.array(keys.astype(np.int64)),
            "n": pa.array(counts.astype(np.int64)),
        }
    )


def _people_batch(keys: np.ndarray, persons: np.ndarray) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"key": pa.array(keys), "person": pa.array(persons)})


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
