"""Records without an original: as few as any assignment leaves, and set apart before anything is measured."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from kohort.job.columns import build_attributes
from kohort.job.prepare import settled_roles
from kohort.problem.roles import Roles
from kohort.statement import Statement
from kohort.tables.memory import MemoryTable
from kohort.verification import Original
from kohort.verification.assignment import count_without_original
from kohort.verification.verify import verify

ROLES = Roles({"age": "quasi-identifier", "ill": "sensitive"})
ASKED = Statement.of(
    columns=ROLES, promises=(ko.KAnonymity(2),), suppression=0.9, again="m-invariance", counterfeits=2
)
LABELS = {"20": {20}, "21": {21}, "22": {22}, "[20, 21]": {20, 21}, "[21, 22]": {21, 22}, "*": {20, 21, 22}}
PUBLISHED = st.lists(
    st.tuples(st.sampled_from(sorted(LABELS)), st.sampled_from("ab")), min_size=1, max_size=5
)
PEOPLE = st.lists(st.tuples(st.integers(20, 22), st.sampled_from("ab")), min_size=0, max_size=3)
EVERY_AGE = [(20, "a"), (21, "b"), (22, "b")]


def tables(published, people):
    shown = pa.table({"age": [label for label, _ in published], "ill": [ill for _, ill in published]})
    before = pa.table({"age": [age for age, _ in people], "ill": [ill for _, ill in people]})
    return MemoryTable(shown), MemoryTable(before)


def original_of(before, **more):
    roles = settled_roles(before, ASKED)
    return Original(before, roles, build_attributes(before, ASKED, roles), **more)


@given(PUBLISHED, PEOPLE)
def test_as_few_records_are_left_over_as_any_assignment_leaves(published, people):
    people = EVERY_AGE + people
    shown, before = tables(published, people)
    found = count_without_original(shown, before, original_of(before).attributes, ["ill"])
    assert found == len(published) - most_assigned(published, people)


def most_assigned(published, people) -> int:
    """The most published records that can have different originals, by trying all sets of records."""
    for number in range(len(published), 0, -1):
        for chosen in combinations(published, number):
            if assignable(list(chosen), people):
                return number
    return 0


def assignable(records, people) -> bool:
    if not records:
        return True
    (label, ill), rest = records[0], records[1:]
    fitting = [p for p, (age, has) in enumerate(people) if age in LABELS[label] and has == ill]
    return any(assignable(rest, people[:p] + people[p + 1 :]) for p in fitting)


TWO = [("[20, 21]", "a"), ("[20, 21]", "b"), ("[20, 21]", "b")]
BEFORE = [(20, "a"), (21, "b"), (22, "b")]


def checked(published, rows, **more):
    shown, before = tables(published, BEFORE)
    found = verify(shown, ASKED, original_of(before, order=np.array(rows), **more))
    return found, {check.name: check for check in found.verdict.checks}


def test_counterfeits_are_set_apart():
    found, checks = checked(TWO, [0, 1, -1])
    assert found.verdict.holds and found.verdict.counterfeits == 1 and found.verdict.withheld == 1
    assert (
        checks["counterfeits"].detail == "1 published record has no original; the spec allows 2 counterfeits."
    )
    assert found.loss is not None and found.loss["discernibility"] < 9 + 3  # classes of two people, not three


@pytest.mark.parametrize(("announced", "holds"), [(None, True), (1, True), (0, False), (2, False)])
def test_counterfeits_are_as_many_as_announced(announced, holds):
    found, checks = checked(TWO, [0, 1, -1], counterfeits=announced)
    assert checks["counterfeits"].holds is holds and found.verdict.holds is holds


def test_a_counterfeit_among_too_few_people_is_found():
    """A class of one person and a counterfeit: two records, and one person."""
    found, checks = checked(TWO[:1] + TWO[2:], [0, -1])
    assert not checks["classes of counterfeits"].holds and not found.verdict.holds
    assert [model.holds for model in found.verdict.models] == [False]


def test_more_than_the_spec_allows_is_found():
    shown, before = tables(TWO, BEFORE)
    strict = replace(ASKED, counterfeits=0)
    found = verify(shown, strict, original_of(before, order=np.array([0, 1, -1])))
    assert not found.verdict.holds
