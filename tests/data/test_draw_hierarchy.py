from kohort.data.hierarchy import Hierarchy, tree_lines

ANIMALS = Hierarchy.from_paths([("cat", "pet", "*"), ("dog", "pet", "*"), ("cow", "farm", "*"), (None, "*")])


def test_a_small_tree():
    assert tree_lines(ANIMALS) == [
        "* (4 leaves)",
        "├── pet (2 leaves)",
        "│   ├── cat",
        "│   └── dog",
        "├── farm (1 leaf)",
        "│   └── cow",
        "└── (missing)",
    ]


def test_records_are_counted():
    assert tree_lines(ANIMALS, [1000, 1, 5, 0], max_depth=1) == [
        "* (4 leaves, 1,006 records)",
        "├── pet (2 leaves, 1,001 records)",
        "├── farm (1 leaf, 5 records)",
        "└── (missing) (0 records)",
    ]


def test_long_lists_are_folded():
    h = Hierarchy.from_paths([(f"v{i}", "*") for i in range(40)])
    lines = tree_lines(h, max_children=4)
    assert lines == ["* (40 leaves)", "├── v0", "├── v1", "├── v2", "└── … 37 more"]
    assert len(tree_lines(h, max_children=40)) == 41


def test_nothing_below_the_root():
    assert tree_lines(ANIMALS, max_depth=0) == ["* (4 leaves)"]
