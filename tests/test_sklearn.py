"""The scikit-learn transformer keeps scikit-learn's rules and ours."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

pytest.importorskip("sklearn", reason="kohort[sklearn] is not installed")

from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import kohort as ko
from kohort.sklearn import Anonymizer

REFUSED = {"check_estimators_pickle": "A fitted one holds the original table, so it refuses to be pickled."}


@pytest.mark.long
@parametrize_with_checks([Anonymizer(k=2, values="numbers")], expected_failed_checks=lambda _: REFUSED)
def test_the_rules_of_scikit_learn(estimator, check):
    check(estimator)


def people(n=200, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    return pd.DataFrame(
        {"age": age, "sex": rng.choice(["f", "m"], n), "town": rng.choice(["Ayr", "Ely", "Wick"], n)}
    ), np.where(age > 50, "yes", "no")


def test_the_fitted_table_keeps_the_promise():
    table, _ = people()
    anonymizer = Anonymizer(k=7)
    published = anonymizer.fit_transform(table)
    assert published.groupby(["age", "sex", "town"]).size().min() >= 7
    assert anonymizer.release_.verdict.holds
    assert list(published.columns) == list(table.columns)
    assert published.equals(anonymizer.release_.table.to_pandas())


def test_numbers_stand_for_what_their_label_covers():
    table, _ = people()
    labels = Anonymizer(k=7).fit_transform(table)
    numbers = Anonymizer(k=7, values="numbers").fit_transform(table)
    assert labels["sex"].equals(numbers["sex"])
    ages = np.unique(table["age"])
    for label, number in zip(labels["age"], numbers["age"]):
        covered = [int(label)] if label.isdigit() else None
        if label.startswith("["):
            low, high = map(int, label[1:-1].split(", "))
            covered = ages[(low <= ages) & (ages <= high)]
        elif label == "*":
            covered = ages
        assert number == pytest.approx(np.mean(covered))
    assert numbers.groupby(["age", "sex", "town"]).size().min() >= 7


def test_new_records_look_like_a_class_that_covers_them():
    table, _ = people()
    anonymizer = Anonymizer(k=7).fit(table)
    new, _ = people(50, seed=9)
    published = anonymizer.transform(new)
    fitted = set(map(tuple, anonymizer.release_.table.to_pandas().to_numpy()))
    nobody = 0
    for row, labels in zip(new.itertuples(index=False), map(tuple, published.to_numpy())):
        if labels == ("*", "*", "*") and labels not in fitted:
            nobody += 1
            continue
        assert labels in fitted
        for value, label in zip(row, labels):
            low, _, high = label[1:-1].partition(", ")
            assert label in ("*", str(value)) or int(low) <= value <= int(high)
    assert nobody < 25


def test_of_equal_records_in_several_classes_the_first_tells():
    table = pd.DataFrame({"age": [1, 1, 1, 1, 2, 3], "sex": ["f", "f", "f", "f", "f", "f"]})
    anonymizer = Anonymizer(k=3)
    published = anonymizer.fit_transform(table)
    assert published.groupby(["age", "sex"]).size().min() >= 3
    again = anonymizer.transform(table)
    assert set(map(tuple, again.to_numpy())) <= set(map(tuple, published.to_numpy()))
    assert again["age"][:4].nunique() == 1 and again["age"][0] == published["age"][0]


def test_values_that_nobody_had_are_stars():
    table = pd.DataFrame({"town": ["Ayr"] * 3 + ["Ely"] * 3})
    anonymizer = Anonymizer(k=3).fit(table)
    assert anonymizer.transform(pd.DataFrame({"town": ["Ely", "Oban"]}))["town"].tolist() == ["Ely", "*"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_the_same_kind_of_frame_comes_out(kind):
    table = kind({"age": [1, 1, 2, 2], "note": ["a", "b", "c", "d"]})
    anonymizer = Anonymizer(k=2, quasi_identifiers=["age"])
    published = anonymizer.fit_transform(table)
    assert isinstance(published, kind)
    assert list(published["note"]) == ["a", "b", "c", "d"]
    assert list(anonymizer.transform(table)["age"]) == ["1", "1", "2", "2"]


def test_an_index_is_kept_as_scikit_learn_does():
    table, _ = people(30)
    table.index = range(100, 130)
    assert Anonymizer(k=3).fit_transform(table).index.tolist() == table.index.tolist()


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_is_heeded(container):
    numbers = np.random.default_rng(0).integers(0, 5, (40, 2)).astype(float)
    anonymizer = Anonymizer(k=4, values="numbers").set_output(transform=container)
    published = anonymizer.fit_transform(numbers)
    assert type(published).__module__.startswith(container)
    assert list(published.columns) == ["x0", "x1"]


def test_it_stands_in_a_pipeline_and_is_cloned():
    table, ill = people(400)
    model = make_pipeline(
        Anonymizer(k=5, values="numbers"),
        make_column_transformer(
            (StandardScaler(), ["age"]),
            (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=float)),
        ),
        LogisticRegression(),
    )
    model = clone(model).fit(table[:300], ill[:300])
    assert model.score(table[300:], ill[300:]) > 0.85
    assert model[0].get_feature_names_out().tolist() == ["age", "sex", "town"]
    assert model.get_params()["anonymizer__k"] == 5


def test_a_sensitive_column_and_hierarchies():
    table, ill = people()
    table["ill"] = ill
    anonymizer = Anonymizer(
        quasi_identifiers={"age": ko.intervals(10, 20), "sex": None},
        sensitive=["ill"],
        privacy=[ko.KAnonymity(5), ko.LDiversity("ill", 2, kind="distinct")],
    )
    published = anonymizer.fit_transform(table)
    assert published["ill"].tolist() == table["ill"].tolist()
    assert published.groupby(["age", "sex"])["ill"].nunique().min() == 2
    assert published["town"].tolist() == table["town"].tolist()


def test_what_cannot_be_is_refused():
    table, _ = people(5)
    with pytest.raises(ko.InfeasibleError):
        Anonymizer(k=10).fit(table)
    with pytest.raises(ko.InputError, match="'values' must be"):
        Anonymizer(k=2, values="text").fit(table)


def visits(n=40):
    rng = np.random.default_rng(0)
    patients = np.repeat(np.arange(n), rng.integers(1, 6, n))
    ages = rng.integers(20, 60, n)[patients]
    return pd.DataFrame({"patient": patients, "age": ages, "ward": rng.choice(list("xyz"), len(patients))})


def test_people_are_counted_where_they_have_several_records():
    table = visits()
    made = Anonymizer(k=5, person="patient", algorithm="mondrian")
    published = made.fit_transform(table)
    assert list(published.columns) == list(made.get_feature_names_out()) == ["age", "ward"]
    people = table["patient"].groupby([published["age"], published["ward"]]).nunique()
    assert people.min() >= 5
    assert made.release_.verdict.people.smallest_class == people.min()
    by_records = Anonymizer(k=5, quasi_identifiers=["age", "ward"], algorithm="mondrian")
    shown = by_records.fit_transform(table)
    assert table["patient"].groupby([shown["age"], shown["ward"]]).nunique().min() < 5
    again = made.transform(table)
    assert "patient" not in again and len(again) == len(table)
    as_array = Anonymizer(k=5, person="x0", algorithm="mondrian").fit_transform(table.to_numpy(dtype=object))
    assert as_array.shape == (len(table), 2)


def test_a_transformer_links_no_records():
    with pytest.raises(ko.InputError, match=r"name of one column.*cannot link records"):
        Anonymizer(k=5, person={"patient": "pseudonym"}).fit(visits())
