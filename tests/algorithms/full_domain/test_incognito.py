from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from alpha_problems import alpha_cases
from alpha_tables import HIV, JOBS, PEOPLE, TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_8, C, released
from by_definition.full_domain import full_domain_releases
from kohort.algorithms import Run
from kohort.algorithms.full_domain import generalized_table, incognito
from kohort.algorithms.full_domain.generalized_table import GeneralizedTable
from kohort.algorithms.full_domain.incognito import minimal_nodes, valid_generalizations
from kohort.errors import InfeasibleError, UnsupportedError
from kohort.recoding.recoding import OPEN, STATES
from kohort.tables.memory import MemoryTable
from kohort.verification import published_classes, verify_models
from strategies import cases

small_cases = cases(kinds=("integer", "plain"), free=False, labels=("hierarchy",), max_records=10)


# -- the paper's tables ----------------------------------------------------------------------------


@pytest.mark.parametrize(("table", "deassociated"), [(TABLE_2, False), (TABLE_3, True), (TABLE_4, True)])
def test_tables_2_to_4_are_2_anonymous_and_all_but_the_first_hide_who_has_hiv(table, deassociated):
    verdict = verify_models(published_classes(MemoryTable(pa.table(table)), list(JOBS), HIV), HIV)
    assert [model.holds for model in verdict.models] == [True, deassociated]


def test_table_4_is_the_best_full_domain_generalization_of_table_1():
    assert released(TABLE_1, "incognito", JOBS).table.to_pydict() == TABLE_4


def valid_levels(table, models=C):
    problem = released(table, "incognito", PEOPLE, models).problem
    return valid_generalizations(GeneralizedTable(problem), problem.models, Run())


def test_tables_5_to_7_show_generalization_and_subset_pruning():
    """<G0, B1, P1> is valid, so what generalizes it is, and so is what it is on fewer attributes."""
    valid = valid_levels(TABLE_5)
    assert valid.shape == (2, 3, 5)
    assert valid[0, 1, 1] and valid[0, 1, 2]
    assert [0, 1, 1] in minimal_nodes(valid).tolist()
    assert not valid[0, 0, 4] and not valid[1, 1, 0]


def test_table_8_by_full_domain_generalization():
    release = released(TABLE_8, "incognito", PEOPLE)
    assert release.table["birth"].to_pylist() == ["1965"] * 4
    assert release.table["postcode"].to_pylist() == ["435*"] * 4
    assert release.table["gender"].to_pylist() == ["male"] * 4
    assert release.notes == (
        "Levels published: gender 0 of 1, birth 1 of 2, postcode 1 of 4.",
        "Minimal full-domain generalizations that keep the promise: 1.",
    )


# -- against brute force ---------------------------------------------------------------------------


@given(small_cases, st.sampled_from(["loss", "ncp", "tree", "distortion", "entropy", "monotone-entropy"]))
def test_it_finds_all_valid_generalizations_and_takes_one_of_least_cost(case, cost):
    assume(set(case.paths) == set(case.quasi_identifiers))  # a column without values has no hierarchy
    release = case.anonymize(algorithm="incognito", cost=cost)
    found = list(full_domain_releases(release.problem, release.problem.models, case.paths))
    valid = valid_generalizations(GeneralizedTable(release.problem), release.problem.models, Run())
    assert {tuple(levels) for levels in np.argwhere(valid).tolist()} == {levels for levels, _, _ in found}
    assert release.cost == pytest.approx(min(cost for _, _, cost in found), abs=1e-9)


@given(small_cases)
def test_its_lattice_tells_the_truth_of_every_node(case):
    assume(set(case.paths) == set(case.quasi_identifiers))
    release = case.anonymize(algorithm="incognito")
    holding = {
        levels for levels, _, _ in full_domain_releases(release.problem, release.problem.models, case.paths)
    }
    lattice = release.recoding.lattice
    for levels in np.ndindex(lattice.states.shape):
        assert (STATES[lattice.states[levels]] in ("held", "implied")) == (levels in holding)
    assert lattice.chosen in holding and not (lattice.states == OPEN).any()


@given(alpha_cases(feasible=False, max_records=9))
def test_under_the_ceiling_it_finds_the_cheapest_one_whenever_there_is_one(case):
    models = [case.privacy[0], *(replace(model, rounding="ceiling") for model in case.privacy[1:])]
    problem = case.problem(privacy=case.privacy[:1])
    paths = {name: list(hierarchy.paths()) for name, hierarchy in case.quasi_identifiers.items()}
    costs_found = [cost for _, _, cost in full_domain_releases(problem, models, paths)]
    if costs_found:
        release = case.anonymize("incognito", privacy=models)
        assert release.cost == pytest.approx(min(costs_found), abs=1e-9)
    else:
        with pytest.raises(InfeasibleError):
            case.anonymize("incognito", privacy=models)


@given(st.data())
def test_minimal_nodes_are_those_that_generalize_no_other(data):
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    nodes = [tuple(node) for node in np.argwhere(np.ones(shape)).tolist()]
    seeds = data.draw(st.lists(st.sampled_from(nodes), max_size=3))
    valid = np.zeros(shape, dtype=bool)
    for seed in seeds:
        valid[tuple(slice(level, None) for level in seed)] = True

    def below(a, b):
        return a != b and all(x <= y for x, y in zip(a, b))

    expected = {node for node in nodes if valid[node] and not any(valid[o] and below(o, node) for o in nodes)}
    assert {tuple(node) for node in minimal_nodes(valid).tolist()} == expected


