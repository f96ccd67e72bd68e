"""Verification's own definitions of the promises: those of the papers, and in agreement with the search's."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kohort as ko
from by_definition import itemsets as slow_itemsets
from by_definition import models as slow
from by_definition.class_tables import class_tables
from kohort.data.hierarchy import Hierarchy
from kohort.errors import UnsupportedError
from kohort.problem.promises import (
    ITEM_MODELS,
    MODELS,
    ClassCounts,
    LabelledClasses,
    ValueContext,
    ValueTree,
)
from kohort.problem.promises.differential_privacy import attained_delta
from kohort.tables.memory import MemoryTable
from kohort.verification import published_classes, verify_models
from kohort.verification.promises import (
    OF_CLASSES,
    OF_TABLES,
    AllClasses,
    Counts,
    Promise,
    Values,
    stated,
)
from kohort.verification.promises.itemsets import Inferences, infer, itemsets, support
from kohort.verification.promises.promise import power_product_sign
from kohort.verification.promises.sizes import expected_risk, failure_chance

PATHS = [
    ("0", "A", "*"),
    ("1", "A", "*"),
    ("2", "B", "C", "*"),
    ("3", "B", "C", "*"),
    ("4", "C", "*"),
    ("5", "*"),
]
TREE = Hierarchy.from_paths(PATHS)
TEXTS = ("0", "1", "2", "3", "4", None)
OTHER_TREE = Hierarchy.from_paths([(t, *p[1:]) for t, p in zip(TEXTS, PATHS)])

RULES = [
    ko.KAnonymity(3),
    ko.KAnonymity(40),
    ko.RiskLimit(0.1),
    ko.RiskLimit("1/11", strict=False),
    ko.RiskLimit(0.4, "average"),
    ko.RiskLimit("1/20", "average", strict=False),
    ko.RiskLimit(0.2, share=0.25),
    ko.RiskLimit(0.5, share=0.001),
    ko.RiskLimit(0.02, "maximum", "population", sampling_fraction=0.2),
    ko.RiskLimit(0.3, "average", "population", sampling_fraction=0.7),
    *(ko.LDiversity("s", least) for least in (1, 2, "7/3", 5)),
    *(ko.LDiversity("s", least, kind="distinct") for least in (2, "7/3", 6)),
    *(ko.LDiversity("s", least, kind="entropy") for least in (1, 2, "5/2", 4)),
    *(ko.LDiversity("s", least, kind="recursive", c=c) for least in (2, 3, 5) for c in (1, 2, "1/3")),
    ko.AlphaDeassociation("s", 0.5),
    ko.AlphaDeassociation("s", "1/3", rounding="ceiling"),
    ko.AlphaDeassociation("s", 0.5, values=["0", "4"]),
    ko.AlphaDeassociation("s", "1/3", values=["0.0", "4", None, "z"], combine=False),
    ko.AlphaDeassociation("s", "1/4", values=["1", None], rounding="ceiling"),
    *(ko.TCloseness("s", t, how) for t in (0, "1/6", 0.4) for how in ("equal", "ordered", "hierarchical")),
    *(ko.DeltaDisclosure("s", d) for d in (0.5, 1, "7/3", 40)),
    *(ko.BetaLikeness("s", b, kind) for b in (0.25, 1, 30) for kind in ("basic", "enhanced")),
    ko.DifferentialPrivacy(1, 0.01),
    ko.DifferentialPrivacy(2, "1/7"),
]


def tree_of(texts):
    nodes = np.array([int(OTHER_TREE.leaf_node[OTHER_TREE.leaf_of[text]]) for text in texts])
    return ValueTree(parent=OTHER_TREE.parent, leaf_node=nodes, height=OTHER_TREE.level)


def both(cells, factor=1):
    """The same classes for verification and for the search, and what each knows of the values."""
    table = np.asarray(cells) * factor
    class_of, value_of = np.nonzero(table)
    texts = TEXTS[: table.shape[1]] if table.shape[1] <= 6 else tuple(map(str, range(table.shape[1])))
    overall = table.sum(axis=0)
    own = Counts(table.sum(axis=1), class_of, value_of, table[class_of, value_of], table.shape[1])
    tree = OTHER_TREE if table.shape[1] <= 6 else None
    values = Values(texts, overall, ordered=True, hierarchy=tree)
    context = ValueContext(
        labels=texts,
        order=np.arange(len(texts)),
        tree=None if tree is None else tree_of(texts),
        overall=overall,
    )
    its = ClassCounts.from_cells(class_of, value_of, table[class_of, value_of], *table.shape)
    return own, values, its, context


def agree(model, own, values, its, context):
    promise = stated([model])[0]
    judged = OF_CLASSES[promise.name](promise, own, values)
    assert judged.asked == (model.k if model.name == "k-anonymity" else model.asked)
    assert judged.holds.tolist() == model.holds(its, context).tolist()
    return judged


@pytest.mark.parametrize("model", RULES, ids=lambda model: f"{model.name} {model.to_dict()}")
def test_thousands_of_random_classes_are_judged_as_the_search_judges_them(model):
    rng = np.random.default_rng(7)
    for scale in (1, 2, 4, 40):
        cells = rng.poisson(scale * rng.dirichlet(np.ones(6), 1500) * 3)
        cells = cells[cells.any(axis=1)]
        agree(model, *both(cells))


@given(st.sampled_from(RULES), class_tables)
def test_small_classes_are_judged_as_the_search_judges_them(model, classes):
    agree(model, *both(classes))


@given(st.sampled_from(RULES), class_tables)
def test_numbers_beyond_64_bits_change_nothing(model, classes):
    if stated([model])[0].attribute is None:
        return
    judged = agree(model, *both(classes))
    own, values, _, _ = both(classes)
    huge = Counts(
        own.sizes.astype(object) * 10**30,
        own.class_of,
        own.value_of,
        own.count.astype(object) * 10**30,
        own.n_values,
    )
    promise = stated([model])[0]
    again = OF_CLASSES[promise.name](
        promise, huge, Values(values.texts, values.overall.astype(object), True, OTHER_TREE)
    )
    if promise.parameters.get("rounding") != "ceiling":  # to whole records, which are smaller then
        assert again.holds.tolist() == judged.holds.tolist()


@settings(deadline=None)
@given(st.data())
def test_pieces_change_nothing(data):
    classes = data.draw(class_tables)
    model = data.draw(st.sampled_from([model for model in RULES if model.name == "t-closeness"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kohort.verification.promises.promise._CELLS_AT_ONCE", 1)
        agree(model, *both(classes))


def distance(promise, cells, overall):
    """The earth mover's distance of a class from the table."""
    m = len(cells)
    tree = tree_of(TEXTS[:m])
    ground = {
        "equal": lambda: slow.equal_ground(m),
        "ordered": lambda: slow.ordered_ground(range(m)),
        "hierarchical": lambda: slow.hierarchical_ground(
            tree.parent.tolist(), tree.leaf_node.tolist(), tree.height.tolist()
        ),
    }[promise.parameters["distance"]]()
    return slow.earth_movers_distance(cells, overall, ground)


