"""Tables in files: read whole or in batches, with the SHA-256 of their bytes, and written back."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.data.formulas import escaped
from kohort.errors import InputError, UnsupportedError
from kohort.io.formats import (
    Format,
    How,
    Layout,
    Read,
    Reader,
    ReadWhole,
    format_of,
    format_to_write,
    refuse_stray_options,
    source_format,
)
from kohort.io.formats.fitting import Slices, is_not_encoded_text, refuse_doubles
from kohort.io.formats.text_layout import layout_like, layout_of
from kohort.io.source_file import (
    DAMAGED,
    Files,
    SourceFile,
    SourceState,
    changed,
    is_blank,
    opened,
    opened_again,
    state_of,
)
from kohort.late import pl
from kohort.parameters import check_option
from kohort.tables.batches import BatchTable
from kohort.tables.source import Source


def read_table(path: str | Path, **said: Any) -> Source:
    """Read a table; its extension says the format. A folder of files is read as one table.

    `said` holds fields of `How`: `delimiter` and `encoding` are for delimited text and found out if not
    given; `sheet` is for Excel. `header` says of both whether the first line names the columns; if not given,
    a first line that may be a record is refused, and the message names the option `header_option`. Delimited
    text gives text columns only: no type is guessed. No message shows a cell.
    """
    files, kind, how = _asked(path, said)
    hashes: dict[Path, str] = {}
    found: dict[Path, Read] = {}
    for file in files.files:
        with opened(file, by_name=not kind.compressible) as source:
            hashes[file] = source.sha256
            for own in _own(files, kind, source, how):
                with _reading(source):
                    found[file] = kind.code.read(source, own)
                refuse_doubles(found[file].table.column_names, str(source))
    files.refuse_changed()
    table = _united(files.path, kind, {file: read.table for file, read in found.items()})
    layout = how.layout if files.is_folder else found[files.path].layout
    notes = (*files.notes, *(note for read in found.values() for note in read.notes))
    text = layout.delimiter or None, layout.encoding or None
    return Source(table, kind.name, files.sha256(hashes), *text, notes)


def open_in_batches(path: str | Path, **said: Any) -> FileBatches | str:
    """A table to be read in batches, with the options of `read_table`; or why it is read whole, in words."""
    files, kind, how = _asked(path, said)
    try:
        if kind.whole or any(file.suffix.lower() == ".xz" for file in files.files):
            what = f"{files.files[0].suffix} files" if kind.whole else "files compressed with xz"
            return f"{what} are read whole"
        states = {file: state_of(file) for file in files.files}
        parts: list[OneFile] = []
        for file, state in states.items():
            with opened_again(file, state, compare=False) as source:
                parts += [OneFile.at(source, state, kind, own) for own in _own(files, kind, source, how)]
    except ReadWhole as why:
        return str(why)
    files.refuse_changed()
    schema = unite_schemas(files.path, kind, {part.path: part.reader.schema for part in parts})
    sha256 = files.sha256({file: state.sha256 for file, state in states.items()})
    layout = how.layout if files.is_folder else parts[0].reader.layout
    return FileBatches(files, kind, tuple(parts), schema, sha256, layout, said)


def _asked(path: str | Path, said: dict[str, Any]) -> tuple[Files, Format, How]:
    """The files, their format, and what is said of all: the largest of a folder shows their layout."""
    how = How(**said)
    files = Files.at(path)
    kind = source_format(files)
    check_option(how.header_option.replace("-", "_"), how.header, bool | None)
    refuse_stray_options(kind, how)
    if files.is_folder and "delimiter" in kind.options:
        with opened(files.largest) as source, _reading(source):
            how = replace(how, layout=layout_of(source, how))
    return files, kind, how


def _own(files: Files, kind: Format, source: SourceFile, how: How) -> list[How]:
    """What is said of one file; nothing of text without records among the files of a folder."""
    if not files.is_folder:
        return [how]
    with _reading(source):
        if kind.compressible and is_blank(source):
            return []
        layouts = [layout_like(source, how.layout)] if how.layout.header else [how.layout]
    return [replace(how, layout=layout) for layout in layouts if layout is not None]


def bytes_in_memory(path: str | Path) -> int:
    """The bytes that a table takes in memory, estimated by the size of its files or what these say."""
    return sum(format_of(file).bytes_in_memory(file) for file in Files.at(path).files)


def hold(
    batches: FileBatches, held: Sequence[str], shown: Sequence[str], seen: Callable[[int], None] | None = None
) -> Source:
    """Read a table in batches for the first time, and hold some columns; see `BatchTable`."""
    table, layout = BatchTable(batches, held, shown, seen), batches.layout
    if not table.n_records:
        raise InputError(f"{batches.files.path} has no records.")
    text = layout.delimiter or None, layout.encoding or None
    return Source(table, batches.kind.name, batches.sha256, *text, batches.files.notes)


def write_table(table: pa.Table, path: str | Path, **options: Any) -> None:
    """Write a table straight to `path`, as `write_slices` does."""
    whole = format_to_write(path).whole
    write_slices(Slices.of(table if whole else table.unify_dictionaries()), path, **options)


def writes_slices(path: str | Path) -> bool:
    """Whether a table can be written to such a file a slice at a time."""
    return not format_to_write(path).whole


def write_slices(
    slices: Slices, path: str | Path, *, delimiter: str | None = None, formulas: str = "keep"
) -> None:
    """Write a table straight to `path`, in the format of its extension; see `atomic.replacing`.

    `delimiter` and `formulas`, a key of the spec, are for delimited text, and ignored elsewhere: the input's
    can be handed on. A full disk and the like raise OSError, which `replacing` turns into an InputError.
    """
    path = Path(path)
    kind = format_to_write(path)
    refuse_doubles(slices.schema.names, "The table")
    as_text = formulas == "escape" and kind.name == "csv"
    try:
        kind.code.write(slices.changed(escaped) if as_text else slices, path, delimiter)
    except (pa.ArrowNotImplementedError, pl.exceptions.PolarsError):  # their texts may quote cells
        raise UnsupportedError(f"{path.suffix} files cannot hold one of the table's column types.") from None


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn errors about a file that its format cannot make sense of into an InputError."""
    try:
        yield
    except (*DAMAGED, pa.ArrowException):
        raise InputError(f"{path} is damaged, or not what its extension says.") from None


