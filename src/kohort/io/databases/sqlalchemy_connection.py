"""A connection by SQLAlchemy, with errors in our words and names quoted as the database quotes them."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import suppress
from typing import Any

from kohort.io.databases.address import Address
from kohort.io.databases.connection import load_package
from kohort.io.databases.failures import explained

_ROWS = 1 << 15
_SNAPSHOTS = ("SNAPSHOT", "REPEATABLE READ", "SERIALIZABLE")
_PLACES = re.compile(r"\$(\d+)")
_PERCENT = "\0"  # stands for a percent sign while a name is quoted: no name has it


class SqlalchemyConnection:
    """A connection to any database that SQLAlchemy knows, in a transaction from the first statement on.

    snapshot  whether all statements see one state of the database, where it has such transactions
    """

    def __init__(self, address: Address, *, snapshot: bool = False) -> None:
        self.address = address
        self.alchemy = load_package("sqlalchemy", "A database by SQLAlchemy")
        self._errors = (self.alchemy.exc.SQLAlchemyError, ImportError, OSError)
        with explained(address, self._errors, tells=True):
            self._engine = self.alchemy.create_engine(
                address.with_password(), poolclass=self.alchemy.pool.NullPool, hide_parameters=True
            )
            self.native = self._engine.connect()
            if snapshot:
                self._take_snapshot()

    @property
    def dialect(self) -> str:
        """What SQLAlchemy calls the kind of database; MariaDB and MySQL are one."""
        name = self._engine.dialect.name
        return "mysql" if name == "mariadb" else name

    def _take_snapshot(self) -> None:
        levels = self._engine.dialect.get_isolation_level_values(self.native.connection.dbapi_connection)
        level = next((known for known in _SNAPSHOTS if known in levels), None)
        if level is not None:
            self.native = self.native.execution_options(isolation_level=level)

    def quoted(self, *parts: str) -> str:
        """A name by the rules of the database: whatever is in it, it is a name and nothing else."""
        quote = self._engine.dialect.identifier_preparer.quote_identifier
        return ".".join(quote(part.replace("%", _PERCENT)).replace(_PERCENT, "%") for part in parts)

    def run(self, statement: str, *, tells: bool = False) -> None:
        """Run a statement that gives nothing."""
        with explained(self.address, self._errors, tells=tells):
            self.native.execute(self._text(statement))

    def execute(self, statement: Any, rows: Any = None, *, tells: bool = False) -> None:
        """Run a statement that SQLAlchemy has made, once or for each of the rows."""
        with explained(self.address, self._errors, tells=tells):
            self.native.execute(statement, rows)

    def rows(self, statement: str, *values: Any, tells: bool = False) -> list[tuple[Any, ...]]:
        """All rows of a small result; `values` take the places of $1, $2, ..."""
        text = self._text(statement, places=bool(values))
        given = {f"value{place}": value for place, value in enumerate(values, start=1)}
        with explained(self.address, self._errors, tells=tells):
            return [tuple(row) for row in self.native.execute(text, given)]

    def parts(
        self, statement: str, *, tells: bool
    ) -> Generator[tuple[list[str], list[tuple[Any, ...]]], None, None]:
        """A large result a part at a time: the names of its columns, and the cells of each of them."""
        with explained(self.address, self._errors, tells=tells):
            options = {"stream_results": True, "yield_per": _ROWS}
            with self.native.execute(self._text(statement), execution_options=options) as result:
                names, found = list(result.keys()), False
                for rows in result.partitions():
                    found = True
                    yield names, list(zip(*(tuple(row) for row in rows)))
                if not found:
                    yield names, [() for _ in names]

    def tables(self, schema: str | None) -> list[str]:
        """The names of all tables of a schema."""
        with explained(self.address, self._errors, tells=True):
            return self.alchemy.inspect(self.native).get_table_names(schema=schema)

    def views(self, schema: str | None) -> list[str]:
        """The names of all views of a schema."""
        with explained(self.address, self._errors, tells=True):
            return self.alchemy.inspect(self.native).get_view_names(schema=schema)

    def commit(self) -> None:
        with explained(self.address, self._errors, tells=False):
            self.native.commit()

    def close(self) -> None:
        """End the connection; what was not committed is undone."""
        with suppress(Exception):
            self.native.rollback()
        with suppress(Exception):
            self.native.close()
        self._engine.dispose()

    def _text(self, statement: str, *, places: bool = False) -> Any:
        """A statement in which nothing is taken for a parameter but $1, $2, ... where there are values."""
        plain = statement.replace(":", r"\:")
        return self.alchemy.text(_PLACES.sub(r":value\1", plain) if places else plain)
