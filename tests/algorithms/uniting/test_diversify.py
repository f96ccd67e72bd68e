from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition import models as by_definition
from by_definition.costs import cell_cost
from by_definition.diversify import deficit
from by_definition.diversify import diversify as algorithm_8
from by_definition.domains import domain_of
from kohort.algorithms import Algorithm, Run
from kohort.algorithms.uniting import diversify as module
from kohort.algorithms.uniting.diversify import diversify
from kohort.data.column import code_column
from kohort.errors import InputError, UnsupportedError
from kohort.problem.costs import cost_named
from kohort.problem.units import SensitiveAttribute
from kohort.recoding.columns import Partitions
from kohort.recoding.groups import Groups
from strategies import _about, _between, cases, columns, hierarchies, texts_of

KINDS = ("integer", "float", "boolean", "plain")
WEIGHTS = st.sampled_from([0, 0.15, 0.5, 1])


# -- random problems and groups --------------------------------------------------------------------


@st.composite
def problems(draw, max_records=14):
    """A case and its problem: one or two sensitive columns, any models that survive unions and can be had."""
    case = draw(cases(KINDS, max_records=max_records))
    base = case.anonymize(privacy=case.privacy[:1], algorithm="mondrian", time_limit=1e-9).problem
    sensitive, asked = {}, list(base.models)
    for name in ("illness", "score")[: draw(st.integers(1, 2))]:
        array = draw(columns(base.n_records, ("plain", "integer"), nulls=False))
        sensitive[name] = SensitiveAttribute(code_column(name, array), draw(hierarchies(texts_of(array))))
        asked += draw(st.lists(about(name, array), min_size=1, max_size=2))
    return case, replace(base, models=tuple(asked), sensitive=sensitive)


def about(name, array):
    """Models that the whole table satisfies."""
    column = code_column(name, array)
    shares = dict(zip(column.texts, column.counts.tolist()))
    distances = ["equal", "hierarchical", *(["ordered"] if column.ordered else [])]
    listed = st.lists(st.sampled_from(column.texts), min_size=1, max_size=2, unique=True).flatmap(
        lambda values: _between(Fraction(sum(shares[v] for v in values), len(array)), 1).map(
            lambda alpha: ko.AlphaDeassociation(name, alpha, values=values)
        )
    )
    each = _between(Fraction(max(shares.values()), len(array)), 1).map(
        lambda alpha: ko.AlphaDeassociation(name, alpha, values=list(shares), combine=False)
    )
    close = st.builds(
        lambda t, d: ko.TCloseness(name, t, distance=d), _between(0, 1), st.sampled_from(distances)
    )
    return st.one_of(_about(name, array), listed, each, close)


def groupings(n):
    """Any groups of n records; -1 is withheld."""
    return st.lists(st.integers(-1, 6), min_size=n, max_size=n).map(np.array)


@st.composite
def groups_of_problems(draw):
    case, problem = draw(problems())
    return (
        case,
        problem,
        Groups(draw(groupings(problem.n_records)), guarantee=3.0, bound=0.1, notes=("before",)),
    )


def clusters(groups):
    """The records of each group, groups in the order of their numbers."""
    of_record = np.asarray(groups.group_of_record if isinstance(groups, Groups) else groups)
    return [np.flatnonzero(of_record == number).tolist() for number in np.unique(of_record[of_record >= 0])]


def satisfied(problem, groups):
    kept = np.flatnonzero(~groups.withheld)
    numbers, group = np.unique(groups.group_of_record[kept], return_inverse=True)
    return problem.satisfied(group, kept, len(numbers)).all()


def by_hand(case, problem, groups, w):
    """What Algorithm 8 makes of these groups."""
    attributes = [
        (domain_of(a.column, paths=case.paths.get(a.name)), [a.column.texts[code] for code in a.column.codes])
        for a in problem.attributes
    ]

    def cost_of(records):
        closures = [(domain, domain.closure([texts[r] for r in records])) for domain, texts in attributes]
        costs = [cell_cost(problem.cost.name, value, len(domain.leaves)) for domain, value in closures]
        return sum(weight * cost for weight, cost in zip(problem.weights, costs))

    def deficit_of(records):
        return sum(deficit_by_hand(problem, model, records) for model in problem.models)

    united = algorithm_8(clusters(groups), cost_of, deficit_of, w)
    if united and deficit_of(united[0]) > 0:  # without the withheld records it cannot be had
        return [list(range(problem.n_records))]
    return united


