"""What a command reads, and the command as it can be copied: files, databases, the secret key."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from kohort.errors import InputError
from kohort.io.databases import DatabaseTable, database, is_url


def source_named(named: str, asked: Any, *, prefix: str = "") -> Path | DatabaseTable:
    """What a command reads: a file or, by the options `--table` and `--query`, what a database has.

    prefix  before the names of these two options
    """
    given = {name: getattr(asked, f"{prefix}{name}") for name in ("table", "query")}
    flags = {name: f"--{prefix}{name}".replace("_", "-") for name in given}
    words = [flags[name] for name, value in given.items() if value is not None]
    if is_url(named) and len(words) != 1:
        one, other = flags.values()
        raise InputError(f"A database has many tables: name one with {one}, or give {other}, not both.")
    if is_url(named):
        return _table_of(named, **given)
    if words:
        said = " and ".join(words)
        raise InputError(f"{said} is for databases, and {named} is a file. Leave it out.")
    return Path(named)


def _table_of(url: str, **given: str | None) -> DatabaseTable:
    found = database(url, **given)
    found.address.refuse_password()
    return found


def target_named(out: str, table: str | None) -> Path | DatabaseTable:
    """What a release is written to: a file, or with `--out-table` a table of a database."""
    if is_url(out) and table is None:
        raise InputError("--out is a database: name the table of the release with --out-table.")
    if is_url(out):
        return _table_of(out, table=table)
    if table is not None:
        raise InputError("--out-table is for a database: give its URL as --out, or leave it out.")
    return Path(out)


def file_of(source: Path | DatabaseTable | None) -> Path | None:
    """The file that a source is in, which no output may replace; None where it is on a server."""
    return source.file if isinstance(source, DatabaseTable) else source


def shown(source: str | Path | DatabaseTable) -> str:
    """The source as it is typed, without any password."""
    return source.address.shown if isinstance(source, DatabaseTable) else str(source)


def command_to_copy(*words: str | Path, **given: str | float | bool | None) -> str:
    """A command as it is typed, with the options that were given."""
    typed = ["kohort", *map(str, words)]
    for name, value in given.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            typed.append(f"--{flag}" if value else f"--no-{flag}")
        elif value is not None:
            typed += [f"--{flag}", str(value)]
    return shlex.join(typed)


def secret_key(key_file: Path | None) -> bytes | None:
    """The key of the file, else of the environment variable KOHORT_KEY, else none."""
    if key_file is not None:
        try:
            return key_file.read_bytes().strip()
        except OSError as error:
            raise InputError(f"The key file {str(key_file)!r} cannot be read: {error.strerror}.") from None
    value = os.environ.get("KOHORT_KEY")
    return value.encode() if value else None


def words_of(text: str | None) -> list[str] | None:
    """The words of an option that are separated by commas; None where it is left out."""
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]
