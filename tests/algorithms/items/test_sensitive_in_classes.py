"""Sensitive items beside quasi-identifiers and in multisets, and columns protected over known items."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.itemsets import highest_confidence, rare_itemsets
from kohort.errors import InfeasibleError, InputError

ITEMS = ["a", "b", "c", "d"]
ALGORITHMS = ["apriori-items", "direct-items", "vertical-items", "local-items", "improve-items"]
TREE = ko.groups({"A": ["a", "b"], "B": ["c", "d"]})


@st.composite
def patients(draw):
    """Records with a sex, a diagnosis and a basket, in which s is sensitive."""
    n = draw(st.integers(8, 20))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    baskets = [
        [item for item in ITEMS if rng.random() < 0.5] + ["s"] * int(rng.random() < 0.2) for _ in range(n)
    ]
    return pa.table(
        {
            "sex": rng.choice(["f", "m"], n).tolist(),
            "bought": pa.array(baskets, pa.list_(pa.string())),
            "diagnosis": rng.choice(["flu", "cold", "gout"], n).tolist(),
        }
    )


def by_class(table):
    rows = table.to_pylist()
    return [[row for row in rows if row["sex"] == sex] for sex in sorted({row["sex"] for row in rows})]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(table=patients(), m=st.integers(1, 3), suppress=st.booleans())
def test_every_class_keeps_both_promises(algorithm, table, m, suppress):
    limit = Fraction(1, 2)
    try:
        release = ko.anonymize(
            table,
            quasi_identifiers=["sex"],
            insensitive=["diagnosis"],
            items=ko.Items("bought", TREE, suppress=suppress, algorithm=algorithm),
            privacy=[ko.KmAnonymity(2, m), ko.ItemConfidence(["s"], limit, m)],
        )
    except InfeasibleError:
        return
    assert release.verdict.holds
    for rows in by_class(release.arrow):
        baskets = [row["bought"] or [] for row in rows]
        assert highest_confidence(baskets, ["s"], m) <= limit
        others = [({item for item in basket if item != "s"}, 1) for basket in baskets]
        if algorithm not in ("local-items", "improve-items"):  # there support may lie at other levels
            assert not rare_itemsets(others, m, 2)


@pytest.mark.parametrize("algorithm", ["apriori-items", "local-items"])
@given(table=patients(), m=st.integers(1, 2), classes=st.booleans())
def test_known_items_leave_a_column_diverse(algorithm, table, m, classes):
    limit = Fraction(2, 3)
    try:
        release = ko.anonymize(
            table.drop_columns([] if classes else ["sex"]),
            quasi_identifiers=["sex"] if classes else None,
            sensitive=["diagnosis"],
            items=ko.Items("bought", ko.groups({"A": ["a", "b"], "B": ["c", "d", "s"]}), algorithm=algorithm),
            privacy=[ko.KmAnonymity(2, m), ko.ItemConfidence(limit=limit, m=m, attribute="diagnosis")],
        )
    except InfeasibleError:
        return
    assert release.verdict.holds
    parts = by_class(release.arrow) if classes else [release.arrow.to_pylist()]
    for rows in parts:
        shown = [row for row in rows if row["bought"] is not None or not classes]
        baskets = [[*(row["bought"] or []), f"={row['diagnosis']}"] for row in shown]
        values = ["=flu", "=cold", "=gout"]
        for value in values:  # what else somebody has is no known item here
            mine = [[i for i in basket if i == value or not i.startswith("=")] for basket in baskets]
            if len(shown) == len(rows):
                assert highest_confidence(mine, [value], m) <= limit


def test_a_class_with_too_many_holders_publishes_no_items_and_says_so():
    table = pa.table(
        {
            "sex": ["f"] * 6 + ["m"] * 6,
            "bought": [["a", "s"]] * 4 + [["a"]] * 2 + [["a"], ["b"]] * 3,
        }
    )
    release = ko.anonymize(
        table,
        quasi_identifiers=["sex"],
        items=ko.Items("bought", TREE, weight=0),
        privacy=[ko.KmAnonymity(2, 1), ko.ItemConfidence(["s"], 0.5, 1)],
        shuffle=False,
    )
    assert release.table["bought"].to_pylist() == [None] * 6 + [["a"], ["b"]] * 3
    assert any("too many of them hold a sensitive one" in note for note in release.notes)


BOUGHT = [["a", "a", "s"], ["a", "a", "s", "s"], ["a", "a"], ["a", "a"], ["b"], ["b"], ["b"], ["a", "a", "b"]]


def test_in_a_multiset_an_item_is_sensitive_however_often_it_occurs():
    spec = {
        "attributes": {
            "bought": {"role": "items", "hierarchy": {"groups": {"A": ["a", "b"]}}, "multiset": True}
        },
        "privacy": {"k": 2, "m": 2, "confidence": {"sensitive": ["s"], "limit": 0.4}},
    }
    table = pa.table({"bought": BOUGHT})
    release = ko.anonymize(table, spec=spec | {"shuffle": False})
    shown = release.table["bought"].to_pylist()
    assert [[i for i in basket if i.startswith("s")] for basket in shown[:3]] == [["s ×1"], ["s ×2"], []]
    merged = [["s" if item.startswith("s ×") else item for item in basket] for basket in shown]
    assert highest_confidence(merged, ["s"], 2) <= Fraction(2, 5)
    assert ko.verify(release.table, spec=spec, original=table).holds
    forged = pa.table({"bought": [["a ×2"], *shown[1:]]})
    assert not ko.verify(forged, spec=spec, original=table).holds


def test_a_broken_class_is_listed_with_its_holders():
    spec = {
        "attributes": {
            "sex": {"role": "quasi-identifier"},
            "bought": {"role": "items", "hierarchy": {"groups": {"A": ["a", "b"], "B": ["c", "d"]}}},
        },
        "privacy": {"k": 2, "m": 1, "confidence": {"sensitive": ["s"], "limit": 0.5}},
    }
    table = pa.table({"sex": ["f"] * 3 + ["m"] * 3, "bought": [["a", "s"]] * 2 + [["b"]] + [["a"]] * 3})
    verdict = ko.verify(table, spec=spec)
    assert not verdict.holds
    [confidence] = [model for model in verdict.models if model.model == "item-confidence"]
    assert (confidence.measured, confidence.failing_classes) == (1, 1)


@pytest.mark.parametrize(
    ("confidence", "says"),
    [
        ({"limit": 0.5}, "one of the two"),
        ({"sensitive": ["a"], "attribute": "diagnosis", "limit": 0.5}, "one of the two"),
        ({"attribute": "sex", "limit": 0.5}, "not a sensitive column"),
        ({"attribute": "nobody", "limit": 0.5}, "not a sensitive column"),
        ({"attribute": "diagnosis"}, "'limit'"),
    ],
)
def test_bad_requests_are_refused(confidence, says):
    spec = {
        "attributes": {
            "sex": {"role": "quasi-identifier"},
            "diagnosis": {"role": "sensitive"},
            "bought": {"role": "items"},
        },
        "privacy": {"k": 2, "m": 1, "confidence": confidence},
    }
    table = pa.table({"sex": ["f"] * 3, "diagnosis": ["x", "y", "z"], "bought": [["a"]] * 3})
    with pytest.raises(InputError, match=says):
        ko.anonymize(table, spec=spec)
