import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.domains import STAR, TreeDomain, domain_of
from by_definition.verification import members
from kohort.data.column import code_column
from kohort.problem.attribute import Attribute, tight_domain
from kohort.recoding.groups import Groups, set_label
from strategies import NASTY_TEXTS, columns, paths_over, texts_of


def labels_of(groups, attribute):
    published = groups.apply(attribute)
    return [published.labels[number] for number in published.of_record]


def attribute_of(array, paths=None, *, tight=False):
    column = code_column("x", array)
    domain = tight_domain(column) if paths is None else ko.Hierarchy.from_paths(paths)
    if column.has_null and None not in domain.leaves:
        domain = domain.with_leaves([None], hidden=False)
    return Attribute(column, domain, tight=tight)


@st.composite
def grouped(draw, kinds=("plain", "integer", "date")):
    """A column, a hierarchy over its values, and groups numbered from 0, some records withheld."""
    array = draw(columns(draw(st.integers(1, 12)), kinds))
    paths = draw(paths_over([*texts_of(array), "unused"]))
    drawn = draw(st.lists(st.integers(-1, 3), min_size=len(array), max_size=len(array)))
    numbers = {group: number for number, group in enumerate(sorted({g for g in drawn if g >= 0}))}
    return array, paths, Groups(np.array([numbers.get(group, -1) for group in drawn], dtype=np.int32))


@given(grouped())
def test_a_group_is_published_as_the_lowest_node_that_covers_it(drawn):
    array, paths, groups = drawn
    attribute = attribute_of(array, paths)
    hierarchy, tree = attribute.domain, TreeDomain(paths, attribute.column.has_null)
    texts = [attribute.column.texts[code] for code in attribute.column.codes]
    labels = labels_of(groups, attribute)
    for number in range(groups.n_groups):
        inside = np.flatnonzero(groups.group_of_record == number)
        [label] = {labels[record] for record in inside}
        node = hierarchy.published.index(label)
        closure = tree.closure([texts[record] for record in inside])
        under = {hierarchy.leaves[leaf] for leaf in range(hierarchy.lo[node], hierarchy.hi[node] + 1)}
        assert under == closure.leaves
        assert hierarchy.level[node] == tree.height(tree.lowest_node([texts[record] for record in inside]))


@given(grouped(("integer", "date", "plain", "text")))
def test_tight_labels_are_just_the_values_that_a_group_has(drawn):
    array, _, groups = drawn
    paths = [(text, STAR) for text in texts_of(array)] or [(None, STAR)]
    attribute = attribute_of(array, paths, tight=True)
    column = attribute.column
    domain = domain_of(column, tight=True)
    labels = labels_of(groups, attribute)
    for number in range(groups.n_groups):
        inside = np.flatnonzero(groups.group_of_record == number)
        values = [column.texts[column.codes[record]] for record in inside]
        [label] = {labels[record] for record in inside}
        if len(set(values)) == 1:
            assert label == values[0]
        elif domain.closure(values).star:
            assert label == STAR
        elif column.ordered:
            ends = sorted(set(values), key=column.texts.index)
            assert label == f"[{ends[0]}, {ends[-1]}]"
        else:
            assert sorted(members(label)) == sorted(set(values))


@given(st.lists(st.sampled_from(NASTY_TEXTS), min_size=2, unique=True), st.integers(0, 2))
def test_a_set_can_be_read_back_whatever_is_in_it(texts, more):
    label = set_label(texts, n_values=len(texts) + more)
    assert label == STAR if more == 0 else members(label) == texts


def test_a_set_quotes_only_what_needs_it():
    assert set_label(["a", "b c", "d;e", "{f}"], 9) == "{a, b c, d;e, {f}}"
    assert set_label(["x,y", 'q"', " z", ""], 9) == '{"x,y", "q""", " z", ""}'


def test_a_missing_value_stays_missing_alone_and_is_a_star_in_company():
    assert set_label([None], 9) is None
    assert set_label(["a", None], 9) == STAR
    numbers = attribute_of(pa.array([1, 2, None, None, 3]))
    assert labels_of(Groups(np.array([0, 0, 1, 1, 2])), numbers) == ["[1, 2]", "[1, 2]", None, None, "3"]
    assert labels_of(Groups(np.array([0, 0, 0, 0, 1])), numbers) == [STAR] * 4 + ["3"]


def test_hidden_leaves_are_published_as_the_root_only():
    hierarchy = ko.Hierarchy.from_paths([("a", "A", "*"), ("b", "A", "*")]).with_leaves(
        ["x", "y"], hidden=True
    )
    attribute = Attribute(code_column("q", pa.array(["a", "b", "x", "y", "x"])), hierarchy)
    assert labels_of(Groups(np.array([0, 0, 1, 2, 3])), attribute) == ["A", "A", "*", "*", "*"]


@pytest.mark.parametrize("values", [["a", "b", "x", "a", "a"], [1, 2, 9, 1, 1]])
def test_hidden_leaves_are_stars_with_tight_labels_too(values):
    known = [str(value) for value in values[:2]]
    hierarchy = ko.Hierarchy.from_paths([(text, "*") for text in [*known, "0"]])
    hierarchy = hierarchy.with_leaves([str(values[2])], hidden=True)
    attribute = Attribute(code_column("q", pa.array(values)), hierarchy, tight=True)
    groups = Groups(np.array([0, 0, 1, 1, 2]))
    both = f"[{known[0]}, {known[1]}]" if attribute.column.ordered else f"{{{known[0]}, {known[1]}}}"
    assert labels_of(groups, attribute) == [both, both, "*", "*", known[0]]


def test_withheld_records_belong_to_no_group():
    groups = Groups(np.array([-1, 0, 0, -1]))
    assert groups.withheld.tolist() == [True, False, False, True]
    assert groups.n_groups == 1
    for attribute in (attribute_of(pa.array([1, 5, 6, 9])), attribute_of(pa.array([1, 5, 6, 9]), tight=True)):
        assert labels_of(groups, attribute)[1:3] == ["[5, 6]", "[5, 6]"]


@pytest.mark.parametrize("tight", [False, True])
def test_groups_may_withhold_every_record(tight):
    groups = Groups(np.array([-1, -1]))
    assert groups.n_groups == 0
    for array in (pa.array([1, 2]), pa.array(["a", "b"])):
        attribute = attribute_of(array, [(str(v), STAR) for v in array.to_pylist()], tight=tight)
        assert len(groups.apply(attribute).of_record) == 2


def test_groups_with_the_same_values_share_a_label():
    published = Groups(np.array([0, 0, 1, 1])).apply(attribute_of(pa.array([1, 2, 2, 1])))
    assert published.labels == [STAR]