def deficit_by_hand(problem, model, records):
    if not model.attribute:
        return deficit(model, [len(records)])
    sensitive = problem.sensitive[model.attribute]
    cells = np.bincount(sensitive.column.codes[records], minlength=sensitive.n_values).tolist()
    known = {}
    if model.compares_with_whole_table:
        known["overall"] = sensitive.column.counts.tolist()
    if model.name == "t-closeness":
        tree = sensitive.context.tree
        known["ground"] = {
            "equal": lambda: by_definition.equal_ground(len(cells)),
            "ordered": lambda: by_definition.ordered_ground(list(range(len(cells)))),
            "hierarchical": lambda: by_definition.hierarchical_ground(
                tree.parent.tolist(), tree.leaf_node.tolist(), tree.height.tolist()
            ),
        }[model.distance]()
    if model.name == "alpha-deassociation":
        values = [sensitive.column.texts.index(v) for v in model.values or sensitive.column.texts]
        known["groups"] = [values] if model.values and model.combine else [[v] for v in values]
    return deficit(model, cells, **known)


# -- against the paper -----------------------------------------------------------------------------


@given(groups_of_problems(), WEIGHTS)
def test_exact_is_algorithm_8(drawn, w):
    case, problem, groups = drawn
    united = diversify(problem, groups, Run(), w=w, exact=True)
    assert {tuple(sorted(c)) for c in clusters(united)} == {
        tuple(sorted(c)) for c in by_hand(case, problem, groups, w)
    }


def table_problem(illness, *models, ages=None, k=1, **options):
    """One column of ages, one of illnesses."""
    ages = list(range(len(illness))) if ages is None else ages
    return ko.anonymize(
        pa.table({"age": ages, "illness": illness}),
        quasi_identifiers=["age"],
        sensitive=["illness"],
        privacy=[ko.KAnonymity(k), *models],
        algorithm="mondrian",
        time_limit=1e-9,
        **options,
    ).problem


def pairs(n_groups):
    return Groups(np.repeat(np.arange(n_groups), 2))


def test_w_weighs_the_near_partner_against_the_one_that_helps():
    """The first group has two records with flu, as have its neighbours; those with a cold are far away."""
    problem = table_problem(
        ["flu"] * 6 + ["cold"] * 6,
        ko.LDiversity("illness", 2),
        ages=[1, 2, 3, 4, 5, 6, 90, 91, 92, 93, 94, 95],
    )
    first = {w: united_with_first(problem, pairs(6), w) for w in (0, 0.15, 1)}
    assert first[0] == first[0.15] == {0, 1, 6, 7}
    assert first[1] >= {0, 1, 2, 3}


def united_with_first(problem, groups, w):
    united = diversify(problem, groups, Run(), w=w, exact=True)
    return set(clusters(united)[0])


