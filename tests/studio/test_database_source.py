"""The studio asks a database: the answer is the table, and no password is taken or shown."""

import sqlite3

import pytest
from studio_client import studio

pytest.importorskip("adbc_driver_sqlite", reason="kohort[database] is not installed")

pytestmark = pytest.mark.processes


@pytest.fixture
def url(tmp_path):
    """A database with a table of people."""
    with sqlite3.connect(tmp_path / "people.db") as connection:
        connection.execute("create table people (age integer, town text, illness text)")
        rows = [(20 + i % 60, "ABCD"[i % 4], "xyz"[i % 3]) for i in range(200)]
        connection.executemany("insert into people values (?, ?, ?)", rows)
    connection.close()
    return f"sqlite:///{tmp_path / 'people.db'}"


def test_a_query_is_a_table(tmp_path, url):
    folder = tmp_path / "private"
    folder.mkdir()
    query = "select * from people where age > 30"
    with studio(folder) as browser:
        browser.post("data/database", {"url": url, "query": query})
        facts = browser.opened()
        assert facts["opening"] is None
        assert facts["profile"]["records"] == sum(20 + i % 60 > 30 for i in range(200))
        roles = {"age": "quasi-identifier", "town": "quasi-identifier", "illness": "sensitive"}
        for column, role in roles.items():
            browser.post("roles/set", {"column": column, "role": role})
        browser.post("run/choose", {"algorithm": "mondrian", "cost": "loss"})
        browser.post("run/start")
        assert browser.ended()["status"] == "done"
        made = browser.json("publish")
        assert f"kohort anonymize {url} " in made["command"]
        assert f"--query '{query}'" in made["command"]
        assert f"ko.database('{url}', query='{query}')" in made["script"]


@pytest.mark.parametrize(
    ("typed", "query", "words"),
    [
        ("postgresql://ann:s3cr3t@localhost/x", "select 1", "password"),
        ("people.db", "select 1", "URL"),
        (None, "drop table people", "would write"),
        (None, "", "empty"),
        (None, "select * from nobody", "no such table"),
    ],
)
def test_what_is_refused(tmp_path, url, typed, query, words):
    folder = tmp_path / "private"
    folder.mkdir()
    with studio(folder) as browser:
        answer = browser.post("data/database", {"url": typed or url, "query": query})
        facts = browser.opened()
        shown = f"{answer.text} {(facts['opening'] or {}).get('error')} {browser.get('data').text}"
    assert words in shown
    assert "s3cr3t" not in shown
    assert facts["profile"] is None


def test_where_paths_are_not_allowed_databases_are_not_either(tmp_path, url):
    folder = tmp_path / "private"
    folder.mkdir()
    with studio(folder, paths_allowed=False) as browser:
        assert 'action="/s/' in browser.get("data").text and "data/database" not in browser.get("data").text
        browser.post("data/database", {"url": url, "query": "select * from people"})
        assert browser.opened()["profile"] is None
