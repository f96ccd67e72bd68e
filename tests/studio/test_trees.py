"""Edits of trees: what each does, and what it refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.errors import InputError
from kohort.studio.forms import BUILDERS, kind_of, parameter_of, written
from kohort.studio.trees import as_spec, edited, numbered


def leaf(label):
    return {"label": label, "children": []}


def group(label, *children):
    return {"label": label, "children": list(children)}


TREE = group("*", group("north", leaf("a"), leaf("b")), group("south", leaf("c")), leaf("d"))
#            0          1            2          3             4           5           6


def written_out(tree):
    return as_spec(tree)["tree"]


def test_the_edits():
    assert written_out(edited(TREE, "move", [6], into=4)) == {
        "*": [{"north": ["a", "b"]}, {"south": ["c", "d"]}]
    }
    assert written_out(edited(TREE, "rename", [1], label=" up ")) == {
        "*": [{"up": ["a", "b"]}, {"south": ["c"]}, "d"]
    }
    assert written_out(edited(TREE, "merge", [1, 4])) == {"*": [{"north": ["a", "b", "c"]}, "d"]}
    assert written_out(edited(TREE, "split", [2], label="far")) == {
        "*": [{"north": [{"far": ["a"]}, "b"]}, {"south": ["c"]}, "d"]
    }
    assert written_out(edited(TREE, "dissolve", [1])) == {"*": ["a", "b", {"south": ["c"]}, "d"]}
    assert written_out(edited(TREE, "add", [], into=4, label="e")) == {
        "*": [{"north": ["a", "b"]}, {"south": ["c", "e"]}, "d"]
    }


def test_a_group_that_is_emptied_goes():
    assert written_out(edited(TREE, "move", [5], into=1)) == {"*": [{"north": ["a", "b", "c"]}, "d"]}


@pytest.mark.parametrize(
    ("what", "nodes", "more"),
    [
        ("move", [0], {"into": 1}),
        ("move", [1], {"into": 1}),
        ("move", [2], {"into": 3}),
        ("rename", [2], {"label": "x"}),
        ("rename", [1], {"label": ""}),
        ("rename", [1], {"label": "south"}),
        ("rename", [1, 4], {"label": "x"}),
        ("merge", [1], {}),
        ("merge", [1, 6], {}),
        ("split", [2, 3], {"label": "all"}),
        ("split", [2, 5], {"label": "x"}),
        ("split", [2], {"label": "a\nb"}),
        ("dissolve", [0], {}),
        ("dissolve", [2], {}),
        ("add", [], {"into": 1, "label": "c"}),
        ("move", [99], {"into": 1}),
        ("explode", [1], {}),
    ],
)
def test_what_is_refused(what, nodes, more):
    with pytest.raises(InputError):
        edited(TREE, what, nodes, **more)


@given(
    st.sampled_from(["move", "merge", "split", "dissolve", "rename"]),
    st.lists(st.integers(0, 6)),
    st.integers(0, 6),
)
def test_no_edit_loses_a_value_or_changes_the_tree_it_is_given(what, nodes, into):
    before = written_out(TREE)
    try:
        tree = edited(TREE, what, nodes, into=into, label="new")
    except InputError:
        return
    assert written_out(TREE) == before
    assert sorted(node["label"] for node in numbered(tree) if not node["children"]) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        ("none", ""),
        ("flat", ""),
        ("intervals", "5, 10"),
        ("mask", "left"),
        ("order", "4"),
        ("date", "month, year"),
    ],
)
def test_builders_are_shown_as_they_were_typed(kind, typed):
    assert kind in BUILDERS
    hierarchy = written(kind, typed)
    assert (kind_of(hierarchy), parameter_of(hierarchy)) == (kind, typed)


@pytest.mark.parametrize(
    ("kind", "typed"), [("intervals", "x"), ("quantiles", ""), ("date", ","), ("magic", "")]
)
def test_wrong_parameters_are_refused(kind, typed):
    with pytest.raises(InputError):
        written(kind, typed)
