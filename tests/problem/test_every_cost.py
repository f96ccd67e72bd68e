from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition import costs as by_definition
from by_definition.domains import Generalized, domain_of
from by_definition.verification import classes
from kohort.data.column import code_column
from kohort.data.domain import GeneralizedValues
from kohort.errors import InputError
from kohort.problem.attribute import Attribute, tight_domain
from kohort.problem.costs import COSTS, CellCost, SeparableCost, cost_named
from kohort.verification.measure import PublishedTable, measure_costs
from kohort.verification.reading import read_column
from strategies import cases

KINDS = ("integer", "float", "date", "boolean", "plain")


def attribute(values, paths=None, *, weight=1.0, tight=False):
    column = code_column("x", pa.array(values))
    domain = tight_domain(column) if paths is None else ko.Hierarchy.from_paths(paths)
    return Attribute(column, domain, weight=weight, tight=tight)


def costs_of(attributes, published, withheld=None):
    """Costs of a hand-made release: per attribute the labels of all records."""
    n = len(published[0])
    withheld = np.zeros(n, dtype=bool) if withheld is None else np.array(withheld)
    kept = [look for look, gone in zip(zip(*published), withheld) if not gone]
    labels = [code_column("x", pa.array(column, pa.string())) for column in published]
    sizes = np.array(list(Counter(kept).values()), dtype=np.int64)
    readings = [read_column(*both) for both in zip(labels, attributes)]
    return measure_costs(PublishedTable.of(labels, readings, np.arange(n), withheld, sizes))


# -- the papers' numbers ---------------------------------------------------------------------------

WORK_CLASS = [
    ("State-gov", "Government", "*"),
    ("Local-gov", "Government", "*"),
    ("Federal-gov", "Government", "*"),
    ("Private", "Private", "*"),
    ("Inc", "Self-employed", "*"),
    ("Not-inc", "Self-employed", "*"),
    ("Without-pay", "Unemployed", "*"),
    ("Never-worked", "Unemployed", "*"),
]


def test_hierarchical_discernibility_of_self_employed_is_4_19ths_and_1_16th():
    """Li and Li, section 4.1: 50 Inc and 200 Not-inc of 1000 records become Self-employed."""
    values = ["Inc"] * 50 + ["Not-inc"] * 200 + ["Private"] * 750
    work = attribute(values, WORK_CLASS)
    one_inc = ["Self-employed", *values[1:]]
    assert costs_of([work], [one_inc])["hierarchical-discernibility"] == pytest.approx(4 / 19)
    one_not_inc = [*values[:50], "Self-employed", *values[51:]]
    assert costs_of([work], [one_not_inc])["hierarchical-discernibility"] == pytest.approx(1 / 16)
    all_of_them = ["Self-employed"] * 250 + ["Private"] * 750
    assert costs_of([work], [all_of_them])["hierarchical-discernibility"] == pytest.approx(
        50 * 4 / 19 + 200 / 16
    )


@pytest.mark.parametrize("cost", [cost for cost in COSTS.values() if issubclass(cost, CellCost)])
def test_a_cell_costs_its_block_times_the_factor_of_its_original_less_its_offset(cost):
    work = attribute(["Inc"] * 5 + ["Not-inc"] * 20 + ["Private"] * 75, WORK_CLASS)
    nodes, counts, n = work.nodes(), work.leaf_counts, len(work.column)
    published = np.full(len(counts), int(np.argmax(nodes.mass)))
    cost = cost()
    price = cost.block(nodes)[published] * cost.factors(counts, n, 1.0) - cost.offsets(counts, n, 1.0)
    assert cost.by_original(nodes, published, counts) == pytest.approx(price)


def test_ncp_of_the_cut_to_a_is_2_5_elevenths():
    """Terrovitis et al., section 3.3: {a1, a2} -> A in the eleven item occurrences of Fig. 2."""
    baskets = [("a1", "b1", "b2"), ("a2", "b1"), ("a2", "b1", "b2"), ("a1", "a2", "b2")]
    occurrences = [item for basket in baskets for item in basket]
    paths = [("a1", "A", "*"), ("a2", "A", "*"), ("b1", "B", "*"), ("b2", "B", "*")]
    published = ["A" if item in ("a1", "a2") else item for item in occurrences]
    assert costs_of([attribute(occurrences, paths)], [published])["ncp"] == pytest.approx(2.5 / 11)


