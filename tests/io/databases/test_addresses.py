"""URLs of databases and names of tables: understood, or refused; passwords are never shown."""

import pytest

from kohort.errors import InputError
from kohort.io.databases import Address, DatabaseTable, database, is_url, name_parts
from kohort.io.databases.dialect import failure

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{SECRET}@db.example.org:5433/clinic",
        f"postgresql://ann@db.example.org/clinic?password={SECRET}&sslmode=require",
        f"postgresql://ann@db.example.org/clinic?sslpassword={SECRET}",
        f"mysql+pymysql://ann:{SECRET}@db.example.org/clinic",
        f"mssql+pyodbc://ann@db.example.org/clinic?PWD={SECRET}",
    ],
)
def test_a_password_is_never_shown(url):
    address = Address(url)
    table = DatabaseTable(address, ("people",))
    shown = [address.shown, str(address), repr(address), str(table), repr(table), f"{table}"]
    with pytest.raises(InputError) as refused:
        address.refuse_password()
    shown.append(str(refused.value))
    shown.append(str(failure(address, ValueError(f'invalid port number: "{SECRET}"'), tells=True)))
    assert not [text for text in shown if SECRET in text]
    assert "ann@db.example.org" in address.shown
    assert address.url == url


def test_a_url_without_a_password_is_taken():
    Address("postgresql://ann@db.example.org/clinic").refuse_password()
    Address("postgresql:///clinic?service=clinic&sslkey=/keys/ann.pem").refuse_password()


def test_a_password_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("KOHORT_DATABASE_PASSWORD", "a/b@c")
    address = Address("mysql://ann@db.example.org/clinic")
    assert address.with_password() == "mysql://ann:a%2Fb%40c@db.example.org/clinic"
    assert Address("mysql://ann:x@h/c").with_password() == "mysql://ann:x@h/c"
    assert "a/b@c" not in str(failure(address, ValueError("bad a/b@c"), tells=True))


@pytest.mark.parametrize(
    ("url", "driver", "file"),
    [
        ("postgres://h/x", "postgresql", None),
        ("postgresql+psycopg://h/x", "postgresql", None),
        ("sqlite:///people.db", "sqlite", "people.db"),
        ("sqlite:////data/my%20people.db", "sqlite", "/data/my people.db"),
        ("sqlite+pysqlite:///people.db", "sqlite", "people.db"),
        ("duckdb:///people.duckdb", "duckdb", "people.duckdb"),
        ("duckdb://", "duckdb", None),
    ],
)
def test_the_driver_and_the_file(url, driver, file):
    address = Address(url)
    assert (address.driver, address.file and str(address.file)) == (driver, file)


@pytest.mark.parametrize(
    "url", ["people.db", "sqlite://people.db", "sqlite://", "sqlite:///:memory:", "https://x"]
)
def test_other_addresses_are_refused(url):
    with pytest.raises(InputError):
        Address(url)


def test_a_broken_url_is_refused_without_being_shown():
    with pytest.raises(InputError) as refused:
        Address(f"postgresql://ann:{SECRET}@[::1/clinic")
    assert SECRET not in str(refused.value)


def test_files_are_no_urls():
    assert not [name for name in ("people.csv", "C:/people.csv", "a:b", None, 3) if is_url(name)]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("people", ("people",)),
        ("clinic.people", ("clinic", "people")),
        ("a.b.c", ("a", "b", "c")),
        ('"a.b".people', ("a.b", "people")),
        ('"say ""hi"""', ('say "hi"',)),
        ("drop table x; --", ("drop table x; --",)),
    ],
)
def test_names_of_tables(name, parts):
    assert name_parts(name) == parts


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a..b", 'a"b', '"a', "a.b.c.d", "a\0b", '""'])
def test_names_that_are_none(name):
    with pytest.raises(InputError):
        name_parts(name)


@pytest.mark.parametrize("query", ["", " ; ", "delete from people", "DROP table people", "set role x", "a\0"])
def test_queries_that_do_not_read(query):
    with pytest.raises(InputError):
        database("sqlite:///people.db", query=query)


def test_a_table_or_a_query():
    for given in ({}, {"table": "people", "query": "select 1"}):
        with pytest.raises(InputError, match="not both"):
            database("sqlite:///people.db", **given)