def by_definition(promise, cells, overall):
    number = promise.number
    if promise.name == "k-anonymity":
        return slow.k_anonymous(cells, number("k"))
    if promise.name == "l-diversity" and promise.is_kind("frequency"):
        return slow.frequency(cells) >= number("l")
    if promise.name == "l-diversity" and promise.is_kind("distinct"):
        return slow.distinct(cells) >= number("l")
    if promise.name == "l-diversity" and promise.is_kind("entropy"):
        return slow.entropy_reaches(cells, number("l"))
    if promise.name == "l-diversity":
        return slow.recursive(cells, int(number("l"))) < number("c")
    if promise.name == "alpha-deassociation" and "values" not in promise.parameters:
        groups = [[value] for value in range(len(cells))]
        return slow.deassociated(cells, groups, number("alpha"), promise.parameters["rounding"])
    if promise.name == "delta-disclosure":
        return slow.disclosure_within(cells, overall, number("delta"))
    if promise.name == "beta-likeness":
        return slow.likeness_within(cells, overall, number("beta"), promise.parameters["kind"])
    if promise.name == "t-closeness":
        return distance(promise, cells, overall) <= number("t")
    return None


@given(st.sampled_from(RULES), class_tables)
def test_a_rule_is_that_of_its_paper(model, classes):
    promise = stated([model])[0]
    own, values, _, _ = both(classes)
    expected = [by_definition(promise, cells, values.overall.tolist()) for cells in classes]
    if None not in expected:
        assert OF_CLASSES[promise.name](promise, own, values).holds.tolist() == expected


def farthest(cells, overall):
    """The largest logarithm of the ratio of a share in a class to that in the table."""
    found = [(Fraction(c, sum(cells)) / Fraction(q, sum(overall))) for c, q in zip(cells, overall) if q]
    return max(math.inf if ratio == 0 else abs(math.log2(ratio)) for ratio in found)


def entropy_number(cells):
    return math.exp(-sum(n / sum(cells) * math.log(n / sum(cells)) for n in cells if n))


