"""Baskets that are hard or wrong, for every algorithm, with and without dropping: released or refused."""

import pyarrow as pa
import pytest

import kohort as ko
from cli.running import run
from kohort.algorithms import ITEMS_ALGORITHMS
from kohort.errors import InfeasibleError, InputError

TREE = ko.groups({"A": ["a1", "a2"], "B": ["b1", "b2"]})
BOUGHT = [["a1", "b1"], ["a2", "b1"], ["a1", "b2"], ["a2"], ["b1", "b2"], []]
EVERY = pytest.mark.parametrize("name", ITEMS_ALGORITHMS)
DROPPING = pytest.mark.parametrize("suppress", [False, True])


def released(baskets, name, suppress, *, k=2, m=2, tree=TREE):
    return ko.anonymize(
        pa.table({"items": pa.array(baskets, pa.list_(pa.string()))}),
        items=ko.Items("items", tree, suppress=suppress),
        privacy=[ko.KmAnonymity(k, m)],
        algorithm=name,
        shuffle=False,
    )


def stated(release, n_items):
    """Whether what is shown and what is said to be dropped, withheld or merged accounts for every item."""
    items = release.facts()["items"]
    shown = sum(map(len, release.table["items"].to_pylist()))
    return items["occurrences"] == n_items and shown + items["dropped"] <= n_items


@EVERY
@DROPPING
def test_m_above_the_longest_basket_is_said(name, suppress):
    release = released(BOUGHT, name, suppress, m=9)
    assert release.verdict.holds and stated(release, 9)
    assert any("m = 9 is larger than any basket" in note for note in release.notes)


@EVERY
@DROPPING
def test_k_above_the_number_of_baskets_is_impossible(name, suppress):
    with pytest.raises(InfeasibleError, match="5 baskets have items, so k can be at most 5"):
        released(BOUGHT, name, suppress, k=6)


@EVERY
@DROPPING
def test_items_without_a_place_in_the_hierarchy_are_counted_not_named(name, suppress):
    with pytest.raises(InputError, match="lacks 1 item of 5") as refused:
        released([*BOUGHT, ["secret"]], name, suppress)
    assert "secret" not in str(refused.value)


@EVERY
@DROPPING
def test_one_basket_is_published_as_it_is_or_not_at_all(name, suppress):
    release = released([["a1", "b1"]], name, suppress, k=1)
    assert release.table["items"].to_pylist() == [["a1", "b1"]]
    with pytest.raises(InfeasibleError, match="k can be at most 1"):
        released([["a1", "b1"]], name, suppress)


@EVERY
@DROPPING
def test_baskets_without_items_are_refused(name, suppress):
    with pytest.raises(InputError, match="holds no items"):
        released([[], []], name, suppress)


@pytest.mark.parametrize("name", [name for name in ITEMS_ALGORITHMS if name != "optimal-items"])
@DROPPING
def test_a_basket_of_ten_thousand_items(name, suppress):
    huge = [f"i{number}" for number in range(10_000)]
    baskets = [huge, *([["i1", "i2"], ["i1", "i3"], ["i2", "i3"]] * 8)]
    release = released(baskets, name, suppress, k=5, m=3, tree=None)
    assert release.verdict.holds and stated(release, 10_048)


@pytest.mark.parametrize(
    ("text", "spec", "exit_code", "says"),
    [
        ("", "items: {}\nprivacy: {k: 2, m: 2}\n", 2, "empty"),
        ("a b\nb\n", "items: {suppress: maybe}\nprivacy: {k: 2, m: 2}\n", 2, "suppress"),
        ("a b\nb\n", "items: {suppress: true}\nprivacy: {k: 9, m: 2}\n", 1, "k can be at most 2"),
        ("a b\nb\n", "items: {}\nprivacy: {k: 2, m: 0}\n", 2, "'m'"),
    ],
)
def test_wrong_files_of_baskets_write_nothing(tmp_path, text, spec, exit_code, says):
    (tmp_path / "baskets.txt").write_text(text)
    (tmp_path / "spec.yaml").write_text(spec)
    out = tmp_path / "release.txt"
    result = run("anonymize", tmp_path / "baskets.txt", "--spec", tmp_path / "spec.yaml", "--out", out)
    assert result.exit == exit_code
    assert says in result.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["baskets.txt", "spec.yaml"]


@EVERY
@DROPPING
@pytest.mark.parametrize(
    "promise", [ko.ItemConfidence(["s"], 0.6, 99), ko.RhoUncertainty(["s", "t"], 0.6, 99)]
)
def test_sensitive_items_and_an_m_above_the_longest_basket(name, suppress, promise):
    baskets = [[*basket, *("s", "t")[:number]] for number, basket in enumerate(BOUGHT[:2])] + BOUGHT * 2
    release = ko.anonymize(
        pa.table({"items": pa.array(baskets, pa.list_(pa.string()))}),
        items=ko.Items("items", TREE, suppress=suppress),
        privacy=[ko.KmAnonymity(2, 99), promise],
        algorithm=name,
    )
    assert release.verdict.holds


@pytest.mark.parametrize("name", ["apriori-items", "local-items"])
def test_a_basket_of_ten_thousand_items_beside_a_sensitive_one(name):
    long = [f"i{number}" for number in range(10_000)]
    baskets = [[*long, "s"], *([f"i{n % 40}", f"i{n % 30 + 40}"] for n in range(120))]
    release = ko.anonymize(
        pa.table({"items": baskets}),
        items={"items": None},
        privacy=[ko.KmAnonymity(2, 2), ko.ItemConfidence(["s"], 0.3, 2)],
        algorithm=name,
    )
    assert release.verdict.holds
