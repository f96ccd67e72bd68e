"""What a command reads, and the command as it can be copied: files, databases, the secret key."""

from __future__ import annotations

import os
import shlex
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


def shown(source: str | Path | DatabaseTable) -> str:
    """The source as it is typed, without any password."""
    return str(source) if isinstance(source, (str, Path)) else source.address.shown


def command_to_copy(*words: str | Path, **given: str | float | bool | None) -> str:
    """A command as it is typed, with the options that were given."""
    options = [_typed(name, value) for name, value in given.items() if value is not None]
    return shlex.join(["kohort", *map(str, words), *(word for option in options for word in option)])


def _typed(name: str, value: str | float | bool) -> list[str]:
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    return [f"--{name}", str(value)]


def secret_key(key_file: Path | None) -> bytes | None:
    """The key of the file, else of the environment variable KOHORT_KEY, else none."""
    from kohort.errors import InputError

    if key_file is not None:
        try:
            return key_file.read_bytes().strip()
        except OSError as error:
            raise InputError(f"The key file {str(key_file)!r} cannot be read: {error.strerror}.") from None
    value = os.environ.get("KOHORT_KEY")
    return value.encode() if value else None