def test_loss_is_the_mean_over_attributes_of_the_share_of_other_leaves():
    """Kenig and Tassa, Eq. 3, with |A_j| the leaves of the hierarchy, whether or not the data has them."""
    work = attribute(["Inc", "Not-inc"], WORK_CLASS)  # 8 leaves
    age = attribute([20, 30], [("20", "young", "*"), ("30", "old", "*"), ("25", "young", "*")])  # 3 leaves
    published = [["Self-employed", "Self-employed"], ["young", "*"]]
    first = (Fraction(1, 7) + Fraction(1, 2)) / 2
    second = (Fraction(1, 7) + Fraction(2, 2)) / 2
    assert costs_of([work, age], published)["loss"] == pytest.approx(float((first + second) / 2))


def test_entropy_is_not_monotone_but_its_weighted_kin_is():
    """Two equally rare values cost one bit; with a frequent value besides they cost less."""
    paths = [("a", "ab", "abc", "*"), ("b", "ab", "abc", "*"), ("c", "abc", "*"), ("d", "*")]
    values = ["a", "b"] + ["c"] * 98
    x = attribute(values, paths)
    narrow = costs_of([x], [["ab", *values[1:]]])
    wide = costs_of([x], [["abc", *values[1:]]])
    assert narrow["entropy"] == pytest.approx(1 / 100)
    assert wide["entropy"] < narrow["entropy"]
    assert wide["monotone-entropy"] > narrow["monotone-entropy"] == pytest.approx(2 / 100 / 100)


def test_tree_counts_levels_climbed_over_the_height():
    x = attribute(["a", "b"], [("a", "A", "top", "*"), ("b", "B", "*"), ("c", "A", "top", "*")])
    assert costs_of([x], [["A", "b"]])["tree"] == pytest.approx(1 / 3 / 2)
    assert costs_of([x], [["top", "*"]])["tree"] == pytest.approx((1 / 3 + 1) / 2)  # top has A's leaves
    assert costs_of([x], [["a", "B"]])["tree"] == 0  # B has b's only leaf


def test_distortion_is_all_levels_climbed_over_all_levels_there_are():
    """Wong et al., section 2; it is the tree measure with the heights of the hierarchies as weights."""
    paths = [("a", "A", "top", "*"), ("b", "A", "top", "*"), ("c", "top", "*")]
    climbed, levels = (1 + 0) + (2 + 0) + (1 + 0), 3 + 1 + 3 + 1
    published = [["A", "top"], ["*", "v"]]
    for weight in (1, 3):
        tall = attribute(["a", "c"], paths, weight=weight)
        flat = attribute(["u", "v"], [("u", "*"), ("v", "*")])
        measured = costs_of([tall, flat], published)
        name = "distortion" if weight == 1 else "tree"
        assert measured[name] == pytest.approx(climbed / levels)
    assert costs_of([tall, flat], [["*", "*"], ["*", "*"]])["distortion"] == 1
    assert costs_of([tall, flat], [["a", "c"], ["u", "v"]])["distortion"] == 0


# -- one by one ------------------------------------------------------------------------------------


def test_suppressions_count_starred_cells_whatever_the_weights():
    x, y = attribute(["a", "b"], [("a", "*"), ("b", "*")], weight=0), attribute([1, 2])
    assert costs_of([x, y], [["*", "b"], ["*", "*"]])["suppressions"] == 3


def test_discernibility_is_the_raw_sum_and_a_withheld_record_counts_the_whole_table():
    x = attribute(["a", "a", "b", "b", "b"], [("a", "*"), ("b", "*")])
    assert costs_of([x], [["a", "a", "b", "b", "b"]])["discernibility"] == 2 * 2 + 3 * 3
    withheld = [False, False, False, False, True]
    measured = costs_of([x], [["a", "a", "b", "b", "*"]], withheld)
    assert measured["discernibility"] == 2 * 2 + 2 * 2 + 5
    assert measured["hierarchical-discernibility"] == 1
    assert measured["average-class-size"] == 2


def test_discernibility_does_not_overflow_where_classes_have_millions_of_records():
    x, n = attribute(["a"], [("a", "*")]), np.array([3_000_000_000])
    labels = code_column("x", pa.array(["a"]))
    table = PublishedTable.of([labels], [read_column(labels, x)], slice(None), np.zeros(1, dtype=bool), n)
    assert measure_costs(table)["discernibility"] == 9e18


