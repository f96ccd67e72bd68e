import numpy as np
import pyarrow as pa
import pytest

from kohort.data.column import code_column
from kohort.data.hierarchy import Hierarchy
from kohort.problem.attribute import Attribute
from kohort.recoding.columns import AttributeMaps

PATHS = [("cat", "pet", "*"), ("dog", "pet", "*"), ("cow", "farm", "*"), ("pig", "farm", "*")]


@pytest.mark.parametrize(
    ("tight", "expected"), [(False, ["pet", "pet", "farm"]), (True, ["{cat, dog}", "{cat, dog}", "cow"])]
)
def test_every_leaf_is_published_as_its_node_or_as_the_values_that_occur_under_it(tight, expected):
    hierarchy = Hierarchy.from_paths(PATHS)
    animal = Attribute(code_column("animal", pa.array(["cat", "dog", "cow"])), hierarchy, tight=tight)
    maps = AttributeMaps({"animal": hierarchy.parent[hierarchy.leaf_node]}, np.zeros(3, dtype=bool))
    published = maps.apply(animal)
    assert [published.labels[i] for i in published.of_record] == expected
    assert maps.guarantee is maps.bound is None and maps.notes == ()


def test_a_node_may_be_a_leaf_for_some_values_and_the_root_for_others():
    hierarchy = Hierarchy.from_paths([("cat", "pet", "*"), ("dog", "pet", "*"), ("oak", "*")])
    nodes = np.array([hierarchy.nodes_of_label[label][0] for label in ("pet", "pet", "oak")])
    living = Attribute(code_column("living", pa.array(["oak", "cat"])), hierarchy)
    published = AttributeMaps({"living": nodes}, np.zeros(2, dtype=bool)).apply(living)
    assert [published.labels[i] for i in published.of_record] == ["oak", "pet"]


def test_the_map_of_an_attribute_names_every_value_of_its_domain():
    hierarchy = Hierarchy.from_paths(PATHS)
    animal = Attribute(
        code_column("animal", pa.array(["cat", "cow", None])), hierarchy.with_leaves([None], hidden=False)
    )
    nodes = animal.domain.parent[animal.domain.leaf_node]
    nodes[-1] = animal.domain.leaf_node[-1]
    recoding = AttributeMaps({"animal": nodes}, np.array([False, True, False]))
    assert recoding.maps(animal) == {"cat": "pet", "dog": "pet", "cow": "farm", "pig": "farm", None: None}
    assert recoding.withheld.tolist() == [False, True, False]
