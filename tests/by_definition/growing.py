"""Groups grown around a seed by definition: everybody who may join is tried, and the whole group costed."""

from __future__ import annotations

from by_definition.vacancies import group_cost


def grown(problem, value_of, price, seed, shape, family=()) -> list[int] | None:
    """The group around a seed, in the order in which people join; None where it cannot be completed.

    family  the sets of values that a group may have; without any, all may be
    """
    m, q = shape
    near = shortlist(problem, value_of, price, seed, shape)
    group = [seed]
    while len(group) < m * q:
        able = [
            person
            for person in near
            if person not in group and may_join(person, group, value_of, shape, family)
        ]
        if not able:
            return None
        group.append(max(able, key=lambda person: gain(problem, price, person, group, m * q)))
    return group


def shortlist(problem, value_of, price, seed, shape) -> list[int]:
    """The best 2 q people of each value beside the seed, of values that q people have."""
    m, q = shape
    found = []
    for value in sorted(set(value_of)):
        people = [p for p in range(len(value_of)) if value_of[p] == value and p != seed]
        people.sort(key=lambda person: -gain(problem, price, person, [seed], m * q))
        if len(people) + (value_of[seed] == value) >= q:
            found += people[: 2 * q]
    return found


def may_join(person, group, value_of, shape, family) -> bool:
    """Whether a group stays one of m values, q of each, and of the family, when a person joins."""
    m, q = shape
    values = [value_of[other] for other in group]
    if value_of[person] in values:
        return values.count(value_of[person]) < q
    then = {*values, value_of[person]}
    return len(then) <= m and (not family or any(then <= signature for signature in family))


def gain(problem, price, person, group, size) -> float:
    """The price of a person minus what all records of a group of this size cost with them."""
    return price[person] - size * group_cost(problem, [*group, person])


def most_groups(counts, m) -> int:
    """The most disjoint groups of m different values, of which there are so many units each."""
    found = 0
    while sum(min(count, found + 1) for count in counts) >= m * (found + 1):
        found += 1
    return found
