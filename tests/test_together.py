"""Releases of the same people are safe together: nobody who has all of them gets below k candidates."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.together import lasting, places_of, values_of, worlds
from kohort.data.ledger import Ledger
from kohort.problem.roles import Roles
from kohort.release.job import release_of
from kohort.statement import Statement
from kohort.tables.source import Source
from kohort.verification import verify_together
from ledger_cases import KEY, Published, leaving, sequences, turnovers

MODELS = st.sampled_from(
    [
        [ko.KAnonymity(2)],
        [ko.KAnonymity(3)],
        [ko.KAnonymity(2), ko.LDiversity("ill", 2)],
        [ko.KAnonymity(2), ko.LDiversity("ill", 2, kind="distinct")],
        [ko.KAnonymity(2), ko.AlphaDeassociation("ill", "1/2", values=["gout"])],
    ]
)
MOST_WORLDS = 20_000


def attacked(published):
    """Whom the adversary finds, and where: below k candidates, or with a value that is too likely."""
    releases = published.seen()
    ages = [{who: age for who, (age, _) in table.items()} for table in published.tables]
    everything = []
    for world in worlds(releases, ages):
        everything.append(world)
        if len(everything) > MOST_WORLDS:
            return None
    k = published.models[0].k
    found = []
    for number, holders in enumerate(published.holders()):
        for who in holders:
            places = places_of(everything, who, number)
            values = values_of(everything, who, number, releases[number])
            total = sum(places.values())
            certain = max(Fraction(times, total) for times in places.values())
            if len(places) < k or certain > Fraction(1, k) or not keeps(published.models[1:], values):
                found.append((who, number))
    return found


def keeps(models, values):
    """Whether the adversary's chances for each value keep the models, each of which bounds shares."""
    total = sum(values.values())
    for model in models:
        if isinstance(model, ko.AlphaDeassociation):
            if Fraction(values["gout"], total) > Fraction(model.alpha):
                return False
        elif model.kind == "distinct":
            if len(values) < model.l:
                return False
        elif max(values.values()) * Fraction(model.l) > total:
            return False
    return True


@given(sequences(), MODELS)
def test_whoever_tries_all_assignments_is_left_with_k_candidates_and_the_models(tables, models):
    published = Published(models)
    for table in tables:
        published.publish(table)
    if published.releases:
        assert not attacked(published)


@given(turnovers(), MODELS)
def test_places_that_are_passed_on_hide_who_has_left(tables, models):
    published = Published(models)
    for table in tables:
        published.publish(table)
    if published.releases:
        assert not attacked(published)


@pytest.mark.parametrize("leaving", ["a", "b", "c"])
@pytest.mark.parametrize(
    ("newcomers", "shown"), [(["flu", "flu", "cold"], False), (["flu", "gout", "cold"], True)]
)
def test_that_a_cell_rests_does_not_tell_who_left(leaving, newcomers, shown):
    """Two have flu and one has gout: it is shown only if any of them could be replaced."""
    published = Published([ko.KAnonymity(3)])
    table = {"a": (20, "flu"), "b": (21, "flu"), "c": (22, "gout")}
    published.publish(table)
    later = {who: cells for who, cells in table.items() if who != leaving}
    later |= {f"n{number}": (40 + number, ill) for number, ill in enumerate([*newcomers, "cold", "cold"])}
    release = published.publish(later)
    assert (release.tied.people["passed_on"], release.tied.people["resting"]) == ((1, 0) if shown else (0, 2))


FIRST = {"a": (20, "flu"), "b": (21, "cold"), "c": (22, "gout"), "d": (23, "flu")}
SECOND = {"a": (20, "flu"), "b": (22, "cold"), "c": (20, "gout"), "d": (22, "flu")}


def test_independent_releases_give_people_away():
    """Two releases, each of them 2-anonymous; who has both knows everybody."""
    for table in (FIRST, SECOND):
        alone = Published([ko.KAnonymity(2)], again="fresh")
        alone.publish(table)
        assert not attacked(alone)
    both = Published([ko.KAnonymity(2)], again="fresh", compared=True)
    both.publish(FIRST)
    both.publish(SECOND)
    assert attacked(both) == [(who, number) for number in (0, 1) for who in "abcd"]
    assert both.releases[-1].tied.found.exposed == 4


def test_a_fresh_release_that_gives_people_away_is_refused():
    published = Published([ko.KAnonymity(2)], again="fresh")
    published.publish(FIRST)
    with pytest.raises(ko.InfeasibleError, match="4 people are left unprotected"):
        published.made(SECOND)


