"""Risk against its definition, on small random releases; and what a release must never give."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import kohort as ko
from by_definition import risk as by_definition
from kohort.job.sides import before_after
from kohort.risk.linkage import look_up
from releases import random_release

CASES = [
    {"labels": labels, "suppressed": suppressed, "shuffle": shuffle}
    for labels in ("hierarchy", "tight")
    for suppressed, shuffle in (("star", False), ("drop", False), ("star", True))
]


def cases():
    return [(seed, case) for seed in range(4) for case in CASES]


@pytest.mark.parametrize(("seed", "case"), cases())
def test_the_three_risks_are_those_of_the_definition(seed, case):
    release = random_release(seed, **case)
    found = release.risk(threshold=0.3)
    before = by_definition.class_sizes(by_definition.originals(release))
    rows = [labels for labels, _ in by_definition.published(release)]
    withheld = release.verdict.withheld and case["suppressed"] == "star"
    kept = [labels for labels in rows if not (withheld and set(labels) == {"*"})]
    after = by_definition.class_sizes(kept)
    for side, sizes in (("before", before), ("after", after)):
        maximum, average, over = by_definition.risks(sizes, 0.3)
        for adversary in ("prosecutor", "journalist"):
            assert found[adversary][side] == pytest.approx(
                {"maximum": maximum, "average": average, "over_threshold": over}
            )
        assert found["marketer"][side]["average"] == pytest.approx(average)
        assert found["uniqueness"][side] == pytest.approx(sizes.count(1) / len(sizes))
    assert found["records"] == len(kept)
    assert found["withheld"] == release.dataset.n_records - len(kept) == release.verdict.withheld


@pytest.mark.parametrize(("seed", "case"), cases())
def test_the_adversary_finds_whom_the_definition_finds(seed, case):
    release = random_release(seed, **case)
    sides = before_after(release)
    everybody = np.arange(release.dataset.n_records)
    rows = by_definition.originals(release)
    for known in ([0, 1, 2], [1], [2, 0]):
        before, after = look_up(sides, known, everybody, None)
        for person in everybody:
            same = [i for i, row in enumerate(rows) if all(row[a] == rows[person][a] for a in known)]
            assert before.candidates[person] == len(same)
            assert before.chance[person] == 1 / len(same)
            fitting = by_definition.candidates(release, known, person)
            assert after.candidates[person] == len(fitting)
            assert after.chance[person] == (1 / len(fitting) if person in fitting else 0)
            assert -1 <= after.place[person] < max(len(fitting), 1)
            assert (after.place[person] >= 0) == (person in fitting)


@pytest.mark.parametrize("seed", range(4))
def test_places_of_people_with_the_same_candidates_differ(seed):
    """Picking each candidate in turn finds each of them once."""
    release = random_release(seed, nulls=False)
    sides = before_after(release)
    _, after = look_up(sides, [2], np.arange(release.dataset.n_records), None)
    towns = release.dataset.column("town").codes
    for town in np.unique(towns):
        places = after.place[towns == town]
        assert len(set(places.tolist())) == len(places)


@pytest.mark.parametrize(("seed", "case"), cases())
def test_attribute_disclosure_is_that_of_the_definition(seed, case):
    release = random_release(seed, **case)
    [found] = release.risk(show_values=True)["attribute_disclosure"]
    illness = release.dataset.arrow("illness").to_pylist()
    withheld = release.verdict.withheld and case["suppressed"] == "star"
    kept = [
        (labels, illness[row])
        for labels, row in by_definition.published(release)
        if not (withheld and set(labels) == {"*"})
    ]
    before = by_definition.best_guess(by_definition.originals(release), illness)
    after = by_definition.best_guess(*zip(*kept))
    for side, shares in (("before", before), ("after", after)):
        assert found[side]["maximum"] == pytest.approx(max(shares))
        assert found[side]["average"] == pytest.approx(sum(shares) / len(shares))
        assert found[side]["over_half"] == pytest.approx(sum(s > 0.5 for s in shares) / len(shares))
    classes = [labels for labels, _ in kept]
    for entry in found["by_value"]:
        shares = [
            sum(v == entry["value"] for labels, v in kept if labels == mine) / classes.count(mine)
            for mine in classes
        ]
        assert entry["confidence"] == pytest.approx(max(shares))
        assert entry["share"] == pytest.approx(illness.count(entry["value"]) / len(illness))
    assert found["baseline"] == pytest.approx(max(illness.count(v) for v in illness) / len(illness))


def test_no_value_is_in_the_facts_unless_asked_for():
    release = random_release(1)
    text = json.dumps(release.risk(sampling_fraction=0.1), ensure_ascii=False)
    assert not any(word in text for word in ("flu", "cough", "Ayr", "Wick"))


def adult(part="train"):
    table = ko.datasets.load_adult()
    return table.filter(pc.equal(table["split"], part))


def test_on_adult_most_people_are_found_and_in_the_release_nobody_better_than_one_in_k():
    eight = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
    release = ko.anonymize(
        adult(),
        quasi_identifiers={name: ko.auto() for name in [*eight, "relationship"]},
        others="drop",
        privacy=[ko.KAnonymity(10)],
        algorithm="mondrian",
    )
    found = release.risk(known=eight)["linkage"]
    assert found["known"] == eight and found["targets"] == 1000 and found["sampled"]
    assert found["before"]["hit_rate"] > 0.5 and found["before"]["interval"][0] > 0.5
    assert found["before"]["found_for_sure"] > 0.4
    assert found["after"]["maximum"] <= 0.1 and found["after"]["found_for_sure"] == 0
    assert found["after"]["interval"][0] < 0.1
    everything = release.risk(targets=300)["linkage"]
    assert everything["after"]["maximum"] <= 0.1


def test_the_same_seed_gives_the_same_facts():
    release = random_release(0, n=60)
    assert release.risk(targets=20, seed=3) == release.risk(targets=20, seed=3)
    assert release.risk(targets=20, seed=3)["linkage"] != release.risk(targets=20, seed=4)["linkage"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"known": ["lettr"]}, "'lettr' is not a quasi-identifier. Did you mean 'letter'?"),
        ({"known": []}, "'known' must name at least one"),
        ({"sampling_fraction": 0}, "'sampling_fraction' must be a number above 0"),
        ({"threshold": 2}, "'threshold' must be a number above 0"),
        ({"targets": 0}, "'targets' must be a whole number of at least 1"),
        ({"population": pa.table({"age": [1]})}, "The population has no column 'letter'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ko.InputError, match=message.replace("?", r"\?")):
        random_release(0).risk(**options)
