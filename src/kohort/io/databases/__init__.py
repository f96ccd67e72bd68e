"""Tables of databases: PostgreSQL, SQLite, DuckDB, and all that SQLAlchemy reaches.

Where a database is, never shown with a password, and which of its tables or queries is meant.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from kohort.errors import InputError

PASSWORD_VARIABLE = "KOHORT_DATABASE_PASSWORD"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DRIVERS = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "postgresql+psycopg": "postgresql",
    "postgresql+psycopg2": "postgresql",
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "duckdb": "duckdb",
}
_IN_FILES = ("sqlite", "duckdb")
_NO_DATABASES = ("file", "ftp", "http", "https", "s3", "gs", "az", "abfs", "hdfs")
_SECRET = re.compile("pass|pwd|secret|token|key", re.IGNORECASE)


def is_url(text: object) -> bool:
    """Whether a text is a URL, and so no name of a file."""
    return isinstance(text, str) and _URL.match(text) is not None


@dataclass(frozen=True, repr=False)
class Address:
    """The URL of a database.

    url     as it was given; it may hold a password, so it is handed to the driver and shown to nobody
    driver  postgresql, sqlite, duckdb, or sqlalchemy for all others
    """

    url: str

    def __post_init__(self) -> None:
        if not is_url(self.url):
            raise InputError(
                "The address of a database is a URL, such as postgresql://user@host/name or "
                "sqlite:///people.db."
            )
        if self._parts.scheme.lower() in _NO_DATABASES:
            raise InputError(
                f"{self._parts.scheme}:// is no database. Give the path of a file, or a URL such as "
                "postgresql://user@host/name."
            )
        if self.driver in _IN_FILES:
            self._check_file()

    @property
    def driver(self) -> str:
        return _DRIVERS.get(self._parts.scheme.lower(), "sqlalchemy")

    @property
    def dialect(self) -> str:
        """The kind of database that a URL of SQLAlchemy's names: `mysql` of mysql+pymysql://."""
        return self._parts.scheme.lower().partition("+")[0]

    @property
    def shown(self) -> str:
        """The URL without any password: what messages, reports and commands to copy show."""
        parts = self._parts
        user, at, host = parts.netloc.rpartition("@")
        shown = f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"
        hidden = [(name, "***" if _SECRET.search(name) else value) for name, value in self._settings]
        return shown + (f"?{urlencode(hidden, safe='*/:')}" if hidden else "")

    @property
    def file(self) -> Path | None:
        """The file that the database is in; None where it is on a server, or in memory."""
        if self.dialect not in _IN_FILES or self._parts.path in ("", "/", "/:memory:"):
            return None
        return Path(unquote(self._parts.path[1:]))

    def with_password(self) -> str:
        """The URL for drivers that know no password files: with the password of KOHORT_DATABASE_PASSWORD."""
        user, at, host = self._parts.netloc.rpartition("@")
        password = os.environ.get(PASSWORD_VARIABLE)
        if password is None or not user or ":" in user:
            return self.url
        netloc = f"{user}:{quote(password, safe='')}{at}{host}"
        return self._parts._replace(netloc=netloc).geturl()

    def without_driver(self) -> str:
        """The URL as the programs of the database know it: `postgresql:` instead of `postgresql+psycopg:`."""
        scheme = self._parts.scheme
        return self.url if "+" not in scheme else self.dialect + self.with_password()[len(scheme) :]

    def secrets(self) -> list[str]:
        """Every text that must not be shown: passwords as they are written and as they are meant."""
        found = [self._user.partition(":")[2]]
        found += [value for name, value in self._settings if _SECRET.search(name)]
        found += [os.environ.get(name, "") for name in (PASSWORD_VARIABLE, "PGPASSWORD")]
        return [text for written in found if written for text in {written, unquote(written)}]

    def refuse_password(self) -> None:
        """Refuse a URL with a password: on a command line, all users of the machine can read it."""
        named = [name.lower() for name, _ in self._settings]
        if ":" in self._user or any("pass" in name or "pwd" in name for name in named):
            raise InputError(
                f"The URL of {self.shown} holds a password, which others may read in the list of processes. "
                f"Leave it out: it is read from PGPASSWORD, ~/.pgpass or a service file (PostgreSQL), or "
                f"from {PASSWORD_VARIABLE} (other servers)."
            )

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    @property
    def _parts(self) -> SplitResult:
        try:
            return urlsplit(self.url)
        except ValueError:  # its message may show a part of the password
            raise InputError("The address of the database is not a valid URL.") from None

    @property
    def _user(self) -> str:
        """The user, and the password after a colon where the URL holds it there."""
        return self._parts.netloc.rpartition("@")[0]

    @property
    def _settings(self) -> list[tuple[str, str]]:
        """What follows the name of the database: `?sslmode=require`."""
        return parse_qsl(self._parts.query, keep_blank_values=True)

    def _check_file(self) -> None:
        if self._parts.netloc or (self._parts.path and not self._parts.path.startswith("/")):
            scheme = self._parts.scheme
            raise InputError(
                f"{self.shown}: write {scheme}:///people.db for a file in this folder, and "
                f"{scheme}:////data/people.db for a path from the root."
            )
        name = unquote(self._parts.path[1:])
        if name == ":memory:" or (self.driver == "sqlite" and not name):
            raise InputError(f"{self.shown} is a database in memory, which is empty. Name its file.")


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
    table    the name of the table after those of its schema and catalog, if they were given; or empty
    query    instead: one statement that reads
    """

    address: Address
    table: tuple[str, ...] = ()
    query: str = ""

    @property
    def name(self) -> str:
        """What reports call it: the name of the table, or "query"."""
        return ".".join(self.table) or "query"

    @property
    def file(self) -> Path | None:
        """The file that the database is in, which no output may replace; None on a server."""
        return self.address.file

    def __str__(self) -> str:
        return f"{f'table {self.name}' if self.table else 'a query'} of {self.address}"


def database(url: str, *, table: str | None = None, query: str | None = None) -> DatabaseTable:
    """A table of a database, or what a query gives, wherever Kohort takes the path of a file.

    Passwords are best left out of the URL: PostgreSQL's are read from PGPASSWORD, ~/.pgpass or a service
    file, those of other servers from KOHORT_DATABASE_PASSWORD. One in the URL is used, and never shown.

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
    text = str(query).strip().rstrip(";").strip()
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
