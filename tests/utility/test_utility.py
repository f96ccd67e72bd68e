"""Utility against its definition on small random releases, and where the answer is known."""

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from by_definition import risk as by_definition
from kohort.job.sides import before_after
from kohort.problem.costs import COSTS
from kohort.utility.classification import group_values, published_side
from kohort.utility.measure import cramers_v
from kohort.utility.queries import answers, item_answers, workload
from releases import random_release

CASES = [
    {"labels": labels, "suppressed": suppressed}
    for labels in ("hierarchy", "tight")
    for suppressed in ("star", "drop")
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES)
def test_queries_are_answered_as_by_brute_force(seed, case):
    release = random_release(seed, **case)
    sides = before_after(release)
    attributes = release.problem.attributes
    columns = [attribute.column for attribute in attributes]
    asked = workload([*columns, *sides.sensitive], 3, 40, np.random.default_rng(seed))
    true, estimated = answers(sides, asked, np.arange(sides.n_records))
    originals = by_definition.originals(release)
    published = [labels for labels, _ in by_definition.published(release)]
    for q, query in enumerate(asked):
        assert 1 <= len(query.columns) <= 3 and min(query.columns) < 3
        if max(query.columns) == 3:
            continue  # asks for the sensitive column too: below
        chosen = [
            [columns[c].texts[code] for code in np.flatnonzero(picked)]
            for c, picked in zip(query.columns, query.chosen)
        ]
        exact = sum(all(row[c] in values for c, values in zip(query.columns, chosen)) for row in originals)
        assert true[q] == exact >= 1
        assert estimated[q] == pytest.approx(
            by_definition.count(published, attributes, query.columns, chosen)
        )


def test_sensitive_values_are_asked_for_too():
    release = random_release(0)
    sides = before_after(release)
    columns = [*(a.column for a in release.problem.attributes), *sides.sensitive]
    asked = [q for q in workload(columns, 3, 200, np.random.default_rng(0)) if set(q.columns) == {2, 3}]
    true, estimated = answers(sides, asked, np.arange(sides.n_records))
    town, illness = columns[2], columns[3]
    shown = [labels[2] for labels, _ in by_definition.published(release)]
    for q, query in enumerate(asked):
        picked = dict(zip(query.columns, query.chosen))
        hits = picked[2][town.codes] & picked[3][illness.codes]
        assert true[q] == hits.sum()
        expected = 0.0
        for label, code in zip(shown, illness.codes[sides.rows]):
            covered = [t for t in town.texts if by_definition.covers(label, t, release.problem.attributes[2])]
            share = sum(picked[2][town.texts.index(t)] for t in covered) / len(covered)
            expected += share * picked[3][code]
        assert estimated[q] == pytest.approx(expected)
    assert asked


def test_a_release_that_hides_nothing_answers_everything():
    table = pa.table({"age": [1, 1, 2, 2], "sex": ["f", "f", "m", "m"], "ill": ["a", "b", "a", "b"]})
    release = ko.anonymize(
        table, quasi_identifiers=["age", "sex"], sensitive=["ill"], privacy=[ko.KAnonymity(2)]
    )
    found = release.utility(queries=50)
    assert found["queries"]["median_relative_error"] == found["queries"]["p90_relative_error"] == 0
    assert found["association"]["mean_change"] == 0
    assert found["association"]["pairs"][0] == {"attributes": ["age", "sex"], "before": 1.0, "after": 1.0}
    assert set(found["costs"]) == set(COSTS) and found["costs"]["loss"]["value"] == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES)
def test_generalized_values_count_for_each_value_they_cover(seed, case):
    release = random_release(seed, **case)
    attribute = release.problem.attributes[2]
    encoded = published_side(before_after(release), 9)[2]
    for (labels, _), shares in zip(
        by_definition.published(release), encoded.features(np.arange(len(encoded.labels)))
    ):
        covered = [by_definition.covers(labels[2], text, attribute) for text in attribute.column.texts]
        assert shares == pytest.approx(np.array(covered) / sum(covered))


