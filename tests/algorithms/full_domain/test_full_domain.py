from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from alpha_problems import alpha_cases
from alpha_tables import PEOPLE, TABLE_5, TABLE_8, released
from by_definition.full_domain import full_domain_releases
from kohort.algorithms import Run
from kohort.algorithms.full_domain import full_domain
from kohort.algorithms.full_domain.full_domain import FullDomain, _LatticeSearch
from kohort.errors import InfeasibleError, UnsupportedError
from kohort.problem.costs import COSTS, cost_named
from kohort.recoding.recoding import STATES
from strategies import cases

small_cases = cases(kinds=("integer", "plain"), free=False, labels=("hierarchy",), max_records=12)
shares = st.sampled_from([0.0, 0.1, 0.25, 0.4, 0.7])


# -- against brute force ---------------------------------------------------------------------------


@given(small_cases, st.sampled_from(sorted(COSTS)), shares, st.sampled_from(["star", "drop"]))
def test_it_finds_the_least_cost_of_all_within_the_limit(case, cost, suppression, suppressed):
    assume(set(case.paths) == set(case.quasi_identifiers))  # a column without values has no hierarchy
    assume(suppressed == "star" or not any(model.compares_with_whole_table for model in case.privacy))
    release = case.anonymize(
        algorithm="full-domain", cost=cost, suppression=suppression, suppressed=suppressed
    )
    found = list(full_domain_releases(release.problem, release.problem.models, case.paths))
    least = min(cost for _, _, cost in found)
    if suppression and any(model.compares_with_whole_table for model in case.privacy):
        assert release.cost >= least - 1e-9  # too few withheld records can neither be `*` nor be left out
    else:
        assert release.cost == pytest.approx(least, rel=1e-9, abs=1e-9)
    assert any(note.startswith("Proven") for note in release.notes)


@given(small_cases, shares)
def test_its_lattice_tells_the_truth_of_every_node(case, suppression):
    assume(set(case.paths) == set(case.quasi_identifiers))
    assume(not suppression or not any(model.compares_with_whole_table for model in case.privacy))
    release = case.anonymize(algorithm="full-domain", suppression=suppression)
    found = {
        levels: cost
        for levels, _, cost in full_domain_releases(release.problem, release.problem.models, case.paths)
    }
    lattice = release.recoding.lattice
    for levels in np.ndindex(lattice.states.shape):
        state = STATES[lattice.states[levels]]
        if state == "open":
            assert found.get(levels, np.inf) >= release.cost * (1 - 1e-9) - 1e-9
        else:
            assert (state in ("held", "implied")) == (levels in found)
    assert STATES[lattice.states[lattice.chosen]] in ("held", "implied")


