"""rho-uncertainty: known items, sensitive ones included, imply no other sensitive item."""

import json
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import kohort as ko
from by_definition.itemsets import highest_uncertainty
from items_cases import items_cases
from kohort.cli.app import app
from kohort.data.baskets import code_baskets
from kohort.errors import InfeasibleError, InputError

SENSITIVE = ["s0", "s1", "s2"]
ALGORITHMS = [
    "apriori-items",
    "direct-items",
    "vertical-items",
    "optimal-items",
    "local-items",
    "improve-items",
]
RHO = st.sampled_from(["1/4", "1/3", "1/2", "2/3", "1"])


@st.composite
def tables(draw):
    """Baskets of up to seven items, with up to three sensitive ones besides; and their hierarchy."""
    case = draw(items_cases(max_baskets=14))
    held = draw(st.lists(st.sets(st.sampled_from(SENSITIVE)), min_size=len(case.baskets)))
    baskets = [basket + sorted(more) for basket, more in zip(case.baskets, held)]
    return pa.table({"items": pa.array(baskets, pa.list_(pa.string()))}), case


def released(table, case, rho, m, **items):
    return ko.anonymize(
        table,
        items=ko.Items("items", case.hierarchy, **items),
        privacy=[ko.KmAnonymity(case.k, case.m), ko.RhoUncertainty(SENSITIVE, rho, m)],
        shuffle=False,
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(drawn=tables(), rho=RHO, m=st.integers(1, 4))
def test_no_rule_reaches_rho_and_sensitive_items_are_published_everywhere_or_nowhere(
    algorithm, drawn, rho, m
):
    table, case = drawn
    release = released(table, case, rho, m, algorithm=algorithm, suppress=True)
    shown, before = release.table["items"].to_pylist(), table["items"].to_pylist()
    assert highest_uncertainty(shown, SENSITIVE, m) < Fraction(rho)
    assert release.verdict.holds
    for item in SENSITIVE:
        had = [item in basket for basket in before]
        assert [item in basket for basket in shown] in (had, [False] * len(had))
    lost = sum(item in SENSITIVE for basket in before for item in basket)
    lost -= sum(item in SENSITIVE for basket in shown for item in basket)
    assert release.facts()["items"]["dropped_sensitive"] == lost
    assert lost == 0 or any("dropped: known sensitive items" in note for note in release.notes)


@given(drawn=tables(), rho=RHO, m=st.integers(1, 4))
def test_without_dropping_it_is_refused_exactly_where_sensitive_items_alone_break_it(drawn, rho, m):
    table, case = drawn
    before = table["items"].to_pylist()
    secret = [[item for item in basket if item in SENSITIVE] for basket in before]
    filled = [own for own, basket in zip(secret, before) if len(own) < len(basket)]
    alone = max(highest_uncertainty(secret, SENSITIVE, m), highest_uncertainty(filled, SENSITIVE, m - 1))
    if alone >= Fraction(rho):
        with pytest.raises(InfeasibleError, match="suppress: true"):
            released(table, case, rho, m)
        return
    release = released(table, case, rho, m)
    shown = release.table["items"].to_pylist()
    assert [[i for i in basket if i in SENSITIVE] for basket in shown] == secret
    assert highest_uncertainty(shown, SENSITIVE, m) < Fraction(rho)


@given(drawn=tables(), rho=RHO, m=st.integers(1, 4))
def test_verification_counts_as_the_definition_does(drawn, rho, m):
    table, _ = drawn
    baskets = table["items"].to_pylist()
    spec = {
        "attributes": {"items": {"role": "items"}},
        "privacy": {"k": 1, "m": m, "uncertainty": {"sensitive": SENSITIVE, "rho": rho}},
    }
    verdict = ko.verify(table, spec=spec)
    wanted = highest_uncertainty(baskets, SENSITIVE, m)
    model = verdict.models[-1]
    assert (model.model, model.measured, model.holds) == ("rho-uncertainty", wanted, wanted < Fraction(rho))
    for row in verdict.violations.to_pylist():
        fitting = [basket for basket in baskets if set(row["items"]) <= set(basket)]
        filled = [basket for basket in fitting if set(basket) - set(SENSITIVE)]
        counts = [(len(part), sum(row["sensitive"] in b for b in part)) for part in (fitting, filled)]
        assert (row["support"], row["holders"]) in counts
        assert row["sensitive"] not in row["items"]
        assert Fraction(row["holders"], row["support"]) >= Fraction(rho)


@given(drawn=tables(), rho=st.sampled_from(["1/2", "2/3"]))
def test_every_class_keeps_it(drawn, rho):
    table, case = drawn
    sex = ["fm"[number % 2] for number in range(table.num_rows)]
    release = ko.anonymize(
        table.append_column("sex", pa.array(sex)),
        quasi_identifiers=["sex"],
        items=ko.Items("items", case.hierarchy, suppress=True, weight=0),
        privacy=[ko.KmAnonymity(case.k, case.m), ko.RhoUncertainty(SENSITIVE, rho, 2)],
    )
    assert release.verdict.holds
    rows = release.arrow.to_pylist()
    for one in {row["sex"] for row in rows}:
        part = [row["items"] or [] for row in rows if row["sex"] == one]
        assert highest_uncertainty(part, SENSITIVE, 2) < Fraction(rho)


# -- by hand ------------------------------------------------------------------------------------------

BOUGHT = [
    ["bread", "test", "pills"],
    ["bread", "test"],
    ["bread", "test"],
    ["rolls", "pills"],
    ["rolls", "pills"],
    ["rolls"],
    ["milk"],
    ["milk"],
    ["milk", "bread"],
]
TREE = {"groups": {"bakery": ["bread", "rolls"], "dairy": ["milk"]}}


def spec_of(rho=0.5, m=1, sensitive=("test", "pills"), k=1, **items):
    return {
        "attributes": {"bought": {"role": "items", "hierarchy": TREE, **items}},
        "privacy": {"k": k, "m": m, "uncertainty": {"sensitive": list(sensitive), "rho": rho}},
        "shuffle": False,
    }


def test_a_worked_example():
    """Of 4 with bread 3 have the test, of 3 with rolls 2 the pills; of 7 with bakery 3 have either."""
    release = ko.anonymize(pa.table({"bought": BOUGHT}), spec=spec_of())
    assert release.table["bought"].to_pylist()[:4] == [
        ["bakery", "pills", "test"],
        ["bakery", "test"],
        ["bakery", "test"],
        ["bakery", "pills"],
    ]
    model = release.verdict.models[-1]
    assert (model.asked, model.measured) == (Fraction(1, 2), Fraction(3, 7))
    assert "one known item, sensitive or not, reveals no other sensitive item" in model.promise
    assert release.facts()["models"][-1]["parameters"] == {
        "sensitive": ["test", "pills"],
        "rho": 0.5,
        "m": 1,
    }


def test_confidence_of_the_same_limit_leaves_what_known_sensitive_items_tell():
    """Of 3 with the test 1 has the pills: 1/3. confidence does not bound it, and rho-uncertainty does."""
    table = pa.table({"bought": [*BOUGHT, ["milk"], ["milk"], ["milk"], ["milk"]]})
    spec = spec_of(rho="1/3")
    as_confidence = {"k": 1, "m": 1, "confidence": {"sensitive": ["test", "pills"], "limit": "1/3"}}
    plain = ko.anonymize(table, spec=spec | {"privacy": as_confidence})
    assert plain.verdict.holds
    assert not ko.verify(plain.table, spec=spec).holds
    with pytest.raises(InfeasibleError, match=r"a share of 1/3 holds another one\. Raise it above 1/3"):
        ko.anonymize(table, spec=spec)
    dropped = ko.anonymize(table, spec=spec_of(rho="1/3", suppress=True))
    assert dropped.facts()["items"]["dropped_sensitive"] == 3
    assert "3 of 6 (50 %) that are dropped" in " ".join(check.detail for check in dropped.verdict.checks)


def test_a_release_that_invents_or_loses_sensitive_items_fails():
    table, spec = pa.table({"bought": BOUGHT}), spec_of(rho=0.6)
    release = ko.anonymize(table, spec=spec)
    assert ko.verify(release.table, spec=spec, original=table).holds
    shown = release.table["bought"].to_pylist()
    without = [[item for item in basket if item != "pills"] for basket in shown]
    invented = [*shown[:-1], [*shown[-1], "test"]]
    assert not ko.verify(pa.table({"bought": without}), spec=spec, original=table).holds
    assert ko.verify(pa.table({"bought": without}), spec=spec_of(0.6, suppress=True), original=table).holds
    forged = ko.verify(pa.table({"bought": invented}), spec=spec_of(0.6, suppress=True), original=table)
    assert "missing or invented" in " ".join(forged.reasons())


def test_in_a_multiset_an_item_does_not_imply_its_own_number():
    bought = [["a", "a", "s", "s"], ["a", "a", "s"], ["a"], ["a"], ["a"], ["b"], ["b"], ["b"]]
    spec = {
        "attributes": {"bought": {"role": "items", "multiset": True}},
        "privacy": {"k": 2, "m": 2, "uncertainty": {"sensitive": ["s"], "rho": 0.5}},
    }
    release = ko.anonymize(pa.table({"bought": bought}), spec=spec)
    shown = [["s" if i.startswith("s ×") else i for i in b] for b in release.table["bought"].to_pylist()]
    assert sum("s" in basket for basket in shown) == 2
    assert highest_uncertainty(shown, ["s"], 2) < Fraction(1, 2)


def test_shuffled_releases_are_compared_with_their_originals():
    table = pa.table({"bought": BOUGHT * 3})
    spec = spec_of(rho="1/3", suppress=True, k=2) | {"shuffle": True}
    release = ko.anonymize(table, spec=spec)
    assert ko.verify(release.table, spec=spec, original=table).holds


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"rho": 0}, InputError, "'rho'"),
        ({"rho": 1.5}, InputError, "'rho'"),
        ({"rho": "much"}, InputError, "'rho'"),
        ({"m": 0}, InputError, "'m'"),
        ({"sensitive": []}, InputError, "list of items"),
        ({"rho": 0.2}, InfeasibleError, "rho = 0.2 is impossible"),
        ({"rho": "0.6" + "1" * 40}, InputError, "too many digits"),
    ],
)
def test_bad_requests_are_refused(changes, error, says):
    with pytest.raises(error, match=says):
        ko.anonymize(pa.table({"bought": BOUGHT}), spec=spec_of(**changes))


