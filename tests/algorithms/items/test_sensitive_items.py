"""Sensitive items against brute force: what is refused, what is promised, and what it costs."""

from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from by_definition.itemsets import highest_confidence, rare_itemsets
from items_cases import items_cases
from kohort.algorithms import Run
from kohort.data.baskets import code_baskets
from kohort.errors import InfeasibleError, InputError
from kohort.problem.items import ItemsProblem
from kohort.problem.promises import ItemConfidence, KmAnonymity

LIMITS = st.sampled_from([Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)])
ALL = [
    ko.AprioriItems(),
    ko.AprioriItems(refine=False),
    ko.DirectItems(),
    ko.DirectItems(refine=False),
    ko.VerticalItems(parts=2),
    ko.OptimalItems(),
    ko.OptimalItems(most_cuts=3),
]


@st.composite
def sensitive_cases(draw, **sizes):
    """Baskets with some sensitive items, s0 and s1, among the others."""
    case = draw(items_cases(max_m=3, **sizes))
    held = draw(st.lists(st.sets(st.sampled_from(["s0", "s1"])), min_size=len(case.baskets)))
    baskets = [basket + sorted(more) for basket, more in zip(case.baskets, held)]
    return replace(case, baskets=baskets), draw(LIMITS), draw(st.integers(1, 3))


def posed(case, limit, m, **options):
    confidence = ItemConfidence(["s0", "s1"], limit, m)
    coded = code_baskets("items", pa.array(case.baskets, pa.list_(pa.string())))
    others, sensitive = coded.parted(confidence.sensitive)
    model, options["holds"] = KmAnonymity(case.k, case.m), confidence.held(coded, None)
    return ItemsProblem(others, case.hierarchy, model, sensitive=sensitive, confidence=confidence, **options)


def feasible(case, limit):
    """Whether it can be had with all other items published as one."""
    at_the_root = [
        [item for item in basket if item.startswith("s")] + ["*"] * any(i[0] == "i" for i in basket)
        for basket in case.baskets
    ]
    return highest_confidence(at_the_root, ["s0", "s1"], 1) <= limit


@given(drawn=sensitive_cases())
def test_a_limit_is_refused_exactly_if_the_share_in_all_baskets_is_above_it(drawn):
    case, limit, m = drawn
    if feasible(case, limit):
        posed(case, limit, m)
        return
    with pytest.raises(InfeasibleError, match="The limit must be at least") as refused:
        posed(case, limit, m)
    least = Fraction(str(refused.value).rsplit("(")[-1].rstrip(")."))
    assert least > limit
    posed(case, least, m)


@pytest.mark.parametrize("algorithm", ALL, ids=str)
@pytest.mark.parametrize("time_limit", [None, 1e-9])
@given(drawn=sensitive_cases(), suppress=st.booleans())
def test_both_promises_are_kept_and_sensitive_items_stay(algorithm, time_limit, drawn, suppress):
    case, limit, m = drawn
    assume(feasible(case, limit))
    problem = posed(case, limit, m, suppress=suppress)
    recoding = algorithm.solve(problem, Run(time_limit=time_limit))
    published = recoding.apply(problem).to_pylist()
    assert highest_confidence(published, ["s0", "s1"], m) <= limit
    labels = sorted({label for basket in published for label in basket if label[0] != "s"})
    others = [[labels.index(label) for label in basket if label in labels] for basket in published]
    assert not rare_itemsets([(basket, 1) for basket in others], case.m, case.k)
    for before, after in zip(case.baskets, published):
        assert {i for i in before if i[0] == "s"} == {i for i in after if i[0] == "s"}


@given(drawn=sensitive_cases(max_items=5, max_baskets=8))
def test_what_is_published_costs_no_less_than_the_best_cut_and_no_more_than_the_root(drawn):
    case, limit, m = drawn
    assume(feasible(case, limit))
    problem = posed(case, limit, m)
    others = replace(case, baskets=[[i for i in basket if i[0] == "i"] for basket in case.baskets])
    twin = others.twin()
    held = [[item for item in basket if item[0] == "s"] for basket in case.baskets]

    def fine(cut):
        shown = [[*{cut[leaf] for leaf in b}, *more] for b, more in zip(twin.baskets, held)]
        return highest_confidence(shown, ["s0", "s1"], m) <= limit

    costs = [twin.ncp(c) for c in twin.all_cuts() if twin.is_anonymous(c, case.k, case.m) and fine(c)]
    found = problem.ncp(ko.AprioriItems().solve(problem, Run()).node_of_occurrence)
    assert min(costs) - 1e-12 <= found <= max(costs) + 1e-12
    best = ko.OptimalItems().solve(problem, Run())
    assert problem.ncp(best.node_of_occurrence) == pytest.approx(min(costs))
    assert best.bound == pytest.approx(min(costs))


@given(drawn=sensitive_cases())
def test_verification_counts_as_the_definition_does(drawn):
    case, limit, m = drawn
    spec = {
        "attributes": {"items": {"role": "items"}},
        "privacy": {"k": 1, "m": m, "confidence": {"sensitive": ["s0", "s1"], "limit": str(limit)}},
    }
    table = pa.table({"items": pa.array(case.baskets, pa.list_(pa.string()))})
    verdict = ko.verify(table, spec=spec)
    wanted = highest_confidence(case.baskets, ["s0", "s1"], m)
    km, confidence = verdict.models
    assert km.holds
    assert (confidence.measured, confidence.holds) == (wanted, wanted <= limit)
    for row in verdict.violations.to_pylist():
        fitting = [basket for basket in case.baskets if set(row["items"]) <= set(basket)]
        if row["items"]:
            assert len(fitting) == row["support"]
            assert sum(row["sensitive"] in basket for basket in fitting) == row["holders"]
        assert Fraction(row["holders"], row["support"]) > limit


