"""People and their events to publish, and what is asked of them."""

from __future__ import annotations

import pyarrow as pa

import kohort as ko

PEOPLE = {"age": ko.intervals(2, 4), "sex": None}
EVENTS = {"ward": None}
TREE = {"*": {"a": ["a1", "a2"], "b": ["b1", "b2"]}}
WARDS, CODES = ["east", "west", None], ["a1", "a2", "b1", "b2"]


def released(people, events, *, slot=False, **changes):
    options = {
        "person": "patient",
        "quasi_identifiers": PEOPLE | EVENTS,
        "sensitive": ["plan", "ill"],
        "insensitive": [] if slot else ["visit"],
        "history": {"slot": "visit"} if slot else None,
        "orphans": "drop",
        "k": 2,
        "suppression": 0.99,
        "algorithm": "mondrian",
    }
    return ko.anonymize(people, events=events, **(options | changes))


def with_items(people, events, *, k=2, m=2, **changes):
    options = {
        "person": "patient",
        "quasi_identifiers": PEOPLE,
        "sensitive": ["plan"],
        "items": {"ill": {"tree": TREE}},
        "privacy": [ko.KAnonymity(k), ko.KmAnonymity(k, m)],
        "orphans": "drop",
    }
    return ko.anonymize(people, events=events, **(options | changes))


def spec_of(*, slot=False, items=False, suppress=False, **privacy) -> dict:
    quasi = {"role": "quasi-identifier"}
    of_events = {"ward": quasi, "ill": {"role": "sensitive"}, "visit": {"role": "insensitive"}}
    of_items = {"items": "ill", "hierarchy": {"tree": TREE}, "suppress": suppress}
    events = of_items if items else {"attributes": of_events}
    return {
        "attributes": {
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4]}},
            "sex": quasi,
            "plan": {"role": "sensitive"},
        },
        "events": {"key": "patient", "orphans": "drop", **events},
        "privacy": privacy,
        **({} if items else {"suppression": 0.99}),
        **({"history": {"slot": "visit"}} if slot else {}),
    }


def many(n=60) -> tuple[pa.Table, pa.Table]:
    """60 people; every third has no event, the others have one or two."""
    people = {
        "patient": [f"p{i}" for i in range(n)],
        "age": [20 + i % 8 for i in range(n)],
        "sex": ["fm"[i % 2] for i in range(n)],
        "plan": [("gold", "lead", "tin")[i % 3] for i in range(n)],
    }
    owners = [i for i in range(n) for _ in range(i % 3)]
    events = {
        "patient": [f"p{i}" for i in owners],
        "visit": [1 + place % 9 for place in range(len(owners))],
        "ward": [("east", "west")[i % 2] for i in owners],
        "ill": [CODES[place % 4] for place in range(len(owners))],
    }
    return pa.table(people), pa.table(events)


def changed(table: pa.Table, name: str, values) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(values))
