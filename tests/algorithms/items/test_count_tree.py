"""The literal twin shows the paper's figures."""

from items_cases import fig_2


def named(case, path):
    return tuple(case.hierarchy.label[node] for node in path)


def test_the_order_of_the_count_tree_is_by_support():
    case = fig_2()
    order = sorted(case.twin().order, key=case.twin().order.get)
    assert named(case, order) == ("ALL", "A", "B", "a2", "b1", "b2", "a1")


def test_the_count_tree_of_figure_5():
    case = fig_2()
    tree = {named(case, path): count for path, count in case.twin().count_tree(2).items()}
    assert tree == {
        ("A",): 4,
        ("B",): 4,
        ("a2",): 3,
        ("b1",): 3,
        ("b2",): 3,
        ("a1",): 2,
        ("A", "B"): 4,
        ("A", "b1"): 3,
        ("A", "b2"): 3,
        ("B", "a2"): 3,
        ("B", "a1"): 2,
        ("a2", "b1"): 2,
        ("a2", "b2"): 2,
        ("a2", "a1"): 1,
        ("b1", "b2"): 2,
        ("b1", "a1"): 1,
        ("b2", "a1"): 2,
    }


def test_the_expansion_of_the_second_basket():
    case = fig_2()
    twin = case.twin()
    found = {frozenset(named(case, path)) for path in twin.itemsets(twin.expanded[1], 2)}
    assert found == set(
        map(frozenset, [("a2",), ("b1",), ("A",), ("B",), ("a2", "b1"), ("a2", "B"), ("b1", "A"), ("A", "B")])
    )
