"""Where the data of a command is: a file, or a table or query of a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kohort.io.databases import DatabaseTable


def source_named(
    named: str, table: str | None, query: str | None, *, prefix: str = ""
) -> Path | DatabaseTable:
    """What a command reads: `prefix` stands before the options `--table` and `--query` that go with it."""
    from kohort.errors import InputError
    from kohort.io.databases import database, is_url

    words = f"--{prefix}table", f"--{prefix}query"
    given = [word for word, value in zip(words, (table, query)) if value is not None]
    if not is_url(named):
        if given:
            raise InputError(f"{' and '.join(given)} is for databases, and {named} is a file. Leave it out.")
        return Path(named)
    if len(given) != 1:
        raise InputError(
            f"A database has many tables: name one with {words[0]}, or give {words[1]}, not both."
        )
    found = database(named, table=table, query=query)
    found.address.refuse_password()
    return found


def target_named(out: str, table: str | None) -> Path | DatabaseTable:
    """What a release is written to: a file, or with `--out-table` a table of a database."""
    from kohort.errors import InputError
    from kohort.io.databases import database, is_url

    if not is_url(out):
        if table is not None:
            raise InputError("--out-table is for a database: give its URL as --out, or leave it out.")
        return Path(out)
    if table is None:
        raise InputError("--out is a database: name the table of the release with --out-table.")
    found = database(out, table=table)
    found.address.refuse_password()
    return found


def file_of(source: Path | DatabaseTable | None) -> Path | None:
    """The file that a source is in, which no output may replace; None where it is on a server."""
    return source if source is None or isinstance(source, Path) else source.file


def shown(source: Path | DatabaseTable) -> str:
    """The source as it is typed, without any password."""
    return str(source) if isinstance(source, Path) else source.address.shown
