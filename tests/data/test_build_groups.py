import pyarrow as pa
import pytest

from kohort.data.column import code_column
from kohort.data.hierarchies.build_hierarchy import from_spec
from kohort.data.hierarchies.categories import Groups, flat, groups
from kohort.data.hierarchies.checks import check
from kohort.data.hierarchies.orders import ByFrequency, Order, order
from kohort.errors import InputError

CONTINENTS = {"Europe": ["France", "Spain"], "Asia": {"East": ["Japan"], "India": None}}


def column(values):
    return code_column("x", pa.array(values))


def paths(builder, values):
    return {path[0]: path[1:] for path in builder.build(column(values)).paths()}


def test_flat_is_value_or_star():
    assert flat().build(column(["b", "a", None])).label == ("*", "a", "b")


def test_groups_may_hold_groups_and_keep_all_their_leaves():
    h = groups(CONTINENTS).build(column(["Spain", "Japan", None]))
    assert list(h.paths()) == [
        ("France", "Europe", "*"),
        ("Spain", "Europe", "*"),
        ("Japan", "East", "Asia", "*"),
        ("India", "Asia", "*"),
    ]


def test_lists_may_mix_values_and_groups():
    mixed = groups({"Asia": [{"East": ["Japan"]}, "India", 3]})
    assert [path[:2] for path in mixed.paths()] == [("Japan", "East"), ("India", "Asia"), ("3", "Asia")]


def test_values_in_no_group_are_counted_not_shown():
    values = column(["Spain", "Secretland", "Secretland", " spain"])
    with pytest.raises(InputError, match=r"column 'x' cannot be used") as error:
        check(groups(CONTINENTS).build(values), values).raise_if_broken("x")
    text = str(error.value)
    assert "2 values are missing from it (3 records, 75.0% of all)" in text
    assert "1 differ from a leaf only in case" in text
    assert "Secretland" not in text


def test_a_value_in_two_groups():
    with pytest.raises(InputError, match=r"1 leaf is listed with different ancestors"):
        groups({"x": ["a"], "y": ["a"]}).build(column(["a"]))


def test_wrong_groups():
    for wrong in ({}, "a", None):
        with pytest.raises(InputError, match="Groups must be a mapping"):
            Groups(wrong)
    with pytest.raises(InputError, match=r"read as the truth value false. Put it in quotes"):
        groups({"Nordic": ["SE", False]})


def test_neighbours_in_natural_order():
    h = order(fanout=2).build(column([10, 9, 30, 20, 40]))
    assert list(h.paths()) == [
        ("9", "[9, 10]", "[9, 30]", "*"),
        ("10", "[9, 10]", "[9, 30]", "*"),
        ("20", "[20, 30]", "[9, 30]", "*"),
        ("30", "[20, 30]", "[9, 30]", "*"),
        ("40", "*"),
    ]
    assert paths(order(fanout=2), ["b", "a", "c"])["a"] == ("a … b", "*")
    assert paths(order(fanout=4), ["b", "a", "c"])["a"] == ("*",)


def test_a_fanout_per_level():
    h = order(fanout=(2, 3)).build(column([f"{i:02d}" for i in range(19)]))
    first = next(iter(h.paths()))
    assert first == ("00", "00 … 01", "00 … 05", "00 … 17", "*")


def test_an_order_that_is_given():
    severity = order(["none", "mild", "moderate", "severe"], fanout=2)
    h = severity.build(column(["severe", "mild"]))
    assert h.leaves == ("none", "mild", "moderate", "severe")
    assert h.label[1] == "none … mild"
    unknown = column(["severe", "Fatal"])
    assert len(check(severity.build(unknown), unknown).missing) == 1


def test_orders_by_frequency_and_by_appearance():
    values = ["b", "c", "a", "c", None, "d"]
    assert order("frequency", fanout=2).build(column(values)).leaves == ("c", "a", "b", "d")
    assert order("file", fanout=2).build(column(values)).leaves == ("b", "c", "a", "d")
    assert order("file", fanout=2).build(column([3, 1, 2])).label[1] == "3 … 1"


def test_wrong_orders():
    with pytest.raises(InputError, match=r"Unknown order 'naturel'. Did you mean 'natural'"):
        order("naturel")
    with pytest.raises(InputError, match="An order must be"):
        Order(())
    for fanout in (1, True, 2.5, (4, 1)):
        with pytest.raises(InputError, match="'fanout' must be a whole number of at least 2"):
            Order(fanout=fanout)
    with pytest.raises(InputError, match="Got none"):
        Order(fanout=())


def test_rare_values_are_joined_first():
    values = ["common"] * 50 + ["usual"] * 20 + ["rare"] * 2 + ["odd"] * 1 + ["seldom"] * 3
    found = paths(ByFrequency(2), values)
    assert found["common"] == ("*",)
    assert found["odd"] == ("{odd, rare}", "{odd, rare, seldom}", "{odd, rare, seldom, usual}", "*")
    assert ByFrequency(2).build(column(values)).leaves == ("common", "odd", "rare", "seldom", "usual")


def test_large_groups_are_numbered():
    h = ByFrequency(3).build(column([f"name {i:02d}" for i in range(27)]))
    labels = [label for label in h.label if label.startswith("Group")]
    assert labels[0] == "Group 1 (9 values)"
    assert "{name 00, name 01, name 02}" in h.label
    assert len(set(h.label)) == len(h.label)


@pytest.mark.parametrize("n", range(1, 12))
@pytest.mark.parametrize("fanout", [2, 3, 4])
def test_every_node_by_frequency_has_children_enough(n, fanout):
    h = ByFrequency(fanout).build(column([f"v{i}" for i in range(n) for _ in range(i + 1)]))
    assert set(h.leaves) == {f"v{i}" for i in range(n)}
    inner = set(range(len(h.label))) - set(h.leaf_node.tolist())
    widths = sorted(len(h.children(node)) for node in inner)
    assert widths[-1] <= fanout
    assert n == 1 or widths[0] >= 2
    assert all(width == fanout for width in widths[1:])


def test_by_frequency_needs_a_fanout():
    with pytest.raises(InputError, match="'fanout' must be"):
        ByFrequency(1)


def test_specs_come_back():
    for builder in (flat(), groups(CONTINENTS), Groups(CONTINENTS, root="World"), order(), ByFrequency(5)):
        assert from_spec(builder.to_spec()) == builder
    assert from_spec(order(["a", 1], fanout=[2, 3]).to_spec()) == Order(("a", "1"), (2, 3))
