"""The logistic regression of the report predicts what scikit-learn's does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("sklearn", reason="kohort[sklearn] is not installed")

from sklearn.linear_model import LogisticRegression

from kohort.utility.classification import Lessons, predict


def lessons(seed, *, records, features, classes):
    """Random records of yes and no, their classes drawn by likelihoods that depend on them."""
    draw = np.random.default_rng(seed)
    known = draw.integers(0, 2, (records, features)).astype(np.float32)
    scores = known @ draw.normal(size=(features, classes)) + draw.gumbel(size=(records, classes))
    return Lessons(known, np.argmax(scores, axis=1) * 3 + 1, draw.integers(1, 4, records).astype(float))


@pytest.mark.parametrize(("features", "classes"), [(1, 3), (5, 2), (5, 7), (60, 3)])
def test_predictions_are_those_of_scikit_learn(features, classes):
    learnt = lessons(classes, records=2_000, features=features, classes=classes)
    tests = lessons(99, records=1_000, features=features, classes=classes).features
    model = LogisticRegression(C=0.1, max_iter=10_000, tol=1e-8)
    model.fit(learnt.features.astype(float), learnt.classes, sample_weight=learnt.weights)
    assert np.mean(predict(learnt, tests) == model.predict(tests)) > 0.99


@given(st.integers(0, 2**32), st.integers(2, 40), st.integers(1, 8))
def test_a_constant_feature_and_a_rare_class_are_no_trouble(seed, records, features):
    learnt = lessons(seed, records=records, features=features, classes=3)
    learnt.features[:, 0] = 1
    guesses = predict(learnt, learnt.features)
    assert set(guesses) <= set(learnt.classes)


def test_a_class_that_a_feature_tells_is_always_right():
    known = np.eye(4, dtype=np.float32)[np.arange(400) % 4]
    assert np.array_equal(
        predict(Lessons(known, np.arange(400) % 4, np.ones(400)), known), np.arange(400) % 4
    )
