"""Attacks on every figure that is published: none may say more about the original than the release does."""

import json
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.job.public import _rounded_up
from kohort.report.facts import report_facts
from trials import trials

AGES = range(17, 91)
AGE_TREE = ko.Hierarchy.from_paths(
    [
        (str(age), f"[{age // 5 * 5}, {age // 5 * 5 + 5})", f"[{age // 20 * 20}, {age // 20 * 20 + 20})", "*")
        for age in AGES
    ]
)
K = ko.KAnonymity(5)
PERSONS = range(0, 500, trials(250, 84))


def adults(n, seed):
    """A made table like Adult: ages, sex, schooling and sector."""
    rng = np.random.default_rng(seed)
    return {
        "age": np.clip(rng.normal(38, 13, n).astype(int), 17, 90).tolist(),
        "sex": rng.choice(["f", "m"], n).tolist(),
        "school": rng.choice(["none", "basic", "high", "college"], n, p=[0.1, 0.3, 0.4, 0.2]).tolist(),
        "sector": rng.choice(["public", "private", "own"], n, p=[0.2, 0.7, 0.1]).tolist(),
    }


def release_of(people, algorithm):
    quasi = {"age": AGE_TREE, **{name: ko.flat() for name in ("sex", "school", "sector")}}
    table = pa.table(people | {"age": [str(age) for age in people["age"]]})
    return ko.anonymize(table, quasi_identifiers=quasi, privacy=[K], algorithm=algorithm)


def rows(release):
    return sorted(zip(*(column.to_pylist() for column in release.table.columns)))


def figures(facts, path=""):
    """Every figure in nested facts, by its path."""
    pairs = (
        facts.items() if isinstance(facts, dict) else enumerate(facts) if isinstance(facts, list) else None
    )
    if pairs is None:
        return {path: facts}
    return {key: value for name, part in pairs for key, value in figures(part, f"{path}.{name}").items()}


def told_apart(people, person, algorithm, read):
    """Ages that give the very same release, and for each figure those of them that give the true one."""
    truth = release_of(people, algorithm)
    published, true = rows(truth), figures(read(truth))
    tree, node = AGE_TREE, truth.table["age"].to_pylist()[truth.original_rows.tolist().index(person)]
    left, of_figure = [], {name: [] for name in true}
    for age in AGES:
        if node not in tree_path(tree, age):
            continue
        other = people | {"age": [*people["age"][:person], age, *people["age"][person + 1 :]]}
        release = release_of(other, algorithm)
        if rows(release) == published:
            left.append(age)
            found = figures(read(release))
            for name, value in true.items():
                if found.get(name, "absent") == value:
                    of_figure[name].append(age)
    return left, of_figure


def tree_path(tree, age):
    return (
        str(age),
        f"[{age // 5 * 5}, {age // 5 * 5 + 5})",
        f"[{age // 20 * 20}, {age // 20 * 20 + 20})",
        "*",
    )


@pytest.mark.parametrize("algorithm", ["mondrian", "forest", "k-anon-cf", "full-domain"])
def test_no_public_figure_narrows_the_ages_that_the_release_leaves(algorithm):
    """The attacker has everything but one person's age, and can run the algorithm on each guess."""
    people = adults(500, seed=3)
    several = 0
    for person in PERSONS:
        left, of_figure = told_apart(people, person, algorithm, lambda made: made.facts(version="public"))
        assert people["age"][person] in left
        several += len(left) > 1
        assert {name: ages for name, ages in of_figure.items() if ages != left} == {}
    assert several >= len(PERSONS) // 2


def test_the_figures_of_the_holder_do_narrow_them():
    """What the attack is worth: entropies in full tell the age; they are not published."""
    people, narrowed = adults(500, seed=3), 0
    for person in PERSONS:
        left, of_figure = told_apart(
            people, person, "full-domain", lambda made: {"loss": made.facts()["loss"]}
        )
        narrowed += len(of_figure[".loss.entropy"]) < len(left)
    assert narrowed >= len(PERSONS) // 2


@pytest.mark.benchmarks
def test_no_figure_of_the_public_report_narrows_them():
    people = adults(500, seed=3)
    left, of_figure = told_apart(people, 84, "full-domain", lambda made: report_facts(made, version="public"))
    assert len(left) > 1
    assert {name: ages for name, ages in of_figure.items() if ages != left} == {}


def worlds(values):
    """All tables with the same sensitive values in other places."""
    ones = sum(values)
    for chosen in combinations(range(len(values)), ones):
        yield [int(i in chosen) for i in range(len(values))]


PROMISES = [
    [ko.KAnonymity(2), ko.LDiversity("ill", 2, kind="distinct")],
    [ko.KAnonymity(2), ko.AlphaDeassociation("ill", 0.5, values=["1"])],
]
TABLES = trials(3, 10)  # 500 take three minutes


@pytest.mark.parametrize("promise", PROMISES, ids=["distinct", "alpha"])
@pytest.mark.parametrize("algorithm", ["mondrian", "improve"])
def test_the_posterior_of_sensitive_values_is_the_same_with_and_without_the_certificate(algorithm, promise):
    """Enumerated: among all worlds with the same release, the public certificate is the same, too."""
    rng = np.random.default_rng(7)
    for _ in range(TABLES):
        quasi = {name: rng.integers(0, 3, 6).astype(str).tolist() for name in ("a", "b")}
        certificates = {}
        for ill in worlds([1, 1, 0, 0, 0, 0]):
            made = world_release(quasi, ill, algorithm, promise)
            if made is not None:
                public = json.dumps(made.facts(version="public"), sort_keys=True)
                certificates.setdefault(str(rows(made)), set()).add(public)
        assert certificates and all(len(found) == 1 for found in certificates.values())


def world_release(quasi, ill, algorithm, promise):
    table = pa.table(quasi | {"ill": [str(value) for value in ill]})
    asked = {
        "quasi_identifiers": dict.fromkeys(quasi, ko.flat()),
        "sensitive": ["ill"],
        "algorithm": algorithm,
    }
    return ko.anonymize(table, privacy=promise, **asked)


def test_public_losses_are_rounded_up():
    shown = {0.0: 0.0, 0.123456: 0.13, 0.25: 0.25, 0.0999: 0.1, 1234.5: 1300.0}
    assert {value: _rounded_up(value) for value in shown} == shown
