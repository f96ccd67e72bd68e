"""A table of a database, or what a query gives: a source of records, and a place to publish them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kohort.errors import InputError
from kohort.io.databases.address import Address, is_url

__all__ = ["DatabaseTable", "database", "is_url", "name_parts"]

_PART = r'"(?:[^"\0]|"")+"|[^".\0]+'
_NAME = re.compile(rf"(?:{_PART})(?:\.(?:{_PART}))*")
_WRITES = re.compile(
    r"(alter|analyze|attach|begin|call|comment|commit|copy|create|delete|detach|do|drop|execute|export|grant|"
    r"import|insert|install|load|lock|merge|pragma|reindex|replace|reset|revoke|rollback|set|truncate|update|"
    r"use|vacuum)\b",
    re.IGNORECASE,
)
_MOST_PARTS = 3  # catalog, schema and table


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database by its name, or the records that a query gives.

    address  where the database is
    table    the name of the table after those of its schema and catalog, if they were given; None: see query
    query    one statement that reads; None: the table
    """

    address: Address
    table: tuple[str, ...] | None = None
    query: str | None = None

    @property
    def name(self) -> str:
        """What reports call it: the name of the table, or "query"."""
        return "query" if self.table is None else ".".join(self.table)

    @property
    def file(self) -> Path | None:
        """The file that the database is in, which no output may replace; None on a server."""
        return self.address.file

    def __str__(self) -> str:
        what = "a query" if self.table is None else f"table {self.name}"
        return f"{what} of {self.address}"


def database(url: str, *, table: str | None = None, query: str | None = None) -> DatabaseTable:
    """A table of a database, or what a query gives, wherever Kohort takes the path of a file.

    Passwords are best left out of the URL: PostgreSQL's are read from PGPASSWORD, ~/.pgpass or a service
    file, those of other servers from KOHORT_DATABASE_PASSWORD. A password in the URL is used,
    and never shown.

    Parameters
    ----------
    url
        `postgresql://user@host/name`, `sqlite:///people.db`, `duckdb:///people.duckdb`, or any other URL that
        SQLAlchemy knows.
    table
        The name of a table or view as it is stored, such as `people` or `clinic.people`; parts that have dots
        in them stand in double quotes.
    query
        Instead: one statement that reads, such as `select * from people where consent`.

    Examples
    --------
    >>> import kohort as ko
    >>> print(ko.database("postgresql://steward:secret@db.example.org/clinic", table="public.people"))
    table public.people of postgresql://steward@db.example.org/clinic
    """
    if (table is None) == (query is None):
        raise InputError(
            "A database has many tables: give the name of one ('table'), or a query ('query'), not both."
        )
    address = Address(url)
    if table is not None:
        return DatabaseTable(address, name_parts(table))
    assert query is not None
    text = query.strip().rstrip(";").strip()
    if not text or "\0" in text:
        raise InputError("The query is empty, or not a text. Give one statement that reads.")
    if _WRITES.match(text):
        raise InputError("The query would write, or change a setting. Only statements that read are run.")
    return DatabaseTable(address, query=text)


def name_parts(name: str) -> tuple[str, ...]:
    """The parts of a table's name, without the double quotes in which some may stand.

    >>> name_parts('clinic.people'), name_parts('"my.schema".people')
    (('clinic', 'people'), ('my.schema', 'people'))
    """
    parts = re.findall(_PART, name) if _NAME.fullmatch(name) else []
    if len(parts) not in range(1, _MOST_PARTS + 1):
        raise InputError(
            f"{name!r} is not the name of a table. Write name or schema.name; parts with dots or quotes in "
            'double quotes, such as "my.schema".people.'
        )
    return tuple(part[1:-1].replace('""', '"') if part[0] == '"' else part for part in parts)