def test_a_withheld_record_is_measured_as_star_in_every_attribute():
    x, y = attribute(["a", "b"], [("a", "*"), ("b", "*")]), attribute([1, 2])
    measured = costs_of([x, y], [["a", "*"], ["1", "*"]], [False, True])
    assert (measured["loss"], measured["suppressions"]) == (0.5, 2)


def test_ambiguity_multiplies_the_leaves_covered():
    x, y = attribute(["a", "b"], [("a", "*"), ("b", "*"), ("c", "*")]), attribute([1, 2])
    assert costs_of([x, y], [["*", "b"], ["*", "2"]])["ambiguity"] == (3 * 2 + 1) / 2


def test_a_column_with_a_single_value_costs_nothing():
    x = attribute(["a", "a"], [("a", "*")])
    measured = costs_of([x], [["a", "a"]])
    costs_nothing = ("loss", "ncp", "tree", "entropy", "monotone-entropy", "hierarchical-discernibility")
    assert all(measured[name] == 0 for name in costs_nothing)
    assert costs_of([x], [["*", "*"]])["loss"] == 0  # there is no other value that it could be


def test_weights_say_what_counts():
    x = attribute(["a", "b"], [("a", "*"), ("b", "*")], weight=3)
    y = attribute([1, 2], weight=1)
    assert costs_of([x, y], [["*", "*"], ["1", "2"]])["loss"] == pytest.approx(3 / 4)
    z = attribute(["a", "b"], [("a", "*"), ("b", "*")], weight=0)
    assert costs_of([z, y], [["*", "*"], ["1", "2"]])["loss"] == 0


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf")])
def test_a_weight_that_is_no_number_from_0_on_is_refused(weight):
    with pytest.raises(InputError, match="'x'"):
        attribute([1, 2], weight=weight)


def test_every_cost_has_a_name_and_a_meaning_and_is_found_by_its_name():
    assert len(COSTS) == 11
    for name, cost in COSTS.items():
        assert cost.name == name
        assert cost.meaning
        assert isinstance(cost_named(name), cost)
        assert cost.separable == issubclass(cost, SeparableCost)


def test_an_unknown_cost_is_answered_with_the_nearest_one():
    with pytest.raises(InputError, match="Did you mean 'entropy'"):
        cost_named("entrpy")


# -- all of them on random releases ----------------------------------------------------------------


@given(cases(KINDS))
def test_all_costs_of_a_release_are_those_by_definition(case):
    release = case.anonymize(shuffle=False)
    looks = [release.arrow[a.name].to_pylist() for a in release.problem.attributes]
    plain = []
    for a in release.problem.attributes:
        domain = domain_of(a.column, paths=case.paths.get(a.name), tight=a.tight)
        original = [a.column.texts[code] for code in a.column.codes]
        published: list[Generalized] = [None] * len(original)
        for records in classes(looks).values():
            for record in records:
                published[record] = domain.closure([original[r] for r in records])
        plain.append(by_definition.PlainAttribute(domain, original, published, Fraction(a.weight)))
    expected = by_definition.costs(plain, list(zip(*looks)), [False] * release.problem.n_records)
    assert release.loss == pytest.approx(expected, abs=1e-9)


counts_of_values = st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any)


@given(counts_of_values, st.data())
def test_cells_of_separable_costs_rise_with_the_value_if_they_say_so(counts, data):
    """`monotone`: a value that covers more never costs less, and an exact one costs nothing."""
    column = [value for value, count in enumerate(counts) for _ in range(count)]
    hi = data.draw(st.integers(0, len(counts) - 1))
    lo = data.draw(st.integers(0, hi))
    ranges = [(lo, lo), (lo, hi), (0, len(counts) - 1)]
    values = GeneralizedValues(
        width=np.array([b - a + 1 for a, b in ranges]),
        mass=np.array([sum(counts[a : b + 1]) for a, b in ranges]),
        mass_log=np.array([sum(c * np.log2(max(c, 1)) for c in counts[a : b + 1]) for a, b in ranges]),
        level=np.array([0.0, 0.5, 1.0]),
        star=np.array([False, False, True]),
        n_leaves=len(counts),
        n_records=len(column),
    )
    for cost in COSTS.values():
        if cost.separable:
            cells = cost().cell(values)
            assert cells[0] == pytest.approx(0, abs=1e-9)
            assert not cost.monotone or (np.diff(cells) >= -1e-9).all()
        if cost.name == "entropy":
            expected = [by_definition.entropy_cell(column, range(a, b + 1)) for a, b in ranges]
            assert cells == pytest.approx(expected, abs=1e-9)