# -- from Python and the spec ----------------------------------------------------------------------

BOUGHT = [["bread", "test"], ["rolls", "test"], ["bread"], ["rolls"], ["milk"], ["milk", "rolls"]]
TREE = ko.groups({"bakery": ["bread", "rolls"], "dairy": ["milk"]})


def anonymized(limit=0.4, *, m=1, sensitive=("test",), items=None, table=None, **asked):
    return ko.anonymize(
        pa.table({"bought": BOUGHT}) if table is None else table,
        items=items or {"bought": TREE},
        privacy=[ko.KmAnonymity(2, 1), ko.ItemConfidence(sensitive, limit, m)],
        **{"shuffle": False} | asked,
    )


def test_a_worked_example():
    """Of 2 with bread 1 holds the test, 1/2; of 5 with bread or rolls 2 do, 2/5."""
    release = anonymized()
    assert release.table["bought"].to_pylist() == [
        ["bakery", "test"],
        ["bakery", "test"],
        ["bakery"],
        ["bakery"],
        ["milk"],
        ["bakery", "milk"],
    ]
    assert release.loss["ncp"] == pytest.approx(5 * 2 / 3 / 7)
    km, confidence = release.verdict.models
    assert km.promise == "one known item that is not sensitive matches at least 2 records"
    assert confidence.measured == Fraction(2, 5)
    assert anonymized(0.5).table["bought"].to_pylist() == BOUGHT
    assert release.facts()["models"][1]["parameters"] == {"sensitive": ["test"], "limit": 0.4, "m": 1}


def test_generalizing_may_tell_more_and_is_followed_up():
    """Bread and rolls are each within 1/2, together they are not: 2/3. Milk makes them climb at last."""
    bought = [["bread", "rolls"], ["bread", "test"], ["rolls", "test"], ["milk"], ["milk"]]
    table = pa.table({"bought": bought})
    kept = ko.anonymize(
        table,
        items={"bought": TREE},
        privacy=[ko.KmAnonymity(1, 1), ko.ItemConfidence(["test"], 0.5, 1)],
        shuffle=False,
    )
    assert kept.table["bought"].to_pylist() == bought
    higher = anonymized(0.5, table=table, items={"bought": TREE}, algorithm=ko.AprioriItems(refine=False))
    assert higher.verdict.models[1].measured <= Fraction(1, 2)
    with pytest.raises(InfeasibleError, match=r"at least 0.4 \(2/5\)"):
        anonymized(0.39, table=table)


def test_a_released_file_is_verified_by_others():
    spec = {
        "attributes": {"bought": {"role": "items", "hierarchy": {"groups": dict(TREE.to_spec()["groups"])}}},
        "privacy": {"k": 2, "m": 1, "confidence": {"sensitive": ["test"], "limit": 0.4}},
    }
    original = pa.table({"bought": BOUGHT})
    spec["shuffle"] = False
    release = ko.anonymize(original, spec=spec).table
    assert ko.verify(release, spec=spec, original=original).holds
    forged = [*release["bought"].to_pylist()[:-1], ["bakery", "milk", "test"]]
    found = ko.verify(pa.table({"bought": forged}), spec=spec, original=original)
    assert "1 sensitive item of 'bought' are missing or invented" in " ".join(found.reasons())
    assert not ko.verify(original, spec=spec).holds


def test_a_sensitive_item_that_is_in_no_basket_is_told():
    assert any(
        "1 sensitive item occurs in no basket" in note for note in anonymized(sensitive=["test", "x"]).notes
    )


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        ({"limit": 0.3}, InfeasibleError, "at least 0.334"),
        ({"limit": 0}, InputError, "'limit'"),
        ({"limit": "0." + "1" * 40}, InfeasibleError, "at least"),
        ({"limit": "0.4" + "1" * 40}, InputError, "too many digits"),
        ({"m": 0}, InputError, "'m'"),
        ({"sensitive": "test"}, InputError, "list of items"),
        ({"sensitive": []}, InputError, "list of items"),
        ({"items": {"bought": ko.groups({"test": ["bread", "rolls", "milk"]})}}, InputError, "named like"),
    ],
)
def test_bad_requests_are_refused(asked, error, says):
    with pytest.raises(error, match=says):
        anonymized(**asked)


def test_a_spec_without_m_says_so():
    spec = {"items": {}, "privacy": {"k": 2, "confidence": {"sensitive": ["x"], "limit": 0.5}}}
    with pytest.raises(InputError, match="no 'm'"):
        ko.anonymize(pa.table({"items": [["x"]]}), spec=spec)


def test_wrong_words_in_the_spec_are_told():
    spec = {"items": {}, "privacy": {"k": 2, "m": 1, "confidence": {"sensitive": ["x"], "limt": 0.5}}}
    with pytest.raises(InputError, match="limit"):
        ko.anonymize(pa.table({"items": [["x"]]}), spec=spec)
