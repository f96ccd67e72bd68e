"""k-map against a population by definition, and estimates of population uniques where the truth is known."""

from math import comb, log

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.problem.uniqueness import fit_pitman, pitman_uniques, population_uniqueness, zayatz_uniques

AGES = ko.intervals(10, 20)


def sample_and_population(seed):
    rng = np.random.default_rng(seed)
    people = pa.table(
        {"age": rng.integers(20, 60, 300), "sex": rng.choice(["f", "m"], 300), "note": np.arange(300)}
    )
    return people.take(pa.array(rng.choice(300, 60, replace=False))), people


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("labels", ["hierarchy", "tight"])
def test_a_population_is_counted_class_by_class(seed, labels):
    sample, people = sample_and_population(seed)
    release = ko.anonymize(
        sample.select(["age", "sex"]),
        quasi_identifiers={"age": AGES, "sex": None},
        privacy=[ko.KAnonymity(4)],
        labels=labels,
    )
    found = release.risk(population=people)
    everybody = people.to_pylist()
    fitting = [sum(fits(label, person) for person in everybody) for label in release.arrow.to_pylist()]
    same = [sum(p["age"] == s["age"] and p["sex"] == s["sex"] for p in everybody) for s in sample.to_pylist()]
    assert found["k_map"]["after"] == min(fitting) >= 4
    assert found["k_map"]["before"] == min(same)
    assert found["journalist"]["basis"] == "population"
    for side, counts in (("before", same), ("after", fitting)):
        each = [1 / count for count in counts]
        assert found["journalist"][side]["maximum"] == pytest.approx(max(each))
        assert found["journalist"][side]["average"] == pytest.approx(sum(each) / len(each))
        assert found["marketer"][side]["average"] == pytest.approx(sum(each) / len(each))


def fits(label, person):
    if label["sex"] not in ("*", person["sex"]):
        return False
    age = label["age"]
    if age == "*" or age == str(person["age"]):
        return True
    if not age.startswith("["):
        return False
    low, high = map(int, age[1:-1].split(", "))
    return low <= person["age"] <= high and (age.endswith("]") or person["age"] < high)


def test_a_population_that_is_another_is_told():
    release = ko.anonymize(
        pa.table({"age": [1, 1, 2, 2]}), quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)]
    )
    found = release.risk(population=pa.table({"age": [2, 3, 4]}))["k_map"]
    assert found["after"] == 0 and found["not_in_population"] == 2
    assert "is not a sample of this population" in found["sentence"]


def restaurant(theta, alpha, n, rng):
    """Sizes of classes of a population that follows Pitman's model: people come one by one."""
    of_person, sizes = [], []
    for i in range(n):
        if rng.random() * (theta + i) < theta + len(sizes) * alpha:
            of_person.append(len(sizes))
            sizes.append(1)
        else:  # joins a class by its size less alpha: draw a person, and again with the share alpha / size
            while True:
                c = of_person[int(rng.integers(i))]
                if rng.random() >= alpha / sizes[c]:
                    break
            of_person.append(c)
            sizes[c] += 1
    return np.array(of_person), np.array(sizes)


@pytest.mark.parametrize(("theta", "alpha"), [(200.0, 0.6), (1000.0, 0.3), (50.0, 0.8)])
def test_pitman_finds_the_uniques_of_a_population_of_its_kind(theta, alpha):
    rng = np.random.default_rng(5)
    of_person, sizes = restaurant(theta, alpha, 40_000, rng)
    true = (sizes == 1).sum() / 40_000
    drawn = of_person[rng.choice(40_000, 2_000, replace=False)]
    found = population_uniqueness(np.unique(drawn, return_counts=True)[1], 0.05)
    assert found["model"] == "pitman"
    assert found["share"] == pytest.approx(true, rel=0.25)


def test_pitmans_likelihood_is_that_of_the_model():
    """The fitted parameters beat all others on a grid, by the product of the model's own probabilities."""
    sizes = np.array([1] * 30 + [2] * 10 + [3] * 4 + [7, 12])

    def likelihood(theta, alpha):
        n, classes = sizes.sum(), len(sizes)
        new = sum(log(theta + i * alpha) for i in range(1, classes))
        joins = sum(log(i - alpha) for size in sizes for i in range(1, size))
        return new + joins - sum(log(theta + i) for i in range(1, n))

    theta, alpha = fit_pitman(sizes)
    best = likelihood(theta, alpha)
    for a in np.linspace(0.05, 0.95, 19):
        for t in np.geomspace(0.1, 1000, 30):
            assert likelihood(t, a) <= best + 1e-6


def test_pitmans_expected_uniques_are_those_of_people_coming_one_by_one():
    theta, alpha, n = 3.0, 0.4, 50
    alone = 1.0
    for i in range(1, n):
        alone *= 1 - (1 - alpha) / (theta + i)
    assert pitman_uniques(theta, alpha, n) == pytest.approx(n * alone)


def test_zayatz_is_bayes_over_the_sizes_of_classes():
    sizes, population = np.array([1, 1, 1, 2, 2, 3]), 25
    n = int(sizes.sum())

    def one_drawn(size):
        return size * comb(population - size, n - 1) / comb(population, n)

    unique = 3 * one_drawn(1) / (3 * one_drawn(1) + 2 * one_drawn(2) + one_drawn(3))
    assert zayatz_uniques(sizes, population) == pytest.approx(3 * unique * population / n)


def test_a_whole_population_needs_no_estimate():
    found = population_uniqueness(np.array([1, 1, 2]), 1.0)
    assert found["share"] == found["pitman"] == 0.5


@pytest.mark.parametrize("sizes", [[1, 1, 1, 1], [50], [10, 10, 10]])
@pytest.mark.parametrize("fraction", [0.001, 0.1, 0.5])
def test_estimates_are_shares_in_extreme_tables(sizes, fraction):
    found = population_uniqueness(np.array(sizes), fraction)
    assert all(0 <= found[name] <= 1 for name in ("share", "pitman", "zayatz"))