def test_the_same_tables_are_safe_where_groups_stay_together():
    published = Published([ko.KAnonymity(2)])
    published.publish(FIRST)
    assert published.publish(SECOND) is not None
    assert not attacked(published)


@given(sequences(), MODELS)
def test_verification_finds_whatever_the_adversary_finds_in_fresh_releases(tables, models):
    published = Published(models, again="fresh", compared=True)
    for table in tables:
        published.publish(table)
    if published.releases and attacked(published):
        assert published.releases[-1].tied.found.exposed


def classes_of(published):
    """Per release its groups: who is in each, and the values that its records show, counterfeits and all."""
    found = []
    texts = {}
    for entry, table in zip(published.ledger.entries, published.tables):
        for person, value in zip(entry.person, entry.value[:, 0]):
            if person >= 0:
                texts[value] = table[published.name(person)][1]
    for entry in published.ledger.entries:
        groups = {}
        for person, group, value in zip(entry.person, entry.place, entry.value[:, 0]):
            people, values = groups.setdefault(int(group), ([], []))
            people += [published.name(person)] if person >= 0 else []
            values.append(texts.get(value, f"value {value}"))
        found.append(list(groups.values()))
    return found


@given(
    st.one_of(sequences(changing=False), leaving()), st.sampled_from([2, 3, 4]), st.sampled_from([0, 2, 9])
)
def test_with_m_invariance_all_values_of_a_signature_are_equally_likely(tables, k, counterfeits):
    """For somebody who takes values to last, and knows who is in which group of every release.

    He sees how many records a group has more than people, and not which of them are nobody's.
    """
    models = [ko.KAnonymity(k), ko.LDiversity("ill", 2)]
    published = Published(models, again="m-invariance", counterfeits=counterfeits)
    for table in tables:
        published.publish(table)
    if not published.releases:
        return
    assert all(release.published.counterfeits <= counterfeits for release in published.releases)
    groups = classes_of(published)
    everything = lasting(groups)
    for release in groups:
        for people, values in release:
            assert len(people) >= k
            for who in people:
                times = Counter(world[who] for world in everything)
                assert set(times) == set(values) and len(set(times.values())) == 1
    assert published.releases[-1].tied.found.holds


STAYED = {"a": (20, "flu"), "c": (22, "flu")}
ALL = STAYED | {"b": (21, "cold"), "d": (23, "cold")}
NEW = {"e": (40, "gout"), "f": (41, "gout"), "g": (41, "cold"), "h": (44, "cough")}


@pytest.mark.parametrize(("allowed", "published", "kept"), [(0, 0, 1), (1, 1, 2), (9, 1, 2)])
def test_counterfeits_stand_in_for_those_who_left(allowed, published, kept):
    """Two with a cold have left, and one newcomer has it: a counterfeit has the other one."""
    releases = Published(
        [ko.KAnonymity(2), ko.LDiversity("ill", 2)], again="m-invariance", counterfeits=allowed
    )
    releases.publish(ALL)
    release = releases.publish(STAYED | NEW)
    assert (release.published.counterfeits, release.tied.people["kept"]) == (published, kept)
    assert release.facts()["counterfeits"] == releases.ledger.entries[1].facts["counterfeits"] == published
    assert releases.ledger.entries[1].counterfeits == (release.original_rows == -1).sum() == published


def test_nobody_in_the_table_has_the_value_of_a_counterfeit_that_is_not_published():
    """A ledger holds no value, so a counterfeit can only have one of the table."""
    published = Published([ko.KAnonymity(2), ko.LDiversity("ill", 2)], again="m-invariance", counterfeits=9)
    published.publish(ALL)
    later = {name: cells for name, cells in (STAYED | NEW).items() if cells[1] != "cold"}
    release = published.publish(later)
    assert release.published.counterfeits == 0 and release.tied.people["kept"] == 0


def test_a_group_has_k_people_beside_its_counterfeits():
    published = Published([ko.KAnonymity(4), ko.LDiversity("ill", 2)], again="m-invariance", counterfeits=9)
    published.publish(ALL)
    release = published.publish(STAYED | NEW | {f"n{n}": (30 + n, "rash") for n in range(4)})
    assert release is None or release.tied.people["kept"] == 0