def test_with_w_0_the_cost_decides_among_partners_that_help_alike():
    illness, ages = (
        ["flu", "flu", "cold", "cold", "cold", "cold", "flu", "flu"],
        [10, 11, 90, 91, 12, 13, 88, 89],
    )
    problem = table_problem(illness, ko.LDiversity("illness", 2), ages=ages)
    united = diversify(problem, pairs(4), Run(), w=0, exact=True)
    assert clusters(united) == [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_a_group_that_satisfies_everything_is_taken_if_it_is_the_best_partner():
    illness, ages = ["flu", "flu", "flu", "cold", "gout", "cough"], [1, 2, 3, 4, 80, 90]
    problem = table_problem(illness, ko.LDiversity("illness", 2, kind="distinct"), ages=ages)
    assert clusters(diversify(problem, pairs(3), Run())) == [[0, 1, 2, 3], [4, 5]]


# -- what it owes ----------------------------------------------------------------------------------


@given(groups_of_problems(), WEIGHTS, st.booleans())
def test_every_group_satisfies_every_model(drawn, w, exact):
    _, problem, groups = drawn
    united = diversify(problem, groups, Run(), w=w, exact=exact)
    assert satisfied(problem, united)
    assert united.bound == 0.1
    if not groups.n_groups or satisfied(problem, groups):
        assert united is groups
    else:
        assert united.guarantee is None
        assert united.notes[0] == "before"


@given(groups_of_problems(), st.booleans())
def test_groups_are_united_and_never_cut(drawn, exact):
    _, problem, groups = drawn
    united = diversify(problem, groups, Run(), exact=exact)
    for records in clusters(groups):
        assert len(set(united.group_of_record[records].tolist())) == 1
    assert (united.withheld == groups.withheld).all() or not united.withheld.any()
    if united is not groups:
        assert sorted(set(united.group_of_record.tolist()) - {-1}) == list(range(united.n_groups))


@given(groups_of_problems())
def test_the_same_again(drawn):
    _, problem, groups = drawn
    first, second = (diversify(problem, groups, Run()).group_of_record for _ in range(2))
    assert first.tolist() == second.tolist()


def test_withheld_records_stay_withheld():
    problem = table_problem(["flu", "flu", "cold", "cold", "flu", "cold"], ko.LDiversity("illness", 2))
    united = diversify(problem, Groups(np.array([0, 0, 1, 1, -1, -1])), Run())
    assert united.group_of_record.tolist() == [0, 0, 0, 0, -1, -1]


def test_withheld_records_come_back_if_the_models_need_them():
    problem = table_problem(["flu", "flu", "cold", "cold"], ko.LDiversity("illness", 2))
    united = diversify(problem, Groups(np.array([0, 0, 1, -1])), Run())
    assert united.group_of_record.tolist() == [0, 0, 0, 0]
    assert "No record is withheld" in united.notes[0]


def test_no_groups_at_all():
    problem = table_problem(["flu", "cold"], ko.LDiversity("illness", 2))
    nothing = Groups(np.array([-1, -1]))
    assert diversify(problem, nothing, Run()) is nothing


@pytest.mark.parametrize("cost", ["discernibility", "ambiguity", "entropy"])
def test_costs_that_have_no_cost_per_cell_are_replaced_by_the_loss(cost):
    problem = table_problem(["flu", "flu", "cold", "cold", "flu", "cold"], ko.LDiversity("illness", 2))
    by_loss = diversify(problem, pairs(3), Run(), exact=True)
    united = diversify(replace(problem, cost=cost_named(cost)), pairs(3), Run(), exact=True)
    assert united.group_of_record.tolist() == by_loss.group_of_record.tolist()


def test_an_attribute_that_costs_nothing_at_all():
    problem = table_problem(["flu", "flu", "cold", "cold"], ko.LDiversity("illness", 2), ages=[5, 5, 5, 5])
    assert diversify(problem, pairs(2), Run()).group_of_record.tolist() == [0, 0, 0, 0]


def test_when_time_is_up_the_models_hold_all_the_same():
    rng = np.random.default_rng(0)
    problem = table_problem(rng.choice(["flu", "flu", "cold"], 400).tolist(), ko.LDiversity("illness", 1.4))
    united = diversify(problem, pairs(200), Run(time_limit=1e-9))
    assert satisfied(problem, united)
    assert "Stopped at the time limit" in united.notes[0]
    assert united.n_groups > 20


def test_progress_rises_from_nothing_to_all():
    seen = []
    rng = np.random.default_rng(0)
    problem = table_problem(rng.choice(["flu", "flu", "cold"], 400).tolist(), ko.LDiversity("illness", 1.4))
    diversify(problem, pairs(200), Run(progress=lambda what, share: seen.append(share)))
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0, 1)


@pytest.mark.parametrize("w", [-0.1, 1.1, "half", None])
def test_w_lies_between_0_and_1(w):
    with pytest.raises(InputError, match="from 0 to 1"):
        diversify(table_problem(["flu", "cold"]), pairs(1), Run(), w=w)


