"""t-closeness: the paper's examples and the earth mover's distance by transport."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition.class_tables import (
    class_tables,
    classes_of,
    context_of,
    counts_of,
    shares,
    trees,
)
from by_definition.models import earth_movers_distance, equal_ground, hierarchical_ground, ordered_ground
from kohort.errors import InputError, InternalError
from kohort.problem.promises import ClassCounts, TCloseness, ValueContext, ValueTree, exact, t_closeness


def check(model, classes, context, ground):
    overall = context.overall.tolist()
    expected = [earth_movers_distance(cells, overall, ground) for cells in classes]
    counts = counts_of(classes)
    assert model.holds(counts, context).tolist() == [distance <= model.asked for distance in expected]


@given(class_tables, shares)
def test_equal_distance(classes, t):
    check(TCloseness("s", t), classes, context_of(classes), equal_ground(len(classes[0])))


@given(class_tables, shares, st.data())
def test_ordered_distance(classes, t, data):
    m = len(classes[0])
    ranks = data.draw(st.permutations(range(m)) | st.lists(st.integers(0, m), min_size=m, max_size=m))
    context = context_of(classes, order=np.array(ranks))
    check(TCloseness("s", t, "ordered"), classes, context, ordered_ground(ranks))


@given(st.data(), shares)
def test_hierarchical_distance(data, t):
    m = data.draw(st.integers(1, 5))
    classes, tree = data.draw(classes_of(m)), data.draw(trees(m))
    ground = hierarchical_ground(tree.parent.tolist(), tree.leaf_node.tolist(), tree.height.tolist())
    check(TCloseness("s", t, "hierarchical"), classes, context_of(classes, tree=tree), ground)


@given(st.data(), st.sampled_from(["equal", "ordered", "hierarchical"]), shares)
def test_integers_beyond_64_bits_and_small_pieces_change_nothing(data, distance, t):
    m = data.draw(st.integers(1, 5))
    classes, tree = data.draw(classes_of(m)), data.draw(trees(m))
    context, counts = context_of(classes, order=np.arange(m), tree=tree), counts_of(classes)
    model = TCloseness("s", t, distance)
    expected = model.holds(counts, context).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "INT64_MAX", 3)
        patch.setattr(t_closeness, "CELLS_AT_ONCE", 2)
        assert model.holds(counts, context).tolist() == expected


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_classes_of_billions_do_not_overflow(distance):
    billions = np.array([7, 1, 1, 7]) * 10**9
    counts = ClassCounts.from_cells([0, 0, 1, 1], [0, 1, 0, 1], billions, 2, 2)
    tree = ValueTree(np.array([2, 2, -1]), np.arange(2), np.array([0, 0, 1]))
    context = ValueContext(order=np.arange(2), tree=tree, overall=counts.overall())
    assert TCloseness("s", 0.375, distance).holds(counts, context).all()
    assert not TCloseness("s", 0.374, distance).holds(counts, context).any()


def test_salaries_of_the_paper():
    """Section 5: {3k, 4k, 5k} is 0.375 and {6k, 8k, 11k} is 0.167 from 3k, 4k, ..., 11k."""
    poor, mixed = [1, 1, 1] + [0] * 6, [0, 0, 0, 1, 0, 1, 0, 0, 1]
    context = ValueContext(overall=np.ones(9, dtype=int), order=np.arange(9))
    for t in (Fraction(3, 8), Fraction(1, 6)):
        assert TCloseness("salary", t, "ordered").holds(counts_of([poor, mixed]), context).tolist() == [
            t >= Fraction(3, 8),
            True,
        ]
    just_below = TCloseness("salary", Fraction(1, 6) - Fraction(1, 10**9), "ordered")
    assert not just_below.holds(counts_of([poor, mixed]), context).any()
    assert not TCloseness("salary", 0.374, "ordered").holds(counts_of([poor]), context).any()


def test_diseases_of_the_paper():
    """Figure 1: flu is 1/3 from bronchitis, 2/3 from pulmonary embolism, 1 from stomach cancer."""
    # flu, bronchitis | embolism || stomach cancer; then infections, vascular, stomach, lungs, digestion, all
    parent = np.array([4, 4, 5, 6, 7, 7, 8, 9, 9, -1])
    tree = ValueTree(parent, np.arange(4), np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3]))
    for other, distance in ((0, 0), (1, Fraction(1, 3)), (2, Fraction(2, 3)), (3, 1)):
        context = ValueContext(overall=np.eye(4, dtype=int)[other], tree=tree)
        for t in (0, Fraction(1, 3), Fraction(2, 3), 1):
            model = TCloseness("disease", t, "hierarchical")
            assert model.holds(counts_of([[5, 0, 0, 0]]), context).all() == (t >= distance)


def test_exactly_at_the_bound():
    classes = [[1, 9], [2, 8], [3, 7]]
    context = context_of(classes)
    assert TCloseness("s", 0.1).holds(counts_of(classes), context).all()
    assert not TCloseness("s", "0.09999999999999999999").holds(counts_of(classes), context).all()


def test_whole_table_is_never_refused_against_itself():
    assert TCloseness("s", 0).refusal(counts_of([[3, 4]]), context_of([[3, 4]])) is None
    assert (
        TCloseness("s", 0.1)
        .refusal(counts_of([[1, 3]]), context_of([[1, 1]]))
        .endswith("so t must be 0.25 or more")
    )


def test_words():
    assert TCloseness("x", 0.2).describe() == (
        "in every class the distribution of 'x' lies within 0.2 of the whole table's (equal distance)"
    )


def test_what_a_distance_needs():
    with pytest.raises(InputError, match="needs the 'order' of 'x'"):
        TCloseness("x", 0.2, "ordered").holds(counts_of([[1, 1]]), context_of([[1, 1]]))
    with pytest.raises(InputError, match="needs a 'hierarchy' of 'x'"):
        TCloseness("x", 0.2, "hierarchical").holds(counts_of([[1, 1]]), context_of([[1, 1]]))
    with pytest.raises(InternalError, match="counts of 'x' in the whole table are needed"):
        TCloseness("x", 0.2).holds(counts_of([[1, 1]]))


@pytest.mark.parametrize("t", [-0.1, 1.1, "near", None])
def test_wrong_t(t):
    with pytest.raises(InputError, match="'t' parameter of TCloseness must be a number from 0 to 1"):
        TCloseness("x", t)


def test_wrong_distance():
    with pytest.raises(InputError, match=r"must be one of: equal, ordered, hierarchical\. Got 'far'"):
        TCloseness("x", 0.1, "far")
