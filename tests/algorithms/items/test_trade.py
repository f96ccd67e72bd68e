"""The trade between quasi-identifiers and items: which class size is chosen, and what the note says."""

import math

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.algorithms.items.with_items import Trade, best_trade, trade_notes

EVEN = np.array([0.5, 0.5])


def trade(size, sex, age, ncp):
    return Trade(size, np.array([sex, age]), EVEN, ncp)


# measured on 3,000 hospital records with their procedures, k = 5, m = 2, by mondrian
HOSPITAL = [
    trade(5, 0.0, 0.0012, 1.0),
    trade(80, 0.0, 0.1148, 0.8644),
    trade(320, 0.0, 0.6326, 0.5445),
    trade(640, 0.0, 1.0, 0.116),
    trade(2560, 1.0, 1.0, 0.088),
]


def test_a_trade_that_gives_up_a_column_or_the_items_is_not_the_default():
    by_sum = min(HOSPITAL, key=lambda t: t.loss + t.ncp)
    assert by_sum.size == 640  # the sum of both losses gives up the age
    assert best_trade(HOSPITAL, 0.5).size == 320


def test_weights_from_0_to_1_go_from_the_table_to_the_items():
    sizes = [best_trade(HOSPITAL, weight).size for weight in (0, 0.25, 0.5, 0.75, 1)]
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (5, 2560)


def test_what_is_kept_is_a_weighted_geometric_mean():
    found = trade(10, 0.2, 0.6, 0.5).kept(0.25)
    assert math.exp(found) == pytest.approx(math.sqrt(0.8 * 0.4) ** 0.75 * 0.5**0.25)


def test_of_equal_trades_the_smallest_classes_are_chosen():
    same = [trade(size, 0.5, 0.5, 0.5) for size in (5, 10, 20)]
    assert best_trade(same, 0.5).size == 5


def test_everything_lost_still_has_a_best_trade():
    lost = [trade(5, 1.0, 1.0, 1.0), trade(10, 1.0, 1.0, 0.9)]
    assert best_trade(lost, 0.5).size == 10


def test_the_note_has_the_figures_of_three_weights():
    [note] = trade_notes(HOSPITAL, 0.5)
    for weight, figures in (
        ("0.25", "80 records, a loss of 0.057"),
        ("0.75", "640 records, a loss of 0.500"),
    ):
        assert f"of {weight} gives classes of at least {figures}" in note
    assert "items_weight 0.5 gave classes of at least 320 records, a loss of 0.316" in note
    [other] = trade_notes(HOSPITAL, 0.1)
    assert all(f"of {weight} gives" in other for weight in ("0.25", "0.5", "0.75"))
    assert trade_notes(HOSPITAL[:1], 0.0) == ()


@pytest.fixture(scope="module")
def patients():
    hospital = ko.datasets.generate_hospital(2000, seed=1)
    bought = ko.datasets.generate_baskets(2000, n_items=60, mean_size=3, seed=2)["items"]
    return pa.table({"sex": hospital["sex"], "age": hospital["age"], "bought": bought})


def released(patients, **weight):
    return ko.anonymize(
        patients,
        quasi_identifiers={"sex": None, "age": ko.intervals(5, 10, 20, top=90)},
        items=ko.Items("bought", **weight),
        privacy=[ko.KmAnonymity(5, 2)],
        algorithm="mondrian",
    )


def test_the_default_keeps_most_of_table_and_items(patients):
    release = released(patients)
    age = next(column for column in release.summary().columns if column["name"] == "age")
    assert age["starred"] < 0.5
    assert release.loss["items-ncp"] < 0.5


@pytest.mark.long
def test_the_note_of_a_release_agrees_with_its_figures_and_with_other_releases(patients):
    [note] = [note for note in released(patients).notes if "items_weight" in note]
    for weight in (0.25, 0.5, 0.75):
        release = released(patients, weight=weight)
        says = (
            f"classes of at least {release.items.class_size:,} records, a loss of "
            f"{release.loss['loss']:.3f} for the quasi-identifiers and of "
            f"{release.loss['items-ncp']:.3f} for the items"
        )
        assert (f"items_weight {weight:g} gave " if weight == 0.5 else f"of {weight:g} gives ") + says in note
    assert not any("items_weight" in note for note in released(patients, weight=0).notes)
