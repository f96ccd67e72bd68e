"""What holds for every privacy model."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition.class_tables import classes_of, context_of, counts_of, trees
from kohort.problem.promises import (
    MODELS,
    AlphaDeassociation,
    BetaLikeness,
    ClassCounts,
    DeltaDisclosure,
    DeltaPresence,
    DifferentialPrivacy,
    KAnonymity,
    KMap,
    KnownColumns,
    LDiversity,
    Model,
    PopulationUniqueness,
    RiskLimit,
    TCloseness,
    ValueContext,
    ValueTree,
)

EXAMPLES = [
    KAnonymity(3),
    RiskLimit(0.3),
    RiskLimit("1/3", strict=False),
    RiskLimit(0.4, "average"),
    RiskLimit(0.3, share=0.25),
    RiskLimit(0.1, "maximum", "population", sampling_fraction=0.2),
    RiskLimit(0.2, "average", "population", False, sampling_fraction=0.6),
    LDiversity("s", 1.5),
    LDiversity("s", "7/4", "frequency"),
    LDiversity("s", 2, "distinct"),
    LDiversity("s", 1.8, "entropy"),
    LDiversity("s", 2, "recursive", c=1.5),
    LDiversity("s", 3, "recursive", c="10/3"),
    AlphaDeassociation("s", 0.6),
    AlphaDeassociation("s", "2/3", ["v0", "v1"]),
    AlphaDeassociation("s", 0.5, ["v0", "v1"], combine=False),
    AlphaDeassociation("s", 0.4, ["v0"], rounding="ceiling"),
    TCloseness("s", 0.3),
    TCloseness("s", 0.25, "ordered"),
    TCloseness("s", 0.2, "hierarchical"),
    DeltaDisclosure("s", 1),
    BetaLikeness("s", 0.5),
    BetaLikeness("s", "3/2", "enhanced"),
]
OF_TABLES = [
    KnownColumns(5, 3),
    KMap("people.csv", 5),
    DeltaPresence("people.csv", 0.1, "1/3"),
    PopulationUniqueness(0.01, "1/10"),
    DifferentialPrivacy(1, 1e-6, {"age": 2}),
]
every_model = pytest.mark.parametrize("model", EXAMPLES, ids=repr)


def test_every_registered_model_has_an_example():
    of_classes = {model for model in MODELS.values() if not (model.of_table or model.by_sampling)}
    assert {type(model) for model in EXAMPLES} == of_classes
    assert {type(model) for model in OF_TABLES} == set(MODELS.values()) - of_classes
    assert all(model.name == name for name, model in MODELS.items())


@every_model
@given(data=st.data())
def test_unions_of_valid_classes(model, data):
    m = data.draw(st.integers(1, 4))
    classes = data.draw(classes_of(m, max_classes=5))
    labels = tuple(f"v{value}" for value in range(m))
    context = context_of(classes, labels=labels, order=np.arange(m), tree=data.draw(trees(m)))
    holds = model.holds(counts_of(classes), context)
    valid = [cells for cells, fine in zip(classes, holds) if fine]
    if model.survives_unions and valid:
        union = np.sum(valid, axis=0)
        assert model.holds(counts_of([union]), context).all()


@every_model
@given(data=st.data())
def test_refused_tables_cannot_be_had(model, data):
    m = data.draw(st.integers(1, 4))
    classes = data.draw(classes_of(m))
    labels = tuple(f"v{value}" for value in range(m))
    context = context_of(classes, labels=labels, order=np.arange(m), tree=data.draw(trees(m)))
    refusal = model.refusal(counts_of([np.sum(classes, axis=0)]), context)
    if refusal is not None:
        assert "is impossible" in refusal
        assert not model.holds(counts_of(classes), context).all()


@pytest.mark.parametrize("model", EXAMPLES + OF_TABLES, ids=repr)
def test_parameters_survive_json(model):
    parameters = json.loads(json.dumps(model.to_dict()))
    assert type(model)(**parameters) == model
    assert hash(type(model)(**parameters)) == hash(model)


@pytest.mark.parametrize("model", EXAMPLES + OF_TABLES, ids=repr)
def test_models_are_frozen(model):
    assert isinstance(model, Model)
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.attribute = "other"


@every_model
def test_no_classes_nothing_judged(model):
    nobody = ClassCounts.from_records([], [], 0, 2)
    tree = ValueTree(np.array([2, 2, -1]), np.array([0, 1]), np.array([0, 0, 1]))
    context = ValueContext(("v0", "v1"), np.arange(2), tree, np.zeros(2, dtype=np.int64))
    assert model.holds(nobody, context).tolist() == []
    assert model.holds(nobody, context).dtype == bool


def test_numbers_are_kept_as_they_were_written():
    assert LDiversity("s", 2.5).to_dict() == {"attribute": "s", "l": 2.5, "kind": "frequency"}
    assert AlphaDeassociation("s", "1/3", ["a"]).to_dict() == {
        "attribute": "s",
        "alpha": "1/3",
        "values": ["a"],
        "combine": True,
        "rounding": "none",
    }
    assert KAnonymity(5).to_dict() == {"k": 5}