@dataclass(frozen=True, eq=False)
class OneFile:
    """A file whose records are read in batches; another one in its place, or other bytes, are refused."""

    path: Path
    state: SourceState
    reader: Reader

    @classmethod
    def at(cls, source: SourceFile, state: SourceState, kind: Format, how: How) -> OneFile:
        """Look at a file that will be read in batches; raises ReadWhole for one that is not."""
        path = Path(str(source))
        with _reading(path):
            reader = kind.code.open_in_batches(source, how)
        refuse_doubles(reader.schema.names, str(path))
        if not reader.schema.names:
            raise InputError(f"{path} has no records.")
        if odd := [field.name for field in reader.schema if _is_odd(field.type)]:
            raise ReadWhole(f"{', '.join(map(repr, odd))} has a type that is read whole")
        return cls(path, state, reader)

    def read(self, names: Sequence[str], *, last: bool) -> Generator[pa.RecordBatch, None, None]:
        with opened_again(self.path, self.state, compare=last) as source, _reading(self.path):
            yield from self.reader.batches(source, names)


def _is_odd(kind: pa.DataType) -> bool:
    """Whether batches of a column of this type may not fit together: dictionaries of other than text."""
    if pa.types.is_run_end_encoded(kind) or isinstance(kind, pa.BaseExtensionType):
        return True
    return pa.types.is_dictionary(kind) and is_not_encoded_text(kind)


