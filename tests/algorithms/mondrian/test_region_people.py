"""People who are added up where they have as many records are counted as those who are at hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from kohort.algorithms.mondrian.region_records import PeopleView, counts_of_tallies, views_of
from kohort.problem.promises import PeopleTally, PersonCells, ValueContext, spread_overall

MODELS = [
    ko.LDiversity("ill", 2),
    ko.KAnonymity(2),
    ko.LDiversity("ill", "3/2", kind="entropy"),
    ko.LDiversity("ill", 2, kind="recursive", c=2),
    ko.AlphaDeassociation("ill", 0.5, values=["a", "b"]),
    ko.TCloseness("ill", 0.3),
    ko.DeltaDisclosure("ill", 2),
    ko.BetaLikeness("ill", 1),
]


def tally_of(view: PeopleView, classes, persons, values, n_classes) -> PeopleTally:
    """The tally by definition: what each person has in each class, and people with equal totals together."""
    values = [0] * len(values) if not view.attribute else view.stands_for[values].tolist()
    has = Counter(zip(classes, persons, values))
    total = Counter(zip(classes, persons))
    people, records = Counter(), Counter()
    for (number, person, value), n in has.items():
        people[number, value, total[number, person]] += 1
        records[number, value, total[number, person]] += n
    keys = np.array(sorted(people)).T
    counts = (np.array([counter[key] for key in sorted(people)]) for counter in (people, records))
    return PeopleTally(*keys, *counts, n_classes, view.n_values)


@given(rest=st.lists(st.tuples(*(st.integers(0, most) for most in (2, 4, 3))), max_size=20))
def test_models_count_people_alike(rest):
    records = [(0, 0, 0), (1, 1, 1), (2, 0, 2), *rest]
    classes, persons, values = (np.array(column) for column in zip(*records))
    overall = spread_overall(persons, values, 4)
    context = ValueContext(labels=tuple("abcd"), order=np.arange(4), overall=overall)
    views = views_of(MODELS, {"ill": context})
    tallies = [tally_of(view, classes.tolist(), persons.tolist(), values, 3) for view in views]
    cells = PersonCells.from_records(classes, persons, values, 3, 4)
    for model, found in zip(MODELS, counts_of_tallies(MODELS, tallies)):
        expected = cells.counts_for(model, context)
        assert found.class_of.tolist() == expected.class_of.tolist()
        assert found.value_of.tolist() == expected.value_of.tolist()
        share, asked = (c.count / c.sizes[c.class_of] for c in (found, expected))
        assert share.tolist() == pytest.approx(asked.tolist())
        assert model.holds(found, context).tolist() == model.holds(expected, context).tolist()


def test_huge_common_multiples_are_exact():
    """People with very different numbers of records: no machine integer holds their common multiple."""
    primes = [101, 103, 107, 109, 113, 127, 131, 137, 139, 149]
    persons = np.repeat(np.arange(len(primes)), primes)
    values = np.arange(len(persons)) % 2
    view = PeopleView("ill", np.arange(2))
    found = tally_of(view, [0] * len(persons), persons.tolist(), values, 1).spread()
    expected = PersonCells.from_records(np.zeros(len(persons)), persons, values, 1, 2).spread()
    assert found.count.tolist() == expected.count.tolist()
    assert int(found.sizes[0]) > 2**63
