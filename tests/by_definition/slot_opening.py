"""Steps of the local search over a plain dict {(unit, slot): copies}: no log, no lists, nothing remembered.

A dict keeps the order in which its pieces came about. The kernels go through the pieces of a unit, and
through those of a slot, latest first; where ties or room for a few make that matter, so do the twins.
"""

import math
from collections import Counter
from dataclasses import dataclass
from graphlib import TopologicalSorter

from by_definition.assignment import placed
from by_definition.dual_prices import shortfall_by_definition
from kohort.algorithms.improve.kernels.promises import CLOSE, DISTINCT, WITHIN

EPSILON = 1e-9
BY_RULE = ("listed", "low", "high")


@dataclass(frozen=True)
class Given:
    """What does not change in a step."""

    rows: list  # per closed record: the rows under it
    cost: list  # per closed record, then of a waiting record (not used) and of a withheld one
    units: list  # per row
    row: list  # per unit
    value: list  # per unit
    mu: float
    most_withheld: int
    promises: object

    @classmethod
    def of(cls, search):
        offers = search.offers
        row = offers.row_of_unit.tolist()
        return cls(
            rows=[search.closed.support(q).tolist() for q in range(len(search.closed))],
            cost=offers.cost.tolist(),
            units=[
                [u for u, other in enumerate(row) if other == r] for r in range(len(offers.unit_start) - 1)
            ],
            row=row,
            value=offers.value.tolist(),
            mu=float(search.state.figures[0].mu),
            most_withheld=offers.most_withheld,
            promises=search.promises,
        )

    @property
    def nowhere(self):
        return len(self.cost) - 2

    @property
    def withheld(self):
        return len(self.cost) - 1

    @property
    def k(self):
        return self.promises.k

    def units_under(self, q):
        return [unit for row in self.rows[q] for unit in self.units[row]]

    def price(self, unit, slot):
        return self.value[unit] + self.mu if slot == self.nowhere else self.cost[slot]


def pieces_in_order(state):
    """(unit, slot) -> copies in the state of a kernel, in an order in which they can have come about."""
    found, order = placed(state), TopologicalSorter()
    for first, following in ((state.head, "next_of_unit"), (state.slots.first, "after")):
        for piece in first.tolist():
            while piece >= 0:
                earlier = int(state.pieces[piece][following])
                order.add(_key(state, piece), *([_key(state, earlier)] if earlier >= 0 else []))
                piece = earlier
    return {key: found[key] for key in order.static_order()}


def _key(state, piece):
    return int(state.pieces[piece].unit), int(state.pieces[piece].slot)


def of_unit(state, unit):
    """Slots and copies, the latest first."""
    return [(slot, copies) for (other, slot), copies in reversed(state.items()) if other == unit]


def in_slot(state, slot):
    """Units and copies, the latest first."""
    return [(unit, copies) for (unit, other), copies in reversed(state.items()) if other == slot]


def size(state, slot):
    return sum(copies for _, copies in in_slot(state, slot))


def open_slots(given, state):
    return sorted({slot for _, slot in state if slot < given.nowhere})


def real_cost(given, state):
    """Waiting records cost nothing yet."""
    return sum(copies * given.cost[slot] for (_, slot), copies in state.items() if slot != given.nowhere)


def searched_cost(given, state):
    """Waiting records at their price."""
    return sum(copies * given.price(unit, slot) for (unit, slot), copies in state.items())


def move(state, unit, old, new, copies):
    state[unit, old] -= copies
    if state[unit, old] == 0:
        del state[unit, old]
    state[unit, new] = state.get((unit, new), 0) + copies


def shortfall(given, state, slot, unit=0, more=0):
    """By how much a slot breaks its promises, if so many more copies of a unit were in it."""
    inside = dict(in_slot(state, slot))
    inside[unit] = inside.get(unit, 0) + more
    if len(given.promises.rules) == 0:
        return max(given.k - sum(inside.values()), 0)
    values = [int(given.promises.value[unit, 0]) for unit, n in inside.items() for _ in range(n)]
    return shortfall_by_definition(given.promises, sorted(values), given.k)


def can_spare(given, state, unit, copies, slot):
    """These copies, or half of them, or a quarter, ...: as many as leave a slot that keeps its promises."""
    copies = max(min(copies, size(state, slot) - given.k), 0)
    while copies and shortfall(given, state, slot, unit, -copies) > 0:
        copies //= 2
    return copies