def test_a_model_that_does_not_survive_unions_is_refused():
    ceiling = ko.AlphaDeassociation("illness", 0.5, values=["flu"], rounding="ceiling")
    with pytest.raises(UnsupportedError, match="alpha-deassociation"):
        diversify(table_problem(["flu", "cold"], ceiling), pairs(1), Run())


# -- many groups -----------------------------------------------------------------------------------


def large_problem(n, *models, seed=0):
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(0, 90, n),
        "town": rng.choice([f"t{i}" for i in range(30)], n),
        "illness": rng.choice(["flu", "cold", "gout", "cough"], n, p=[0.6, 0.2, 0.1, 0.1]),
    }
    paths = [(f"t{i}", f"r{i % 6}", "*") for i in range(30)]
    problem = ko.anonymize(
        pa.table(columns),
        quasi_identifiers={"age": ko.intervals(5, 10, 30), "town": ko.Hierarchy.from_paths(paths)},
        sensitive=["illness"],
        privacy=[ko.KAnonymity(2), *models],
        algorithm="mondrian",
        time_limit=1e-9,
    ).problem
    by_place = np.lexsort((columns["age"], columns["town"]))
    groups = np.empty(n, dtype=np.int32)
    groups[by_place] = np.arange(n) // 2
    return problem, Groups(groups)


def loss_of(problem, groups):
    total = 0.0
    for attribute, weight in zip(problem.attributes, problem.weights):
        for records in clusters(groups):
            leaves = attribute.leaves[records]
            lo, hi = attribute.domain.closure(np.array([leaves.min()]), np.array([leaves.max()]))
            total += weight * len(records) * (hi[0] - lo[0]) / (attribute.n_leaves - 1)
    return total / problem.n_records


LARGE_MODELS = [
    ko.LDiversity("illness", 1.5),
    ko.LDiversity("illness", 2, kind="distinct"),
    ko.LDiversity("illness", 2, kind="entropy"),
    ko.LDiversity("illness", 2, kind="recursive", c=2),
    ko.AlphaDeassociation("illness", 0.3, values=["gout"]),
    ko.TCloseness("illness", 0.25),
]


@pytest.mark.parametrize("model", LARGE_MODELS, ids=lambda model: model.describe())
def test_the_shortlist_loses_little_against_all_partners(model, monkeypatch):
    monkeypatch.setattr(module, "MANY", 64)
    monkeypatch.setattr(module, "TRIES", 0)
    problem, groups = large_problem(1200, model)
    near, exact = (diversify(problem, groups, Run(), exact=exact) for exact in (False, True))
    assert satisfied(problem, near) and satisfied(problem, exact)
    assert loss_of(problem, near) < 1.2 * loss_of(problem, exact) + 0.01


def test_counting_in_small_pieces_changes_nothing(monkeypatch):
    problem, groups = large_problem(300, ko.TCloseness("illness", 0.25), ko.LDiversity("illness", 1.5))
    expected = diversify(problem, groups, Run()).group_of_record
    monkeypatch.setattr(module, "CELLS", 10)
    monkeypatch.setattr(module, "PAIRS", 50)
    assert diversify(problem, groups, Run()).group_of_record.tolist() == expected.tolist()


