"""An adversary who has all releases and tries every assignment of people to records that fits them.

He sees the published labels and values, and is even told which records of different releases stand in the
same place. He knows everybody's quasi-identifiers at each time, and who was in the table when.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """What a release shows of a place: the range of ages, and the sensitive value."""

    ages: tuple[int, int]
    value: str


Release = Mapping[int, Shown]  # by place
Table = Mapping[str, int]  # the age of everybody who is in the table
World = tuple[Mapping[int, str], ...]  # per release who has which place


def worlds(releases: Sequence[Release], tables: Sequence[Table]) -> Iterator[World]:
    """Every way in which people may have had the places: one each, for good, until they leave the table."""
    yield from _continued((), {}, {}, releases, tables)


def _continued(world, place_of, holder, releases, tables):
    if len(world) == len(releases):
        yield world
        return
    release, table = releases[len(world)], tables[len(world)]
    for seats in _seatings(sorted(release), {}, place_of, holder, release, table):
        then = place_of | {person: place for place, person in seats.items()}
        yield from _continued((*world, seats), then, holder | seats, releases, tables)


def _seatings(places, seats, place_of, holder, release, table):
    """Every way to give the places of one release to people who are in the table."""
    if not places:
        yield seats
        return
    place, rest = places[0], places[1:]
    stays = holder.get(place) in table
    may = [holder[place]] if stays else [p for p in table if place_of.get(p, place) == place]
    for person in may:
        low, high = release[place].ages
        if person not in seats.values() and low <= table[person] <= high:
            yield from _seatings(rest, seats | {place: person}, place_of, holder, release, table)


def places_of(everything: Sequence[World], person: str, number: int) -> Counter:
    """How many worlds have a person in each place of a release."""
    return Counter(
        place for world in everything for place, holder in world[number].items() if holder == person
    )


def values_of(everything: Sequence[World], person: str, number: int, release: Release) -> Counter:
    """How many worlds give a person each sensitive value in a release."""
    found: Counter = Counter()
    for place, times in places_of(everything, person, number).items():
        found[release[place].value] += times
    return found


def lasting(classes: Sequence[Sequence[tuple[Sequence[str], Sequence[str]]]]) -> list[dict[str, str]]:
    """Every way to give everybody one value for good, where he knows who is in which class.

    classes  per release its classes: the people in each, and the values that it shows
    """
    found: list[dict[str, str]] = [{}]
    for release in classes:
        for people, values in release:
            found = [known | more for known in found for more in _given(people, list(values), known)]
    return found


def _given(people, values, known):
    if not people:
        yield {}
        return
    person, rest = people[0], people[1:]
    for value in sorted(set(values)) if person not in known else [known[person]]:
        if value in values:
            left = list(values)
            left.remove(value)
            for more in _given(rest, left, known):
                yield {person: value} | more


# -- the attacks of `kohort risk --ledger`, by definition ---------------------------------------------


def followed(ledger, person) -> int:
    """How many places have the same class in every release as the place of a person."""
    tracks = {}
    for number, entry in enumerate(ledger.entries):
        for place, class_of in zip(entry.place.tolist(), entry.class_of.tolist()):
            tracks.setdefault(place, {})[number] = class_of
    own = next(
        place
        for entry in reversed(ledger.entries)
        for who, place in zip(entry.person.tolist(), entry.place.tolist())
        if who == person
    )
    return sum(track == tracks[own] for track in tracks.values())


def intersected(ledger, person) -> int | None:
    """The fewest records of a class whose values occur in all classes of a person; None if theirs changed."""
    own, classes = set(), []
    for entry in ledger.entries:
        records = list(zip(entry.person.tolist(), entry.class_of.tolist(), entry.value[:, 0].tolist()))
        for who, class_of, value in records:
            if who == person:
                own.add(value)
                classes.append([v for _, other, v in records if other == class_of])
    if len(own) > 1:
        return None
    common = set.intersection(*map(set, classes))
    return min(sum(value in common for value in values) for values in classes)


def subtracted(ledger, person) -> int | None:
    """The fewest records that may be a person's once whole classes of a release beside are taken away."""
    found = []
    for one, other in zip(ledger.entries, ledger.entries[1:]):
        for entry, beside in ((one, other), (other, one)):
            found.append(_left_in(entry, beside, person))
    return min((n for n in found if n is not None), default=None)


def _left_in(entry, beside, person):
    class_of = dict(zip(entry.person.tolist(), entry.class_of.tolist()))
    if person not in class_of:
        return None
    mine = {who for who, number in class_of.items() if number == class_of[person]}
    inside = set()
    for number in set(beside.class_of.tolist()):
        people = {w for w, c in zip(beside.person.tolist(), beside.class_of.tolist()) if c == number}
        if people <= mine:
            inside |= people
    if not inside or person in inside:
        return None
    value_of = dict(zip(entry.person.tolist(), entry.value[:, 0].tolist()))
    left = {value_of[who] for who in mine - inside}
    return sum(value_of[who] in left for who in mine)