def cheapest_place(given, state, unit, copies, slot, avoided=()):
    """The cheapest other open slot that keeps its promises; where there is none, to be withheld; or None."""
    over = [q for q in open_slots(given, state) if given.row[unit] in given.rows[q]]
    for other in sorted(over, key=lambda q: (given.cost[q], q)):
        if other != slot and other not in avoided and shortfall(given, state, other, unit, copies) == 0:
            return other
    room = given.most_withheld - size(state, given.withheld)
    return given.withheld if slot != given.withheld and copies <= room else None


def empty(given, state, slot, avoided=()):
    """Move every record of a slot to its cheapest other place, until one has none; whether each had one."""
    for unit, copies in in_slot(state, slot):
        place = cheapest_place(given, state, unit, copies, slot, avoided)
        if place is None:
            return False
        move(state, unit, slot, place, copies)
    return True


def try_open(given, state, q):
    """Let a slot take every record that then pays less, if the whole costs less; whether it did."""
    plan = _plan(given, state, q)
    if not _pays(given, state, q, plan):
        return False
    before, cost, waiting = dict(state), searched_cost(given, state), size(state, given.nowhere)
    _take(given, state, q, plan)
    done = all(empty(given, state, slot, plan.closed) for slot in plan.closed)
    done = done and _keeps_rules(given, state, q, cost, waiting)
    if done and searched_cost(given, state) <= cost - EPSILON:
        return True
    _restore(state, before)
    return False


def _keeps_rules(given, state, q, cost, waiting):
    """Let records of too frequent values wait again if something is still won, and fewer wait; or fill q."""
    trimmed = dict(state)
    kept = len(given.promises.rules) > 0 and trim(given, trimmed, q)
    if kept and size(trimmed, given.nowhere) < waiting and searched_cost(given, trimmed) < cost - EPSILON:
        _restore(state, trimmed)
        return True
    return fill(given, state, q, cost - searched_cost(given, state))


def trim(given, state, q):
    """Let single records wait, of the value that q has most too many of, those of least price first."""
    missing = shortfall(given, state, q)
    while missing > 0:
        value = too_frequent(given, state, q) if size(state, q) > given.k else None
        units = [unit for unit, _ in in_slot(state, q) if value in given.promises.value[unit].tolist()]
        if not units:
            return False
        move(state, min(units, key=lambda unit: given.value[unit]), q, given.nowhere, 1)
        now = shortfall(given, state, q)
        if now >= missing:
            return False
        missing = now
    return True


def too_frequent(given, state, q):
    """The value that exceeds what it may have by most, by the first broken rule about shares; or None."""
    promises, n = given.promises, size(state, q)
    values = sorted(int(promises.value[unit, 0]) for unit, m in in_slot(state, q) for _ in range(m))
    counts = Counter(values)
    for number, (kind, begin, end, _) in enumerate(promises.rules):
        alone = promises._replace(rules=promises.rules[number : number + 1])
        alone = alone._replace(**{name: getattr(promises, name)[number : number + 1] for name in BY_RULE})
        if kind == DISTINCT or shortfall_by_definition(alone, values, 0) == 0:
            continue
        fair = {CLOSE: promises.share * n, WITHIN: promises.high[number] * n}.get(int(kind))
        over = {
            v: counts[v] - (0 if fair is None else fair[v])
            for v in range(int(begin), int(end))
            if counts[v] and promises.listed[number, v]
        }
        worst = max(over, key=over.get, default=None)
        return None if worst is None or over[worst] <= 0 else worst
    return None


@dataclass
class Plan:
    gives: dict  # per donor, in the order in which they are met: how many records
    closed: list  # donors that give all records that pay less in q, and are closed
    won: float


def _plan(given, state, q):
    """A donor that would be left with too few gives what it can spare, or is closed if that wins more."""
    gives, closed, won = {}, [], 0.0
    for unit in given.units_under(q):
        for slot, copies in of_unit(state, unit):
            if _pays_less(given, unit, slot, q):
                gives[slot] = gives.get(slot, 0) + copies
                won += copies * (given.price(unit, slot) - given.cost[q])
    for slot in gives:
        spare = size(state, slot) - given.k
        if slot >= given.nowhere or gives[slot] <= spare:
            continue
        worth = (gives[slot] - spare) * (given.cost[slot] - given.cost[q])
        added = _rest_cost(given, state, q, slot, closed)
        if added < worth:
            closed.append(slot)
            won -= added
        else:
            gives[slot] = spare
            won -= worth
    return Plan(gives, closed, won)


