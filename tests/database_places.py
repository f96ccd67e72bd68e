"""Real databases for tests: servers of our own (PostgreSQL, MariaDB), and files of SQLite and DuckDB."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path

PASSWORD = "s3cret-of-the-tests"
WRITTEN_OUT = "postgresql", "sqlite", "duckdb", "mysql+pymysql"


def postgresql_programs() -> Path | None:
    """The folder of PostgreSQL's programs; None where it is not installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    folders += [] if found is None else [Path(found).resolve().parent]
    return next((f for f in folders if (f / "initdb").exists() and (f / "postgres").exists()), None)


def free_port() -> int:
    """A port of this machine that nobody uses."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class PostgresqlServer:
    """A server in a folder of its own, on a free port of this machine; root runs it as nobody."""

    def __init__(self, programs: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kohort-postgresql-"))
        self.as_user = {}
        if os.geteuid() == 0:
            self.as_user = {"user": "nobody", "group": "nogroup", "extra_groups": []}
            shutil.chown(self.folder, "nobody", "nogroup")
        (self.folder / "password").write_text(PASSWORD)
        (self.folder / "password").chmod(0o644)
        self._init(programs)
        self.port = free_port()
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder,
            "fsync": "off",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.log = (self.folder / "log").open("wb")
        self.process = subprocess.Popen(
            [programs / "postgres", "-D", self.folder / "data", *options],
            stdout=self.log,
            stderr=self.log,
            cwd=self.folder,
            **self.as_user,
        )
        self._wait(programs)

    def _init(self, programs: Path) -> None:
        how = ["-U", "steward", "-A", "scram-sha-256", "--no-sync", "-E", "UTF8", "--locale=C"]
        subprocess.run(
            [
                programs / "initdb",
                "-D",
                self.folder / "data",
                *how,
                f"--pwfile={self.folder / 'password'}",
            ],
            check=True,
            capture_output=True,
            cwd=self.folder,
            **self.as_user,
        )

    def _wait(self, programs: Path) -> None:
        for _ in range(200):
            asked = [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
            if subprocess.run(asked).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    def url(self, user: str = "steward", name: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{name}"

    def stop(self) -> None:
        self.process.send_signal(signal.SIGQUIT)  # at once: nothing of it is needed any more
        self.process.wait(timeout=30)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class PostgresqlPlace:
    """A database of the server."""

    kind = "postgresql"

    def __init__(self, server: PostgresqlServer, name: str) -> None:
        self.server, self.url = server, server.url(name=name)
        self._own = self.url.replace("@", f":{PASSWORD}@")  # tests connect without the environment
        self._run(server.url().replace("@", f":{PASSWORD}@"), f"create database {name}", alone=True)

    def _run(self, url: str, *statements: str, alone: bool = False) -> None:
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(url, autocommit=alone) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            if not alone:
                connection.commit()

    def run(self, *statements: str) -> None:
        self._run(self._own, *statements)

    def rows(self, query: str) -> list[tuple]:
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(self._own) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    def load(self, name: str, table) -> None:
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(self._own) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="create")
            connection.commit()

    def clear(self) -> None:
        """Drop everything, whoever may still be connected."""
        others = "pid <> pg_backend_pid() and datname = current_database()"
        self.rows(f"select pg_terminate_backend(pid) from pg_stat_activity where {others}")
        self.run(
            "drop schema public cascade", "create schema public", "grant usage on schema public to public"
        )

    def tables(self) -> list[str]:
        return [name for (name,) in self.rows("select tablename from pg_tables where schemaname = 'public'")]


class SqlitePlace:
    """A file of SQLite."""

    kind = "sqlite"

    def __init__(self, folder: Path) -> None:
        self.path = folder / "people.db"
        self.url = f"sqlite:///{self.path}"

    def _connect(self):
        import adbc_driver_sqlite.dbapi as driver

        return driver.connect(str(self.path))

    def run(self, *statements: str) -> None:
        with self._connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def rows(self, query: str) -> list[tuple]:
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    def load(self, name: str, table) -> None:
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="create")
            connection.commit()

    def tables(self) -> list[str]:
        return [name for (name,) in self.rows("select name from sqlite_schema where type = 'table'")]


class MariadbServer:
    """A server in a folder of its own, on a free port of this machine; root runs it as nobody."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kohort-mariadb-"))
        user = []
        if os.geteuid() == 0:
            user = ["--user=nobody"]
            shutil.chown(self.folder, "nobody", "nogroup")
        data = f"--datadir={self.folder / 'data'}"
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", data, *user, "--auth-root-authentication-method=normal"],
            check=True,
            capture_output=True,
            cwd=self.folder,
        )
        self.port, own = free_port(), self.folder / "socket"
        started = (self.folder / "started.sql").open("w")
        with started:
            started.write(f"create user steward@'%' identified by '{PASSWORD}';\n")
            started.write("grant all on *.* to steward@'%' with grant option;\n")
        where = [f"--socket={own}", f"--port={self.port}", "--bind-address=127.0.0.1", "--skip-name-resolve"]
        quick = ["--innodb-flush-log-at-trx-commit=0", f"--init-file={started.name}"]
        self.log = (self.folder / "log").open("wb")
        self.process = subprocess.Popen(
            ["mariadbd", "--no-defaults", data, *user, *where, *quick],
            stdout=self.log,
            stderr=self.log,
            cwd=self.folder,
        )
        self._wait()

    def _wait(self) -> None:
        for _ in range(400):
            try:
                self.connect().close()
                return
            except OSError:
                time.sleep(0.05)
            except Exception as error:  # the user is not made yet
                assert "Access denied" in str(error) or "connect" in str(error), error
                time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    def connect(self, name: str | None = None):
        import pymysql

        who = {"user": "steward", "password": PASSWORD, "database": name}
        plain = "set sql_mode = concat(@@sql_mode, ',ANSI_QUOTES')"  # names in double quotes, as elsewhere
        return pymysql.connect(host="127.0.0.1", port=self.port, init_command=plain, **who)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(timeout=30)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class MysqlPlace:
    """A database of a server that commits whenever a table is created, by SQLAlchemy."""

    kind = "mysql"
    has_lists = False

    def __init__(self, server: MariadbServer, name: str) -> None:
        self.server, self.name = server, name
        self.url = f"mysql+pymysql://steward@127.0.0.1:{server.port}/{name}"
        self.clear()

    def run(self, *statements: str, database: bool = True) -> None:
        with closing(self.server.connect(self.name if database else None)) as connection:
            for statement in statements:
                connection.cursor().execute(statement)
            connection.commit()

    def rows(self, query: str) -> list[tuple]:
        with closing(self.server.connect(self.name)) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def load(self, name: str, table) -> None:
        """Write a table with types of our own choice: the code under test is not used for it."""
        kinds = {"string": "longtext character set utf8mb4", "int64": "bigint", "bool": "boolean"}
        kinds |= {
            "date32[day]": "date",
            "timestamp[us]": "datetime(6)",
            "timestamp[us, tz=UTC]": "datetime(6)",
        }
        columns = ", ".join(f"`{field.name}` {kinds[str(field.type)]}" for field in table.schema)
        self.run(f"create table `{name}` ({columns})")
        with closing(self.server.connect(self.name)) as connection, connection.cursor() as cursor:
            marks = ", ".join(["%s"] * table.num_columns)
            rows = list(zip(*(column.to_pylist() for column in table.columns)))
            cursor.executemany(f"insert into `{name}` values ({marks})", rows)
            connection.commit()

    def clear(self) -> None:
        name = self.name
        self.run(f"drop database if exists {name}", f"create database {name}", database=False)

    def tables(self) -> list[str]:
        return [name for (name,) in self.rows("show tables")]


class DuckdbPlace:
    """A file of DuckDB."""

    kind = "duckdb"

    def __init__(self, folder: Path) -> None:
        self.path = folder / "people.duckdb"
        self.url = f"duckdb:///{self.path}"

    def _connect(self):
        import duckdb

        return duckdb.connect(str(self.path))

    def run(self, *statements: str) -> None:
        with self._connect() as connection:
            for statement in statements:
                connection.execute(statement)

    def rows(self, query: str) -> list[tuple]:
        with self._connect() as connection:
            return connection.execute(query).fetchall()

    def load(self, name: str, table) -> None:
        with self._connect() as connection:
            connection.register("loaded", table)
            connection.execute(f'create table "{name}" as select * from loaded')

    def tables(self) -> list[str]:
        return [name for (name,) in self.rows("select table_name from duckdb_tables()")]
