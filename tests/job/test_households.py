"""Households: who finds one member finds all, so every household looks like k households."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import prod

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from by_definition.histories import look_alikes
from kohort.errors import InfeasibleError, InputError, UnsupportedError


@st.composite
def households(draw) -> pa.Table:
    """Up to 10 households of up to 4 members, in any order."""
    rows = []
    for home, size in enumerate(draw(st.lists(st.integers(1, 4), min_size=4, max_size=10))):
        town = draw(st.sampled_from(["Ayr", "Ely"]))
        rows += [
            {"home": home, "member": f"{home}-{i}", "age": draw(st.integers(1, 8)), "town": town}
            for i in range(size)
        ]
    return pa.Table.from_pylist(draw(st.permutations(rows)))


def released(table: pa.Table, **changes):
    options = {
        "quasi_identifiers": {"age": ko.intervals(2, 4), "town": ko.flat()},
        "household": "home",
        "person": "member",
        "privacy": ko.KAnonymity(2),
        "algorithm": "mondrian",
        "suppression": 0.99,
    }
    return ko.anonymize(table, **(options | changes))


def town(n: int = 40, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    homes = [home for home in range(n) for _ in range(1 + home % 3)]
    return pa.table(
        {
            "home": homes,
            "member": [f"m{i}" for i in range(len(homes))],
            "age": rng.integers(1, 90, len(homes)),
            "town": [["Ayr", "Ely"][home % 2] for home in homes],
        }
    )


@given(table=households())
def test_every_household_looks_like_k_households(table):
    try:
        release = released(table)
    except InfeasibleError:
        assume(False)
    alike = look_alikes(release.table.to_pylist(), "home", None, ["age", "town"])
    assert min(map(len, alike.values())) >= 2
    assert release.verdict.people.smallest_class == min(map(len, alike.values()))
    spec = {
        "attributes": {
            "home": {"role": "household"},
            "age": {"role": "quasi-identifier"},
            "town": {"role": "quasi-identifier"},
        },
        "privacy": {"k": 2},
    }
    assert ko.verify(release.table, spec=spec).holds
    assert "member" not in release.table.column_names
    assert not set(release.table["home"].to_pylist()) & set(map(str, table["home"].to_pylist()))


def test_a_household_needs_no_persons():
    release = released(town().drop_columns(["member"]), person=None)
    assert release.verdict.holds
    assert any("read households" in note for note in release.notes)


def test_the_risk_of_a_household_is_that_of_finding_any_member():
    release = released(town(), suppression=0.0, shuffle=False)
    found = release.risk()["households"]
    records = release.table.to_pylist()
    sizes = Counter((r["age"], r["town"]) for r in records)
    members = defaultdict(list)
    for r in records:
        members[r["home"]].append(1 / sizes[r["age"], r["town"]])
    risks = [1 - prod(1 - risk for risk in of_home) for of_home in members.values()]
    assert found["after"]["individual"]["maximum"] == pytest.approx(1 / min(sizes.values()))
    assert found["after"]["household"]["maximum"] == pytest.approx(max(risks))
    assert found["after"]["household"]["average"] == pytest.approx(sum(risks) / len(risks))
    assert "at least one of a household" in found["sentence"]
    assert release.risk()["linkage"]["after"]["maximum"] <= 1 / 2


@pytest.mark.parametrize("split", [1, 2])
def test_a_person_in_two_households_is_refused_with_the_number(split):
    table = town()
    homes = table["home"].to_pylist()
    moved = pa.table(
        {
            "home": [99] * split,
            "member": table["member"].to_pylist()[:split],
            "age": table["age"].to_pylist()[:split],
            "town": ["Ayr"] * split,
        }
    )
    assert 99 not in homes
    who = "1 person of 'member' is" if split == 1 else "2 people of 'member' are"
    with pytest.raises(InputError, match=f"{who} in more than one household of 'home'"):
        released(pa.concat_tables([table, moved], promote_options="permissive"))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"person": {"member": "pseudonym"}}, UnsupportedError, "cannot be linked by person as well"),
        ({"household": {"home": "drop"}}, InputError, "the role household takes pseudonym"),
        ({"history": {"slot": "age"}}, UnsupportedError, "have no slots"),
        ({"algorithm": "full-domain"}, UnsupportedError, "full-domain"),
        ({"privacy": ko.KAnonymity(41)}, InfeasibleError, "k = 41 is impossible"),
    ],
)
def test_wrong_input_is_refused(changes, error, message):
    with pytest.raises(error, match=message):
        released(town(), **changes)
