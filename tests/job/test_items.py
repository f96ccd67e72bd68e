"""Items from Python: lists and texts, alone and beside quasi-identifiers, and what is refused."""

from itertools import combinations

import pyarrow as pa
import pytest

import kohort as ko
from frames import MAKERS, as_lists
from items_cases import FIG_2
from kohort.errors import InfeasibleError, InputError, UnsupportedError

GROUPS = ko.groups({"A": ["a1", "a2"], "B": ["b1", "b2"]})
PUBLISHED = [["A", "b1", "b2"], ["A", "b1"], ["A", "b1", "b2"], ["A", "b2"]]


def fig_2(column="items", **more):
    return pa.table({column: FIG_2, **more})


def anonymized(table, items=None, k=2, m=2, **asked):
    asked = {"shuffle": False} | asked  # so that records can be compared with their originals
    return ko.anonymize(table, items=items or {"items": GROUPS}, privacy=[ko.KmAnonymity(k, m)], **asked)


@pytest.mark.parametrize(
    "algorithm", ["auto", "apriori-items", "direct-items", "optimal-items", ko.AprioriItems()]
)
def test_the_paper_s_example(algorithm):
    release = anonymized(fig_2(), algorithm=algorithm)
    assert release.table["items"].to_pylist() == PUBLISHED
    assert release.loss == {"ncp": pytest.approx(2.5 / 11)}
    assert release.cost == release.items.ncp == pytest.approx(2.5 / 11)
    [verdict] = release.verdict.models
    assert (verdict.model, verdict.asked, verdict.measured, verdict.holds) == ("km-anonymity", 2, 2, True)
    facts = release.facts()["items"]
    assert facts["published_items"] == 3
    assert facts["hierarchy"] == {"groups": {"A": ["a1", "a2"], "B": ["b1", "b2"]}}


def test_optimal_items_proves_its_optimum():
    release = anonymized(fig_2(), algorithm="optimal-items")
    assert release.guarantee == 1.0
    assert release.solver_bound == pytest.approx(release.cost)


def test_a_text_column_comes_back_as_texts_with_quotes_where_needed():
    table = pa.table({"bought": ["a1; b1;b2", "a2;b1", 'a2;b1;"b2"', "a1;a2;b2", "", None]})
    tree = ko.groups({"A; or so": ["a1", "a2"], "B": ["b1", "b2"]})
    release = anonymized(table, ko.Items("bought", tree, separator=";"))
    assert release.table["bought"].to_pylist() == [
        '"A; or so";b1;b2',
        '"A; or so";b1',
        '"A; or so";b1;b2',
        '"A; or so";b2',
        "",
        None,
    ]


def test_empty_and_missing_baskets_stay_and_repeated_items_count_once():
    table = pa.table({"items": [*FIG_2[:3], ["a1", "a1", "a2", "b2"], [], None]})
    release = anonymized(table)
    assert release.table["items"].to_pylist() == [*PUBLISHED, [], None]
    notes = " ".join(release.notes)
    assert "empty baskets" in notes and "count once (1 of them)" in notes


def test_a_multiset_tells_one_from_two():
    table = pa.table({"items": [["a", "a", "b"], ["a", "b"], ["a", "a"], ["a"]]})
    exact = anonymized(table, ko.Items("items", ko.groups({"all": ["a", "b"]}), multiset=True), k=2, m=1)
    assert exact.table["items"].to_pylist() == [["a ×2", "b ×1"], ["a ×1", "b ×1"], ["a ×2"], ["a ×1"]]
    release = anonymized(table, ko.Items("items", ko.flat(), multiset=True), k=2, m=2)
    assert release.loss["ncp"] > 0
    assert release.verdict.holds


def test_other_columns_are_kept_or_dropped():
    table = fig_2(name=["x", "y", "z", "w"], weight=[1, 2, 3, 4])
    release = anonymized(table, identifiers=["name"], insensitive=["weight"])
    assert release.table.column_names == ["items", "weight"]
    assert release.table["weight"].to_pylist() == [1, 2, 3, 4]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_kind_of_dataframe_comes_back(make):
    made = make({"items": FIG_2})
    release = anonymized(made)
    assert type(release.table) is type(made)
    assert as_lists(release.table) == {"items": PUBLISHED}


def test_shuffled_baskets_are_the_same_baskets():
    release = anonymized(fig_2(), shuffle=True, seed=3)
    assert sorted(release.table["items"].to_pylist()) == sorted(PUBLISHED)


