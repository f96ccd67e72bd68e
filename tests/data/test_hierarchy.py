from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.data.hierarchy import Hierarchy
from kohort.data.path_tree import PathTree
from kohort.errors import InputError

ANIMALS = [("cat", "pet", "*"), ("dog", "pet", "*"), ("cow", "farm", "*")]


@st.composite
def random_paths(draw):
    """Paths of a random tree; labels of inner nodes occur on several branches and as leaves."""
    n_leaves = draw(st.integers(1, 12))
    names = draw(st.permutations([*"abc", *(f"leaf {i}" for i in range(12))]))
    ancestors = st.lists(st.sampled_from("abc"), max_size=4)
    return [(names[i], *draw(ancestors), "*") for i in range(n_leaves)]


def plain(path):
    """The path as it is meant: repeated ancestors melted, the leaf not repeated."""
    leaf, *above = path
    melted = [label for i, label in enumerate(above) if i == 0 or above[i - 1] != label]
    return (leaf, *melted)


def common_ancestor(paths):
    """The longest common end of the paths: the lowest common ancestor by definition."""
    shared = []
    for labels in zip(*(reversed(path[1:]) for path in paths)):
        if len(set(labels)) > 1:
            break
        shared.insert(0, labels[0])
    return tuple(shared)


@given(random_paths())
def test_every_node_is_a_contiguous_range_of_leaves_within_its_parent(paths):
    h = Hierarchy.from_paths(paths)
    above = [set(path_of(h, node)) for node in h.leaf_node]
    for node, parent in enumerate(h.parent):
        covered = [leaf for leaf, nodes in enumerate(above) if node in nodes]
        assert covered == list(range(h.lo[node], h.hi[node] + 1))
        if parent >= 0:
            assert h.lo[parent] <= h.lo[node] and h.hi[node] <= h.hi[parent]
            assert parent < node


def path_of(h, node):
    while node >= 0:
        yield node
        node = h.parent[node]


@given(random_paths())
def test_levels_are_heights_above_the_deepest_leaf(paths):
    h = Hierarchy.from_paths(paths)
    height = np.zeros(len(h.label), dtype=int)
    for leaf in h.leaf_node:
        for steps, node in enumerate(path_of(h, leaf)):
            height[node] = max(height[node], steps)
    assert h.level.tolist() == height.tolist()
    assert h.height == height[0]


@given(random_paths())
def test_node_is_the_lowest_common_ancestor(paths):
    h = Hierarchy.from_paths(paths)
    by_leaf = {path[0]: plain(path) for path in paths}
    for lo, hi in combinations_with_replacement(range(len(h.leaves)), 2):
        [node] = h.node(np.array([lo]), np.array([hi]))
        if lo == hi:
            assert node == h.leaf_node[lo]
        else:
            covered = [by_leaf[leaf] for leaf in h.leaves[lo : hi + 1]]
            assert tuple(h.path(int(node))) == common_ancestor(covered)


@given(random_paths())
def test_paths_give_the_same_tree_again(paths):
    h = Hierarchy.from_paths(paths)
    again = Hierarchy.from_paths(h.paths())
    assert again.label == h.label
    assert again.parent.tolist() == h.parent.tolist()
    assert [tuple(h.path(int(node))) for node in h.leaf_node] == list(h.paths())


@given(random_paths())
def test_published_labels_tell_all_nodes_apart(paths):
    h = Hierarchy.from_paths(paths)
    assert len(set(h.published)) == len(h.label)
    for node, label in enumerate(h.published):
        assert node in h.nodes_of_label[label]
    assert [h.published[node] for node in h.leaf_node] == list(h.leaves)


@given(random_paths(), st.booleans())
def test_more_leaves_come_last_under_the_root(paths, hidden):
    h = Hierarchy.from_paths(paths)
    more = h.with_leaves([None, "new"], hidden=hidden)
    by_hand = Hierarchy.from_paths([*h.paths(), (None, "*"), ("new", "*")])
    assert more.label == by_hand.label
    for name in ("parent", "lo", "hi", "level", "leaf_node"):
        assert getattr(more, name).tolist() == getattr(by_hand, name).tolist()
        assert getattr(more, name).dtype == getattr(by_hand, name).dtype
    assert more.hidden.tolist() == [False] * len(paths) + [hidden] * 2


