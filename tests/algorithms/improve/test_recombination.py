"""Two assignments are recombined by regions: nothing is lost, and no choice by regions costs less."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition.regions_of_assignments import regions_by_definition
from kohort.algorithms.improve.assignment_search import AssignedPieces
from kohort.algorithms.improve.kernels.shared_regions import regions_of_units
from kohort.algorithms.improve.recombination import recombined, united

COST = np.array([0.0, 0.25, 0.5, 0.125, 1.0, 0.75])


@st.composite
def assignments(draw, number=2):
    """Assignments of the same units, some with several copies, which may be in different slots."""
    copies = draw(st.lists(st.integers(1, 3), min_size=1, max_size=7))
    found = []
    for _ in range(number):
        slots = [draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)) for n in copies]
        held = {}
        for unit, places in enumerate(slots):
            for slot in places:
                held[unit, slot] = held.get((unit, slot), 0) + 1
        found.append(AssignedPieces(*map(np.array, zip(*((u, s, n) for (u, s), n in held.items())))))
    return copies, *found


def costs(pieces):
    return float((COST[pieces.slot] * pieces.copies).sum())


@given(assignments())
def test_the_cheapest_choice_by_regions_is_found(drawn):
    copies, one, other = drawn
    regions = regions_by_definition(len(copies), one, other)
    total, pieces = recombined(one, other, COST, len(copies))
    assert total == pytest.approx(costs(pieces))
    assert np.bincount(pieces.unit, pieces.copies, minlength=len(copies)).tolist() == copies
    choices = []
    for chosen in product((one, other), repeat=len(regions)):
        parts = [which.subset(np.isin(which.unit, sorted(region))) for which, region in zip(chosen, regions)]
        choices.append(sum(map(costs, parts)))
    assert total == pytest.approx(min(choices))


@given(assignments())
def test_regions_are_those_by_definition(drawn):
    copies, one, other = drawn
    region = regions_of_units(
        len(copies),
        12,
        np.concatenate([one.unit, other.unit]),
        np.concatenate([one.slot, other.slot + 6]),
    )
    found = {frozenset(np.flatnonzero(region == number).tolist()) for number in region}
    assert found == set(regions_by_definition(len(copies), one, other))


@given(assignments())
def test_every_slot_keeps_all_records_of_a_region(drawn):
    """So every slot has as many records as one assignment, or both, gave it."""
    copies, one, other = drawn
    sizes = [np.bincount(p.slot, p.copies, minlength=6) for p in (one, other)]
    _, pieces = recombined(one, other, COST, len(copies))
    for slot, size in enumerate(np.bincount(pieces.slot, pieces.copies, minlength=6)):
        a, b = sizes[0][slot], sizes[1][slot]
        assert size in (0, a, b, a + b)


@given(assignments(3))
def test_changes_of_both_are_united_by_regions(drawn):
    """A region that one of both changed is as that one left it; of two changes the cheaper one counts."""
    copies, before, one, other = drawn
    pieces = united(before, one, other, COST, len(copies))
    assert np.bincount(pieces.unit, pieces.copies, minlength=len(copies)).tolist() == copies
    for region in regions_by_definition(len(copies), before, one, other):
        was, first, second, now = (in_region(each, region) for each in (before, one, other, pieces))
        if was in (first, second):
            assert now == (second if was == first else first)
        else:
            assert now in (first, second) and costs_of(now) == min(costs_of(first), costs_of(second))


def in_region(pieces, region):
    """The copies in each slot of the units of a region."""
    held = {(u, s): n for u, s, n in zip(*map(np.ndarray.tolist, pieces)) if u in region}
    return dict(sorted(held.items()))


def costs_of(held):
    return sum(COST[slot] * n for (_, slot), n in held.items())
