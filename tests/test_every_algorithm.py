"""What every algorithm owes, whatever it does: registering one puts it under test here."""

import dataclasses
import json
from contextlib import nullcontext, suppress
from functools import cache
from itertools import combinations

import numba
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from by_definition.costs import cell_cost
from by_definition.domains import TreeDomain, domain_of
from by_definition.verification import classes, covers
from kohort.algorithms import ALGORITHMS, Run, algorithm_named, parameters_of
from kohort.algorithms.closed_records import k_anon
from kohort.errors import InfeasibleError, InputError, UnsupportedError
from kohort.kernels.threads import thread_count
from kohort.problem.costs import COSTS
from kohort.problem.promises import MODELS
from strategies import cases

# every second case has hierarchies on all columns: some algorithms need them, and few records: some are slow
any_case = st.one_of(cases(free=False, labels=("hierarchy",), max_records=12), cases())
every_algorithm = pytest.mark.parametrize("name", ALGORITHMS)

PAPER_TABLE = {
    "age": [21, 23, 25, 31, 33, 38, 45, 47, 52, 58, 61, 66],
    "town": [
        "Bern",
        "Biel",
        "Bern",
        "Thun",
        "Biel",
        "Thun",
        "Basel",
        "Riehen",
        "Basel",
        "Riehen",
        "Basel",
        "Bern",
    ],
    "sex": ["f", "m", "m", "f", "f", "m", "m", "f", "f", "m", "m", "f"],
    "illness": [
        "flu",
        "cold",
        "flu",
        "asthma",
        "cold",
        "flu",
        "cold",
        "asthma",
        "flu",
        "cold",
        "flu",
        "asthma",
    ],
}
TOWNS = [(t, "BE", "*") for t in ("Bern", "Biel", "Thun")] + [(t, "BS", "*") for t in ("Basel", "Riehen")]
QUASI_IDENTIFIERS = {"age": ko.intervals(5, 10, 20), "town": ko.Hierarchy.from_paths(TOWNS), "sex": ko.flat()}
ONLY_K = {"two-anonymity": 2, "three-anonymity": 3}  # algorithms for one k
NO_GROUPS = ("optimal-recoding", "bottom-up", "top-down-search")  # that could be united for a model
POPULATION = pa.concat_tables([pa.table(PAPER_TABLE)] * 2).drop(["illness"])
MODEL_EXAMPLES = {
    "k-anonymity": [],
    "risk-limit": [
        ko.RiskLimit(0.5, strict=False),
        ko.RiskLimit(1, "average", strict=False),
        ko.RiskLimit(0.5, share=0.9),
    ],
    "l-diversity": [ko.LDiversity("illness", 2), ko.LDiversity("illness", 2, kind="entropy")],
    "alpha-deassociation": [
        ko.AlphaDeassociation("illness", 0.5),
        ko.AlphaDeassociation("illness", 0.6, values=["flu"]),
    ],
    "t-closeness": [ko.TCloseness("illness", 0.4)],
    "known-columns": [ko.KnownColumns(3, 2)],
    "k-map": [ko.KMap(POPULATION, 4)],
    "delta-presence": [ko.DeltaPresence(POPULATION, 0.2, 0.6)],
    "population-uniqueness": [ko.PopulationUniqueness(0.05, 0.5)],
    "differential-privacy": [ko.DifferentialPrivacy(1, 0.9, levels={"age": 3, "town": 2, "sex": 1})],
    "delta-disclosure": [ko.DeltaDisclosure("illness", 2)],
    "beta-likeness": [ko.BetaLikeness("illness", 0.5), ko.BetaLikeness("illness", 1, kind="enhanced")],
}


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch):
    """k-anon looks at every set of records: let it refuse what takes more than a moment."""
    monkeypatch.setattr(k_anon, "MOST_SETS", 2000)


def release_of(name, **changes):
    asked = {
        "quasi_identifiers": QUASI_IDENTIFIERS,
        "sensitive": ["illness"],
        "privacy": [ko.KAnonymity(ONLY_K.get(name, 2))],
        "algorithm": name,
    }
    return ko.anonymize(pa.table(PAPER_TABLE), **asked | changes)


def attempt(case, name, **changes):
    """The release, if the algorithm can do what is asked; with its k, if it has only one."""
    if name in ONLY_K:
        assume(case.table.num_rows >= ONLY_K[name])
        case.privacy = [ko.KAnonymity(ONLY_K[name]), *case.privacy[1:]]
    try:
        return case.anonymize(algorithm=name, **changes)
    except UnsupportedError:
        assume(False)


