"""Where a database is: a URL that is never shown with a password in it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from kohort.errors import InputError

PASSWORD_VARIABLE = "KOHORT_DATABASE_PASSWORD"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DRIVERS = {"postgresql": "postgresql", "postgres": "postgresql", "sqlite": "sqlite", "duckdb": "duckdb"}
_IN_FILES = ("sqlite", "duckdb")
_NO_DATABASES = ("file", "ftp", "http", "https", "s3", "gs", "az", "abfs", "hdfs")
_SECRET = re.compile("pass|pwd|secret|token|key", re.IGNORECASE)
_HIDDEN = "***"


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
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        hidden = [(name, _HIDDEN if _SECRET.search(name) else value) for name, value in pairs]
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

    def secrets(self) -> list[str]:
        """Every text that must not be shown: passwords as they are written and as they are meant."""
        user, _, _ = self._parts.netloc.rpartition("@")
        pairs = parse_qsl(self._parts.query, keep_blank_values=True)
        found = [user.partition(":")[2], *(value for name, value in pairs if _SECRET.search(name))]
        found.append(os.environ.get(PASSWORD_VARIABLE, ""))
        found.append(os.environ.get("PGPASSWORD", ""))
        return [text for written in found if written for text in {written, unquote(written)}]

    def refuse_password(self) -> None:
        """Refuse a URL with a password: on a command line, all users of the machine can read it."""
        user, _, _ = self._parts.netloc.rpartition("@")
        named = [name for name, _ in parse_qsl(self._parts.query) if _SECRET.search(name)]
        if ":" in user or [name for name in named if "pass" in name.lower() or "pwd" in name.lower()]:
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