def attained(promise, classes, overall):
    """What the worst class attains, by definition; None for what is tested elsewhere."""
    if promise.name == "k-anonymity":
        return min(map(sum, classes))
    if promise.name == "l-diversity" and promise.is_kind("frequency"):
        return min(map(slow.frequency, classes))
    if promise.name == "l-diversity" and promise.is_kind("distinct"):
        return min(map(slow.distinct, classes))
    if promise.name == "l-diversity" and promise.is_kind("entropy"):
        return pytest.approx(min(map(entropy_number, classes)))
    if promise.name == "l-diversity":
        return max(slow.recursive(cells, int(promise.number("l"))) for cells in classes)
    if promise.name == "alpha-deassociation" and "values" not in promise.parameters:
        return max(Fraction(max(cells), sum(cells)) for cells in classes)
    if promise.name == "delta-disclosure":
        return pytest.approx(max(farthest(cells, overall) for cells in classes))
    if promise.name == "beta-likeness":
        kind = promise.parameters["kind"]
        if not all(slow.likeness_within(cells, overall, math.inf, kind) for cells in classes):
            return math.inf
        return max(gain for cells in classes for gain in slow.likeness_gains(cells, overall))
    if promise.name == "t-closeness":
        return max(distance(promise, cells, overall) for cells in classes)
    if promise.name == "differential-privacy":
        return pytest.approx(float(attained_delta(min(map(sum, classes)), promise.number("epsilon"))))
    return None


@given(st.sampled_from(RULES), class_tables)
def test_what_is_measured_is_what_the_worst_class_attains(model, classes):
    promise = stated([model])[0]
    own, values, _, _ = both(classes)
    expected = attained(promise, classes, values.overall.tolist())
    if expected is not None:
        judged = OF_CLASSES[promise.name](promise, own, values)
        assert judged.measured(np.ones(len(classes), dtype=bool)) == expected
        assert judged.measured(np.zeros(len(classes), dtype=bool)) is None


@pytest.mark.parametrize(
    ("cells", "model", "holds"),
    [
        ([3, 3, 3], ko.LDiversity("s", 3, kind="entropy"), True),
        ([3, 3, 3], ko.LDiversity("s", "3000000001/1000000000", kind="entropy"), False),
        ([10**6 + 1, 10**6], ko.LDiversity("s", 2, kind="entropy"), False),
        ([10**6, 10**6], ko.LDiversity("s", 2, kind="entropy"), True),
        ([2, 1], ko.LDiversity("s", 2, kind="recursive", c=2), False),
        ([5, 5], ko.AlphaDeassociation("s", 0.5), True),
    ],
)
def test_a_tie_is_decided_exactly(cells, model, holds):
    own, values, _, _ = both([cells])
    promise = stated([model])[0]
    assert OF_CLASSES[promise.name](promise, own, values).holds.tolist() == [holds]


def test_a_product_of_powers_is_compared_with_1_exactly():
    assert power_product_sign([]) == power_product_sign([(6, 2), (4, -1), (3, -2)]) == 0
    assert power_product_sign([(10**40 + 1, 1), (10**40, -1)]) == 1
    assert power_product_sign([(2, 400), (3, -253)]) == (1 if 2**400 > 3**253 else -1)


# -- all classes together --------------------------------------------------------------------------

TABLES = [
    *(ko.KnownColumns(k, known) for k in (2, 30) for known in (1, 2, 9)),
    ko.KMap("people", 6),
    ko.DeltaPresence("people", at_most=0.5),
    ko.DeltaPresence("people", at_least="1/5", at_most="3/4"),
    *(ko.PopulationUniqueness(0.02, f, e) for f in (0.05, 0.5, 1) for e in ("auto", "pitman", "zayatz")),
]


@pytest.mark.parametrize("model", TABLES, ids=lambda model: f"{model.name} {model.to_dict()}")
@pytest.mark.parametrize("seed", range(12))
def test_a_promise_about_all_classes_is_judged_as_the_search_judges_it(model, seed):
    rng = np.random.default_rng(seed)
    labels = np.unique(rng.integers(0, [2, 3, 1, 5], (60, 4)), axis=0)
    sizes = rng.integers(1, 9, len(labels))
    known = sizes, sizes + rng.integers(-1, 20, len(labels)), int(rng.integers(0, 2)), bool(seed % 4)
    own, its = AllClasses(labels, *known), LabelledClasses(labels, *known)
    promise = stated([model])[0]
    judged = OF_TABLES[promise.name](promise, own)
    assert judged.asked == (model.k if model.name in ("k-map", "known-columns") else model.asked)
    assert judged.holds.tolist() == model.holds_in(its).tolist()


