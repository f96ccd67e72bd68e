"""Regressions of the original and of the release: fitted as by definition, labels read as is said."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.regression import least_squares, log_likelihood, overlap, second_derivatives
from by_definition.risk import covers
from kohort.utility.model_overlap import (
    drawn_codes,
    estimable,
    fit_linear,
    fit_logistic,
    interval_overlap,
    midpoints,
    model_overlap,
    number_overlap,
    read_formula,
    shares_before,
)


@given(seed=st.integers(0, 99))
def test_least_squares(seed):
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(20), rng.normal(size=(20, 2))])
    y = x @ [1, 2, 0] + rng.normal(size=20)
    fit = fit_linear(x, y)
    beta, errors = least_squares(x, y)
    assert fit.coefficients == pytest.approx(beta) and fit.errors == pytest.approx(errors)


@given(seed=st.integers(0, 99))
def test_logistic_regression_is_the_most_likely_one(seed):
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    y = (rng.random(60) < 1 / (1 + np.exp(-(x @ [0.2, 0.7, -0.4])))).astype(float)
    fit = fit_logistic(x, y)
    best = log_likelihood(x, y, fit.coefficients)
    for step in (*np.eye(3), *-np.eye(3)):
        assert log_likelihood(x, y, fit.coefficients + 1e-3 * step) <= best + 1e-12
    errors = np.sqrt(np.diag(np.linalg.inv(-second_derivatives(x, y, fit.coefficients))))
    assert fit.errors == pytest.approx(errors, rel=1e-3)


def test_what_can_be_told_apart_by_a_line_has_large_errors():
    x = np.column_stack([np.ones(8), np.arange(8)])
    fit = fit_logistic(x, (np.arange(8) >= 4).astype(float))
    assert np.isfinite(fit.coefficients).all() and fit.errors[1] > abs(fit.coefficients[1]) / 2


def test_columns_that_follow_from_others_are_left_out():
    x = np.column_stack([np.ones(5), np.arange(5), 2 * np.arange(5) + 3, np.zeros(5)])
    assert estimable(x).tolist() == [True, True, False, False]
    assert np.isnan(fit_linear(x, np.arange(5.0)).coefficients).tolist() == [False, False, True, True]


@given(ends=st.tuples(*[st.integers(0, 20)] * 4))
def test_overlap(ends):
    one, other = sorted(ends[:2]), sorted(ends[2:])
    if one[0] < one[1] and other[0] < other[1]:
        found = interval_overlap(np.array(one, dtype=float), np.array(other, dtype=float))
        assert found == pytest.approx(overlap(one, other))
        assert interval_overlap(np.array(one, dtype=float), np.array(one, dtype=float)) == 1
    assert interval_overlap(np.array([np.nan, 1.0]), np.array([0.0, 1.0])) == 0


def people(n=500):
    rng = np.random.default_rng(4)
    age, sex = rng.integers(20, 70, n), rng.choice(["f", "m"], n)
    return pa.table(
        {
            "age": age,
            "sex": sex,
            "town": rng.choice(["b", "a", "c"], n),
            "income": 20 * age + 100 * (sex == "m") + rng.normal(0, 50, n).round(),
            "ill": np.where(rng.random(n) < 1 / (1 + np.exp(-(age - 45) / 10)), "yes", "no"),
        }
    )


QUASI = {"age": ko.intervals(5, 10), "sex": None, "town": None}


def released(**asked):
    options = {"quasi_identifiers": QUASI, "sensitive": ["ill"], "insensitive": ["income"], "k": 5}
    return ko.anonymize(people(), algorithm="mondrian", **(options | asked))


@pytest.mark.parametrize("labels", ["hierarchy", "tight"])
def test_labels_are_read_as_is_said(labels):
    sides = released(labels=labels, k=60).sides
    assert labels == "hierarchy" or any(covering.scattered.size for covering in sides.coverings)
    rng = np.random.default_rng(0)
    for place, attribute in enumerate(sides.attributes):
        shown, covering = sides.labels[place], sides.coverings[place]
        texts = attribute.column.texts
        under = [[t for t in texts if covers(label, t, attribute)] for label in shown.texts]
        if attribute.name == "age":
            middles = [(min(map(int, some)) + max(map(int, some))) / 2 for some in under]
            assert midpoints(attribute.column, covering).tolist() == pytest.approx(middles)
        else:
            by_code = shares_before(attribute.column)
            expected = [np.mean([by_code[texts.index(t)] for t in some], axis=0) for some in under]
            assert covering.shares(by_code) == pytest.approx(np.array(expected))
        drawn = drawn_codes(shown.codes, covering, rng)
        assert all(texts[code] in under[label] for code, label in zip(drawn, shown.codes))


def test_every_covered_value_is_drawn_as_often():
    sides = released(k=100).sides
    covering, labels = sides.coverings[0], sides.labels[0].codes
    widest = int(np.argmax(covering.widths))
    many = np.full(20_000, widest, dtype=labels.dtype)
    drawn = np.bincount(drawn_codes(many, covering, np.random.default_rng(1)))
    drawn = drawn[drawn > 0]
    assert len(drawn) == covering.widths[widest]
    assert drawn / 20_000 == pytest.approx(1 / len(drawn), abs=0.02)


def test_a_release_without_generalization_gives_the_same_models():
    release = released(k=1, shuffle=False)
    for facts in model_overlap(release, ["income ~ age + sex + town", "ill ~ age + sex"]):
        assert facts["overlap"] == pytest.approx(1)
        assert "4 of 4" in facts["sentence"] or "2 of 2" in facts["sentence"]
    for entry in number_overlap(release):
        assert entry["overlap"] == pytest.approx(1) and entry["before"] == entry["after"]


@pytest.mark.parametrize("labels", ["midpoint", "spread"])
def test_models_of_a_release(labels):
    linear, logistic = model_overlap(released(), ["income ~ age + sex", "ill ~ age"], labels=labels)
    assert linear["kind"] == "linear" and logistic["kind"] == "logistic"
    table = people()
    x = [[1, age, sex != max(["f", "m"], key=table["sex"].to_pylist().count)]
         for age, sex in zip(table["age"].to_pylist(), table["sex"].to_pylist())]  # fmt: skip
    beta, errors = least_squares(x, table["income"].to_pylist())
    for row, value, error in zip(linear["coefficients"], beta, errors):
        assert row["before"]["value"] == pytest.approx(value)
        assert row["before"]["interval"] == pytest.approx(
            [value - 1.96 * error, value + 1.96 * error], rel=1e-3
        )
        assert row["overlap"] == pytest.approx(overlap(row["before"]["interval"], row["after"]["interval"]))
    assert 0 < logistic["overlap"] <= 1
    word = "the middle" if labels == "midpoint" else "drawn at random"
    assert word in linear["sentence"]


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("income", "written as"),
        ("income ~ age ~ sex", "written as"),
        ("income ~ age + age", "twice"),
        ("income ~ age * sex", "name of a column"),
        ("income ~ log(age)", "name of a column"),
        ("income ~ ", "name of a column"),
        ("income ~ height", "no published column"),
        ("town ~ age", "must be numbers or have two values"),
        (7, "written as"),
    ],
)
def test_what_is_no_model_is_refused(formula, message):
    with pytest.raises(ko.InputError, match=message):
        model_overlap(released(), [formula])


def test_names_with_signs_stand_in_backticks():
    assert read_formula("`a + b` ~ hours-per-week").names == ("a + b", "hours-per-week")