def _pays_less(given, unit, slot, q):
    return slot != q and given.price(unit, slot) - given.cost[q] > EPSILON


def _rest_cost(given, state, q, slot, closed):
    """What it adds to place the records of a slot elsewhere that cannot come to q."""
    added = 0.0
    for unit, copies in in_slot(state, slot):
        if given.row[unit] in given.rows[q]:
            continue
        place = cheapest_place(given, state, unit, copies, slot, closed)
        if place is None:
            return math.inf
        added += copies * (given.cost[place] - given.cost[slot])
    return added


def _pays(given, state, q, plan):
    """Whether something is won if the cheapest record that others can spare now fills up what is missing."""
    missing = given.k - size(state, q) - sum(plan.gives.values())
    return plan.won > EPSILON and (missing <= 0 or fillers_pay(given, state, q, missing, plan.won))


def _take(given, state, q, plan):
    left = dict(plan.gives)
    for unit in given.units_under(q):
        for slot, copies in of_unit(state, unit):
            if not _pays_less(given, unit, slot, q):
                continue
            if slot < given.nowhere and slot not in plan.closed:
                copies = can_spare(given, state, unit, min(copies, left[slot]), slot)
                left[slot] -= copies
            if copies:
                move(state, unit, slot, q, copies)


def _restore(state, before):
    state.clear()
    state.update(before)


def _fillers(given, state, q):
    """Pieces under q that wait, are withheld, or are in slots of more than k: unit, slot, copies."""
    return [
        (unit, slot, copies)
        for unit in given.units_under(q)
        for slot, copies in of_unit(state, unit)
        if slot != q and (slot >= given.nowhere or size(state, slot) > given.k)
    ]


def fillers_pay(given, state, q, missing, gain):
    """Whether fillers that pay less now than in q (or as much) are enough, and the cheapest adds little."""
    added = [
        given.cost[q] - given.price(unit, slot)
        for unit, slot, copies in _fillers(given, state, q)
        for _ in range(copies)
        if given.cost[q] - given.price(unit, slot) >= -EPSILON
    ]
    return len(added) >= missing and gain - missing * max(min(added), 0.0) > EPSILON


def fill(given, state, q, most):
    """Take records that others can spare, those that add least first, until q keeps its promises.

    Of fillers that add as much, the first met comes first. None adds more than `most`, and none is taken that
    adds something when more was added already.
    """

    def added(filler):
        return given.cost[q] - given.price(*filler[:2])

    missing, limit = shortfall(given, state, q), searched_cost(given, state) + most
    fillers = [filler for filler in _fillers(given, state, q) if added(filler) <= most]
    for unit, slot, copies in sorted(fillers, key=added):
        if missing == 0 or (added((unit, slot)) >= 0 and searched_cost(given, state) > limit):
            break
        copies = min(copies, max(1, given.k - size(state, q)))
        if slot < given.nowhere:
            copies = can_spare(given, state, unit, copies, slot)
        if copies and shortfall(given, state, q, unit, copies) < missing:
            move(state, unit, slot, q, copies)
            missing = shortfall(given, state, q)
    return missing == 0


def try_close(given, state, slot):
    """Close a slot if its records pay less elsewhere; whether they do."""
    before, cost = dict(state), searched_cost(given, state)
    if size(state, slot) and empty(given, state, slot) and searched_cost(given, state) < cost - EPSILON:
        return True
    _restore(state, before)
    return False


def place_waiting(given, state):
    """Move waiting records to their cheapest open slots, until one has no place; whether all have one."""
    return empty(given, state, given.nowhere)


def gather_at(given, state, root):
    """Open a closed record over all rows for the waiting records, dissolving smallest slots if it must."""
    while size(state, given.nowhere):
        if try_open(given, state, root):
            continue
        slots = [slot for slot in open_slots(given, state) if slot != root]
        if not slots:
            return False
        dissolve(given, state, min(slots, key=lambda slot: size(state, slot)))
    return True


def dissolve(given, state, slot):
    for unit, copies in in_slot(state, slot):
        move(state, unit, slot, given.nowhere, copies)