# -- in the pipeline -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Runs(Algorithm):
    """Groups of k records as they come: meets k-anonymity and nothing else."""

    name: ClassVar[str] = "runs"
    summary: ClassVar[str] = "groups of k records as they come"
    paper: ClassVar[str] = ""
    promise: ClassVar[str] = ""
    recoding: ClassVar[type] = Groups
    withhold_last: bool = False

    def refuse(self, problem):
        pass

    def solve(self, problem, run) -> Groups:
        n = problem.n_records
        groups = np.minimum(np.arange(n) // problem.k, max(n // problem.k - 1, 0))
        if self.withhold_last:
            groups[-1] = -1
        return Groups(groups, guarantee=2.0)


class NoGroups(Runs):
    """Says that it returns something else."""

    recoding: ClassVar[type] = Partitions

    def solve(self, problem, run):
        raise AssertionError("It must be refused before it starts.")


class Untruthful(Runs):
    """Returns something else than it says."""

    def solve(self, problem, run):
        return replaced(super().solve(problem, run))


def replaced(groups):
    class Other:
        guarantee, bound, notes, withheld = None, None, (), groups.withheld

    return Other()


def people(illness):
    return pa.table({"age": list(range(len(illness))), "illness": illness})


def release_of(illness, *models, algorithm=None, **options):
    return ko.anonymize(
        people(illness),
        quasi_identifiers=["age"],
        sensitive=["illness"],
        privacy=[ko.KAnonymity(2), *models],
        algorithm=algorithm or Runs(),
        shuffle=False,
        **options,
    )


ILLNESSES = ["flu", "flu", "cold", "cold", "flu", "cold", "gout", "flu", "gout", "gout"]


@pytest.mark.parametrize(
    "model",
    [
        ko.LDiversity("illness", 2),
        ko.AlphaDeassociation("illness", 0.5, values=["flu"]),
        ko.TCloseness("illness", 0.3),
    ],
    ids=lambda model: model.name,
)
@pytest.mark.parametrize("labels", ["hierarchy", "tight"])
def test_any_algorithm_meets_any_model_that_survives_unions(model, labels):
    release = release_of(ILLNESSES, model, labels=labels)
    assert release.verdict.holds
    assert release.algorithm == "runs"
    assert release.parameters == {"withhold_last": False, "diversify": {"w": 0.15}}
    assert release.guarantee is None
    assert any(f"{model.name} held (diversify)" in note for note in release.notes)


@given(cases(free=False, labels=("hierarchy", "tight"), max_records=30))
def test_any_case_ends_in_a_verified_release(case):
    assert case.anonymize(algorithm=Runs()).verdict.holds


def test_where_the_groups_satisfy_everything_nothing_changes():
    release = release_of(["flu", "cold"] * 4, ko.LDiversity("illness", 2))
    assert release.guarantee == 2.0
    assert release.verdict.classes == 4
    assert not any("diversify" in note for note in release.notes)


def test_models_that_the_algorithm_meets_need_no_diversify():
    release = release_of(ILLNESSES)
    assert release.parameters == {"withhold_last": False}
    assert release.guarantee == 2.0


def test_withheld_records_in_a_release():
    release = release_of(
        ILLNESSES, ko.LDiversity("illness", 2), algorithm=Runs(withhold_last=True), suppression=0.1
    )
    assert release.verdict.holds
    assert release.verdict.withheld == 1
    assert release.table.num_rows == len(ILLNESSES) - 1  # a single `*` would not keep k


def test_the_ceiling_is_refused_before_any_work():
    ceiling = ko.AlphaDeassociation("illness", 0.5, values=["flu"], rounding="ceiling")
    with pytest.raises(UnsupportedError, match=r"runs does not support alpha-deassociation.*mondrian"):
        release_of(ILLNESSES, ceiling, algorithm=NoGroups())


def test_groups_cannot_be_united_where_another_model_would_break():
    """The algorithm meets alpha with the ceiling; uniting its groups for l-diversity could break that."""

    class Able(Runs):
        @classmethod
        def meets(cls, model):
            return model.only_counts or model.bounds_shares

    ceiling = ko.AlphaDeassociation("illness", 0.5, values=["flu"], rounding="ceiling")
    with pytest.raises(UnsupportedError, match="l-diversity"):
        release_of(ILLNESSES, ceiling, ko.LDiversity("illness", 2), algorithm=Able())


def test_a_recoding_without_groups_is_refused_before_any_work_if_it_says_so():
    with pytest.raises(UnsupportedError, match=r"runs does not support l-diversity.*mondrian"):
        release_of(ILLNESSES, ko.LDiversity("illness", 2), algorithm=NoGroups())
    with pytest.raises(UnsupportedError, match="no groups that could be united"):
        release_of(ILLNESSES, ko.LDiversity("illness", 2), algorithm=Untruthful())
