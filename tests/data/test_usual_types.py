"""Columns of types that Arrow hardly computes with are published like any other."""

import pandas as pd
import pyarrow as pa
import pytest

import kohort as ko
from kohort.tables.memory import MemoryTable

N = 60
AGES = [20 + row % 40 for row in range(N)]
WORDS = pa.array(["ash", "birch", "elm"], pa.string_view())
CODES = pa.array([None if row == 7 else row % 3 for row in range(N)], pa.int32())
VIEWS = pa.array([None if row == 7 else "ash" for row in range(N)]).cast(pa.string_view())
SPEC = {"attributes": {"age": {"role": "quasi-identifier"}}, "privacy": {"k": 4}}


def cut():
    table = pd.DataFrame({"age": AGES})
    table["x"] = pd.cut(table.age.where(table.index != 7), 3)
    return table


TABLES = {
    "categories that are intervals": cut,
    "a dictionary of views": lambda: pa.table(
        {"age": AGES, "x": pa.DictionaryArray.from_arrays(CODES, WORDS)}
    ),
    "views": lambda: pa.table({"age": AGES, "x": VIEWS}),
}


@pytest.mark.parametrize("role", ["quasi-identifier", "insensitive"])
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", ".jsonl"])
@pytest.mark.parametrize("kind", TABLES)
def test_a_column_of_an_unusual_type(tmp_path, kind, ending, role):
    table = TABLES[kind]()
    spec = {**SPEC, "attributes": {**SPEC["attributes"], "x": {"role": role}}}
    release = ko.anonymize(table, spec=spec)
    release.write(tmp_path / f"out{ending}")
    assert release.table is not None
    assert ko.verify(tmp_path / f"out{ending}", spec=spec, original=table).holds


def test_intervals_keep_their_order_and_missing_values():
    column = MemoryTable(cut()).column("x")
    assert column.texts == ("(19.961, 33.0]", "(33.0, 46.0]", "(46.0, 59.0]", None)
    assert column.ordered and column.counts[-1] == 1


def test_half_of_a_surrogate_pair_is_refused():
    table = pd.DataFrame({"age": AGES, "x": pd.Series(["a\ud800"] * N, dtype=object)})
    with pytest.raises(ko.InputError, match="'x' holds text that is not valid Unicode") as caught:
        ko.anonymize(table, quasi_identifiers=["age"], insensitive=["x"], k=4)
    assert "\\ud800" not in repr(caught.value)
