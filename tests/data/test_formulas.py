"""Cells that begin like formulas: found, escaped, and read back as they were."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.data.formulas import escaped, formula_cells, unescaped
from kohort.tables.memory import MemoryTable

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "+44 20 7946", "-5 apples"]
HARMLESS = ["", "a=b", "5", "-5", "+5.5", "-1,5", "-1e-7", "-12%", "-", " =1", "[−5, 5)", "*", None]


def kinds(values):
    plain = pa.array(values, pa.string())
    return [plain, plain.cast(pa.large_string()), plain.dictionary_encode()]


@pytest.mark.parametrize("kind", range(3))
def test_cells_that_begin_like_formulas_are_counted(kind):
    table = pa.table({"a": kinds(FORMULAS)[kind], "b": kinds(["x"] * 8)[kind], "n": range(-4, 4)})
    assert formula_cells(MemoryTable(table)) == {"a": 8}
    assert formula_cells(MemoryTable(pa.table({"a": kinds(HARMLESS)[kind]}))) == {}
    assert formula_cells(
        MemoryTable(pa.table({"=name": kinds(["x", "=x", "=x"])[kind], "@n": [1, 2, 3]}))
    ) == {
        "=name": 3,
        "@n": 1,
    }


@pytest.mark.parametrize("kind", range(3))
def test_an_escaped_table_has_no_formula_and_the_rest_as_it_was(kind):
    made = escaped(pa.table({"=a": kinds(FORMULAS + HARMLESS)[kind], "n": range(21)}))
    assert formula_cells(MemoryTable(made)) == {}
    assert made["'=a"].to_pylist() == [f"'{text}" for text in FORMULAS] + HARMLESS
    assert made["n"].to_pylist() == list(range(21))


@given(st.lists(st.none() | st.text(alphabet="'=+-@\t\r\na1.,e%"), min_size=1, max_size=20))
def test_escaping_can_be_undone(texts):
    for column in kinds(texts):
        table = pa.table({"'=x": column})
        back = unescaped(escaped(table))
        assert back.to_pydict() == table.to_pydict()
        assert formula_cells(MemoryTable(escaped(table))) == {}


def test_chunks_and_empty_tables_are_fine():
    chunked = pa.chunked_array([pa.array(["=1"]), pa.array([], pa.string()), pa.array(["x"])])
    assert formula_cells(MemoryTable(pa.table({"a": chunked}))) == {"a": 1}
    assert escaped(pa.table({"a": chunked}))["a"].to_pylist() == ["'=1", "x"]
    assert escaped(pa.table({"a": pa.array([], pa.string())})).num_rows == 0