def test_m_invariance_is_checked():
    """A release that puts people together by other values is found."""
    published = Published([ko.KAnonymity(2)], again="m-invariance")
    published.publish({"a": (20, "flu"), "b": (21, "cold"), "c": (22, "gout"), "d": (23, "rash")})
    entry = published.ledger.entries[0]
    other = replace(entry, place=1 - entry.place, value=entry.value[::-1], facts=entry.facts | {"number": 2})
    found = verify_together(published.ledger.extended(other))
    assert not found.holds and found.exposed == 4


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"place": [1, 0, 2, 3]}, "changed places"),
        ({"person": [3, 1, 2, 0], "place": [0, 1, 2, 3]}, "passed on with other sensitive values"),
        ({"place": [0, 0, 2, 3]}, "shared a place"),
        ({"class_of": [0, 1, 1, 0]}, "fewer than k"),
    ],
)
def test_what_breaks_a_rule_of_places_is_found(change, detail):
    published = Published([ko.KAnonymity(2)])
    published.publish({"a": (20, "flu"), "b": (21, "cold"), "c": (52, "gout"), "d": (53, "rash")})
    entry = published.ledger.entries[0]
    assert entry.class_of.tolist() == [0, 0, 1, 1] and entry.place.tolist() == [0, 1, 2, 3]
    changed = {name: np.array(numbers, dtype=np.int32) for name, numbers in change.items()}
    found = verify_together(published.ledger.extended(replace(entry, **changed)))
    assert not found.holds
    assert any(detail in check.detail for check in found.checks if check.holds is False)


def hidden_when(leaving, ills, diversity):
    """Who is not shown once somebody has left a class of people who look alike."""
    table = {f"p{number}": (20, ill) for number, ill in enumerate(ills)}
    others = {f"other{number}": (40 + number, ill) for number, ill in enumerate(["flu", "cold", "gout"])}
    published = Published([ko.KAnonymity(2), ko.LDiversity("ill", diversity, kind="distinct")])
    published.publish(table | others)
    later = {who: cells for who, cells in (table | others).items() if who != leaving}
    published.publish(later)
    return set(table) - set(published.holders()[1])


@pytest.mark.parametrize(
    ("ills", "diversity", "size"),
    [
        (["flu", "cold"] * 4, 2, 2),
        (["flu", "cold", "gout", "rash"] * 2, 2, 2),
        (["flu", "cold", "gout"] * 2, 3, 3),  # blocks of two would not have three values
        (["flu", "cold", "gout"], 3, 3),
    ],
)
def test_only_a_block_of_a_large_cell_rests_whoever_has_left(ills, diversity, size):
    """All who rest together do so whichever of them has left: the blocks do not tell who it was."""
    hidden = {f"p{number}": hidden_when(f"p{number}", ills, diversity) for number in range(len(ills))}
    assert all(leaving in people and len(people) == size for leaving, people in hidden.items())
    assert all(hidden[other] == people for people in hidden.values() for other in people)


def test_sensitive_columns_may_stand_in_another_order():
    """The ledger's order counts: everybody's values are found again."""
    names = ["who", "age", "ill", "job"]
    rows = [
        ("a", 20, "flu", "cook"),
        ("b", 21, "cold", "maid"),
        ("c", 52, "gout", "cook"),
        ("d", 53, "flu", "maid"),
    ]
    roles = Roles({"who": "person", "age": "quasi-identifier", "ill": "sensitive", "job": "sensitive"})
    ledger = Ledger("who")
    for order in (names, ["job", "ill", "age", "who"]):
        table = pa.table({name: [row[names.index(name)] for row in rows] for name in order})
        request = Statement.of(
            columns=roles, promises=(ko.KAnonymity(2),), key=KEY, ledger=ledger, algorithm="mondrian"
        )
        ledger = release_of([Source.of(table)], request).tied.ledger
    assert ledger.entries[0].facts["sensitive"] == ledger.entries[1].facts["sensitive"]
    assert (ledger.entries[0].value == ledger.entries[1].value).all()


def test_a_newcomer_completes_the_group_that_somebody_left():
    young = {"a": (20, "flu"), "b": (21, "cold"), "c": (22, "flu"), "d": (23, "cold")}
    old = {"e": (60, "flu"), "f": (61, "cold"), "g": (62, "flu"), "h": (63, "cold")}
    published = Published([ko.KAnonymity(4), ko.LDiversity("ill", 2)], again="m-invariance")
    published.publish(young | old)
    newcomers = {"m": (22, "flu"), "n": (41, "flu"), "o": (42, "cold"), "p": (43, "flu"), "q": (44, "cold")}
    del young["a"]
    published.publish(young | old | newcomers)
    groups = [set(people) for people, _ in classes_of(published)[1]]
    assert {"b", "c", "d", "m"} in groups and {"e", "f", "g", "h"} in groups
