"""Two tables that do not fit together, or to what is asked of them, are refused: nothing is made of them."""

from __future__ import annotations

import pytest

import kohort as ko
from kohort.errors import InfeasibleError, InputError, UnsupportedError
from two_file_cases import changed, many, released, spec_of


def test_one_table_of_two_is_refused():
    people, events = many()
    with pytest.raises(InputError, match="name it, too"):
        ko.anonymize(people, spec=spec_of(k=2))
    with pytest.raises(InputError, match="nothing is asked of them"):
        spec = {"attributes": {"age": {"role": "quasi-identifier"}}, "others": "drop", "privacy": {"k": 2}}
        ko.anonymize(people, events=events, spec=spec)
    release = released(people, events)
    with pytest.raises(InputError, match="give both tables of the release"):
        ko.verify(release.table, spec=spec_of(k=2))
    with pytest.raises(InputError, match="give both of them, or none"):
        ko.verify(release.table, events=release.events, spec=spec_of(k=2), original=people)


def _people(change):
    return lambda people, events: (change(people), events)


def _events(change):
    return lambda people, events: (people, change(events))


KEYS = [f"p{i}" for i in range(59)]


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        (_events(lambda t: t.drop_columns(["patient"])), {}, InputError, "table of events has no column"),
        (_people(lambda t: t.rename_columns(["id", *t.column_names[1:]])), {}, InputError, "table of people"),
        (
            _people(lambda t: changed(t, "patient", [*KEYS, "p0"])),
            {},
            InputError,
            "1 record with",
        ),
        (_people(lambda t: changed(t, "patient", [*KEYS, None])), {}, InputError, "1 record has no value"),
        (
            _events(lambda t: changed(t, "patient", [None, *t["patient"].to_pylist()[1:]])),
            {},
            InputError,
            "1 record has no value",
        ),
        (
            _events(lambda t: changed(t, "patient", ["x", "y", *t["patient"].to_pylist()[2:]])),
            {"orphans": "error"},
            InputError,
            "2 events are of people who are not in the table of people",
        ),
        (_events(lambda t: changed(t, "patient", ["x"] * len(t))), {}, InputError, "No event is of anybody"),
        (
            _events(lambda t: t.rename_columns(["patient", "sex", "ward", "ill"])),
            {},
            InputError,
            "both tables",
        ),
        (_events(lambda t: t), {"orphans": "keep"}, InputError, "'orphans' of events must be"),
        (_events(lambda t: t), {"person": None}, InputError, "Name the column that people and events"),
        (_events(lambda t: t), {"person": {"patient": "drop"}}, InputError, "published as a pseudonym"),
        (
            _events(lambda t: t),
            {"household": "plan", "sensitive": ["ill"]},
            UnsupportedError,
            "linked by person, not by household",
        ),
        (
            _events(lambda t: changed(t, "visit", [1] * len(t))),
            {"history": {"slot": "visit"}, "insensitive": []},
            InputError,
            "20 records are in the same slot",
        ),
        (_events(lambda t: t), {"k": 61}, InfeasibleError, "60 people"),
        (
            _events(lambda t: t),
            {"items": "ill", "sensitive": [], "privacy": ko.KmAnonymity(2, 1), "suppression": 0.0},
            UnsupportedError,
            "'patient' and 'ill' alone",
        ),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(change, options, error, message):
    with pytest.raises(error, match=message):
        released(*change(*many()), **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attributes": {"ward": {"role": "sensitive"}}}, "under 'attributes' and under 'events'"),
        ({"events": {"key": "patient"}}, "name the attributes of the events, or the column of items"),
        ({"events": {"key": "patient", "itmes": "ill"}}, "unknown key 'events.itmes'"),
        ({"events": {"key": "age", "items": "ill"}}, "has the role quasi-identifier"),
        (
            {"events": {"key": "patient", "attributes": {"ill": {"role": "sensitive"}}, "suppress": True}},
            "suppress is about items",
        ),
        ({"attributes": {"visit": {"role": "insensitive"}}, "events": {"visit": None}}, "under 'events'"),
    ],
)
def test_a_spec_that_does_not_fit_is_refused(change, message):
    spec = spec_of(k=2)
    attributes = spec["attributes"] | change.get("attributes", {})
    events = change.get("events", spec["events"])
    if events == {"visit": None}:
        kept = {name: part for name, part in spec["events"]["attributes"].items() if name != "visit"}
        events = spec["events"] | {"attributes": kept}
    with pytest.raises(InputError, match=message):
        ko.anonymize(*many()[:1], events=many()[1], spec=spec | {"attributes": attributes, "events": events})


def test_comparisons_are_of_one_table():
    with pytest.raises(UnsupportedError, match="people and events, cannot be compared"):
        ko.compare(many()[0], spec=spec_of(k=2), algorithms=["mondrian"])
