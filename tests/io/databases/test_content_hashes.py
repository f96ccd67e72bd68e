"""The hash of a table: the same in any order and in any batches, another for any other table."""

import datetime
import decimal
import hashlib
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.io.databases.records import ContentHash
from reading_databases import content_hash

CELLS = st.one_of(st.none(), st.text(max_size=4), st.sampled_from(["\x1f", "\\", "\\N", "\\S", ""]))
TABLES = st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8)


def table_of(rows):
    return pa.table({"a": pa.array([a for a, _ in rows], pa.string()), "b": [b for _, b in rows]}).cast(
        pa.schema({"a": pa.string(), "b": pa.string()})
    )


@given(TABLES, st.randoms(use_true_random=False))
def test_order_and_batches_do_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    found = ContentHash(["a", "b"])
    for row in shuffled:
        found.add(table_of([row]))
    assert found.sha256 == content_hash(table_of(rows))
    assert found.records == len(rows)


@given(TABLES, TABLES)
def test_other_records_have_another_hash(one, other):
    key = lambda row: tuple((cell is None, cell or "") for cell in row)  # noqa: E731
    same = sorted(one, key=key) == sorted(other, key=key)
    assert (content_hash(table_of(one)) == content_hash(table_of(other))) == same


def test_by_definition():
    table = pa.table({"age": [30, None], "town": ["Ayr", "x\\y"]})
    rows = [b"30\x1fAyr", b"\\N\x1fx\\\\y"]
    digests = sorted(hashlib.sha256(row).digest() for row in rows)
    assert (
        content_hash(table)
        == hashlib.sha256(json.dumps(["age", "town"]).encode() + b"".join(digests)).hexdigest()
    )


def test_order_counts_where_it_is_asked_for():
    one, other = ContentHash(["a"]), ContentHash(["a"])
    one.add(pa.table({"a": [1, 2]}))
    other.add(pa.table({"a": [2, 1]}))
    assert one.sha256 == other.sha256
    assert one.in_order != other.in_order


@pytest.mark.parametrize(
    "values",
    [
        pa.array([True, None]),
        pa.array([1.5, float("nan")]),
        pa.array([decimal.Decimal("1.50"), None]),
        pa.array([datetime.date(2020, 1, 2), None]),
        pa.array([datetime.datetime(2020, 1, 2, 3), None], pa.timestamp("us", "Europe/Paris")),
        pa.array([datetime.time(1, 2), None]),
        pa.array([b"\x00\x1f", None]),
        pa.array([["a", None], None]),
        pa.array([{"x": 1}, None]),
        pa.array(["a", None]).dictionary_encode(),
        pa.nulls(2),
    ],
    ids=lambda values: str(values.type),
)
def test_every_type_has_a_hash(values):
    table = pa.table({"a": values})
    assert content_hash(table) == content_hash(table.take([1, 0]))
    assert content_hash(table) != content_hash(table.slice(0, 1))