def test_one_promise_about_sensitive_items_is_possible():
    both = spec_of()
    both["privacy"]["confidence"] = {"sensitive": ["test"], "limit": 0.5}
    with pytest.raises(InputError, match="both 'confidence' and 'uncertainty'"):
        ko.anonymize(pa.table({"bought": BOUGHT}), spec=both)
    asked = [ko.KmAnonymity(1, 1), ko.ItemConfidence(["test"], 0.5, 1), ko.RhoUncertainty(["test"], 0.5, 1)]
    with pytest.raises(InputError, match="item-confidence and rho-uncertainty are both asked for"):
        ko.anonymize(pa.table({"bought": BOUGHT}), items={"bought": None}, privacy=asked)
    without_m = spec_of()
    del without_m["privacy"]["m"]
    with pytest.raises(InputError, match="'uncertainty' but no 'm'"):
        ko.anonymize(pa.table({"bought": BOUGHT}), spec=without_m)


def test_it_is_about_items():
    with pytest.raises(InputError, match="'uncertainty' is about a column of items"):
        ko.anonymize(
            pa.table({"a": ["x", "y"]}),
            quasi_identifiers=["a"],
            privacy=[ko.KAnonymity(1), ko.RhoUncertainty(["x"], 0.5, 1)],
        )


