"""What an adversary sees of every person in a table of linked records, spelled out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence


def seen_of(records: Sequence[dict], person: str, slot: str | None, quasi_identifiers: Sequence[str]) -> dict:
    """Per pseudonym all that is seen of this person, in a form in which equal things are equal."""
    found = defaultdict(list)
    for record in records:
        values = tuple(record[name] for name in quasi_identifiers)
        found[record[person]].append(values if slot is None else (record[slot], values))
    if slot is None:
        return {pseudonym: frozenset(Counter(seen).items()) for pseudonym, seen in found.items()}
    return {pseudonym: frozenset(seen) for pseudonym, seen in found.items()}


def look_alikes(
    records: Sequence[dict], person: str, slot: str | None, quasi_identifiers: Sequence[str]
) -> dict:
    """Per pseudonym the set of all pseudonyms of which the same is seen."""
    seen = seen_of(records, person, slot, quasi_identifiers)
    return {one: {other for other in seen if seen[other] == seen[one]} for one in seen}


def most_certain_share(records: Sequence[dict], person: str, alike: dict, sensitive: str) -> float:
    """The greatest share of people among look-alikes who have a sensitive value in any of their records."""
    values = defaultdict(set)
    for record in records:
        values[record[person]].add(record[sensitive])
    shares = [
        sum(value in values[other] for other in others) / len(others)
        for others in alike.values()
        for value in {v for other in others for v in values[other]}
    ]
    return max(shares)
