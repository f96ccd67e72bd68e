from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.domains import STAR, TreeDomain
from by_definition.verification import covers
from kohort.data.column import code_column
from kohort.problem.attribute import Attribute, tight_domain
from kohort.recoding.groups import set_label
from kohort.verification.reading import read_labels
from strategies import INNER_LABELS, NASTY_TEXTS, columns, paths_over, texts_of

ANIMALS = [("cat", "pet", "*"), ("dog", "pet", "*"), ("cow", "farm", "*"), ("hen", "farm", "*")]


def attribute(values, paths=None, *, order=None, tight=False):
    column = code_column("x", values if isinstance(values, pa.Array) else pa.array(values))
    column = column if order is None else column.in_order(order)
    domain = tight_domain(column) if paths is None else ko.Hierarchy.from_paths(paths)
    return Attribute(column, domain, tight=tight)


def covered(label, x):
    """Texts of the values that a label covers; None if it is not understood."""
    reading = read_labels([label], x)
    codes = np.arange(len(x.column.texts))
    covers = reading.covers(np.zeros(len(codes), dtype=np.int64), codes)
    return {x.column.texts[code] for code in codes[covers]} if reading.understood[0] else None


def test_a_label_is_a_value_a_node_or_a_star():
    x = attribute(["cat", "cow", "dog"], ANIMALS)
    assert covered("cat", x) == {"cat"}
    assert covered("pet", x) == {"cat", "dog"}
    assert covered("hen", x) == set()
    assert covered("*", x) == {"cat", "cow", "dog"}
    assert covered("fish", x) is None
    assert covered("Pet", x) is None


def test_labels_of_other_tools_are_nodes_of_the_hierarchy():
    paths = [(str(age), f"{age // 10 * 10}-{age // 10 * 10 + 9}", "*") for age in range(20, 40)]
    x = attribute([20, 29, 30], paths)
    assert covered("20-29", x) == {"20", "29"}
    assert covered("20-28", x) is None


@pytest.mark.parametrize(
    "label, expected",
    [
        ("[20, 30]", {"20", "25", "30"}),
        ("[20, 30)", {"20", "25"}),
        ("[21, 29.5]", {"25"}),
        ("[21, 24]", set()),
        ("[30, 20]", set()),
        ("[20, 20)", set()),
        ("[-1e3, 1e3]", {"20", "25", "30"}),
        ("(20, 30)", None),
        ("[20 30]", None),
        ("[a, b]", None),
        ("20", {"20"}),
        ("20.0", {"20"}),  # a number is itself, however it is written
    ],
)
def test_intervals_of_numbers_are_closed_or_half_open(label, expected):
    assert covered(label, attribute([20, 25, 30])) == expected


def test_intervals_of_floats_dates_and_times_are_in_their_own_units():
    assert covered("[0.5, 1.5]", attribute([0.25, 0.5, 1.5, 2.5])) == {"0.5", "1.5"}
    days = attribute([date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1)])
    assert covered("[2024-02-28, 2024-02-29]", days) == {"2024-02-28", "2024-02-29"}
    assert covered("[2024-02-28, 2024-02-29)", days) == {"2024-02-28"}
    assert covered("[2024-02-30, 2024-03-01]", days) is None
    times = attribute([datetime(2024, 1, 1, 8), datetime(2024, 1, 1, 9, 30)])
    assert covered("[2024-01-01 08:00:00, 2024-01-01 09:00:00]", times) == {"2024-01-01 08:00:00"}
    texts = attribute(["2024-01-01T08:00", "2024-01-01T08:00:00.5"])
    assert covered("[2024-01-01T08:00, 2024-01-01T08:00:00.5]", texts) == set(texts.column.texts)


def test_times_with_a_zone_are_read_as_local_times():
    array = pa.array([datetime(2024, 6, 1, 8), datetime(2024, 6, 1, 9)], pa.timestamp("us", "Europe/Berlin"))
    x = attribute(array)
    low, high = x.column.texts
    assert low.endswith("+02:00")
    assert covered(f"[{low}, {high}]", x) == {low, high}
    assert covered(f"[{low}, {high})", x) == {low}


def test_intervals_of_a_given_order_may_have_commas_in_their_ends():
    order = ["low", "low, rising", "high", "high, falling"]
    x = attribute(order, order=order)
    assert covered("[low, high]", x) == {"low", "low, rising", "high"}
    assert covered("[low, rising, high, falling]", x) == {"low, rising", "high", "high, falling"}
    assert covered("[low, medium]", x) is None


