"""Attacks on every figure that is published: none may say more about the original than the release does.

`python -m experiments.certificate` does the same at length; what it found is checked here.
"""

import csv
from pathlib import Path

import pytest
from experiments.certificate import trials as recorded
from experiments.certificate.attack import (
    adults,
    ages_left,
    different_questions,
    groups_of_worlds,
    holders_figures,
    posterior_change,
    public_artefacts,
)

from kohort.job.public import _rounded_up
from trials import trials

PERSONS = range(0, 500, trials(250, 84))
AT_LENGTH = pytest.mark.benchmarks
RESULTS, FILES = Path(recorded.__file__).parent / "results", ("worlds.csv", "ages.csv")


def at_length(*algorithms):
    return [pytest.param(name, marks=AT_LENGTH) for name in algorithms]


@pytest.mark.parametrize("algorithm", ["full-domain", *at_length("mondrian", "forest", "k-anon-cf")])
def test_no_public_figure_narrows_the_ages_that_the_release_leaves(algorithm):
    """The attacker has everything but one person's age, and can run the algorithm on each guess."""
    people, several = adults(500, seed=3), 0
    for person in PERSONS:
        left, of_figure = ages_left(people, person, algorithm, public_artefacts)
        assert people["age"][person] in left
        several += len(left) > 1
        assert {name: ages for name, ages in of_figure.items() if ages != left} == {}
    assert several >= len(PERSONS) // 2


@AT_LENGTH
def test_the_figures_of_the_holder_do_narrow_them():
    """What the attack is worth: entropies in full tell the age; they are not published."""
    people, narrowed = adults(500, seed=3), 0
    for person in PERSONS:
        left, of_figure = ages_left(people, person, "full-domain", holders_figures)
        narrowed += len(of_figure[".loss.entropy"]) < len(left)
    assert narrowed >= len(PERSONS) // 2


@pytest.mark.parametrize("algorithm", ["mondrian", *at_length("improve", "auto")])
def test_the_posterior_of_sensitive_values_is_the_same_with_and_without_public_artefacts(algorithm):
    """Enumerated: among all worlds with the same release, all public artefacts are the same, too."""
    compared, by_the_holders = 0, 0.0
    for asked in different_questions(trials(3, 12), seed=7):
        for group in groups_of_worlds(asked, algorithm):
            assert posterior_change(group, public_artefacts) == (0.0, set())
            compared += len(group) > 1
            by_the_holders = max(by_the_holders, posterior_change(group, holders_figures)[0])
    assert compared
    assert algorithm == "mondrian" or by_the_holders > 0  # the bound of improve tells who is ill


def test_the_recorded_attacks_found_nothing_in_public():
    worlds, ages = (list(csv.DictReader((RESULTS / name).read_text("utf-8").splitlines())) for name in FILES)
    assert {"mondrian", "improve"} <= {row["algorithm"] for row in worlds} <= set(recorded.ALGORITHMS)
    assert {row["algorithm"] for row in ages} <= set(recorded.OF_AGES)
    for row in worlds:
        assert int(row["tables"]) == recorded.TABLES and int(row["releases of several worlds"]) > 0
        assert int(row["certificate: tells more"]) == int(row["all public: tells more"]) == 0
    assert all((row["people"], row["fewer by public figures"]) == ("50", "0") for row in ages)


def test_public_losses_are_rounded_up():
    shown = {0.0: 0.0, 0.123456: 0.13, 0.25: 0.25, 0.0999: 0.1, 1234.5: 1300.0}
    assert {value: _rounded_up(value) for value in shown} == shown
