"""Records of a table on a cluster in codes, and passes over them, as `cut_regions` asks for them.

They are in blocks of consecutive records, a few bytes for each cell. What comes back to the driver are counts
by region and value, never records; samples are searched where they are. People with several records are
counted exactly: who has what is dealt out by person.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kohort.algorithms.compact_rows import compact_leaves
from kohort.algorithms.mondrian.cut_regions import Lent, RegionRules
from kohort.algorithms.mondrian.region_cuts import BinCounts
from kohort.algorithms.mondrian.region_records import (
    Block,
    Borrowing,
    Lending,
    PeopleView,
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
from kohort.data.column import Column
from kohort.data.compact_column import CountedColumn, smallest_type
from kohort.problem.attribute import Attribute
from kohort.problem.promises import ClassCounts, PeopleTally, PersonCells
from kohort.problem.units import SensitiveAttribute
from kohort.tables.spark import ROW, one_thread, packed, quoted
from kohort.tables.spark_session import spark_failures

if TYPE_CHECKING:
    from kohort.job.spark.prepare import SparkPrepared

PERSON = "_kohort_person"
ORIGINAL = "_kohort_original_"
PERSON_CELLS = "view long, class long, person long, value long, n long"
_BLOCKS = "first long, block binary, beside binary"
_FOUND = "node long, found binary"
_LEAST_BLOCK, _MOST_BLOCKS = 1 << 16, 1 << 10
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class Coder:
    """Codes the records of a table whose values were counted.

    names       the columns that are needed, and `shown` those that are published
    sensitive   the counted columns that are published as they are; models look at those that are `asked`
    others      the other columns that are published as they are
    masked      those that hide what they held
    has_people  whether there is a column PERSON
    """

    attributes: tuple[Attribute, ...]
    sensitive: tuple[CountedColumn, ...]
    asked: frozenset[str]
    others: tuple[str, ...]
    shown: tuple[str, ...]
    masked: tuple[str, ...]
    has_people: bool
    seed: int

    @classmethod
    def of(cls, prepared: SparkPrepared) -> Coder:
        """The coder of a table that was prepared."""
        shown = tuple(prepared.published_names)
        return cls(
            attributes=prepared.attributes,
            sensitive=tuple(map(counted_values, prepared.sensitive.values())),
            asked=frozenset(m.attribute for m in prepared.problem.models if m.attribute),
            others=tuple(n for n in shown if n in prepared.carried and n not in prepared.sensitive),
            shown=shown,
            masked=tuple(name for name, how in prepared.request.treatments.items() if how == "mask"),
            has_people=prepared.person is not None,
            seed=prepared.request.seed,
        )

    @property
    def looked_at(self) -> tuple[CountedColumn, ...]:
        """The sensitive columns that models look at."""
        return tuple(column for column in self.sensitive if column.name in self.asked)

    @property
    def names(self) -> list[str]:
        found = [attribute.name for attribute in self.attributes]
        found += [*(column.name for column in self.sensitive), *self.others]
        return [*found, *([PERSON] if self.has_people else [])]

    @property
    def originals(self) -> dict[str, CountedColumn]:
        """The columns of a table of `beside` that hold places of values, and what these are places in."""
        found = {f"{ORIGINAL}{n}": counted_values(a) for n, a in enumerate(self.attributes)}
        return found | {column.name: column for column in self.sensitive}

    @property
    def hidden(self) -> list[str]:
        """The columns that go along with the published ones, for verification and reports."""
        originals = [f"{ORIGINAL}{number}" for number in range(len(self.attributes))]
        return [*originals, ROW, *([PERSON] if self.has_people else [])]

    def kinds(self, frame: Any) -> dict[str, Any]:
        """The types of published and hidden columns, as Spark takes them; `frame` has the original."""
        from pyspark.sql.types import LongType, StringType

        kinds = {field.name: field.dataType for field in frame.schema.fields}
        quasi = [attribute.name for attribute in self.attributes]
        kinds |= {f"{ORIGINAL}{number}": kinds[name] for number, name in enumerate(quasi)}
        texts = dict.fromkeys([*quasi, *self.masked], StringType())
        return kinds | texts | {PERSON: LongType(), ROW: LongType()}

    def beside(self, table: pa.Table | pa.RecordBatch) -> pa.Table:
        """The records: places of the values that were counted, the other columns as they are, and numbers."""
        columns: dict[str, Any] = {}
        for name, column in self.originals.items():
            places = column.places_of(table.column(column.name))
            columns[name] = pa.array(places.astype(smallest_type(len(column.values))))
        columns |= {name: table.column(name) for name in (*self.others, ROW)}
        return pa.table(columns | ({PERSON: table.column(PERSON)} if self.has_people else {}))

    def block(self, first: int, beside: pa.Table) -> Block:
        """The consecutive records of such a table, in codes."""
        codes = (
            counted_values(a).codes[beside.column(f"{ORIGINAL}{n}").to_numpy()]
            for n, a in enumerate(self.attributes)
        )
        rows = compact_leaves(self.attributes, codes, beside.num_rows)
        sensitive = {c.name: c.codes[beside.column(c.name).to_numpy()] for c in self.looked_at}
        return Block(first, rows, sensitive, beside.column(PERSON).to_numpy() if self.has_people else None)


def counted_values(counted: Attribute | SensitiveAttribute | Column) -> CountedColumn:
    """The column of an attribute, or a column, whose values were counted."""
    column = counted if isinstance(counted, Column) else counted.column
    assert isinstance(column, CountedColumn)
    return column


def runs(batches: Batches, size: int) -> Iterator[pa.Table]:
    """Tables of up to `size` records with consecutive numbers."""
    waiting: list[pa.RecordBatch] = []
    held, following = 0, -1
    for batch in batches:
        number = batch.column(ROW).to_numpy()
        breaks = np.flatnonzero(np.diff(number) != 1) + 1
        for start, end in zip([0, *breaks], [*breaks, len(number)]):
            if start == end:
                continue
            if waiting and (number[start] != following or held + end - start > size):
                yield pa.Table.from_batches(waiting)
                waiting, held = [], 0
            waiting.append(batch.slice(start, end - start))
            held, following = held + end - start, number[end - 1] + 1
    if waiting:
        yield pa.Table.from_batches(waiting)


def numbers_batch(**columns: np.ndarray) -> pa.RecordBatch:
    """Whole numbers as Spark takes them."""
    return pa.RecordBatch.from_pydict({n: pa.array(found.astype(np.int64)) for n, found in columns.items()})


def cells_batch(view: int, cells: PersonCells, people: np.ndarray) -> pa.RecordBatch:
    """What people have in some records, as Spark takes it; `people` are those that the cells number."""
    found = {"view": np.full(len(cells.records), view), "class": cells.class_of}
    person, value = people[cells.person_of], cells.value_of
    return numbers_batch(**found, person=person, value=value, n=cells.records)


def tallied(cells: Any, views: Sequence[PeopleView], n_classes: int) -> list[PeopleTally]:
    """The people of all classes by value, for each view, given a dataframe of what they have.

    All that a person has is brought to one place. What comes to the driver is a row for each view, class,
    value and number of records that somebody has: it does not grow with the number of people.
    """
    import pyspark.sql.functions as F
    from pyspark.sql import Window

    whose, order = ["view", "class", "person"], ["view", "class", "value", "total"]
    of_values = cells.repartition(*whose).groupBy(*whose, "value").agg(F.sum("n").alias("n"))
    total = F.sum("n").over(Window.partitionBy(*whose)).alias("total")
    kinds = of_values.select("view", "class", "value", "n", total).groupBy(*order)
    found = kinds.agg(F.count("*").alias("people"), F.sum("n").alias("records")).toArrow()
    view, *columns = (
        column.to_numpy() for column in found.sort_by([(n, "ascending") for n in order]).columns
    )
    tallies = []
    for place, asked in enumerate(views):
        class_of, value_of, of_person, people, records = (column[view == place] for column in columns)
        tallies.append(PeopleTally(class_of, value_of, of_person, people, records, n_classes, asked.n_values))
    return tallies


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

        def code(batches: Batches) -> Batches:
            for table in runs(batches, size):
                beside = coder.beside(table)
                block = coder.block(table.column(ROW)[0].as_py(), beside)
                cells = [pickle.dumps(block, protocol=5), packed(beside)]
                arrays = [pa.array([block.first], pa.int64()), *(pa.array([c], pa.binary()) for c in cells)]
                yield pa.RecordBatch.from_arrays(arrays, names=["first", "block", "beside"])

        with spark_failures("code the records"):
            self.blocks = frame.select(*map(quoted, coder.names), ROW).mapInArrow(code, _BLOCKS)
            if hold:  # on disk: a partition may have more bytes than there is memory to spare
                self.blocks = self.blocks.persist(StorageLevel.DISK_ONLY)

    def _pass(self, look: Callable[[Block], Iterable[pa.RecordBatch]], schema: str) -> Any:
        """A dataframe of what a function finds in the blocks, without what is beside them."""

        def found(batches: Batches) -> Batches:
            one_thread()
            for batch in batches:
                for block in batch.column("block"):
                    yield from look(pickle.loads(block.as_buffer()))

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
        before = self._before(tree, list(sizes))
        strides = {node: stride_of(n) for node, n in sizes.items()}

        def samples(block: Block) -> Iterator[pa.RecordBatch]:
            earlier = before.get(block.first)
            first = [block.first] * len(strides) if earlier is None else earlier.tolist()
            chosen = {node: (n, stride) for n, (node, stride) in zip(first, strides.items())}
            yield _batch((sample.node, sample) for sample in block.samples(tree, chosen))

        def search(table: pa.Table) -> pa.Table:
            pieces = [pickle.loads(piece.as_buffer()) for piece in table.column("found")]
            node = pieces[0].node
            cuts = cuts_of_samples(tables, limits, pieces, sizes[node], n_cuts)
            return pa.Table.from_batches([_batch([(node, cuts)])])

        with spark_failures("cut the table into regions"):
            parts = self._pass(samples, _FOUND).groupBy("node")
            found = parts.applyInArrow(search, _FOUND).toArrow().to_pydict()
        cuts = dict(zip(found["node"], map(pickle.loads, found["found"])))
        return {node: cuts[node] for node in sizes}

    def _before(self, tree: RegionTree, nodes: list[int]) -> dict[int, np.ndarray]:
        """Per block, by its first record, how many records of each region are in the blocks before it.

        Nothing where the whole table is one region: then it is the number of the block's first record.
        """
        counted, self._counted = self._counted, {}
        if tree.n_nodes == 1:
            return {}
        derived = sizes_of_children(tree, counted)
        if unknown := [node for node in nodes if node not in derived]:
            derived |= dict(zip(unknown, self._by_block(lambda block: block.sizes(tree)[unknown]).T))
        in_block = np.stack([derived[node] for node in nodes], axis=1)
        return dict(zip(self._firsts.tolist(), np.cumsum(in_block, axis=0) - in_block))

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

        def people(block: Block) -> Iterator[pa.RecordBatch]:
            keys, persons = questions.people(tree, block)
            yield numbers_batch(key=keys, person=persons)

        with spark_failures("count the records of regions"):
            parts = self._pass(counts, "which long, key long, n long").groupBy("which", "key")
            summed = parts.agg(F.sum("n").alias("n")).toArrow()
        found = _bin_counts(
            questions, n_values, *(summed.column(n).to_numpy() for n in ("which", "key", "n"))
        )
        if not self.coder.has_people:
            return found
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

        found = self._found("find the first records of regions", first)
        lent: dict[int, Lent] = {}
        for node, (_, _, n_lent) in lending.items():
            numbers, values = zip(*found[node])
            order = np.argsort(np.concatenate(numbers))[:n_lent]
            first_values = {name: np.concatenate([piece[name] for piece in values])[order] for name in names}
            lent[node] = np.concatenate(numbers)[order], first_values
        return lent

    def records_to_borrow(self, tree: RegionTree, asked: Sequence[Borrowing]) -> dict[int, int]:
        doing = "find the first people of regions"
        pieces = self._found(doing, lambda block: block.first_people(tree, asked))
        return {question.node: records_to_borrow(pieces[question.node], question.k) for question in asked}


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
