"""The role weight: what is refused, what is published, and what is measured with it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.data.dataset import Dataset
from kohort.errors import InputError
from kohort.io.read_spec import parse_spec
from kohort.pipeline.verify_release import verify_release

AGES = [1, 1, 2, 2, 8, 9, 9, 9]
WEIGHTS = [1.0, 1.0, 1.0, 1.0, 10.0, 10.0, 10.0, 10.0]


def released(weights=WEIGHTS, **options):
    table = pa.table({"age": AGES, "weight": weights, "patient": list("aabbccdd")})
    given = {
        "quasi_identifiers": {"age": ko.intervals(2, 4, 8)},
        "weight": "weight",
        "identifiers": ["patient"],
        "privacy": ko.KAnonymity(2),
        "algorithm": "mondrian",
        "shuffle": False,
    }
    return ko.anonymize(table, **(given | options))


def test_weights_are_dropped_unless_they_are_kept():
    assert released().arrow.column_names == ["age"]
    kept = released(weight={"weight": "keep"})
    assert kept.arrow["weight"].to_pylist() == WEIGHTS


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, None, -1, 0, 1, 1, 1, 1], "in 3 records it is no positive, finite number"),
        ([float("inf"), *[1.0] * 7], "in 1 record it is no positive"),
        (["a", *"1234567"], "not all of its values are numbers"),
        ([True] * 8, "not all of its values are numbers"),
    ],
)
def test_wrong_weights_are_refused_with_their_count(weights, words):
    with pytest.raises(InputError, match=words):
        released(weights)


def test_costs_are_weighted_by_their_definition():
    """Weights of whole numbers are copies of records."""
    release = released()
    copies = np.repeat(np.arange(8), np.array(WEIGHTS, dtype=int))
    shown = release.arrow["age"].to_pylist()
    one = released(weight=None, others="drop").loss["loss"]
    assert release.loss["loss"] == one  # what is minimised, and bounded, counts records
    spec = {"attributes": {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4, 8]}}}}
    table = pa.table({"age": [AGES[i] for i in copies]})
    published = pa.table({"age": [shown[i] for i in copies]})
    request = parse_spec(spec | {"privacy": {"k": 2}, "shuffle": False}).request()
    expected = verify_release(Dataset(published), request, original=Dataset(table)).loss
    assert release.weighted_loss["loss"] == pytest.approx(expected["loss"])
    assert release.weighted_loss["loss"] != pytest.approx(one)
    assert "suppressions" not in release.weighted_loss


def test_k_never_counts_weights():
    release = released(weights=[100.0] * 8, privacy=ko.KAnonymity(8))
    assert release.verdict.classes == 1


def test_the_population_is_estimated_by_weights():
    shown = released()
    sums = {}
    for label, weight in zip(shown.arrow["age"].to_pylist(), WEIGHTS):
        sums[label] = sums.get(label, 0) + weight
    assert shown.risk()["sampling_weights"]["after"] == min(sums.values())
    assert released(weight=None, others="drop").risk()["sampling_weights"] is None


def test_a_person_counts_once_in_the_population():
    release = released(person="patient", identifiers=[], privacy=ko.KAnonymity(4))
    assert release.risk()["sampling_weights"]["after"] == 1 + 1 + 10 + 10
