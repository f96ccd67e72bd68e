"""People, not rows: every algorithm on random tables in which people have several records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition import people as slow
from kohort.algorithms import ALGORITHMS
from kohort.errors import InfeasibleError, InputError, UnsupportedError
from trials import few_examples

COUNTING = [name for name, algorithm in ALGORITHMS.items() if algorithm.people != "refuses"]
OF_TREES = {"sex": ko.flat(), "age": ko.intervals(2, 4, 8)}


@dataclass(frozen=True)
class Visits:
    table: pa.Table
    models: list

    def released(self, algorithm, **options):
        given = {
            "quasi_identifiers": OF_TREES,
            "sensitive": ["ill"],
            "person": "patient",
            "privacy": self.models,
            "shuffle": False,
        }
        return ko.anonymize(self.table, algorithm=algorithm, **(given | options))


@st.composite
def visits(draw, least=2, ks=(2, 3)):
    """Up to 14 visits of up to 6 patients, and what is asked of their release."""
    n = draw(st.integers(least, 14))
    columns = {
        "patient": st.integers(0, 5),
        "sex": st.sampled_from(["f", "m"]),
        "age": st.integers(0, 9),
        "ill": st.sampled_from(["flu", "cold", "cough"]),
    }
    table = {name: draw(st.lists(values, min_size=n, max_size=n)) for name, values in columns.items()}
    k = ko.KAnonymity(draw(st.sampled_from(ks)))
    more = st.sampled_from(
        [
            None,
            ko.LDiversity("ill", "3/2"),
            ko.LDiversity("ill", 2, kind="distinct"),
            ko.LDiversity("ill", "3/2", kind="entropy"),
            ko.LDiversity("ill", 2, kind="recursive", c=3),
            ko.AlphaDeassociation("ill", "2/3", values=["flu", "cold"]),
            ko.TCloseness("ill", "1/3"),
        ]
    )
    also = draw(more)
    return Visits(pa.table(table), [k] if also is None else [k, also])


def judged(case, release):
    """Every class that somebody sees keeps every model, by its definition in sets of people."""
    persons = np.array(case.table["patient"].to_pylist())[release.original_rows].tolist()
    shown = release.arrow
    looks = list(zip(*(shown[name].to_pylist() for name in OF_TREES)))
    ill = shown["ill"].to_pylist()
    assert "patient" not in shown.column_names
    for records in slow.classes(looks):
        for model in release.problem.models:
            assert slow.keeps(model, records, persons, ill, list(range(len(ill)))), model


def test_a_model_that_one_layer_keeps_and_the_table_breaks_is_left_to_uniting():
    table = pa.table(
        {"patient": [0, 0, 0, 1], "sex": ["f"] * 4, "age": [0] * 4, "ill": ["flu", "flu", "flu", "cold"]}
    )
    models = [ko.KAnonymity(2), ko.LDiversity("ill", 2, kind="recursive", c=3)]
    assert Visits(table, models).released("improve").verdict.holds


@pytest.mark.parametrize("algorithm", COUNTING)
@few_examples
@given(case=visits(), data=st.data())
def test_every_release_keeps_its_promises_for_people(algorithm, case, data):
    options = {}
    if ALGORITHMS[algorithm].withholds and case.models[-1].name != "t-closeness":
        options["suppression"] = data.draw(st.sampled_from([0.0, 0.3]))
        options["suppressed"] = data.draw(st.sampled_from(["star", "drop"]))
    if algorithm == "two-anonymity":
        case = Visits(case.table, [ko.KAnonymity(2), *case.models[1:]])
    if algorithm == "three-anonymity":
        case = Visits(case.table, [ko.KAnonymity(3), *case.models[1:]])
    try:
        release = case.released(algorithm, **options)
    except (InfeasibleError, InputError):  # InputError: all visits are of one patient
        return
    except UnsupportedError:  # of one record per person: some algorithms have no rule for some models
        assert len(set(case.table["patient"].to_pylist())) == len(case.table)
        return
    judged(case, release)
    people = len(set(case.table["patient"].to_pylist()))
    if release.verdict.people is not None and not release.verdict.withheld:
        assert release.verdict.people.number == people
    assert all(b is None or b <= release.cost + 1e-9 for b in (release.bound, release.solver_bound))


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - set(COUNTING)))
def test_the_others_refuse_by_name(algorithm):
    table = pa.table({"patient": [1, 1, 2, 2], "sex": list("ffmm"), "age": [1, 2, 3, 4], "ill": list("abab")})
    with pytest.raises(UnsupportedError, match=f"{algorithm} counts records, and in this table people have"):
        Visits(table, [ko.KAnonymity(2)]).released(algorithm)


@pytest.mark.parametrize("algorithm", COUNTING)
@few_examples
@given(case=visits())
def test_one_record_each_is_published_as_without_the_role(algorithm, case):
    own = pa.array(np.random.default_rng(0).permutation(len(case.table)))
    case = Visits(case.table.set_column(0, "patient", own), case.models)
    if algorithm == "two-anonymity":
        case = Visits(case.table, [ko.KAnonymity(2), *case.models[1:]])
    if algorithm == "three-anonymity":
        case = Visits(case.table, [ko.KAnonymity(3), *case.models[1:]])
    try:
        without = case.released(algorithm, person=None, identifiers=["patient"])
    except (InfeasibleError, UnsupportedError) as refusal:
        with pytest.raises(type(refusal)):
            case.released(algorithm)
        return
    assert case.released(algorithm).arrow.equals(without.arrow)


@given(case=visits(least=4))
def test_a_demand_is_refused_at_once_only_where_nothing_keeps_it(case):
    """Every way to class the records is tried where a promise is called impossible."""
    n = min(len(case.table), 7)
    case = Visits(case.table.slice(0, n), case.models)
    try:
        case.released("mondrian")
    except InfeasibleError as error:
        if "is impossible" not in str(error):
            return
    except InputError:
        return
    else:
        return
    persons, ill = case.table["patient"].to_pylist(), case.table["ill"].to_pylist()
    everybody = list(range(n))
    for classes in _partitions(everybody):
        assert not all(
            slow.keeps(model, records, persons, ill, everybody)
            for records in classes
            for model in case.models
        )


def _partitions(records):
    """Every way to part a list."""
    if not records:
        yield []
        return
    first, *rest = records
    for parts in _partitions(rest):
        yield [[first], *parts]
        for place, part in enumerate(parts):
            yield [*parts[:place], [first, *part], *parts[place + 1 :]]
