"""People and their events: two files, published together, in which nobody stands out in both together."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from by_definition.two_files import fewest_with_items, look_alikes, values_of
from kohort.errors import InfeasibleError, InputError
from kohort.report.public_facts import public_certificate
from two_file_cases import CODES, EVENTS, PEOPLE, TREE, WARDS, changed, many, released, spec_of, with_items


@st.composite
def two_tables(draw, codes: bool = False) -> tuple[pa.Table, pa.Table]:
    """Up to 14 people with up to 3 events each, some with none; strays among the events."""
    sizes = draw(st.lists(st.integers(0, 3), min_size=4, max_size=14))
    assume(any(sizes))
    people = [
        {
            "patient": f"p{number}",
            "age": draw(st.integers(20, 27)),
            "sex": draw(st.sampled_from("fm")),
            "plan": draw(st.sampled_from(["gold", "lead"])),
        }
        for number in range(len(sizes))
    ]
    events = []
    for number, size in enumerate([*sizes, draw(st.integers(0, 2))]):
        for visit in draw(st.permutations([1, 2, 3]))[:size]:
            events.append(
                {
                    "patient": f"p{number}",
                    "visit": visit,
                    "ward": draw(st.sampled_from(WARDS)),
                    "ill": draw(st.sampled_from(CODES)),
                }
            )
    events = draw(st.permutations(events))
    schema = pa.schema({"patient": pa.string(), "visit": pa.int64(), "ward": pa.string(), "ill": pa.string()})
    table = pa.Table.from_pylist(list(events), schema=schema)
    return pa.Table.from_pylist(people), table.select(["patient", "ill"]) if codes else table


def possible(make, *tables, **options):
    try:
        return make(*tables, **options)
    except InfeasibleError:
        assume(False)


def seen(release, slot=False):
    """Both published tables as an adversary has them, and who looks alike in the two together."""
    people, events = release.table.to_pylist(), release.events.to_pylist()
    quasi = [*PEOPLE, *EVENTS]
    alike = look_alikes(people, events, key="patient", slot="visit" if slot else None, quasi=quasi)
    return people, events, alike


@pytest.mark.parametrize("slot", [True, False], ids=["slots", "bag"])
@given(
    tables=two_tables(),
    k=st.integers(2, 3),
    algorithm=st.sampled_from(["mondrian", "forest", "k-anon-cf", "hilbert"]),
)
def test_what_is_seen_of_everybody_in_both_files_is_seen_of_k_people(slot, tables, k, algorithm):
    trees = {"age": ko.intervals(2, 4), "sex": ko.flat(), "ward": ko.flat()}
    release = possible(released, *tables, slot=slot, k=k, algorithm=algorithm, quasi_identifiers=trees)
    people, events, alike = seen(release, slot)
    assert min(map(len, alike.values())) >= k
    assert release.verdict.people.smallest_class == min(map(len, alike.values()))
    assert {event["patient"] for event in events} <= {person["patient"] for person in people}
    assert ko.verify(release.table, events=release.events, spec=spec_of(slot=slot, k=k)).holds


@pytest.mark.parametrize("slot", [True, False], ids=["slots", "bag"])
@given(tables=two_tables())
def test_models_hold_over_people_and_people_without_events_have_no_value_of_events(slot, tables):
    models = [ko.KAnonymity(2), ko.LDiversity("ill", 2, kind="distinct"), ko.LDiversity("plan", 1.25)]
    release = possible(released, *tables, slot=slot, k=None, privacy=models)
    people, events, alike = seen(release, slot)
    ill, plan = values_of(events, "patient", "ill"), values_of(people, "patient", "plan")
    for one, others in alike.items():
        if one in ill:
            assert len(set().union(*(ill[other] for other in others))) >= 2
        for value in ("gold", "lead"):
            assert sum(value in plan[other] for other in others) <= len(others) / 1.25


@given(tables=two_tables())
def test_events_stay_those_of_their_people_and_nothing_else_is_linked(tables):
    people, events = tables
    release = possible(released, people, events)
    assert not set(release.table["patient"].to_pylist()) & set(people["patient"].to_pylist())
    before = {p: Counter() for p in people["patient"].to_pylist()}
    for event in events.to_pylist():
        if event["patient"] in before:
            before[event["patient"]][event["visit"], event["ill"]] += 1
    shown = {p: Counter() for p in release.table["patient"].to_pylist()}
    for event in release.events.to_pylist():
        shown[event["patient"]][event["visit"], event["ill"]] += 1
    originals = release.files.person[release.original_rows]
    joined = release.arrow["patient"].to_pylist()
    names = people["patient"].to_pylist()
    for pseudonym, row in zip(joined, originals.tolist()):
        assert shown[pseudonym] <= before[names[row]]  # events may be withheld, never added


@given(tables=two_tables(codes=True), k=st.integers(2, 3), m=st.integers(1, 2), suppress=st.booleans())
def test_known_items_and_the_own_record_leave_k_people(tables, k, m, suppress):
    items = ko.Items("ill", ko.groups(TREE["*"]), suppress=suppress)
    release = possible(with_items, *tables, k=k, m=m, items=items)
    people, events = release.table.to_pylist(), release.events.to_pylist()
    fewest = fewest_with_items(people, events, "patient", "ill", list(PEOPLE), m)
    assert fewest is None or fewest >= k
    own = Counter(tuple(person[name] for name in PEOPLE) for person in people)
    assert min(own.values()) >= k
    assert len(events) == len({(event["patient"], event["ill"]) for event in events})
    spec = spec_of(items=True, suppress=suppress, k=k, m=m)
    assert ko.verify(release.table, events=release.events, spec=spec).holds


@pytest.mark.parametrize("suppress", [True, False])
def test_items_of_events_are_dropped_where_the_spec_allows_it(suppress):
    people = pa.table(
        {"patient": [*"abcdefgh"], "age": [20] * 8, "sex": ["f"] * 8, "plan": ["gold", "tin"] * 4}
    )
    held = [(one, "a1") for one in "abcdefg"] + [("h", "a1"), ("h", "b1")]
    events = pa.table({"patient": [one for one, _ in held], "ill": [code for _, code in held]})
    spec = spec_of(items=True, suppress=suppress, k=2, m=1)
    release = ko.anonymize(people, events=events, spec=spec)
    assert release.facts()["items"]["dropped"] == int(suppress)
    shown = sorted(set(release.events["ill"].to_pylist()))
    assert shown == (["a1"] if suppress else ["*"])
    verdict = ko.verify(
        release.table, events=release.events, spec=spec, original=people, original_events=events
    )
    assert verdict.holds


def test_nobody_without_events_looks_like_somebody_with_an_empty_one():
    people = pa.table({"patient": [1, 2, 3], "age": [30, 30, 30]})
    events = pa.table({"patient": [3], "ward": pa.array([None], pa.string())})
    asked = {"person": "patient", "quasi_identifiers": {"age": None, "ward": None}}
    with pytest.raises(InfeasibleError, match="1 record of 3 must be withheld"):
        ko.anonymize(people, events=events, k=2, **asked)
    shown = pa.table({"patient": ["x"], "ward": pa.array([None], pa.string())})
    quasi = {"role": "quasi-identifier"}
    spec = {
        "attributes": {"age": quasi},
        "events": {"key": "patient", "attributes": {"ward": quasi}},
        "privacy": {"k": 2},
    }
    published = pa.table({"patient": ["x", "y", "z"], "age": ["30"] * 3})
    assert ko.verify(published, events=shown, spec=spec).people.smallest_class == 1


def test_missing_values_may_be_refused_although_some_people_have_no_events():
    people, events = many()
    assert released(people, events, nulls="refuse").verdict.holds
    wards = pa.array([None, *events["ward"].to_pylist()[1:]])
    with pytest.raises(InputError, match="'ward' has 1 missing values"):
        released(people, events.set_column(2, "ward", wards), nulls="refuse")


def test_pseudonyms_are_fresh_whatever_the_key_is():
    key = b"a secret of 16 bytes or more"
    first, second = (set(released(*many(), key=key).table["patient"].to_pylist()) for _ in range(2))
    assert not first & second


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_both_tables_come_back_as_the_kind_that_they_were(kind):
    turned = {"pandas": lambda t: t.to_pandas(), "pyarrow": lambda t: t}
    if kind == "polars":
        turned["polars"] = pytest.importorskip("polars").from_arrow
    people, events = map(turned[kind], many())
    release = released(people, events)
    assert type(release.table) is type(people) and type(release.events) is type(events)
    assert list(release.events.columns if kind != "pyarrow" else release.events.column_names) == [
        "patient",
        "visit",
        "ward",
        "ill",
    ]


def test_verification_finds_what_was_changed_in_either_file():
    people, events = many()
    release = released(people, events, suppression=0.0, shuffle=False)
    spec = spec_of(k=2) | {"suppression": 0.0, "shuffle": False}
    originals = {"original": people, "original_events": events}
    assert ko.verify(release.table, events=release.events, spec=spec, **originals).holds
    names = release.events["patient"].to_pylist()
    to_another = release.events.set_column(0, "patient", pa.array([names[-1], *names[1:]]))
    astray = release.events.set_column(0, "patient", pa.array(["nobody", *names[1:]]))
    twice = pa.concat_tables([release.table, release.table.slice(0, 1)])
    ages = pa.array(range(len(names)))
    broken = {
        "a column of the people in the events": (
            release.table,
            release.events.append_column("age", ages),
            {},
        ),
        "moved": (release.table, to_another, {}),
        "moved, with the original": (release.table, to_another, originals),
        "astray": (release.table, astray, {}),
        "twice": (twice, release.events, {}),
        "left out": (release.table, release.events.slice(1), originals),
    }
    for name, (table, shown, beside) in broken.items():
        assert not ko.verify(table, events=shown, spec=spec, **beside).holds, name


def test_verification_finds_a_column_beside_items():
    people, events = many()
    release = with_items(people, events.select(["patient", "ill"]))
    spec = spec_of(items=True, k=2, m=2)
    assert ko.verify(release.table, events=release.events, spec=spec).holds
    more = release.events.append_column("ward", pa.array(["east"] * release.events.num_rows))
    found = ko.verify(release.table, events=more, spec=spec)
    assert [check.name for check in found.checks if check.holds is False] == ["columns of the events"]


def test_a_shuffled_release_is_compared_by_its_order_file(tmp_path):
    people, events = many()
    release = released(people, events, shuffle=True)
    release.order_file(tmp_path / "order.json")
    found = ko.verify(
        release.table,
        events=release.events,
        spec=spec_of(k=2),
        original=people,
        original_events=events,
        order_file=tmp_path / "order.json",
    )
    assert found.holds
    assert {check.name for check in found.checks if check.holds} >= {"people", "people and events", "events"}


def test_both_files_are_written_together_or_not_at_all(tmp_path):
    release = released(*many())
    with pytest.raises(InputError, match="name that of the events, too"):
        release.write(tmp_path / "people.csv")
    with pytest.raises(InputError):
        release.write(tmp_path / "people.csv", events=tmp_path / "nowhere" / "events.csv")
    with pytest.raises(InputError, match="events, too"):
        release.to_csv(tmp_path / "people.csv")
    assert not list(tmp_path.iterdir())
    facts = release.write(tmp_path / "people.csv", events=tmp_path / "events.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.csv", "people.csv"]
    assert facts["sha256"]["events"] != facts["sha256"]["output"]
    found = ko.verify(tmp_path / "people.csv", events=tmp_path / "events.csv", spec=spec_of(k=2))
    assert found.holds


def test_the_certificate_has_numbers_that_nothing_public_says():
    people, events = many()
    astray = pa.concat_tables([events, changed(events.slice(0, 7), "patient", ["nobody"] * 7)])
    release = released(people, astray)
    told = {"people": 60, "events": 60, "without_events": 20, "orphans": 7}
    assert {name: release.facts()["events"][name] for name in told} == told
    assert "events" not in public_certificate(release.facts())
    about = [note for note in release.notes if "People and events" in note or "orphans" in note]
    assert len(about) == 2 and not any(letter.isdigit() for note in about for letter in note)


def test_a_person_whose_number_of_events_is_rare_loses_events():
    people, events = many()
    more = pa.concat_tables([events, events.slice(0, 1), events.slice(0, 1)])
    release = released(people, more, suppression=0.05)
    assert release.verdict.withheld == 1  # of the three events that the second person has now
    assert release.table.num_rows == people.num_rows
    assert release.events.num_rows == more.num_rows - 1


def test_labels_of_either_table_become_numbers():
    people, events = many()
    stays = events.append_column("days", pa.array([1 + place % 5 for place in range(len(events))]))
    quasi = {**PEOPLE, "days": ko.intervals(2, 4)}
    release = released(people, stays, quasi_identifiers=quasi, insensitive=["visit", "ward"])
    assert len(release.as_numbers("age")) == release.table.num_rows
    assert len(release.as_numbers("days")) == release.events.num_rows


def test_the_attack_on_whole_histories_finds_nobody_with_a_better_chance_than_one_in_k():
    found = released(*many(), k=4).risk()["linkage"]
    assert found["after"]["maximum"] <= 1 / 4 + 1e-12 < found["before"]["average"]
