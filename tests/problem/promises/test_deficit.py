"""How far a class is from keeping a rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition.class_tables import classes_of, context_of, counts_of, trees
from by_definition.diversify import deficit
from by_definition.models import equal_ground, hierarchical_ground, ordered_ground
from kohort.problem.promises import (
    AlphaDeassociation,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    Model,
    TCloseness,
)
from kohort.problem.promises.promise import NEAR
from kohort.problem.promises.share_bands import ShareBand

EXAMPLES = [
    KAnonymity(1),
    KAnonymity(5),
    LDiversity("s", 1),
    LDiversity("s", "7/4"),
    LDiversity("s", "5/2", "distinct"),
    LDiversity("s", 2, "entropy"),
    LDiversity("s", 2, "recursive", c=1),
    LDiversity("s", 3, "recursive", c="10/3"),
    AlphaDeassociation("s", 0.6),
    AlphaDeassociation("s", 1),
    AlphaDeassociation("s", "2/3", ["v0", "v1"]),
    AlphaDeassociation("s", 0.5, ["v0", "v1"], combine=False),
    TCloseness("s", 0),
    TCloseness("s", 0.3),
    TCloseness("s", 0.25, "ordered"),
    TCloseness("s", 0.2, "hierarchical"),
    DeltaDisclosure("s", 1),
    DeltaDisclosure("s", 0.25),
    BetaLikeness("s", 0.5),
    BetaLikeness("s", "3/2", "enhanced"),
]


@st.composite
def tables(draw):
    m = draw(st.integers(2, 4))
    classes = draw(classes_of(m))
    tree = draw(trees(m))
    labels = tuple(f"v{value}" for value in range(m))
    return classes, context_of(classes, labels=labels, order=np.arange(m), tree=tree)


@pytest.mark.parametrize("model", EXAMPLES, ids=repr)
@given(drawn=tables())
def test_deficits_are_by_definition_and_0_exactly_where_the_rule_holds(model, drawn):
    classes, context = drawn
    deficits = model.deficit(counts_of(classes), context)
    assert deficits.tolist() == pytest.approx([by_definition(model, cells, context) for cells in classes])
    assert ((deficits == 0) == model.holds(counts_of(classes), context)).all()
    assert deficits.max() <= 1


def by_definition(model, cells, context):
    known = {}
    if isinstance(model, TCloseness):
        tree = context.tree
        known["overall"] = context.overall.tolist()
        known["ground"] = {
            "equal": lambda: equal_ground(len(cells)),
            "ordered": lambda: ordered_ground(list(range(len(cells)))),
            "hierarchical": lambda: hierarchical_ground(
                tree.parent.tolist(), tree.leaf_node.tolist(), tree.height.tolist()
            ),
        }[model.distance]()
    if isinstance(model, ShareBand):
        known["overall"] = context.overall.tolist()
    if isinstance(model, AlphaDeassociation):
        values = range(len(cells)) if model.values is None else [0, 1]
        known["groups"] = [values] if model.values and model.combine else [[v] for v in values]
    return deficit(model, cells, **known)


def test_a_class_with_one_value_is_as_far_as_can_be():
    alone = counts_of([[4, 0, 0]])
    for kind in ("frequency", "distinct", "entropy"):
        assert LDiversity("s", 3, kind).deficit(alone).tolist() == [1]
    assert LDiversity("s", 3, "recursive", c=2).deficit(alone).tolist() == [1]
    assert AlphaDeassociation("s", 0.2).deficit(alone).tolist() == [1]


def test_a_rule_that_is_broken_by_nothing_at_all_falls_short_all_the_same():
    """Recursive diversity asks for less than c."""
    model = LDiversity("s", 2, "recursive", c=1)
    assert model.deficit(counts_of([[2, 2], [3, 4]])).tolist() == [NEAR, pytest.approx(1 / 4)]


def test_numbers_beyond_floating_point():
    """One record in 10**17 too many."""
    n = 10**17
    model = AlphaDeassociation("s", 0.5)
    assert 0 < model.deficit(counts_of([[n + 1, n]]))[0] < 1e-8
    assert model.deficit(counts_of([[n, n]]))[0] == 0


def test_a_model_without_gaps_falls_short_by_all_or_nothing():
    class Even(KAnonymity):
        def holds(self, counts, context=None):
            return counts.sizes % 2 == 0

        _gaps = Model._gaps

    assert Even(2).deficit(counts_of([[2], [3]])).tolist() == [0, 1]
    ceiling = AlphaDeassociation("s", 0.5, rounding="ceiling")
    assert ceiling.deficit(counts_of([[2, 1], [3, 1]])).tolist() == [0, 1]
