"""The steps of the local search against their twins: from equal states, equal outcomes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition import slot_opening as twin
from by_definition.assignment import audit, placed
from kohort.algorithms import Run
from kohort.algorithms.improve import search_turns
from kohort.algorithms.improve.assignment_search import AssignedPieces, AssignmentSearch
from kohort.algorithms.improve.kernels import slot_filling, slot_opening, slot_ruin
from kohort.algorithms.improve.kernels.assignment import undo
from kohort.algorithms.improve.kernels.open_slots import sync_lists
from kohort.algorithms.mining.closed_records import mine_closed_records, record_costs
from kohort.algorithms.proofs.dual_bound import DualPrices
from small_problems import problem_of, random_columns
from trials import trials

GRAIN = 256  # costs and prices are multiples of 1/256, so that sums are exact in any order
MUS = (0.0, 1 / 128, 1 / 32, 1.0, 1024.0)
MODELS = (
    ko.LDiversity("illness", 2),
    ko.LDiversity("illness", 3, kind="distinct"),
    ko.LDiversity("illness", 2, kind="entropy"),
    ko.AlphaDeassociation("illness", 0.7, values=["flu", "gout"]),
    ko.TCloseness("illness", 0.4),
)


@st.composite
def searches(draw, max_records=14):
    """Any prices, k alone or a model besides, perhaps withholding; some records placed, some waiting."""
    n = draw(st.integers(6, max_records))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns, quasi_identifiers = random_columns(draw, rng, n)
    columns["illness"] = rng.permutation(np.resize(["flu", "cold", "gout", "cough"], n)).tolist()
    models = draw(st.sampled_from([(), *((model,) for model in MODELS)]))
    k = draw(st.integers(2, max(2, n // 3)))
    problem = problem_of(columns, quasi_identifiers, k, models=models, sensitive=["illness"])
    search = search_of(problem, rng)
    search.offers = search.offers._replace(most_withheld=draw(st.sampled_from([0, 0, 1, 3])))
    scatter(search, rng)
    return search


def search_of(problem, rng):
    closed = mine_closed_records(problem)
    prices = DualPrices(
        of_row=rng.random(len(problem.rows.counts)),
        slack=rng.random(len(closed)) / 50,
        level=np.zeros(len(closed)),
    )
    cost = record_costs(problem, closed)
    search = AssignmentSearch(problem, closed, cost, max(1.0, float(cost.max())), prices)
    cost, value = (np.round(x * GRAIN) / GRAIN for x in (search.offers.cost, search.offers.value))
    search.offers = search.offers._replace(cost=cost, value=value)
    return search


def scatter(search, rng):
    """Records into any of a few slots over them; those of slots that break promises wait."""
    offered = twin.Given.of(search)
    few = rng.choice(offered.nowhere, min(offered.nowhere, int(rng.integers(1, 6))), replace=False).tolist()
    state = {(unit, offered.nowhere): int(copies) for unit, copies in enumerate(search.offers.copies)}
    for unit in np.repeat(np.arange(len(search.offers.copies)), search.offers.copies).tolist():
        over = [q for q in few if offered.row[unit] in offered.rows[q]]
        if rng.random() < 0.1 and twin.size(state, offered.withheld) < offered.most_withheld:
            over = [offered.withheld]
        if over:
            twin.move(state, unit, offered.nowhere, int(rng.choice(over)), 1)
    for slot in twin.open_slots(offered, state):
        if twin.shortfall(offered, state, slot) > 0:
            twin.dissolve(offered, state, slot)
    hold(search, offered, state)


def hold(search, offered, state):
    there = [(*piece, copies) for piece, copies in state.items() if piece[1] != offered.nowhere]
    search.hold(AssignedPieces(*np.array(there, dtype=np.int64).reshape(-1, 3).T))


def prices_any(search, random):
    search.state.figures[0].logged = 0
    search.state.figures[0].mu = random.choice(MUS)


def compare(search, kernel, twin_of_it, *where, scratch=()):
    """Let both do it: the same answer, the same pieces, the same cost. What the answer was."""
    offered, state = twin.Given.of(search), twin.pieces_in_order(search.state)
    expected = twin_of_it(offered, state, *where)
    done = kernel(search.offers, search.promises, search.state, *where, *scratch)
    assert done == expected
    assert placed(search.state) == state
    assert search.state.figures[0].real_cost == twin.real_cost(offered, state)
    return done


@pytest.mark.usefixtures("interpreted")
@given(searches(), st.randoms(use_true_random=False))
def test_opening_and_closing_are_those_by_definition(search, random):
    audit(search)
    for _ in range(12):
        prices_any(search, random)
        slot = random.randrange(search.nowhere)
        if random.random() < 0.3 and len(search.open_slots):
            slot = int(random.choice(search.open_slots))
            compare(search, slot_opening.try_close, twin.try_close, slot)
        else:
            compare(search, slot_opening.try_open, twin.try_open, slot, scratch=(search.scratch,))
        audit(search)


@pytest.mark.usefixtures("interpreted")
@given(searches(), st.randoms(use_true_random=False))
def test_filling_is_that_by_definition(search, random):
    before = placed(search.state)
    for _ in range(6):
        prices_any(search, random)
        slot = random.randrange(search.nowhere)
        gain = random.randrange(1, GRAIN) / GRAIN
        compare(search, slot_filling.fillers_pay, twin.fillers_pay, slot, random.randrange(1, 5), gain)
        compare(search, slot_filling.fill, twin.fill, slot, random.choice((gain, 1024.0)))
        undo(search.offers, search.promises, search.state, 0)
        assert placed(search.state) == before
        audit(search)


@pytest.mark.usefixtures("interpreted")
@given(searches(), st.randoms(use_true_random=False))
def test_waiting_records_are_placed_and_gathered_as_by_definition(search, random):
    assert len(search.closed.support(0)) == len(search.offers.unit_start) - 1  # the root is over all rows
    for step in range(4):
        prices_any(search, random)
        if step % 2:
            search.state.figures[0].mu = MUS[-1]  # at a lower price some would rather wait, for ever
            compare(search, slot_opening.gather_at, twin.gather_at, 0, scratch=(search.scratch,))
        else:
            compare(search, slot_opening.place_waiting, twin.place_waiting)
            sync_lists(search.offers, search.state, 0)
        audit(search)
        if step == 1:
            scatter(search, np.random.default_rng(random.randrange(1000)))


@st.composite
def settled_searches(draw):
    """Every record has a place."""
    search = draw(searches())
    search.state.figures[0].mu = 1024.0
    args = search.offers, search.promises, search.state
    if not slot_opening.gather_at(*args, 0, search.scratch):  # without the withheld ones it may be impossible
        units = np.arange(len(search.offers.copies))
        search.hold(AssignedPieces(units, np.zeros_like(units), search.offers.copies))
    for slot in draw(st.lists(st.integers(0, search.nowhere - 1), max_size=8)):
        slot_opening.try_open(*args[:2], search.state, slot, search.scratch)
    search.state.figures[0].logged = 0
    return search


def ruined(search, near, seed):
    args = search.offers, search.promises, search.state
    slot_ruin.ruin_and_recreate(*args, near, seed, 0, search.scratch, 0.0)  # no rounds: it only sets the seed
    search.state.figures[0].logged = 0
    return slot_ruin._ruin(*args, near, search.scratch)


def assert_all_is_well(search):
    """No record lost or waiting, every promise kept."""
    audit(search)
    offered, state = twin.Given.of(search), placed(search.state)
    assert twin.size(state, offered.nowhere) == 0
    assert twin.size(state, offered.withheld) <= offered.most_withheld
    assert all(twin.shortfall(offered, state, slot) == 0 for slot in twin.open_slots(offered, state))


@pytest.fixture
def few_are_near(monkeypatch):
    monkeypatch.setattr("kohort.algorithms.improve.assignment_search._LEAST_NEAR", 3)


@pytest.mark.usefixtures("interpreted")
@given(settled_searches(), st.data())
def test_what_is_ruined_shares_most_with_a_closed_record(few_are_near, search, data):
    q, seed = data.draw(st.integers(0, search.nowhere - 1)), data.draw(st.integers(0, 1000))
    offered, state = twin.Given.of(search), twin.pieces_in_order(search.state)
    before, cost = dict(state), search.state.figures[0].real_cost
    shared = dict.fromkeys(twin.open_slots(offered, state), 0)
    for unit in offered.units_under(q):
        for slot, copies in twin.of_unit(state, unit):
            if slot < offered.nowhere:
                shared[slot] += copies
    lie_together = [slot for slot in shared if shared[slot]]
    done = ruined(search, search.near()._replace(centre=np.array([q]), wide=np.array([q])), seed)
    gone = [slot for slot in shared if slot not in search.open_slots]
    assert done == bool(lie_together)
    assert set(gone) <= set(lie_together)
    assert min(2, len(lie_together)) <= len(gone) <= 14
    # chance makes of each share half to one and a half times as much
    assert all(1.5 * shared[a] >= 0.5 * shared[b] for a in gone for b in shared if b not in gone)
    for slot in gone:
        twin.dissolve(offered, state, slot)
    assert placed(search.state) == state
    audit(search)
    undo(search.offers, search.promises, search.state, 0)
    audit(search)
    assert placed(search.state) == before and search.state.figures[0].real_cost == cost


@given(searches())
def test_near_records_are_those_of_least_slack(few_are_near, search):
    near = search.near()
    others = np.setdiff1d(np.arange(search.nowhere), near.record)
    assert len(near.record) >= min(3, search.nowhere)
    assert near.slack.tolist() == sorted(search.slack[near.record])
    assert all(search.slack[others] >= max(near.slack[-1], 0.003))
    for row in range(len(search.offers.unit_start) - 1):
        over = near.record[near.over[near.start[row] : near.start[row + 1]]]
        assert sorted(over) == sorted(q for q in near.record if row in search.closed.support(q))


@pytest.mark.usefixtures("interpreted")
@given(searches())
def test_candidates_are_near_and_over_enough_waiting_records(few_are_near, search):
    near, offered, state = search.near(), twin.Given.of(search), placed(search.state)
    found = np.zeros(len(near.record), np.int64)
    tried = slot_ruin._candidates(search.offers, search.state, near, offered.k, found).tolist()
    n_waiting = {
        q: sum(state.get((unit, offered.nowhere), 0) for unit in offered.units_under(q))
        for q in near.record.tolist()
    }
    enough = [q for q in n_waiting if n_waiting[q] >= 0.4 * offered.k]
    assert set(tried) <= set(enough)
    assert len(set(tried)) == len(tried) == min(100, len(enough))
    left_out = [q for q in enough if q not in tried]
    for place, q in enumerate(tried):  # chance adds less than 0.003
        assert all(search.slack[q] < search.slack[other] + 0.003 for other in tried[place + 1 :] + left_out)
    assert not found.any()


@pytest.mark.usefixtures("interpreted")
def test_records_over_many_rows_are_candidates_in_few_rounds():
    columns = {"a": [f"{n}" for n in range(120)]}
    problem = problem_of(columns, {"a": ko.flat()}, 2)
    search = search_of(problem, np.random.default_rng(0))
    near, found = search.near(), np.zeros(search.nowhere, np.int64)
    assert len(search.closed.support(0)) == 120  # a third of these would be tried each time
    tried = [
        slot_ruin._candidates(search.offers, search.state, near, 2, found).tolist().count(0)
        for _ in range(300)
    ]
    assert 60 < sum(tried) < 140


@given(settled_searches(), st.integers(0, 1000))
def test_a_round_never_costs_more(search, seed):
    near = search.near()
    for number in range(trials(2, 8)):
        before = search.state.figures[0].real_cost
        args = search.offers, search.promises, search.state, near, seed + number, 1, search.scratch, 0.0
        n_better = slot_ruin.ruin_and_recreate(*args)
        assert search.state.figures[0].real_cost <= before
        assert n_better == (search.state.figures[0].real_cost < before)
        assert_all_is_well(search)


@pytest.mark.usefixtures("interpreted")
@given(settled_searches(), st.integers(0, 1000))
def test_a_whole_round_can_be_undone(search, seed):
    near, before, cost = search.near(), placed(search.state), search.state.figures[0].real_cost
    args = search.offers, search.promises, search.state
    ruined(search, near, seed)
    search.state.figures[0].mu = 1 / 32
    found = np.zeros(len(near.record), np.int64)
    for q in slot_ruin._candidates(search.offers, search.state, near, search.promises.k, found):
        slot_opening.try_open(*args, q, search.scratch)
    slot_opening.place_waiting(*args)
    sync_lists(search.offers, search.state, 0)
    slot_opening.polish_slots(*args, 0, search.scratch)
    undo(*args, 0)
    audit(search)
    assert placed(search.state) == before and search.state.figures[0].real_cost == cost


@given(settled_searches(), st.integers(0, 1000))
def test_a_search_becomes_any_other_assignment(search, seed):
    other = search.twin()
    other.ruin_and_recreate(other.near(), seed, 5, heat=0.5)
    search.become(other.pieces())
    audit(search)
    assert placed(search.state) == placed(other.state)
    assert search.state.figures[0].real_cost == other.state.figures[0].real_cost


@given(settled_searches(), st.integers(0, 1000))
def test_changes_turn_one_assignment_into_the_other(search, seed):
    other = search.twin()
    other.ruin_and_recreate(other.near(), seed, 5, heat=0.5)
    held = dict(zip(zip(*search.pieces()[:2]), search.pieces().copies))
    for unit, slot, change in zip(*search.pieces().changes_to(other.pieces())):
        assert change != 0
        held[unit, slot] = held.get((unit, slot), 0) + change
    expected = dict(zip(zip(*other.pieces()[:2]), other.pieces().copies))
    assert {place: copies for place, copies in held.items() if copies} == expected


@given(settled_searches(), st.integers(0, 1000), st.sampled_from([0.0, 0.2]))
def test_two_searches_keep_every_record_and_promise(search, seed, heat):
    before, twin_search = search.state.figures[0].real_cost, search.twin()
    search_turns.ruin_together(search, twin_search, search.near(), seed, 120, Run(), heat)
    assert_all_is_well(search)
    assert placed(search.state) == placed(twin_search.state)
    assert heat or search.state.figures[0].real_cost <= before
