"""The knowledge sweep and the scores of special uniques, compared with their definitions."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.knowledge import minimal_uniques, people_alike, sets_of, suda_score
from kohort.problem.units import People, Units
from kohort.risk import knowledge
from kohort.risk.knowledge import KnownTable, Uniques, knowledge_sweep, scores_of, sets_of_columns, sweep

TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(0, 2)] * width), min_size=1, max_size=12)
)


def columns_of(rows):
    return [np.array(column) for column in zip(*rows)]


def swept(table, n_columns, n_rows):
    seen = {}
    sets = sets_of_columns(n_columns, n_rows, np.random.default_rng(0))
    sweep(table, sets, lambda chosen, sizes: seen.update({chosen: sizes.tolist()}))
    return seen


@given(rows=TABLES, data=st.data())
def test_every_set_of_columns_is_examined_as_by_definition(rows, data):
    n = len(rows[0])
    persons = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    for who in (None, persons):
        ones = np.ones(len(rows), dtype=np.int64)
        table = KnownTable(columns_of(rows), ones, Units() if who is None else People(np.array(who)))
        seen = swept(table, n, len(rows))
        assert sorted(seen) == sorted(sets_of(n))
        for chosen, sizes in seen.items():
            assert sizes == people_alike(rows, chosen, who)


@given(rows=TABLES)
def test_special_uniques_are_scored_as_by_definition(rows):
    n = len(rows[0])
    for largest in range(1, n + 1):
        uniques = Uniques(columns_of(rows), largest)
        for chosen in sets_of(n):
            if len(chosen) <= largest:
                uniques.add(chosen, np.array(people_alike(rows, chosen)) == 1)
        scores = scores_of(uniques)
        minimal = [[s for s in minimal_uniques(row, rows, n) if len(s) <= largest] for row in rows]
        assert scores.of_row.tolist() == [suda_score(sets, n, largest) for sets in minimal]
        for c in range(n):
            with_column = [suda_score([s for s in sets if c in s], n, largest) for sets in minimal]
            assert scores.by_column[:, c].tolist() == with_column
        assert sum(scores.minimal_sets) == sum(map(len, minimal))


def test_the_example_of_the_literature():
    """With four columns, sets of one, two and three columns score 6, 2 and 1."""
    assert [suda_score([tuple(range(size))], 4, 3) for size in (1, 2, 3)] == [6, 2, 1]


def people(n=400):
    rng = np.random.default_rng(1)
    return pa.table({name: rng.integers(0, size, n) for name, size in zip("abc", (30, 4, 7))})


def test_a_release_lets_nobody_be_singled_out_by_any_set():
    table = people()
    release = ko.anonymize(table, quasi_identifiers=list("abc"), k=5, algorithm="mondrian", shuffle=False)
    found = knowledge_sweep(release.sides, threshold=0.2, seed=0, show_values=True)
    rows = [tuple(row.values()) for row in table.to_pylist()]
    shown = [tuple(row.values()) for row in release.table.to_pylist()]
    assert found["examined"] == found["sets"] == 7
    for side, of in (("before", rows), ("after", shown)):
        for entry in found[side]["sets"]:
            chosen = ["abc".index(name) for name in entry["columns"]]
            sizes = people_alike(of, chosen)
            assert entry["unique"] == sizes.count(1) and entry["smallest"] == min(sizes)
            assert entry["maximum"] == pytest.approx(1 / min(sizes))
            assert entry["average"] == pytest.approx(np.mean([1 / size for size in sizes]))
    assert found["after"]["singled_out_by"] is None and found["after"]["smallest_class"] >= 5
    assert found["before"]["singled_out_by"]["unique"] > 0
    assert "none of them does: whatever is known, at least" in found["sentence"]
    shares = [entry["share"] for entry in found["special_uniques"]["columns"]]
    assert max(shares) <= 1 and shares[0] == max(shares)
    special = found["special_uniques"]
    assert special["records"] == people_alike(rows, (0, 1, 2)).count(1) and special["records_after"] == 0
    hidden = knowledge_sweep(release.sides, threshold=0.2, seed=0)
    assert "values" not in hidden["special_uniques"]


def test_where_sets_are_too_many_some_are_drawn(monkeypatch):
    monkeypatch.setattr(knowledge, "MOST_SETS", 7)
    sets = sets_of_columns(6, 10, np.random.default_rng(0))
    assert sets.complete == 1 and tuple(range(6)) in sets.drawn and len(set(sets.drawn)) == len(sets.drawn)
    assert list(sets)[: sets.examined] == [*[(c,) for c in range(6)], *sets.drawn]
    rows = [tuple(row) for row in np.random.default_rng(1).integers(0, 2, (10, 6)).tolist()]
    seen = swept(KnownTable(columns_of(rows), np.ones(10, dtype=np.int64)), 6, 10)
    for chosen in sets:
        assert seen[chosen] == people_alike(rows, chosen)


def test_linked_records_are_not_swept():
    table = people(60).append_column("who", pa.array([i // 3 for i in range(60)]))
    release = ko.anonymize(
        table,
        quasi_identifiers=list("bc"),
        person={"who": "pseudonym"},
        others="drop",
        k=2,
        algorithm="mondrian",
    )
    assert knowledge_sweep(release.sides, threshold=0.2, seed=0) is None