def test_a_small_tree():
    h = Hierarchy.from_paths(ANIMALS)
    assert h.label == ("*", "pet", "cat", "dog", "farm", "cow")
    assert h.leaves == ("cat", "dog", "cow")
    assert h.height == 2
    assert h.children(0).tolist() == [1, 4]
    assert h.labels(np.array([0, 0, 2]), np.array([1, 2, 2])) == ["pet", "*", "cow"]
    assert h.levels(np.array([0, 0]), np.array([1, 2])).tolist() == [0.5, 1.0]
    assert [end.tolist() for end in h.closure(np.array([1]), np.array([2]))] == [[0], [2]]


def test_leaves_of_one_branch_are_brought_together():
    h = Hierarchy.from_paths([("a", "x", "*"), ("b", "y", "*"), ("c", "x", "*")])
    assert h.leaves == ("a", "c", "b")


@pytest.mark.parametrize(
    "paths, label",
    [
        ([("a", "a", "*"), ("b", "x", "*")], ("*", "a", "x", "b")),  # a repeated leaf
        ([("a", "x", "x", "*"), ("b", "x", "*")], ("*", "x", "a", "b")),  # a repeated ancestor
        ([("a", "x"), ("b", "y")], ("*", "x", "a", "y", "b")),  # no common root
        ([("a", "x", "*"), ("b",)], ("*", "x", "a", "b")),  # no ancestors
        ([("a",)], ("*", "a")),
        ([("a", "Any"), ("b", "Any")], ("Any", "a", "b")),  # a root of their own
        ([("a", "x", "*"), ("a", "x")], ("*", "x", "a")),  # twice the same
        ([("a", "a", "*"), ("b", "a", "*")], ("*", "a", "a", "b")),  # a leaf called like its parent
        ([("*", "*"), ("a", "*")], ("*", "*", "a")),  # a value that was suppressed before
    ],
)
def test_how_paths_are_read(paths, label):
    assert Hierarchy.from_paths(paths).label == label


def test_equal_labels_on_two_branches_are_published_with_their_parents():
    h = Hierarchy.from_paths([("a", "other", "x", "*"), ("b", "other", "y", "*")])
    assert h.published == ("*", "x", "other (x)", "a", "y", "other (y)", "b")
    assert h.nodes_of_label["other"] == [2, 5]


def test_a_root_called_like_a_leaf_is_published_as_star():
    h = Hierarchy.from_paths([("Any", "Any"), ("cat", "Any")])
    assert h.published == ("*", "Any", "cat")


def test_a_hidden_leaf_is_published_as_the_root():
    h = Hierarchy.from_paths(ANIMALS).with_leaves(["secret"], hidden=True)
    assert h.labels(np.array([3, 2]), np.array([3, 2])) == ["*", "cow"]


def test_leaves_cannot_be_added_twice():
    with pytest.raises(InputError, match="1 leaf is in the hierarchy already"):
        Hierarchy.from_paths(ANIMALS).with_leaves(["cat"], hidden=False)


def test_no_leaves_and_two_parents_are_refused():
    with pytest.raises(InputError, match="at least one leaf"):
        Hierarchy.from_paths([])
    with pytest.raises(InputError, match=r"1 leaf has two different parents") as error:
        Hierarchy.from_paths([("secret", "x", "*"), ("secret", "y", "*")])
    assert "secret" not in str(error.value)


def test_a_tree_under_construction_notes_what_does_not_fit():
    tree = PathTree([("a", "x", "*"), ("a", "x", "*"), ("a", "y", "*"), ("b", "x"), ("c",)])
    assert tree.repeated == 1
    assert list(tree.contradicting) == ["a"]
    assert tree.rootless == 2
    assert tree.leaves == ("a", "b", "c")
    assert tree.inner_labels == {"*", "x", "y"}