@every_algorithm
@given(case=any_case)
def test_any_release_is_sound(name, case):
    """One release is looked at from all sides, because making it takes most of the time."""
    release = attempt(case, name)
    keeps_its_promise_and_what_nobody_should_touch(case, release)
    every_published_value_covers_its_original(case, release)
    costs_lie_in_their_range(case, release)
    assert attempt(case, name).arrow.equals(release.arrow)  # the same seed gives the same output


def keeps_its_promise_and_what_nobody_should_touch(case, release):
    assert release.verdict.holds
    assert release.verdict.smallest_class is None or release.verdict.smallest_class >= case.k
    looks = [release.table[q].to_pylist() for q in case.quasi_identifiers]
    found = classes(looks)
    assert release.verdict.classes == len(found)
    assert release.verdict.smallest_class == min(len(records) for records in found.values())
    assert release.table.num_rows == case.table.num_rows
    assert release.table.column_names == case.table.column_names
    for kept in (*case.sensitive, *case.insensitive):
        assert release.table[kept].equals(case.table[kept])


def every_published_value_covers_its_original(case, release):
    for attribute in release.problem.attributes:
        column = attribute.column
        key = column.texts.index if column.ordered else None
        tree = None
        if attribute.name in case.paths and not attribute.tight:
            tree = TreeDomain(case.paths[attribute.name], column.has_null)
            published = dict(zip(attribute.domain.published, attribute.domain.label))
        for label, code in zip(release.table[attribute.name].to_pylist(), column.codes):
            written = published.get(label, label) if tree else label
            assert covers(written, column.texts[code], tree=tree, key=key)


def costs_lie_in_their_range(case, release):
    n, loss = case.table.num_rows, release.loss
    assert set(loss) == set(COSTS)
    for measure in ("loss", "ncp", "tree", "distortion"):
        assert 0 <= loss[measure] <= 1 + 1e-9
    assert 0 <= loss["monotone-entropy"] <= loss["entropy"] + 1e-9
    assert loss["suppressions"] in range(n * len(case.quasi_identifiers) + 1)
    assert loss["ambiguity"] >= 1
    assert n * case.k <= loss["discernibility"] <= n * n
    assert 0 <= loss["hierarchical-discernibility"] <= n + 1e-9
    assert case.k <= loss["average-class-size"] <= n
    assert release.cost == loss[case.options["cost"]]
    assert all(b is None or b <= release.cost + 1e-9 for b in (release.bound, release.solver_bound))
    assert release.guarantee is None or release.guarantee >= 1


@every_algorithm
@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one core only")
def test_one_thread_and_two_give_the_same_output(name, monkeypatch):
    """On a table with enough groups for both threads, with a model that has to look at records."""
    table, town_paths = _many_people()
    asked = {
        "quasi_identifiers": {"age": ko.intervals(5, 10, 30), "town": ko.Hierarchy.from_paths(town_paths)},
        "sensitive": ["illness"],
        "privacy": [ko.KAnonymity(3), ko.LDiversity("illness", 2)],
        "algorithm": name,
    }
    releases = []
    for threads in (1, 2):
        monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", threads)
        assert thread_count() == threads
        try:
            releases.append(ko.anonymize(table, **asked).arrow)
        except UnsupportedError:  # it is for tiny tables
            releases.append(release_of(name).arrow)
    assert releases[0].equals(releases[1])


def _many_people():
    rows = range(3000)
    towns = [f"t{(r * 104729) % 40}" for r in rows]
    columns = {
        "age": [(r * 7919) % 90 for r in rows],
        "town": towns,
        "illness": [f"i{(r * 31) % 7}" for r in rows],
    }
    return pa.table(columns), [(town, f"T{int(town[1:]) // 8}", "*") for town in sorted(set(towns))]


@every_algorithm
@given(case=cases(kinds=("integer", "plain"), free=False, labels=("hierarchy",), max_records=7))
def test_bounds_and_guarantees_hold_against_the_best_of_all_partitions(name, case):
    case.privacy = case.privacy[:1]
    release = attempt(case, name)
    plain = [
        (
            domain_of(a.column, paths=case.paths.get(a.name)),
            [a.column.texts[code] for code in a.column.codes],
            weight,
        )
        for a, weight in zip(release.problem.attributes, release.problem.weights)
    ]

    @cache
    def cost_of(group):
        cells = [
            (domain.closure([texts[r] for r in group]), domain, weight) for domain, texts, weight in plain
        ]
        name = case.options["cost"]
        return len(group) * sum(
            weight * cell_cost(name, cell, len(domain.leaves)) for cell, domain, weight in cells
        )

    n = case.table.num_rows
    best = min(sum(map(cost_of, partition)) for partition in partitions(list(range(n)), case.k)) / n
    assert release.cost >= best - 1e-9
    assert all(b is None or b <= best + 1e-9 for b in (release.bound, release.solver_bound))
    assert release.guarantee is None or release.cost <= release.guarantee * best + 1e-9


