"""The linkage attack on whole histories, by its definition."""

from __future__ import annotations

from itertools import permutations

import pyarrow as pa
import pytest
from hypothesis import given

from job.test_linked_records import _released_or_infeasible, linked_tables, panel, released
from kohort.errors import UnsupportedError


def fits(known: list[dict], shown: list[dict], covered: dict, slot: str | None) -> bool:
    """Whether published records may be some of the known ones: each of another one that it covers."""
    if len(shown) > len(known):
        return False
    return any(
        all(
            (slot is None or before[slot] == after[slot])
            and all((name, after[name], str(before[name])) in covered for name in ("sex", "age", "town"))
            for before, after in zip(chosen, shown)
        )
        for chosen in permutations(known, len(shown))
    )


def covered_by_labels(release) -> set:
    """All triples of a column, a label and a value that the label covers."""
    found = set()
    for attribute in release.problem.attributes:
        tree = attribute.domain
        for label in set(release.table[attribute.name].to_pylist()):
            node = next(n for n in range(len(tree.published)) if tree.published[n] == label)
            leaves = tree.leaves[tree.lo[node] : tree.hi[node] + 1]
            found |= {(attribute.name, label, leaf) for leaf in leaves}
    return found


@pytest.mark.parametrize("slot", ["year", None])
@given(table=linked_tables())
def test_nobody_is_found_with_a_better_chance_than_one_in_k(slot, table):
    import kohort as ko

    trees = {"sex": ko.flat(), "age": ko.intervals(2, 4), "town": ko.flat()}
    release = _released_or_infeasible(table, slot=slot is not None, quasi_identifiers=trees, shuffle=False)
    found = release.risk(targets=100)["linkage"]
    originals = table.to_pylist()
    shown = release.table.to_pylist()
    person_of = dict(
        zip(
            release.table["patient"].to_pylist(),
            table["patient"].take(pa.array(release.original_rows)).to_pylist(),
        )
    )
    covered = covered_by_labels(release)
    chances = []
    for person in set(table["patient"].to_pylist()):
        known = [r for r in originals if r["patient"] == person]
        candidates = [
            person_of[p]
            for p in person_of
            if fits(known, [r for r in shown if r["patient"] == p], covered, slot)
        ]
        chances.append(1 / len(candidates) if person in candidates else 0.0)
    assert found["after"]["maximum"] == pytest.approx(max(chances))
    assert found["after"]["average"] == pytest.approx(sum(chances) / len(chances))
    assert max(chances) <= 1 / 3 + 1e-12


def test_before_it_is_the_share_of_people_with_a_history_of_their_own():
    release = released(panel(), suppression=0.0)
    found = release.risk()
    assert found["linkage"]["before"]["maximum"] == 1.0
    assert found["linkage"]["after"]["maximum"] <= 1 / 3
    assert found["prosecutor"]["after"]["maximum"] <= 1 / 3
    assert (
        "of 60 people, in all records of theirs, and picked a pseudonym that fits"
        in found["linkage"]["sentence"]
    )


def test_a_population_cannot_be_compared_with_histories():
    with pytest.raises(UnsupportedError, match="record by record"):
        released(panel(), suppression=0.0).risk(population=panel())