# -- counterexamples -------------------------------------------------------------------------------

CEILING = pa.table({"a": ["a"] * 6, "b": ["b1"] * 3 + ["b2"] * 3, "sens": ["c", "c", "n"] * 2})


def test_under_the_ceiling_neither_lemma_holds_and_the_narrow_generalization_is_found():
    """<A0, B0> keeps alpha = 0.5 rounded up, 2 of 3; <A0> alone, and anything more general, has 4 of 6."""
    models = [ko.KAnonymity(3), ko.AlphaDeassociation("sens", 0.5, values=["c"], rounding="ceiling")]
    release = released(CEILING, "incognito", {"a": ko.flat(), "b": ko.flat()}, models)
    assert release.table["b"].to_pylist() == ["b1"] * 3 + ["b2"] * 3


def test_what_no_full_domain_generalization_can_keep_under_the_ceiling_is_said():
    models = [ko.KAnonymity(3), ko.AlphaDeassociation("sens", 0.5, values=["c"], rounding="ceiling")]
    with pytest.raises(InfeasibleError, match="Leave rounding out"):
        released(
            CEILING.set_column(1, "b", pa.array(["b"] * 6)),
            "incognito",
            {"a": ko.flat(), "b": ko.flat()},
            models,
        )


def test_fractions_are_exact():
    """Classes of three with one sensitive record keep alpha = 1/3, and nothing below."""
    table = pa.table({"b": ["b1"] * 3 + ["b2"] * 3, "sens": ["c", "n", "n"] * 2})
    third = [ko.KAnonymity(3), ko.AlphaDeassociation("sens", "1/3", values=["c"])]
    assert released(table, "incognito", {"b": ko.flat()}, third).loss["distortion"] == 0
    with pytest.raises(InfeasibleError, match=r"at least 0\.334"):
        released(
            table,
            "incognito",
            {"b": ko.flat()},
            [ko.KAnonymity(3), ko.AlphaDeassociation("sens", 0.333, values=["c"])],
        )


# -- other models, limits --------------------------------------------------------------------------


def test_two_sensitive_attributes_at_once():
    n = 60
    rows = pa.table(
        {
            "age": [20 + (7 * i) % 40 for i in range(n)],
            "town": [f"t{(3 * i) % 7}" for i in range(n)],
            "illness": [("flu", "HIV", "cold", "cancer")[(i * i) % 4] for i in range(n)],
            "wage": [("low", "middle", "high")[(i // 2) % 3] for i in range(n)],
        }
    )
    release = ko.anonymize(
        rows,
        quasi_identifiers={"age": ko.intervals(5, 10, 20), "town": ko.flat()},
        sensitive=["illness", "wage"],
        privacy=[
            ko.KAnonymity(3),
            ko.AlphaDeassociation("illness", 0.6, values=["HIV", "cancer"]),
            ko.AlphaDeassociation("wage", 0.5),
            ko.LDiversity("wage", 2, kind="distinct"),
            ko.TCloseness("illness", 0.5),
        ],
        algorithm="incognito",
    )
    published = release.table.to_pydict()
    groups = {}
    for look, illness, wage in zip(
        zip(published["age"], published["town"]), published["illness"], published["wage"]
    ):
        groups.setdefault(look, []).append((illness, wage))
    for members in groups.values():
        wages = Counter(wage for _, wage in members)
        assert len(members) >= 3 and len(wages) >= 2
        assert max(wages.values()) * 2 <= len(members)
        assert sum(illness in ("HIV", "cancer") for illness, _ in members) * 10 <= 6 * len(members)


def test_a_lattice_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(incognito, "MOST_NODES", 29)
    with pytest.raises(UnsupportedError, match="30 full-domain generalizations"):
        released(TABLE_5, "incognito", PEOPLE)


def test_when_time_is_up_the_whole_table_is_one_class_and_a_note_says_so():
    release = released(TABLE_8, "incognito", PEOPLE, time_limit=1e-9)
    assert release.verdict.classes == 1
    assert "Stopped at the time limit" in release.notes[1]


def test_a_time_limit_under_the_ceiling_is_an_error_if_nothing_was_found():
    models = [ko.KAnonymity(3), ko.AlphaDeassociation("sens", 0.5, values=["c"], rounding="ceiling")]
    with pytest.raises(UnsupportedError, match="Allow more time"):
        released(CEILING, "incognito", {"a": ko.flat(), "b": ko.flat()}, models, time_limit=1e-9)


def test_the_answers_are_the_same_whether_class_tables_are_kept_or_not(monkeypatch):
    problem = released(TABLE_5, "incognito", PEOPLE).problem
    kept = valid_generalizations(GeneralizedTable(problem), problem.models, Run())
    monkeypatch.setattr(generalized_table, "ROOM", 0)
    assert (valid_generalizations(GeneralizedTable(problem), problem.models, Run()) == kept).all()