@dataclass(frozen=True, eq=False)
class FileBatches:
    """The records of a file, or of those of a folder one after the other, in batches; see `Batches`."""

    files: Files
    kind: Format
    parts: tuple[OneFile, ...]
    schema: pa.Schema
    sha256: str
    layout: Layout
    said: Mapping[str, Any]

    @property
    def expected(self) -> int:
        """About how many records there are."""
        return sum(part.reader.expected for part in self.parts)

    def read(self, names: Sequence[str], *, last: bool = False) -> Generator[pa.RecordBatch, None, None]:
        """These columns of all records; `last` compares all bytes of the files with those first read."""
        self.files.refuse_changed()
        schema: pa.Schema | None = None
        for part in self.parts:
            own = [name for name in names if name in part.reader.schema.names]
            for batch in part.read(own or part.reader.schema.names[:1], last=last):
                schema = schema or self._types_like(batch, names)
                yield _fitted(self.files.path, batch, schema)
        self.files.refuse_changed()

    def _types_like(self, batch: pa.RecordBatch, names: Sequence[str]) -> pa.Schema:
        """The types of all batches of a reading: text is encoded in all of them, or in none."""
        fields = [self.schema.field(name).remove_metadata() for name in names]
        for place, field in enumerate(fields):
            if field.name in batch.schema.names:
                kind = batch.schema.field(field.name).type
                if _plain(kind) == _plain(field.type):
                    fields[place] = field.with_type(kind)
        return pa.schema(fields)

    def whole(self) -> pa.Table:
        """All records in memory."""
        found = read_table(self.files.path, **self.said)
        if found.sha256 != self.sha256:
            raise changed(self.files.path)
        return found.table


def _united(path: Path, kind: Format, tables: Mapping[Path, pa.Table]) -> pa.Table:
    schema = unite_schemas(path, kind, {file: table.schema for file, table in tables.items()})
    if not schema.names or not sum(table.num_rows for table in tables.values()):
        raise InputError(f"{path} has no records.")
    if len(tables) == 1:
        return next(iter(tables.values()))
    parts = [_fitted(path, table, schema) for table in tables.values()]
    return pa.concat_tables(parts).unify_dictionaries()


def unite_schemas(path: Path, kind: Format, schemas: Mapping[Path, pa.Schema]) -> pa.Schema:
    """The columns of a table whose files have these; a file that does not fit the others is refused.

    Objects of JSON lines may lack keys, and text may be encoded in some files: all else must be the same.
    """
    if len(schemas) < 2:
        return next(iter(schemas.values()), pa.schema([]))
    if kind.lacks_keys:
        if empty := [file for file, schema in schemas.items() if not schema.names]:  # all of it is missing
            raise InputError(f"{empty[0]}: the objects in this file have no keys at all. Leave them out.")
        names = dict.fromkeys(name for schema in schemas.values() for name in schema.names)
        found = [[s.field(name) for s in schemas.values() if name in s.names] for name in names]
        return pa.schema([_joined(path, fields) for fields in found])
    (first_file, first), *others = schemas.items()
    for file, schema in others:
        if schema.names != first.names or list(map(_plain, schema.types)) != list(map(_plain, first.types)):
            raise InputError(
                f"{file} has other columns, or columns of other types, than {first_file.name}. All files of "
                "a folder that is one table have the same."
            )
    kinds = [
        types[0] if len(set(types)) == 1 else _plain(types[0])
        for types in zip(*(schema.types for schema in schemas.values()))
    ]
    fields = [field.with_type(kind).with_nullable(True) for field, kind in zip(first, kinds)]
    return pa.schema(fields, metadata=first.metadata)


def _joined(path: Path, fields: Sequence[pa.Field]) -> pa.Field:
    try:
        alone = [pa.schema([field.with_nullable(True)]) for field in fields]
        return pa.unify_schemas(alone, promote_options="permissive").field(0)
    except pa.ArrowException:
        raise _several_kinds(path, fields[0].name) from None


def _several_kinds(path: Path, name: str) -> InputError:
    return InputError(f"{path}: the values of {name!r} are not of one kind in all files.")


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of a column, whether its text is encoded or not."""
    text = pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type)
    return kind.value_type if text else kind


def _fitted(path: Path, part: Any, schema: pa.Schema) -> Any:
    """A table or batch with these columns in these types; those that it lacks are missing everywhere."""
    columns = []
    for field in schema:
        if field.name not in part.schema.names:
            columns.append(pa.nulls(part.num_rows, field.type))
            continue
        column = part.column(field.name)
        if column.type != field.type and pa.types.is_dictionary(field.type):
            column = column.dictionary_encode()
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except pa.ArrowException:  # its message shows the value
            raise _several_kinds(path, field.name) from None
    return type(part).from_arrays(columns, schema=schema)
