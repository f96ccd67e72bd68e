"""What an adversary sees of every person in a table of people and one of their events, spelled out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations


def seen_of(
    people: Sequence[dict], events: Sequence[dict], key: str, slot: str | None, quasi: Sequence[str]
) -> dict:
    """Per pseudonym all that is seen of this person: their own record, and all their events together."""
    found = {}
    for person in people:
        own = tuple(person[name] for name in quasi if name in person)
        parts = [
            (event[slot] if slot else None, tuple(event[name] for name in quasi if name in event))
            for event in events
            if event[key] == person[key]
        ]
        found[person[key]] = (own, frozenset(Counter(parts).items()))
    return found


def look_alikes(*tables: Sequence[dict], key: str, slot: str | None, quasi: Sequence[str]) -> dict:
    """Per pseudonym the set of all pseudonyms of which the same is seen."""
    seen = seen_of(*tables, key, slot, quasi)
    return {one: {other for other in seen if seen[other] == seen[one]} for one in seen}


def values_of(records: Sequence[dict], key: str, column: str) -> dict:
    """Per pseudonym the set of values that its records have in a column."""
    found: dict = {}
    for record in records:
        found.setdefault(record[key], set()).add(record[column])
    return found


def fewest_with_items(
    people: Sequence[dict], events: Sequence[dict], key: str, item: str, quasi: Sequence[str], m: int
) -> int | None:
    """The fewest people who fit somebody's own record and up to m of their items; None without any item."""
    items = values_of(events, key, item)
    own = {person[key]: tuple(person[name] for name in quasi) for person in people}
    counts = [
        sum(own[other] == own[one] and set(known) <= items.get(other, set()) for other in own)
        for one in own
        for size in range(1, m + 1)
        for known in combinations(sorted(items.get(one, set())), size)
    ]
    return min(counts, default=None)
