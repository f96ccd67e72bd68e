"""The published table: generalized quasi-identifiers, identifiers gone or replaced, the rest untouched.

A person whom no published class fits is known to be among the withheld records. So these are published as
`*`, with their sensitive values, only if together they keep every promise that a class keeps. Otherwise they
are left out, or nothing is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrow_values import take_records, value_codes, value_type, without_unused
from kohort.data.baskets import joined
from kohort.data.codebook import NO_CODEBOOK, codebook_of, with_codebook
from kohort.data.compact_column import smallest_type
from kohort.data.counting import count_codes, stretches_of
from kohort.data.domain import STAR
from kohort.data.formulas import formula_cells
from kohort.data.process import give_memory_back
from kohort.errors import InfeasibleError
from kohort.job.prepare import Prepared
from kohort.job.two_files import OneFile, TwoFiles, compared
from kohort.late import nw, pl
from kohort.problem.attribute import Attribute
from kohort.problem.promises import MODELS, Model, context_of
from kohort.problem.units import SensitiveAttribute, Units
from kohort.recoding.recoding import PublishedColumn, Recoding
from kohort.tables.batches import BatchTable, PublishedTable
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.treatments import Part

if TYPE_CHECKING:
    from kohort.verification import Verdict


def holds_in(
    model: Model,
    sensitive: Mapping[str, SensitiveAttribute],
    units: Units,
    class_of: np.ndarray,
    records: np.ndarray | slice = slice(None),
) -> np.ndarray:
    """Per class whether it satisfies a model; `class_of` is the class of each of these records."""
    counts = units.counts(model, sensitive, class_of, records, int(class_of.max(initial=0)) + 1)
    return model.holds(counts, context_of(model, sensitive))


def broken_by(
    models: Sequence[Model],
    sensitive: Mapping[str, SensitiveAttribute],
    units: Units,
    records: np.ndarray,
) -> str:
    """The promises that some records (True in `records`) break as one class, in words; empty if none."""
    one_class = np.zeros(int(records.sum()), dtype=np.int64)
    broken = [model for model in models if not holds_in(model, sensitive, units, one_class, records)[0]]
    return ", ".join(f"{m.name} of {m.attribute!r}" if m.attribute else m.name for m in broken)


def refuse_dropping(broken: str, verdict: Verdict | None = None) -> None:
    """Refuse a release whose withheld records can neither be published as `*` nor be left out.

    verdict  on the release without them; None if no record would remain. Only models that
             compare classes with the whole table can fail for want of them. Others are not meant here.
    """
    if not broken:
        return
    reason = "no record would be left"
    if verdict is not None:
        failing = [model.model for model in verdict.models if not model.holds]
        others = [name for name in failing if not MODELS[name].compares_with_whole_table]
        if not failing or others or any(check.holds is False for check in verdict.checks):
            return
        reason = f"without them the other classes do not keep {', '.join(failing)}"
    raise InfeasibleError(
        "The withheld records cannot be published as `*`, because on their own they do not satisfy "
        f"{broken}, and they cannot be left out: {reason}. Set suppression: 0, or a smaller share."
    )


@dataclass(frozen=True, eq=False)
class Published:
    """A table as it is published.

    dataset  the table as it came, and `files` those that it was joined from
    names    the published columns, and `columns` those of them that are changed
    kept     the records that are published, in this order; None: all of them, as they came
    broken   the promises that withheld records would break as `*`, if they are left out for that
    generalized  the columns whose values are generalized: what a file said about them holds further on
    counterfeits  how many records at the end of the table are nobody's
    """

    dataset: Table
    names: Sequence[str]
    columns: Mapping[str, pa.Array]
    files: OneFile | TwoFiles
    kept: np.ndarray | None = None
    broken: str = ""
    generalized: frozenset[str] = frozenset()
    counterfeits: int = 0
    in_batches: ClassVar[bool] = False
    notes: ClassVar[tuple[str, ...]] = ()

    @cached_property
    def rows(self) -> np.ndarray:
        """Per published record the number of its original."""
        return np.arange(self.dataset.n_records) if self.kept is None else self.kept

    @property
    def originals(self) -> np.ndarray:
        """The same, with -1 for counterfeits, which have none."""
        return np.where(self.rows < self.dataset.n_records - self.counterfeits, self.rows, -1)

    @property
    def n_records(self) -> int:
        """How many records are published."""
        return self.dataset.n_records if self.kept is None else len(self.kept)

    @property
    def in_order(self) -> bool:
        """Whether the records are published in the order of the original."""
        return self.kept is None or bool((self.kept[1:] > self.kept[:-1]).all())

    @property
    def n_left_out(self) -> int:
        """How many records are not published."""
        return self.dataset.n_records - self.n_records

    @cached_property
    def shown(self) -> Table:
        """The published table, to be looked at by a stranger."""
        return MemoryTable(self.arrow)

    def value_codes(self, name: str) -> np.ndarray:
        """Numbers for the values of a published column that depend on them alone: see `value_codes`."""
        column = self._column(name)
        return value_codes(column if self.kept is None else take_records(column, self.kept))

    def _column(self, name: str) -> pa.ChunkedArray | pa.Array:
        return self.columns[name] if name in self.columns else self.dataset.arrow(name)

    def held(self) -> Published:
        """The same, with all that is published taken out of the table that came: what happens to it later
        changes nothing of the release."""
        _ = self.arrow, self._untouched
        return self

    @cached_property
    def _untouched(self) -> Any:
        """The columns that are published as they came, as the kind of dataframe that came in; None: Arrow."""
        if self.dataset.is_arrow:
            return None
        frame = nw.maybe_reset_index(self.dataset.frame)
        names = [name for name in self.names if name not in self.columns]
        frame = frame.select(names or self.dataset.names[:1])  # a frame without columns has no records
        return _with_used_categories(nw.maybe_reset_index(frame[self.rows]))

    @cached_property
    def arrow(self) -> pa.Table:
        """The published table in Arrow, with dictionaries where values repeat."""
        arrays = [without_unused(take_records(self._column(name), self.rows)) for name in self.names]
        fields = [self.field(name, column.type) for name, column in zip(self.names, arrays)]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    @property
    def formulas(self) -> Mapping[str, int]:
        """How many texts of each published column begin like a formula, where some do."""
        return formula_cells(self.shown)

    def extremes(self, attributes: Sequence[Attribute], k: int) -> list[Attribute]:
        """The quasi-identifiers that show their least or greatest value, which fewer than k people have.

        That is so where intervals end at values of the data: without a hierarchy, and with labels: tight.
        """
        return [
            a for a in attributes if a.name in self.columns and shows_extremes(a, self.columns[a.name], k)
        ]

    def close(self) -> None:
        """Give up what is held elsewhere, such as on a cluster; here nothing is."""

    @cached_property
    def parted(self) -> tuple[pa.Table, ...]:
        """The published tables in Arrow: the one, or that of people and that of events."""
        return self.files.parted(self)

    def field(self, name: str, kind: pa.DataType) -> pa.Field:
        """The type of a column and what a file said about it, also where its values are generalized."""
        if name not in self.columns:
            return self.dataset.field(name).with_type(kind)
        book = codebook_of(self.dataset.field(name)) if name in self.generalized else NO_CODEBOOK
        return with_codebook(pa.field(name, kind), book)

    @cached_property
    def native(self) -> Any:
        """The published table as the kind of dataframe that came in, compared with what was verified."""
        changed = {name: self.arrow[name] for name in self.columns}
        texts = {name: column.cast(value_type(column.type)) for name, column in changed.items()}
        if self._untouched is None:
            columns = [texts.get(name, self.arrow[name]) for name in self.names]
            made = pa.table(columns, names=self.names)
        else:
            new = nw.from_arrow(pa.table(texts), backend=nw.get_native_namespace(self.dataset.frame))
            frame = nw.from_native(self._untouched).with_columns(*(new[name] for name in texts))
            made = frame.select(self.names).to_native()
        return compared(made, self.arrow)


class PublishedInBatches(Published):
    """A published table whose original is read in batches: nothing but what is changed is held."""

    in_batches: ClassVar[bool] = True

    @cached_property
    def shown(self) -> Table:
        assert isinstance(self.dataset, BatchTable)
        return PublishedTable(self.dataset, self.names, self.columns, self.kept)

    def value_codes(self, name: str) -> np.ndarray:
        return self.shown.value_codes(name)

    def held(self) -> Published:
        return self


def publish(prepared: Prepared, recoding: Recoding) -> Published:
    """The table that a recoding publishes; withheld records are left out where they may not be `*`."""
    request, kind = prepared.request, Published
    if isinstance(prepared.dataset, BatchTable):
        give_memory_back()
        kind = PublishedInBatches
    found = replaced_columns(prepared, recoding)
    columns = {name: column for name, column in found.items() if column is not None}
    generalized = frozenset(attribute.name for attribute in prepared.attributes)
    broken, withheld = "", recoding.withheld
    # where records are followed, withheld ones that are published would tell
    followed = request.linked or request.ledger is not None
    drops = bool(prepared.attributes) and (request.suppressed == "drop" or followed)
    if not drops and withheld.any():
        stars = (pc.fill_null(pc.equal(columns[n].cast(pa.string()), STAR), False) for n in generalized)
        shown = np.logical_and.reduce([star.to_numpy(zero_copy_only=False) for star in stars])
        broken = broken_by(request.table_models, prepared.sensitive, prepared.units, shown)
    return kind(
        prepared.dataset,
        [name for name in prepared.dataset.names if found.get(name, ...) is not None],
        columns,
        prepared.files,
        np.flatnonzero(~withheld) if drops or broken else None,
        broken,
        generalized,
    )


def replaced_columns(prepared: Prepared, recoding: Recoding) -> dict[str, pa.Array | None]:
    """The columns that are changed, as Arrow dictionaries by name; None: the column is dropped."""
    request = prepared.request
    labels = {}
    for attribute in prepared.attributes:
        published = recoding.apply(attribute)
        labels[attribute.name] = labelled(published, recoding.withheld, request.nulls == "star")
    part = Part(prepared.dataset, labels)
    treated = {
        name: prepared.treated[name] if name in prepared.treated else how.publish(name, part, prepared.secret)
        for name, how in prepared.treatments.items()
    }
    if isinstance(prepared.dataset, BatchTable):  # where it is, columns are kept in small codes
        treated = {
            name: values if isinstance(values, pa.DictionaryArray) else values.dictionary_encode()
            for name, values in treated.items()
        }
    columns = {**dict.fromkeys(prepared.roles.dropped(request.treatments)), **labels, **treated}
    if recoding.items is not None:
        assert prepared.items is not None
        lists = recoding.items.apply(prepared.items)
        separator = request.items.separator
        columns[request.items.column] = lists if separator is None else joined(lists, separator)
    return columns


def shows_extremes(attribute: Attribute, published: pa.Array, k: int) -> bool:
    """Whether a published column shows its least or greatest value, which fewer than k people have."""
    column = attribute.column
    known = [text for text in column.texts if text is not None]
    if not column.ordered or column.listed or len(known) < 2:
        return False
    first, last = known[0], known[-1]
    labels = [str(label) for label in published.unique().to_pylist() if label is not None]
    closed = [label for label in labels if label[:1] == "[" and label[-1:] == "]"]
    least = first in labels or any(label.startswith(f"[{first}, ") for label in closed)
    greatest = last in labels or any(label.endswith(f", {last}]") for label in closed)
    return bool((least and column.counts[0] < k) or (greatest and column.counts[len(known) - 1] < k))


def labelled(published: PublishedColumn, withheld: np.ndarray, null_is_star: bool) -> pa.DictionaryArray:
    """A column of labels, listed alphabetically so that the file does not show any other order."""
    labels = [STAR if label is None and null_is_star else label for label in published.labels]
    of_record = published.of_record
    uses = count_codes(of_record, len(labels)) - count_codes(of_record[withheld], len(labels))
    shown = {label for label, n in zip(labels, uses) if n and label is not None}
    known = sorted(shown | ({STAR} if withheld.any() else set()))
    number = {label: code for code, label in enumerate(known)}
    kind = smallest_type(len(known) + 1)
    code_of_label = np.array([number.get(label, len(known)) for label in labels], dtype=kind)  # type: ignore[arg-type]
    indices = np.empty(len(of_record), dtype=kind)
    for rows in stretches_of(len(of_record)):
        np.take(code_of_label, of_record[rows], out=indices[rows], mode="clip")
    indices[withheld] = number.get(STAR, 0)
    missing = indices == len(known) if any(n and label is None for label, n in zip(labels, uses)) else None
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=missing), pa.array(known, pa.string()))


def _with_used_categories(frame: nw.DataFrame) -> Any:
    """The dataframe, of its own kind, whose dtypes list the categories of its records and no others."""
    native = frame.to_native()
    if frame.implementation.is_polars():
        return native.with_columns(_of_polars(column) for column in native)
    changed = {name: _of_pandas(native[name]) for name in native.columns}
    return native.assign(**{name: column for name, column in changed.items() if column is not None})


def _of_polars(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.Enum):
        used = set(column.unique().to_list())
        return column.cast(pl.Enum([each for each in column.dtype.categories if each in used]))
    return column.cast(pl.String).cast(column.dtype) if column.dtype == pl.Categorical else column


def _of_pandas(column: Any) -> Any:
    """The column with the categories in use; None where it has no categories."""
    if hasattr(column.dtype, "categories"):
        return column.cat.remove_unused_categories()
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    if kind is None or not pa.types.is_dictionary(kind):
        return None
    values = without_unused(pa.chunked_array([pa.array(column)]))
    return type(column)(type(column.array)(values), index=column.index, name=column.name)