def test_from_the_command_line(tmp_path):
    data, out, spec = tmp_path / "baskets.txt", tmp_path / "out.txt", tmp_path / "spec.yaml"
    data.write_text(
        "".join(" ".join(basket) + "\n" for basket in [*BOUGHT, ["milk"], ["milk"], ["milk"]] * 3)
    )
    spec.write_text(
        "items: {suppress: true}\n"
        "privacy: {k: 2, m: 2, uncertainty: {sensitive: [test, pills], rho: 0.3}}\n"
        "algorithm: local-items\n"
    )
    run = CliRunner().invoke(app, ["anonymize", str(data), "--spec", str(spec), "--out", str(out), "--json"])
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert found["models"][-1]["model"] == "rho-uncertainty" and found["models"][-1]["holds"]
    assert found["items"]["dropped_sensitive"] > 0
    shown = [line.split() for line in out.read_text().splitlines()]
    assert highest_uncertainty(shown, ["test", "pills"], 2) < Fraction(3, 10)
    again = CliRunner().invoke(app, ["verify", str(out), "--spec", str(spec), "--original", str(data)])
    assert again.exit_code == 0, again.output


def test_the_rules_name_every_set_that_may_be_known():
    promise = ko.RhoUncertainty(["x", "y", "z"], 0.5, 2)
    baskets = code_baskets("items", pa.array([["x", "y", "z"], ["x"]]))
    found = {rule.items: rule.m for rule in promise.rules(promise.held(baskets, None))}
    assert found == {
        (0,): 2, (1,): 2, (2,): 2,
        (0, 1): 1, (0, 2): 1, (1, 0): 1, (1, 2): 1, (2, 0): 1, (2, 1): 1,
        (0, 1, 2): 0, (0, 2, 1): 0, (1, 2, 0): 0,
    }  # fmt: skip
