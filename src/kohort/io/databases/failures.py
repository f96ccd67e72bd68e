"""Errors of databases in our words: theirs may show cells of the data, or a password."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from kohort.errors import InputError
from kohort.io.databases.address import Address

_BY_STATE = {
    "28": "it refused the user or the password. Set PGPASSWORD, or use ~/.pgpass or a service file "
    "(PostgreSQL), or set KOHORT_DATABASE_PASSWORD (other servers)",
    "3D": "there is no such database",
    "42501": "the user has no permission for this. Ask for it, or connect as another user",
    "25006": "the query would write. Only statements that read are run",
    "55P03": "another session has locked the table. Try again later",
    "2BP01": "other objects, such as views, depend on the table that would be replaced. Drop them first, or "
    "choose another name",
    "40": "another session changed the same rows. Try again",
    "57P": "the server ended the connection",
    "57014": "the statement was cancelled, or took longer than the server allows",
    "08": "the connection was lost",
    "22": "a value cannot be converted as the query, or the type of a column, asks for",
    "23": "a value breaks a rule of the database",
    "53": "the server has no room, no memory or no connection left",
}
_BY_WORDS = {
    "password authentication failed": "28",
    "no password supplied": "28",
    "does not exist, or": "3D",
    "readonly database": "25006",
    "read-only": "25006",
    "transaction read-write mode": "25006",
    "invalid input syntax": "22",
    "out of range": "22",
    "division by zero": "22",
    "database is locked": "55P03",
    "Could not set lock": "55P03",
    "no connection to the server": "08",
    "server closed the connection": "08",
    "connection was lost": "08",
    "terminating connection": "57P",
    "Access denied for user": "28",
    "Unknown database": "3D",
    "command denied to user": "42501",
    "Lost connection": "08",
    "gone away": "08",
    "Lock wait timeout": "55P03",
    "lock request could not be granted": "55P03",
}
_STATE = re.compile(r"SQLSTATE: (\w{5})")
_NOISE = re.compile(
    r"^(?:[A-Z_]+: |\[\w+\] |Failed to \w+ ?\w*: |could not begin COPY: |ERROR:\s+|[A-Z]\w+ Error: )+"
)


@contextmanager
def explained(address: Address, kinds: tuple[type[Exception], ...], *, tells: bool) -> Iterator[None]:
    """Turn errors of a driver into an InputError.

    kinds  the exceptions of the driver
    tells  whether its own words may be shown: those about connecting and about the query, not about records
    """
    try:
        yield
    except kinds as error:
        raise failure(address, error, tells=tells) from None


def failure(address: Address, error: Exception, *, tells: bool) -> InputError:
    """The error of a driver in our words."""
    text = str(error)
    stated = _STATE.search(text)  # errors of a stream of batches have it in their text only
    told = getattr(getattr(error, "orig", error), "sqlstate", None)  # SQLAlchemy wraps the driver's error
    state = told or (stated[1] if stated else "")
    state = state or next((known for words, known in _BY_WORDS.items() if words in text), "")
    known = next((_BY_STATE[state[:n]] for n in (5, 3, 2) if state[:n] in _BY_STATE), None)
    if known is not None:
        return InputError(f"{address}: {known}. Nothing was written.")
    if tells:
        return InputError(f"{address}: {_plain(address, text)}. Nothing was written.")
    code = f" (SQLSTATE {state})" if state else f" ({type(error).__name__})"
    return InputError(f"{address}: the database reported an error{code}. Nothing was written.")


def _plain(address: Address, text: str) -> str:
    """The first line of a message, without passwords."""
    line = _NOISE.sub("", text.strip().splitlines()[0]) if text.strip() else "it gave no reason"
    for secret in address.secrets():
        line = line.replace(secret, "***")
    return line.strip(". ")
