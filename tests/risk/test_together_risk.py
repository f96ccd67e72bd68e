"""The attack on several releases finds whom the definitions say, in any releases."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.together import followed, intersected, subtracted
from kohort.data.ledger import Ledger
from kohort.problem.roles import Roles
from kohort.release.job import release_of
from kohort.risk import attack_ledger
from kohort.risk.together import _by_following, _by_subtraction, _by_values
from kohort.statement import Statement
from kohort.tables.source import Source
from ledger_cases import KEY, Published, sequences


@given(sequences(), st.sampled_from(["fresh", "history-keeping"]))
def test_every_attack_leaves_the_candidates_of_its_definition(tables, again):
    published = Published([ko.KAnonymity(2)], again=again, compared=True)
    for table in tables:
        published.publish(table)
    if not published.releases:
        return
    ledger = published.ledger
    for attack, definition in (
        (_by_following, followed),
        (_by_values, intersected),
        (_by_subtraction, subtracted),
    ):
        candidates, _ = attack(ledger)
        expected = [definition(ledger, person) or 0 for person in range(len(ledger.people))]
        assert candidates.tolist() == expected


def test_the_figures_of_an_attack():
    """a to d, twice, in other pairs each time: everybody is alone, and their illness is certain for two."""
    published = Published([ko.KAnonymity(2)], again="fresh", compared=True)
    published.publish({"a": (20, "flu"), "b": (21, "cold"), "c": (52, "gout"), "d": (53, "flu")})
    published.publish({"a": (20, "flu"), "b": (52, "cold"), "c": (20, "gout"), "d": (52, "flu")})
    facts = attack_ledger(published.ledger)
    assert facts["releases"] == 2 and facts["people"] == 4 and facts["k"] == 2
    following = facts["attacks"]["by_following"]
    assert following["fewest"] == 1 and following["below_k"] == following["alone"] == 4
    assert following["certain"] == 4 and following["hit_rate"] == 1.0
    assert facts["attacks"]["by_values"]["certain"] == 2
    assert "leaves 4 people with fewer than k = 2 candidates" in facts["sentences"][2]


def test_without_sensitive_columns_anybody_takes_over_a_place():
    ledger = Ledger("who")
    for names, ages in (("abcd", [1, 2, 8, 9]), ("acdefg", [1, 8, 9, 2, 5, 5])):
        roles = Roles({"who": "person", "age": "quasi-identifier"})
        request = Statement.of(columns=roles, promises=(ko.KAnonymity(2),), key=KEY, ledger=ledger)
        release = release_of([Source.of(pa.table({"who": list(names), "age": ages}))], request)
        ledger = release.tied.ledger
    assert release.tied.people["passed_on"] == 1 and release.tied.people["new"] == 3
    facts = attack_ledger(ledger)
    assert facts["attacks"]["by_values"]["fewest"] is None
    assert facts["attacks"]["by_following"]["fewest"] == 2