# -- beside quasi-identifiers ----------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0, 0.5, 1])
@pytest.mark.parametrize("algorithm", ["auto", "hilbert", "apriori-items"])
def test_a_hospital_keeps_both_promises_together(weight, algorithm):
    """The independent count: records that look alike and share up to m items, by plain loops."""
    k, m = 5, 2
    patients = ko.datasets.generate_hospital(400, seed=2)
    release = ko.anonymize(
        patients,
        quasi_identifiers={"sex": None, "age": ko.intervals(5, 10, 20, top=90)},
        items=ko.Items("procedures", weight=weight),
        sensitive=["diagnosis"],
        others="drop",
        privacy=[ko.KAnonymity(k), ko.KmAnonymity(k, m)],
        algorithm=algorithm,
    )
    rows = release.table.select(["sex", "age", "procedures"]).to_pylist()
    support: dict = {}
    for row in rows:
        for size in range(m + 1):
            for known in combinations(sorted(row["procedures"] or []), size):
                key = (row["sex"], row["age"], known)
                support[key] = support.get(key, 0) + 1
    assert min(support.values()) >= k
    assert release.loss["items-ncp"] == pytest.approx(release.items.ncp)
    assert [found.model for found in release.verdict.models] == ["k-anonymity", "km-anonymity"]


def test_the_weight_trades_one_loss_for_the_other():
    patients = ko.datasets.generate_hospital(2000, seed=1)
    asked = {
        "quasi_identifiers": {"sex": None, "age": ko.intervals(5, 10, 20, top=90)},
        "others": "drop",
        "privacy": [ko.KmAnonymity(5, 2)],
    }
    for_table, for_items = (
        ko.anonymize(patients, items=ko.Items("procedures", weight=weight), **asked) for weight in (0, 1)
    )
    assert for_table.items.class_size == 5
    assert for_table.loss["loss"] <= for_items.loss["loss"]
    assert for_items.loss["items-ncp"] < for_table.loss["items-ncp"]


def test_a_class_where_few_have_items_publishes_none():
    table = pa.table({"sex": ["f"] * 3 + ["m"] * 3, "items": [["a"], ["a"], ["a"], ["a"], [], []]})
    release = ko.anonymize(
        table,
        quasi_identifiers=["sex"],
        items=ko.Items("items", weight=0),
        privacy=[ko.KmAnonymity(3, 1)],
        shuffle=False,
    )
    assert release.table["sex"].to_pylist() == ["f"] * 3 + ["m"] * 3
    assert release.table["items"].to_pylist() == [["a"]] * 3 + [None] * 3
    assert release.items.facts()["withheld"] == 3
    assert release.loss["items-ncp"] == pytest.approx(1 / 4)


# -- what is refused -------------------------------------------------------------------------------


def test_an_item_missing_from_the_hierarchy_is_counted_not_named():
    with pytest.raises(InputError, match="lacks 1 item of 4") as refused:
        anonymized(fig_2(), {"items": ko.Hierarchy.from_paths([("a1", "*"), ("a2", "*"), ("b1", "*")])})
    assert "b2" not in str(refused.value)


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        ({"k": 5}, InfeasibleError, "k can be at most 4"),
        ({"items": "nothing"}, InputError, "no column 'nothing'"),
        ({"items": ko.Items("items", separator=";")}, InputError, "not text"),
        ({"algorithm": "mondrian"}, UnsupportedError, "apriori-items"),
        ({"cost": "tree"}, UnsupportedError, "ncp"),
        ({"suppression": 0.1}, UnsupportedError, "suppression"),
        ({"m": 0}, InputError, "'m'"),
        ({"items": {"items": None, "others": None}}, InputError, "one column"),
    ],
)
def test_bad_requests_are_refused(asked, error, says):
    with pytest.raises(error, match=says):
        anonymized(fig_2(), **asked)


def test_lists_with_missing_items_are_refused():
    with pytest.raises(InputError, match="are missing"):
        anonymized(pa.table({"items": [["a1", None], ["a1"]]}))


def test_texts_without_a_separator_are_refused():
    with pytest.raises(InputError, match="separator"):
        anonymized(pa.table({"items": ["a1;a2", "a1"]}))


def test_items_without_a_promise_and_a_promise_without_items_are_refused():
    with pytest.raises(InputError, match="nothing is promised"):
        ko.anonymize(fig_2(), items="items", privacy=[ko.KAnonymity(2)])
    with pytest.raises(InputError, match="no column has the role items"):
        ko.anonymize(pa.table({"a": [1, 1]}), quasi_identifiers=["a"], privacy=[ko.KmAnonymity(2, 2)])
    with pytest.raises(UnsupportedError, match="column of items"):
        ko.anonymize(
            pa.table({"a": [1, 1]}),
            quasi_identifiers=["a"],
            privacy=[ko.KAnonymity(2)],
            algorithm="direct-items",
        )


def test_m_larger_than_any_basket_is_told():
    assert any("larger than any basket" in note for note in anonymized(fig_2(), m=9).notes)


@pytest.mark.parametrize("algorithm", ["optimal-items", "local-items", "improve-items"])
def test_an_item_that_is_named_like_any_item_is_refused(algorithm):
    table = pa.table({"items": [["*", "a1"], ["a1", "b1"], ["*"], ["b1"]] * 3})
    with pytest.raises(InputError, match="Rename the item"):
        ko.anonymize(table, items="items", privacy=[ko.KmAnonymity(2, 2)], algorithm=algorithm)
