"""Tables in folders: the records of all files in the order of their names, read whole or in batches."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.errors import InputError, counted
from kohort.io.batch_files import BatchFile
from kohort.io.compressed import DAMAGED, is_blank
from kohort.io.delimited import read_delimited
from kohort.io.folders import Folder, folder_hash
from kohort.io.source_file import SourceFile, opened
from kohort.io.tables import COMPRESSIBLE, READERS, TableFile, refuse_doubles
from kohort.io.text_layout import Layout, detect_layout, layout_like


def read_folder(path: Path, kind: str, **first_line: Any) -> TableFile:
    """Read the files of a folder, all of one format, as one table; see `read_table` for the options."""
    folder = Folder.at(path)
    layout = None
    if kind == "csv":
        with opened(folder.largest) as source:
            layout = detect_layout(source, **first_line)
            refuse_doubles(layout.header, str(source))
    hashes: dict[str, str] = {}
    tables: dict[Path, pa.Table] = {}
    for file in folder.files:
        with opened(file, by_name=kind not in COMPRESSIBLE) as source:
            hashes[file.name] = source.sha256
            tables |= _part(source, kind, layout)
    folder.refuse_changed()
    table = united(path, kind, tables)
    sha256, notes = folder_hash(hashes), (note_on_hash(folder),)
    if layout is None:
        return TableFile(table, kind, sha256, notes=notes)
    return TableFile(table, kind, sha256, layout.delimiter, layout.encoding, notes)


def note_on_hash(folder: Folder) -> str:
    """What the hash of a folder is, for those who compare it with a certificate."""
    return (
        f"The table was read from a folder of {counted(len(folder.files), 'file')}. Its hash is the SHA-256 "
        "of what `sha256sum` prints for them in that folder, in the order of their names."
    )


def _part(source: SourceFile, kind: str, layout: Layout | None) -> dict[Path, pa.Table]:
    """The table of one file by its path; nothing where text has no records."""
    try:
        if kind in COMPRESSIBLE and is_blank(source):
            return {}
        if layout is None:
            table = READERS[kind](source)
        elif (own := layout_like(source, layout)) is not None:
            table = read_delimited(source, own)
        else:
            return {}
    except (*DAMAGED, pa.ArrowException):
        raise InputError(f"{source} is damaged, or not what its extension says.") from None
    refuse_doubles(table.column_names, str(source))
    return {Path(source): table}


def united(path: Path, kind: str, tables: Mapping[Path, pa.Table]) -> pa.Table:
    """The records of all files in one table."""
    schema = unite_schemas(path, kind, {file: table.schema for file, table in tables.items()})
    if not schema.names or not sum(table.num_rows for table in tables.values()):
        raise InputError(f"{path} has no records.")
    parts = [_fitted(path, table, schema) for table in tables.values()]
    return pa.concat_tables(parts).unify_dictionaries()


def unite_schemas(path: Path, kind: str, schemas: Mapping[Path, pa.Schema]) -> pa.Schema:
    """The columns of a table whose files have these; a file that does not fit the others is refused.

    Objects of JSON lines may lack keys, and text may be encoded in some files: all else must be the same.
    """
    if not schemas:
        return pa.schema([])
    if kind == "jsonl":
        _refuse_without_keys(schemas)
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
    kinds = [_shared(types) for types in zip(*(schema.types for schema in schemas.values()))]
    fields = [field.with_type(kind).with_nullable(True) for field, kind in zip(first, kinds)]
    return pa.schema(fields, metadata=first.metadata)


def _refuse_without_keys(schemas: Mapping[Path, pa.Schema]) -> None:
    """Refuse a file of objects without keys: programs leave out what is missing, here all of it."""
    empty = [file for file, schema in schemas.items() if not schema.names]
    if empty:
        raise InputError(f"{empty[0]}: the objects in this file have no keys at all. Leave them out.")


def _joined(path: Path, fields: Sequence[pa.Field]) -> pa.Field:
    try:
        alone = [pa.schema([field.with_nullable(True)]) for field in fields]
        return pa.unify_schemas(alone, promote_options="permissive").field(0)
    except pa.ArrowException:
        raise InputError(
            f"{path}: the values of {fields[0].name!r} are not of one kind in all files."
        ) from None


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of a column, whether its text is encoded or not."""
    text = pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type)
    return kind.value_type if text else kind


def _shared(types: Sequence[pa.DataType]) -> pa.DataType:
    return types[0] if len(set(types)) == 1 else _plain(types[0])


def _fitted(path: Path, part: Any, schema: pa.Schema) -> Any:
    """A table or batch with these columns in these types; those that it lacks are missing everywhere."""
    columns = []
    for field in schema:
        if field.name not in part.schema.names:
            columns.append(pa.nulls(part.num_rows, field.type))
            continue
        column = part.column(field.name)
        columns.append(column if column.type == field.type else _cast(path, column, field))
    return type(part).from_arrays(columns, schema=schema)


def _cast(path: Path, column: Any, field: pa.Field) -> Any:
    if pa.types.is_dictionary(field.type):
        column = column.dictionary_encode()
    try:
        return column.cast(field.type)
    except pa.ArrowException:  # its message shows the value
        raise InputError(f"{path}: the values of {field.name!r} are not of one kind in all files.") from None


@dataclass(frozen=True, eq=False)
class BatchFolder:
    """A folder whose files are read in batches, one after the other; see `BatchFile`.

    kind    the format of the files
    parts   those that have records
    hashes  the SHA-256 of every file by its name
    """

    folder: Folder
    kind: str
    parts: tuple[BatchFile, ...]
    schema: pa.Schema
    hashes: Mapping[str, str]

    @property
    def path(self) -> Path:
        return self.folder.path

    @cached_property
    def sha256(self) -> str:
        return folder_hash(self.hashes)

    @property
    def expected(self) -> int:
        return sum(part.expected for part in self.parts)

    def read(self, names: Sequence[str], *, last: bool = False) -> Generator[pa.RecordBatch, None, None]:
        """These columns of all records; `last` compares all bytes of the files with those first read."""
        self.folder.refuse_changed()
        schema: pa.Schema | None = None
        for part in self.parts:
            own = [name for name in names if name in part.schema.names]
            for batch in part.read(own or part.schema.names[:1], last=last):
                schema = schema or self._types_like(batch, names)
                yield _fitted(self.path, batch, schema)
        self.folder.refuse_changed()

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
        self.folder.refuse_changed()
        return united(self.path, self.kind, {part.path: part.whole() for part in self.parts})