@given(small_cases, st.sampled_from(sorted(COSTS)), shares)
def test_bounds_of_nodes_are_never_above_their_costs(case, cost, suppression):
    """After any number of looks: the bound of an open node, and for a closed one, what closed it."""
    assume(set(case.paths) == set(case.quasi_identifiers))
    problem = replace(
        case.anonymize(algorithm="full-domain").problem, cost=cost_named(cost), suppression=suppression
    )
    search = _LatticeSearch(problem)
    releases = {levels: cost for levels, _, cost in full_domain_releases(problem, problem.models, case.paths)}
    every = [tuple(levels) for levels in np.argwhere(np.ones(search.table.shape)).tolist()]
    looked_at = set()
    for levels in every[:: max(1, len(every) // 5)]:
        for other, cost in releases.items():
            if other not in looked_at:
                assert search.bound[other] <= cost * (1 + 1e-9) + 1e-9
        search._look_at(levels)
        looked_at.add(levels)
        assert search.best_cost == pytest.approx(min(releases.get(seen, np.inf) for seen in looked_at))


RARE = [("a", "common", "*"), *((leaf, "rare", "*") for leaf in "bcde"), ("f", "common", "*")]


@pytest.mark.parametrize("seed", range(3))
def test_a_withheld_record_may_cost_less_than_a_published_one(seed):
    """Four rare values have more entropy than the whole column, in which one is frequent."""
    rng = np.random.default_rng(seed)
    people = pa.table({"x": list("a" * 30 + "bcde"), "y": rng.permutation(list("af" * 17))})
    trees = {name: ko.Hierarchy.from_paths(RARE) for name in ("x", "y")}
    asked = {"quasi_identifiers": trees, "privacy": [ko.KAnonymity(5)], "cost": "entropy"}
    problem = ko.anonymize(people, **asked, algorithm="full-domain", suppression=0.4).problem
    found = full_domain_releases(problem, problem.models, dict.fromkeys(trees, RARE))
    costs = {levels: cost for levels, _, cost in found}
    search = _LatticeSearch(problem)
    assert (search.cost.per_withheld < 0).any()
    every = [tuple(levels) for levels in np.argwhere(np.ones(search.table.shape)).tolist()]
    for number, levels in enumerate(reversed(every)):
        search._look_at(levels)
        unseen = every[: len(every) - number - 1]
        assert all(search.bound[other] <= costs.get(other, np.inf) + 1e-9 for other in unseen)


@given(alpha_cases(feasible=False, max_records=9), shares)
def test_under_the_ceiling_it_finds_the_cheapest_one_whenever_there_is_one(case, suppression):
    models = [case.privacy[0], *(replace(model, rounding="ceiling") for model in case.privacy[1:])]
    try:
        problem = case.problem(privacy=case.privacy[:1])
        problem = replace(problem, models=tuple(models), suppression=suppression)
    except InfeasibleError:
        assume(False)
    paths = {name: list(hierarchy.paths()) for name, hierarchy in case.quasi_identifiers.items()}
    costs_found = [cost for _, _, cost in full_domain_releases(problem, models, paths)]
    if costs_found:
        release = case.anonymize("full-domain", privacy=models, suppression=suppression)
        assert release.cost == pytest.approx(min(costs_found), abs=1e-9)
    else:
        with pytest.raises(InfeasibleError):
            case.anonymize("full-domain", privacy=models, suppression=suppression)


# -- on real data ----------------------------------------------------------------------------------

FOLDER = Path(ko.datasets.example_spec("adult")).parent / "hierarchies" / "adult"
ADULT = {
    "sex": ko.flat(),
    "age": ko.intervals(5, 10, 20),
    **{
        name: str(FOLDER / f"{name}.csv")
        for name in ("race", "marital-status", "education", "native-country", "workclass")
    },
}


def adult(algorithm, **asked):
    return ko.anonymize(
        ko.datasets.load_adult(split="train").select([*ADULT, "salary-class"]),
        quasi_identifiers=ADULT,
        sensitive=["salary-class"],
        privacy=[ko.KAnonymity(10)],
        algorithm=algorithm,
        **asked,
    )


@pytest.mark.parametrize("cost", ["loss", "distortion", "entropy"])
def test_without_suppression_it_agrees_with_incognito_on_adult(cost):
    found, expected = adult("full-domain", cost=cost), adult("incognito", cost=cost)
    assert found.cost == pytest.approx(expected.cost)
    assert found.verdict.withheld == 0


def test_on_adult_withholding_pays_and_the_release_says_how_many_were_withheld():
    nothing, some = adult("full-domain"), adult("full-domain", suppression=0.05)
    assert some.cost < nothing.cost
    looks = Counter(zip(*(some.table[name].to_pylist() for name in ADULT)))
    withheld = looks.pop(("*",) * len(ADULT))
    assert 0 < withheld == some.verdict.withheld <= 0.05 * 30162
    assert min(looks.values()) >= 10 and len(looks) == some.verdict.classes
    left_out = adult("full-domain", suppression=0.05, suppressed="drop")
    assert left_out.table.num_rows == 30162 - withheld
    assert left_out.loss == pytest.approx(some.loss)


def test_the_paper_s_optimal_discernibility_of_full_domain_generalizations_with_free_suppression():
    """A class below k is withheld at the cost of the whole table for each of its records."""
    people = pa.table({"a": ["x", "x", "y"], "b": ["1", "1", "1"]})
    release = ko.anonymize(
        people,
        quasi_identifiers={"a": ko.flat(), "b": ko.flat()},
        privacy=[ko.KAnonymity(2)],
        algorithm="full-domain",
        cost="discernibility",
        suppression=0.9,
    )
    assert release.cost == 2 * 2 + 3  # against 9 for the whole table as one class
    assert release.verdict.withheld == 1


# -- counterexamples -------------------------------------------------------------------------------


def test_what_is_above_a_valid_generalization_need_not_be_valid():
    """The four of x and z may be withheld; with y among those of x, all six fail."""
    people = pa.table({"a": ["x", "x", "y", "y", "z", "z"], "illness": ["flu"] * 3 + ["cold"] * 3})
    tree = ko.Hierarchy.from_paths([("x", "xy", "*"), ("y", "xy", "*"), ("z", "z2", "*"), ("w", "z2", "*")])
    asked = {
        "quasi_identifiers": {"a": tree},
        "sensitive": ["illness"],
        "privacy": [ko.KAnonymity(2), ko.LDiversity("illness", 2)],
        "algorithm": "full-domain",
    }
    search = _LatticeSearch(replace(ko.anonymize(people, **asked).problem, suppression=0.7))
    assert [search._found((level,)).valid for level in (0, 1, 2)] == [True, False, True]


def test_a_class_of_stars_is_withheld_with_the_others():
    """The values that the hierarchy lacks are a class of `*`, which has room for no failing record."""
    people = pa.table({"a": ["new", "new", "x", "y"], "illness": ["flu", "cold", "flu", "flu"]})
    tree = ko.Hierarchy.from_paths([("x", "*"), ("y", "*")])
    asked = {
        "quasi_identifiers": {"a": tree},
        "sensitive": ["illness"],
        "privacy": [ko.KAnonymity(2), ko.LDiversity("illness", "4/3")],
        "algorithm": "full-domain",
        "on_missing": "suppress",
    }
    for suppression in (0.0, 0.5, 0.99):
        release = ko.anonymize(people, **asked, suppression=suppression)
        assert release.table["a"].to_pylist() == ["*"] * 4


# -- limits ----------------------------------------------------------------------------------------


def test_notes_name_the_levels_and_the_proof():
    release = released(TABLE_8, "full-domain", PEOPLE)
    assert release.notes[0] == "Levels published: gender 0 of 1, birth 1 of 2, postcode 1 of 4."
    assert release.notes[1].startswith("Proven: no full-domain generalization has a lower distortion; ")


def test_when_time_is_up_the_best_so_far_is_published_with_what_is_proven():
    release = released(TABLE_5, "full-domain", PEOPLE, time_limit=1e-9)
    assert release.verdict.classes == 1
    assert release.notes[1] == (
        "Stopped at the time limit: a full-domain generalization has a distortion of at least 0."
    )


def test_a_time_limit_under_the_ceiling_is_an_error_if_nothing_was_found():
    people = pa.table({"b": ["b1"] * 3 + ["b2"] * 3, "sens": ["c", "c", "n"] * 2})
    models = [ko.KAnonymity(3), ko.AlphaDeassociation("sens", 0.5, values=["c"], rounding="ceiling")]
    with pytest.raises(UnsupportedError, match="Allow more time"):
        released(people, "full-domain", {"b": ko.flat()}, models, time_limit=1e-9)


def test_progress_shows_the_best_and_the_bound():
    told = []
    problem = adult("full-domain", suppression=0.05).problem
    FullDomain().solve(problem, Run(progress=lambda what, share: told.append((what, share))))
    assert told and all(what.startswith("best ") and 0 <= share <= 1 for what, share in told)
    shares_told = [share for _, share in told]
    assert shares_told == sorted(shares_told)


def test_a_lattice_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(full_domain, "MOST_NODES", 29)
    with pytest.raises(UnsupportedError, match="30 generalizations"):
        released(TABLE_5, "full-domain", PEOPLE)


def test_tight_labels_are_refused():
    with pytest.raises(UnsupportedError, match="labels: hierarchy"):
        released(TABLE_5, "full-domain", PEOPLE, labels="tight")