def partitions(records, k):
    """All ways to deal records to groups of at least k."""
    if not records:
        yield []
    first, *others = records
    for size in range(k - 1, len(others) + 1):
        for company in combinations(others, size):
            rest = [record for record in others if record not in company]
            if not rest:
                yield [(first, *company)]
            elif len(rest) >= k:
                for partition in partitions(rest, k):
                    yield [(first, *company), *partition]


@every_algorithm
@pytest.mark.parametrize("cost", COSTS)
def test_declared_costs_work_and_others_are_refused(name, cost):
    if cost in ALGORITHMS[name].costs:
        assert release_of(name, cost=cost).problem.cost.name == cost
    else:
        with pytest.raises(UnsupportedError, match=cost):
            release_of(name, cost=cost)


@every_algorithm
@pytest.mark.parametrize("model", MODELS)
def test_every_model_works_by_itself_or_by_uniting_groups(name, model):
    for example in MODEL_EXAMPLES[model] or [None]:
        privacy = [ko.KAnonymity(ONLY_K.get(name, 2)), *([] if example is None else [example])]
        more = {"sensitive": (), "identifiers": ["illness"]} if MODELS[model].by_sampling else {}
        if model in ALGORITHMS[name].models:
            release = release_of(name, privacy=privacy, **more)
            assert [verdict.model for verdict in release.verdict.models] == [m.name for m in privacy]
            assert release.verdict.holds
            assert "diversify" not in release.parameters
        elif example is not None and example.enough_k is not None:
            with suppress(UnsupportedError) if name in ONLY_K else nullcontext():  # another k may be needed
                assert release_of(name, privacy=privacy).verdict.holds
        elif name in NO_GROUPS or MODELS[model].of_table or MODELS[model].by_sampling:
            with pytest.raises(UnsupportedError, match=f"{name} does not support {model}"):
                release_of(name, privacy=privacy, **more)
        else:
            release = release_of(name, privacy=privacy)
            assert release.verdict.holds
            assert release.parameters["diversify"] == {"w": 0.15}


@every_algorithm
def test_parameters_are_frozen_have_defaults_and_go_into_json(name):
    algorithm = algorithm_named(name)
    assert algorithm == ALGORITHMS[name]()
    for field in dataclasses.fields(algorithm):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(algorithm, field.name, None)
    assert json.loads(json.dumps(parameters_of(algorithm))) == parameters_of(algorithm)


@every_algorithm
def test_it_says_what_it_is(name):
    algorithm = ALGORITHMS[name]
    assert algorithm.name == name
    assert algorithm.summary
    assert algorithm.promise
    assert set(algorithm.models) <= set(MODELS)
    assert "k-anonymity" in algorithm.models
    assert set(algorithm.costs) <= set(COSTS)
    assert algorithm.__doc__


@every_algorithm
@given(case=any_case)
def test_when_time_runs_out_the_best_so_far_is_returned_and_holds(name, case):
    release = attempt(case, name, time_limit=1e-9)
    assert release.verdict.holds


@every_algorithm
def test_solving_leaves_the_problem_as_it_was(name):
    problem = release_of(name).problem
    before = [attribute.column.codes.copy() for attribute in problem.attributes]
    algorithm = algorithm_named(name)
    first = algorithm.solve(problem, Run())
    assert all((a.column.codes == codes).all() for a, codes in zip(problem.attributes, before))
    again = algorithm.solve(problem, Run())
    for attribute in problem.attributes:
        one, two = first.apply(attribute), again.apply(attribute)
        assert [one.labels[i] for i in one.of_record] == [two.labels[i] for i in two.of_record]


@every_algorithm
@pytest.mark.parametrize(
    "privacy, says",
    [
        ([ko.KAnonymity(13)], "k can be at most 12"),
        ([ko.KAnonymity(2), ko.LDiversity("illness", 3)], "l can be at most 2.4"),
        ([ko.KAnonymity(2), ko.LDiversity("illness", 4, kind="distinct")], "l can be at most 3"),
        ([ko.KAnonymity(2), ko.AlphaDeassociation("illness", 0.4)], "alpha must be at least 0.41"),
        ([ko.LDiversity("illness", 2, kind="recursive", c=0.5)], "c must be above"),
    ],
)
def test_what_cannot_be_had_is_refused_with_what_can(name, privacy, says):
    with pytest.raises(InfeasibleError, match=says):
        release_of(name, privacy=privacy)


def test_an_unknown_algorithm_is_answered_with_the_nearest_one():
    with pytest.raises(InputError, match="Did you mean 'mondrian'"):
        release_of("mondrain")