def test_text_without_an_order_has_no_intervals():
    assert covered("[a, c]", attribute(["a", "b", "c"], [(v, "*") for v in "abc"])) is None


@pytest.mark.parametrize(
    "label, expected",
    [
        ("{a, b}", {"a", "b"}),
        ("{a,b}", {"a", "b"}),
        ("{a, z}", {"a"}),
        ('{"x, y", a}', {"x, y", "a"}),
        ('{"say ""hi""", b}', {'say "hi"', "b"}),
        ("{z}", set()),
        ("{}", set()),
        ('{"a, b}', None),
        ("{a, b", None),
    ],
)
def test_sets_are_written_as_in_csv(label, expected):
    values = ["a", "b", "x, y", 'say "hi"']
    assert covered(label, attribute(values, [(v, "*") for v in values], tight=True)) == expected


def test_a_value_that_looks_like_a_set_or_an_interval_is_itself_and_what_it_looks_like():
    values = ["a", "b", "{a, b}", "c"]
    x = attribute(values, [(v, "*") for v in values], tight=True)
    assert covered("{a, b}", x) == {"a", "b", "{a, b}"}
    order = ["a", "b", "c", "[a, b]"]
    assert covered("[a, b]", attribute(order, order=order)) == {"a", "b", "[a, b]"}


def test_a_label_on_several_branches_covers_each_of_them_and_nothing_between():
    paths = [("a1", "other", "A", "*"), ("b1", "B", "*"), ("c1", "other", "C", "*"), ("c2", "C", "*")]
    x = attribute(["a1", "b1", "c1", "c2"], paths)
    assert covered("other", x) == {"a1", "c1"}
    assert covered("other (A)", x) == {"a1"}
    assert covered("other (C)", x) == {"c1"}


def test_a_label_of_a_leaf_and_of_an_inner_node_is_read_as_the_wider_one():
    """Nobody can tell which is meant: the loss is that of the wider, and the unique label helps."""
    x = attribute(["a", "b"], [("a", "a", "*"), ("b", "a", "*"), ("c", "*")])
    assert covered("a", x) == {"a", "b"}
    assert covered("a (*)", x) == {"a", "b"}


def test_a_missing_value_is_covered_by_itself_and_by_a_star_only():
    x = attribute([1, 2, None])
    assert covered(None, x) == {None}
    assert covered("[1, 2]", x) == {"1", "2"}
    assert covered("*", x) == {"1", "2", None}
    assert covered("", x) is None


def test_tight_labels_are_not_read_as_nodes():
    x = attribute(["cat", "dog", "cow"], ANIMALS, tight=True)
    assert covered("pet", x) is None
    assert covered("{cat, dog}", x) == {"cat", "dog"}


@st.composite
def labelled(draw):
    """An attribute with its paths, and labels of every sort, right and wrong."""
    array = draw(columns(6, ("integer", "plain", "date", "text"), nulls=False))
    texts = texts_of(array)
    paths = draw(st.none() | paths_over([*texts, "unused"], INNER_LABELS + NASTY_TEXTS[:3]))
    column = code_column("x", array)
    if paths is None and not column.ordered:
        paths = [(text, STAR) for text in texts]
    two = st.tuples(st.sampled_from(texts), st.sampled_from(texts))
    sets = st.lists(st.sampled_from([*texts, "z"]), min_size=2, unique=True).map(lambda s: set_label(s, 99))
    labels = st.one_of(
        st.sampled_from([*texts, *INNER_LABELS, STAR, "unused", "nothing"]),
        two.map(lambda ends: f"[{ends[0]}, {ends[1]}]"),
        two.map(lambda ends: f"[{ends[0]}, {ends[1]})"),
        sets,
    )
    return array, paths, draw(st.lists(labels, min_size=1, max_size=6, unique=True))


@given(labelled())
def test_labels_cover_what_they_cover_by_definition(drawn):
    array, paths, labels = drawn
    x = attribute(array, paths)
    tree = None if paths is None else TreeDomain(paths)
    key = x.column.texts.index if x.column.ordered else None
    reading = read_labels(labels, x)
    for number, label in enumerate(labels):
        if tree is not None and tree.covered_by(label):  # a node, whatever else it looks like
            expected = tree.covered_by(label) | (tree.leaves if label == STAR else frozenset())
            expected &= set(x.column.texts)
        else:
            expected = {text for text in x.column.texts if covers(label, text, tree=tree, key=key)}
        codes = np.arange(len(x.column.texts))
        got = codes[reading.covers(np.full(len(codes), number), codes)]
        assert {x.column.texts[code] for code in got} == expected
        if expected:
            assert reading.understood[number]
