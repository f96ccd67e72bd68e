"""An adversary with m items, by definition and against the promise."""

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from by_definition.risk import basket_fits
from kohort.job.sides import before_after
from kohort.risk.linkage import look_up


def baskets(seed, n=40):
    rng = np.random.default_rng(seed)
    items = [f"i{i}" for i in range(9)]
    return [[item for item in items if rng.random() < 0.35] for _ in range(n)]


@pytest.mark.parametrize("seed", range(4))
def test_people_are_found_by_items_as_the_definition_says(seed):
    bought = baskets(seed)
    release = ko.anonymize(
        pa.table({"bought": bought}), items="bought", privacy=ko.KmAnonymity(4, 2), shuffle=False
    )
    sides = before_after(release)
    hierarchy = release.items.problem.hierarchy
    people = [i for i, basket in enumerate(bought) if basket]
    known = [basket[:2] for basket in bought if basket]
    leaves = np.full((len(people), 2), -1)
    for row, items in enumerate(known):
        leaves[row, : len(items)] = [hierarchy.leaf_of[item] for item in items]
    before, after = look_up(sides, [], np.array(people), leaves)
    shown = release.arrow["bought"].to_pylist()
    for row, items in enumerate(known):
        assert before.candidates[row] == sum(set(items) <= set(basket) for basket in bought)
        fitting = [i for i, labels in enumerate(shown) if basket_fits(labels, items, hierarchy)]
        assert after.candidates[row] == len(fitting)
        assert after.place[row] == fitting.index(people[row])


@pytest.mark.parametrize("seed", range(3))
def test_m_items_leave_k_records_also_beside_quasi_identifiers(seed):
    bought = baskets(seed, 60)
    sexes = np.random.default_rng(seed).choice(["f", "m"], 60)
    for quasi in (None, ["sex"]):
        release = ko.anonymize(
            pa.table({"sex": sexes, "bought": bought}),
            quasi_identifiers=quasi,
            insensitive=[] if quasi else ["sex"],
            items="bought",
            privacy=ko.KmAnonymity(5, 2),
        )
        found = release.risk(seed=seed)["linkage"]
        assert found["known_items"] == 2 and found["known"] == (quasi or [])
        assert 0 < found["after"]["maximum"] <= 1 / 5 + 1e-12 < found["before"]["maximum"]
        more = release.risk(known_items=4, seed=seed)["linkage"]
        assert more["before"]["average"] > found["before"]["average"]


def test_baskets_alone_have_no_classes_to_speak_of():
    release = ko.anonymize(pa.table({"bought": baskets(0)}), items="bought", privacy=ko.KmAnonymity(4, 2))
    found = release.risk(sampling_fraction=0.1)
    for name in ("prosecutor", "journalist", "marketer", "k_map", "uniqueness", "population_uniqueness"):
        assert found[name] is None
    assert found["attribute_disclosure"] == []
    with pytest.raises(ko.InputError, match="has none"):
        release.risk(population=pa.table({"sex": ["f"]}))