def test_values_are_grouped_by_quantiles_or_by_frequency():
    numbers = ko.anonymize(
        pa.table({"n": [*range(100), None]}), quasi_identifiers=["n"], privacy=[ko.KAnonymity(1)]
    ).dataset.column("n")
    groups = group_values(numbers, 5)
    assert groups.tolist() == [*([0] * 25), *([1] * 25), *([2] * 25), *([3] * 25), 4]
    words = ko.anonymize(
        pa.table({"w": [*"aaabbcd"]}), quasi_identifiers=["w"], privacy=[ko.KAnonymity(1)]
    ).dataset.column("w")
    assert group_values(words, 3).tolist() == [0, 1, 2, 2]
    assert group_values(words, 9).tolist() == [0, 1, 2, 3]


def test_cramers_v_of_a_table_from_a_textbook():
    table = np.array([[25.0, 15.0], [5.0, 55.0]])  # chi-square 33.53 of 100
    expected = np.outer([40, 60], [30, 70]) / 100
    chi = ((table - expected) ** 2 / expected).sum()
    assert cramers_v(table) == pytest.approx((chi / 100) ** 0.5)
    assert cramers_v(np.outer([1.0, 2.0], [3.0, 4.0])) == pytest.approx(0)
    assert cramers_v(np.array([[5.0, 7.0]])) == 0


def telling_table(n=600):
    """The age tells the illness."""
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, n)
    noise = rng.random(n) < 0.05
    ill = np.where((age >= 50) ^ noise, "gout", "acne")
    return pa.table({"age": age, "sex": rng.choice(["f", "m"], n), "ill": ill})


def test_a_model_learns_from_the_release():
    table = telling_table()
    quasi = {"age": ko.intervals(5, 10, 30, origin=20), "sex": None}
    fine, coarse = (
        ko.anonymize(
            table,
            quasi_identifiers=quasi,
            sensitive=["ill"],
            privacy=[ko.KAnonymity(k)],
            algorithm="mondrian",
        ).utility(queries=0)["classification"]
        for k in (5, 600)
    )
    assert fine["target"] == "ill" and fine["classes"] == 2
    assert fine["trained_on"] == 420 and fine["tested_on"] == 180 and not fine["sampled"]
    assert fine["accuracy"] > 0.88 and fine["ceiling"] > 0.88 and 0.4 < fine["floor"] < 0.65
    assert coarse["accuracy"] == pytest.approx(fine["floor"]), "one class teaches nothing"


def test_a_target_may_be_named():
    release = ko.anonymize(
        telling_table(), quasi_identifiers=["age"], insensitive=["sex", "ill"], privacy=[ko.KAnonymity(5)]
    )
    assert release.utility(queries=0)["classification"] is None
    assert release.utility(queries=0, target="ill")["classification"]["target"] == "ill"
    with pytest.raises(ko.InputError, match="'age' is not"):
        release.utility(target="age")
    with pytest.raises(ko.InputError, match="'queries' must be"):
        release.utility(queries=-1)


@pytest.mark.parametrize("shuffle", [False, True])
def test_records_are_matched_with_their_originals_also_when_shuffled(shuffle):
    release = random_release(2, shuffle=shuffle)
    found = release.utility(queries=100)
    assert found == random_release(2).utility(queries=100)


@pytest.mark.parametrize("seed", range(3))
def test_questions_about_items_are_answered_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    bought = [[f"i{i}" for i in range(9) if rng.random() < 0.3] for _ in range(50)]
    release = ko.anonymize(pa.table({"bought": bought}), items="bought", privacy=ko.KmAnonymity(6, 2))
    pair = before_after(release).baskets
    texts = pair.original.items.texts
    asked = [np.array(codes) for codes in ([0], [1, 2], [3, 0], [8], [4, 5])]
    true, estimated = item_answers(pair, asked)
    shown = release.arrow["bought"].to_pylist()
    occurring = {item for basket in bought for item in basket}
    for q, codes in enumerate(asked):
        items = [texts[code] for code in codes]
        assert true[q] == sum(set(items) <= set(basket) for basket in bought)
        assert estimated[q] == pytest.approx(
            sum(likely(labels, items, occurring, pair.hierarchy) for labels in shown)
        )
    found = release.utility(queries=60)["item_queries"]
    assert found["queries"] == 60 and found["median_relative_error"] >= 0


def likely(labels, items, occurring, hierarchy):
    """The probability that a basket with these labels holds the items: each one by its narrowest label."""
    chance = 1.0
    for item in items:
        widths = [
            sum(by_definition.basket_fits([label], [other], hierarchy) for other in occurring)
            for label in labels or []
            if by_definition.basket_fits([label], [item], hierarchy)
        ]
        chance *= 1 / min(widths) if widths else 0
    return chance
