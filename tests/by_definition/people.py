"""What an adversary sees of people: records that look alike, and whose they may be. In sets and fractions."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from math import ceil, prod

from by_definition.models import (
    disclosure_within,
    earth_movers_distance,
    equal_ground,
    likeness_within,
    recursive,
)


def classes(looks):
    """The records of each look."""
    found = defaultdict(list)
    for record, look in enumerate(looks):
        found[look].append(record)
    return list(found.values())


def people(records, person_of):
    return {person_of[record] for record in records}


def having(records, person_of, value_of):
    """Per value the people of a class who have it in any of their records there."""
    found = defaultdict(set)
    for record in records:
        found[value_of[record]].add(person_of[record])
    return found


def spread(records, person_of, value_of):
    """Per value the part of the people of a class: each is spread evenly over their records there."""
    times = Counter(person_of[record] for record in records)
    found = defaultdict(Fraction)
    for record in records:
        found[value_of[record]] += Fraction(1, times[person_of[record]])
    return dict(found)


def keeps(model, records, person_of, value_of, everybody):
    """Whether a class keeps a model; `everybody` are all records of the table."""
    n = len(people(records, person_of))
    if model.name == "k-anonymity":
        return n >= model.k
    owners = having(records, person_of, value_of)
    if model.name == "alpha-deassociation":
        listed = set(owners) if model.values is None else set(model.values)
        together = model.values is not None and model.combine
        groups = [listed] if together else [{value} for value in listed]
        bound = Fraction(model.alpha) * n
        bound = ceil(bound) if model.rounding == "ceiling" else bound
        return all(len(set().union(*(owners.get(v, set()) for v in group))) <= bound for group in groups)
    if model.name == "t-closeness":
        return _close(model, records, person_of, value_of, everybody)
    if model.name == "delta-disclosure":
        return disclosure_within(*_shares(records, person_of, value_of, everybody), model.delta)
    if model.name == "beta-likeness":
        return likeness_within(
            *_shares(records, person_of, value_of, everybody), Fraction(model.beta), model.kind
        )
    return _diverse(model, n, owners, spread(records, person_of, value_of))


def _diverse(model, n, owners, shares):
    if model.kind == "frequency":
        return all(len(who) * Fraction(model.l) <= n for who in owners.values())
    if model.kind == "distinct":
        return len(owners) >= model.l
    parts = list(shares.values())
    if model.kind == "recursive":
        return recursive([*parts, *[Fraction(0)] * int(model.l)], int(model.l)) < Fraction(model.c)
    # the entropy of parts / n is at least log(l): n^n >= l^n * product of c^c, in whole units
    unit = _common(parts)
    cells = [int(part * unit) for part in parts]
    whole = sum(cells)
    return Fraction(whole) ** whole >= Fraction(model.l) ** whole * prod(c**c for c in cells)


def _common(parts):
    unit = 1
    for part in parts:
        unit *= (part * unit).denominator
    return unit


def _close(model, records, person_of, value_of, everybody):
    assert model.distance == "equal"
    cells, whole = _shares(records, person_of, value_of, everybody)
    return earth_movers_distance(cells, whole, equal_ground(len(whole))) <= Fraction(model.t)


def _shares(records, person_of, value_of, everybody):
    """The values of a class and of everybody, in whole units of people."""
    here, overall = (spread(some, person_of, value_of) for some in (records, everybody))
    values = sorted(overall, key=str)
    cells, whole = [here.get(v, Fraction(0)) for v in values], [overall[v] for v in values]
    unit_here, unit_whole = _common(cells), _common(whole)
    return [int(c * unit_here) for c in cells], [int(c * unit_whole) for c in whole]


def survives_union(model, first, second, person_of, value_of, everybody):
    """Whether the union of two classes keeps a model if both of them do."""
    both = keeps(model, first, person_of, value_of, everybody)
    both = both and keeps(model, second, person_of, value_of, everybody)
    return not both or keeps(model, first + second, person_of, value_of, everybody)


def people_beside(persons, bins, n_bins):
    """Per bin the people with a record up to it, and with a record beyond it."""
    left = [len({p for p, b in zip(persons, bins) if b <= place}) for place in range(n_bins)]
    right = [len({p for p, b in zip(persons, bins) if b > place}) for place in range(n_bins)]
    return left, right


def cuts_for_people(persons, bins, n_bins, need):
    """The fewest and the most records that go left in a cut inside a bin with `need` people on that side.

    Records are cut in the order of their bins, and inside a bin in their own order.
    """
    order = sorted(range(len(bins)), key=lambda i: bins[i])
    left = [len({persons[i] for i in order[:n]}) for n in range(len(order) + 1)]
    right = [len({persons[i] for i in order[n:]}) for n in range(len(order) + 1)]
    fewest = next((n for n, people in enumerate(left) if people >= need), len(order))
    most = next((n for n in range(len(order), -1, -1) if right[n] >= need), 0)
    return fewest, most