def test_the_risk_in_a_population_is_the_expectation_of_one_over_its_people():
    for size, p in ((1, 0.5), (3, 0.1), (7, 0.9), (250, 0.3)):
        term, total = p**size, 0.0  # of f people, as many drawn
        for people in range(size, size + 20_000):
            total += term / people
            term *= (1 - p) * people / (people - size + 1)
        assert expected_risk(size, p) == pytest.approx(total, rel=1e-9)
    assert expected_risk(4, 1.0) == 0.25


def test_the_chance_of_a_breach_is_that_of_drawing_too_many():
    expected = float(attained_delta(20, Fraction(1)))
    assert float(failure_chance(20, Fraction(1))) == pytest.approx(expected, 1e-15)
    assert failure_chance(74, Fraction(1)) <= 1e-6 < failure_chance(73, Fraction(1))


# -- items -----------------------------------------------------------------------------------------

baskets_of = st.lists(st.lists(st.integers(0, 5), max_size=5, unique=True), min_size=1, max_size=12)


def flat(baskets):
    return np.cumsum([0, *map(len, baskets)]), np.array([i for b in baskets for i in b], dtype=np.int64)


@given(baskets_of, st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_every_itemset_is_counted_in_its_class(baskets, k, m, n_classes, tiny):
    class_of = np.arange(len(baskets)) % n_classes
    with pytest.MonkeyPatch.context() as patch:
        if tiny:
            patch.setattr("kohort.verification.promises.itemsets._AT_ONCE", 1)
        found = support(k, m, class_of, *flat(baskets))
    wanted = {}
    for number in range(n_classes):
        weighted = [(basket, 1) for basket in baskets[number::n_classes]]
        wanted |= {(number, items): None for items in slow_itemsets.rare_itemsets(weighted, m, k)}
    assert {(one.class_, one.items) for one in found.listed} == set(wanted)
    assert found.rare == len(wanted)
    assert found.failing_classes == {number for number, _ in wanted}
    every = [(basket, 1) for basket in baskets]
    if n_classes == 1:
        supports = [
            sum(set(items) <= set(b) for b in baskets) for items in slow_itemsets.rare_itemsets(every, m, 99)
        ]
        assert found.least == min(supports, default=None)


@given(baskets_of, st.integers(1, 3), st.fractions("1/4", 1, max_denominator=4), st.booleans())
def test_confidence_and_uncertainty_are_by_definition(baskets, m, limit, strict):
    secret = [4, 5]
    holds = [np.array([item in basket for basket in baskets]) for item in secret]
    if strict:
        of_item = np.array([-1, -1, -1, -1, 0, 1])
        found = infer(Inferences(limit, True), m, *flat(baskets), holds, of_item)
        highest = slow_itemsets.highest_uncertainty(baskets, secret, m)
    else:
        others = [[item for item in basket if item not in secret] for basket in baskets]
        found = infer(Inferences(limit, False), m, *flat(others), holds)
        highest = slow_itemsets.highest_confidence(baskets, secret, m)
    assert (found.highest or 0) == highest
    assert (found.telling == 0) == (highest < limit if strict else highest <= limit)
    assert len(found.listed) == found.telling


def test_sets_are_found_once_and_with_all_their_records():
    baskets = [[0, 1, 2], [1, 2], [2]]
    found = {}
    for part in itemsets(np.zeros(3, dtype=np.int64), *flat(baskets), 3):
        found |= {tuple(items): int(n) for items, n in zip(part.sets.tolist(), part.support)}
    expected = {
        items: sum(set(items) <= set(basket) for basket in baskets)
        for size in (1, 2, 3)
        for items in combinations(range(3), size)
    }
    assert found == expected


# -- the statement ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*RULES, *TABLES], ids=lambda model: f"{model.name} {model.to_dict()}")
def test_traits_that_verification_derives_are_those_of_the_search(model):
    promise = stated([model])[0]
    assert stated([promise]) == [promise]
    lower_is_worse = ("k-anonymity", "l-diversity")
    assert promise.least_is_worst == (model.name in lower_is_worse and not promise.is_kind("recursive"))
    assert promise.is_necessary_for_people == model.survives_unions_of_people
    if model.attribute:
        assert promise.spreads_people == (model.of_people == "spread")


def test_every_model_has_a_definition_of_its_own():
    assert {**OF_CLASSES, **OF_TABLES}.keys() == MODELS.keys()
    assert set(ITEM_MODELS) == {"km-anonymity", "item-confidence", "rho-uncertainty"}


def test_a_model_without_a_definition_is_refused_not_believed():
    table = MemoryTable(pa.table({"age": ["1", "1"]}))
    promise = Promise("hearsay", None, {})
    with pytest.raises(UnsupportedError, match="no definition of the model 'hearsay'"):
        verify_models(published_classes(table, ["age"], [promise]), [promise])
