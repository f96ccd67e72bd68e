from hypothesis import given

from by_definition.alpha_k import node_at_level
from by_definition.domains import TreeDomain
from kohort.algorithms.levels import level_nodes
from kohort.data.hierarchy import Hierarchy
from strategies import PLAIN_TEXTS, paths_over


@given(paths_over(PLAIN_TEXTS))
def test_a_level_maps_each_leaf_to_its_highest_ancestor_that_is_not_higher(paths):
    hierarchy, domain = Hierarchy.from_paths(paths), TreeDomain(paths)
    levels = level_nodes(hierarchy)
    assert len(levels) == domain.height(domain.root) + 1
    for height, nodes in enumerate(levels):
        for text, node in zip(hierarchy.leaves, nodes):
            covered = hierarchy.leaves[hierarchy.lo[node] : hierarchy.hi[node] + 1]
            expected = node_at_level(domain, text, height)
            assert set(covered) == domain.leaves_under(expected)
            assert hierarchy.level[node] == domain.height(expected)


def test_a_value_that_the_hierarchy_lacks_is_the_root_at_all_levels():
    hierarchy = Hierarchy.from_paths([("cat", "pet", "*"), ("dog", "pet", "*")])
    levels = level_nodes(hierarchy.with_leaves(["gnu"], hidden=True))
    assert [nodes[2] for nodes in levels] == [0, 0, 0]
