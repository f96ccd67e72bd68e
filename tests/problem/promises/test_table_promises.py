"""Promises about a whole table: known columns, k-map, delta-presence, population uniqueness."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition.class_tables import counts_of
from by_definition.models import records_alike
from kohort.errors import InputError, InternalError, UnsupportedError
from kohort.problem.promises import (
    DeltaPresence,
    KMap,
    KnownColumns,
    LabelledClasses,
    PopulationUniqueness,
)
from kohort.problem.promises import (
    tables as promises_of_tables,
)
from kohort.problem.uniqueness import population_uniqueness
from kohort.verification.promises import OF_TABLES, AllClasses, stated

tables = st.integers(1, 4).flatmap(
    lambda columns: st.lists(st.tuples(*[st.integers(0, 2)] * columns), min_size=1, max_size=12)
)


def classes_of(rows):
    labels, of_row, sizes = np.unique(np.array(rows), axis=0, return_inverse=True, return_counts=True)
    return LabelledClasses(labels, sizes), of_row.ravel()


def measured(model, table):
    """What verification measures in the same classes."""
    people = table.people, table.elsewhere, table.apart
    judged = OF_TABLES[model.name](stated([model])[0], AllClasses(table.labels, table.sizes, *people))
    assert judged.holds.tolist() == model.holds_in(table).tolist()
    return judged.measured(np.ones(len(table.sizes), dtype=bool))


@given(tables, st.integers(1, 5), st.integers(1, 4))
def test_known_columns_are_by_definition(rows, known, k):
    table, of_row = classes_of(rows)
    model = KnownColumns(k, known)
    expected = records_alike(rows, min(known, len(rows[0])))
    assert model.records_alike(table)[of_row].tolist() == expected
    assert model.holds_in(table)[of_row].tolist() == [alike >= k for alike in expected]
    assert measured(model, table) == min(expected)


def test_whoever_knows_all_columns_makes_it_k_anonymity():
    table, _ = classes_of([(0, 0), (0, 0), (0, 1), (1, 1)])
    assert measured(KnownColumns(2, 2), table) == table.sizes.min() == 1
    assert measured(KnownColumns(2, 1), table) == 1  # only one record has 1 in the first column
    assert measured(KnownColumns(2, 7), table) == 1


def test_too_many_combinations_are_refused(monkeypatch):
    monkeypatch.setattr(promises_of_tables, "MOST_COMBINATIONS", 2)
    table, _ = classes_of([(0, 1, 0), (1, 0, 1)])
    assert KnownColumns(1, 3).holds_in(table).all()
    with pytest.raises(UnsupportedError, match="2 known columns of 3 are 3 combinations"):
        KnownColumns(1, 2).holds_in(table)


def compared(sizes, people, **more):
    return LabelledClasses(np.zeros((len(sizes), 1)), np.array(sizes), np.array(people), **more)


def test_k_map_counts_the_population():
    table = compared([1, 3], [4, 9])
    assert KMap("p.csv", 4).holds_in(table).tolist() == [True, True]
    assert KMap("p.csv", 5).holds_in(table).tolist() == [False, True]
    assert measured(KMap("p.csv", 5), table) == 4
    assert "k can be at most 13" in KMap("p.csv", 14).refusal_in(compared([4], [13]))
    with pytest.raises(InternalError, match="population"):
        KMap("p.csv", 4).holds_in(classes_of([(0,)])[0])


def test_presence_has_two_limits():
    table = compared([1, 3], [4, 4])
    assert DeltaPresence("p.csv", 0, 0.75).holds_in(table).tolist() == [True, True]
    assert DeltaPresence("p.csv", 0, "0.7499").holds_in(table).tolist() == [True, False]
    assert DeltaPresence("p.csv", 0.25, 1).holds_in(table).tolist() == [True, True]
    assert DeltaPresence("p.csv", 0.26, 1).holds_in(table).tolist() == [False, True]
    assert measured(DeltaPresence("p.csv", 0, 1), table) == Fraction(3, 4)


def test_who_fits_no_class_is_known_to_be_elsewhere():
    table = compared([1], [2], elsewhere=1)
    assert DeltaPresence("p.csv", 0, 0.5).holds_in(table).all()
    assert not DeltaPresence("p.csv", 0.1, 0.5).holds_in(table).any()


def test_presence_is_not_known_where_classes_overlap():
    table = compared([1], [2], apart=False)
    assert not DeltaPresence("p.csv", 0, 1).holds_in(table).any()
    assert measured(DeltaPresence("p.csv", 0, 1), table) == inf


def test_what_presence_cannot_be_is_answered_with_what_it_can():
    whole = compared([3], [10])
    assert "at_most must be at least 0.3" in DeltaPresence("p.csv", 0, 0.2).refusal_in(whole)
    assert "at_least can be at most 0.3" in DeltaPresence("p.csv", 0.4, 0.5).refusal_in(whole)
    with pytest.raises(InputError, match="'at_least' of DeltaPresence must not be above 'at_most'"):
        DeltaPresence("p.csv", 0.4, 0.3)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=20), st.sampled_from([0.05, 0.5, 1]))
def test_uniqueness_is_what_the_risk_report_estimates(sizes, fraction):
    expected = population_uniqueness(np.array(sizes), fraction)
    table = LabelledClasses(np.arange(len(sizes))[:, None], np.array(sizes))
    for estimate in ("pitman", "zayatz"):
        assert measured(PopulationUniqueness(0.1, fraction, estimate), table) == expected[estimate]
    model = PopulationUniqueness(0.1, fraction)
    assert measured(model, table) == expected["share"]
    assert model.holds_in(table).tolist() == [expected["share"] <= 0.1] * len(sizes)


def test_populations_are_files_or_tables():
    assert KMap("people.csv", 2).to_dict() == {"population": "people.csv", "k": 2}
    assert KMap(pa.table({"a": [1]}), 2).to_dict() == {"population": "a table in memory", "k": 2}
    for wrong in (7, "", None, []):
        with pytest.raises(InputError, match="must name a file, or be a table"):
            KMap(wrong, 2)


def test_they_are_not_about_single_classes():
    for model in (KnownColumns(2, 2), KMap("p.csv", 2)):
        with pytest.raises(InternalError, match="about a whole table"):
            model.holds(counts_of([[1, 1]]))
