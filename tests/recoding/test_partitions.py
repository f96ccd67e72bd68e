import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.recoding.columns import Partitions, block_label
from kohort.verification.reading import read_labels
from small_problems import problem_of

PATHS = [
    ("State-gov", "Government"),
    ("Local-gov", "Government"),
    ("Federal-gov", "Government"),
    ("Private", "Private sector"),
    ("Inc", "Self-employed"),
    ("Not-inc, yet", "Self-employed"),
]


def attribute_of(values, source, **options):
    return problem_of({"x": values}, {"x": source}, 1, **options).attributes[0]


@pytest.fixture
def work_class():
    hierarchy = ko.Hierarchy.from_paths([(*path, "*") for path in PATHS])
    return attribute_of([leaf for leaf, _ in PATHS[:5]], hierarchy)


@pytest.mark.parametrize(
    "leaves, label",
    [
        ([0], "State-gov"),
        ([0, 1, 2], "Government"),
        ([0, 2], "{State-gov, Federal-gov}"),
        ([0, 1, 2, 3], "{Government, Private}"),
        ([3, 4, 5], "{Private, Self-employed}"),
        ([1, 5], '{Local-gov, "Not-inc, yet"}'),
        ([0, 1, 2, 3, 4, 5], "*"),
    ],
)
def test_a_block_is_a_value_a_node_a_set_of_nodes_or_everything(work_class, leaves, label):
    assert block_label(work_class, np.array(leaves)) == label
    reading = read_labels([label], work_class)
    assert reading.understood.all()
    covered = [bool(reading.covers(np.array([0]), np.array([code]))[0]) for code in range(5)]
    assert covered == [leaf in leaves for leaf in work_class.leaf_of_code]
    values = reading.extent
    assert values.width.tolist() == [len(leaves)]
    if len(leaves) < 6:
        assert values.level.tolist() == pytest.approx(
            [
                {1: 0.0, 3: 0.5 if 3 not in leaves else 1.0}.get(
                    len(leaves), 0.5 if label == "{State-gov, Federal-gov}" else 1.0
                )
            ]
        )


def test_a_block_of_an_ordered_column_is_an_interval():
    free = attribute_of([21, 22, 24, 30], None)
    assert block_label(free, np.array([0, 1, 2])) == "[21, 24]"
    assert block_label(free, np.array([0, 2])) == "{21, 24}"
    guided = attribute_of([21, 22, 24, 30, 31], ko.intervals(5, 10))
    assert block_label(guided, np.array([1, 2])) == "[22, 24]"
    assert block_label(guided, np.array([0, 1, 2])) == "[20, 25)"
    assert read_labels(["[22, 24]"], guided).extent.width.tolist() == [2]


def test_maps_name_every_value_of_the_domain_and_apply_follows_them(work_class):
    blocks = {"x": np.array([0, 0, 0, 3, 3, 3])}
    recoding = Partitions(blocks, np.zeros(5, dtype=bool))
    maps = recoding.maps(work_class)
    assert list(maps) == [leaf for leaf, _ in PATHS]
    assert set(maps.values()) == {"Government", "{Private, Self-employed}"}
    published = recoding.apply(work_class)
    texts = [work_class.column.texts[code] for code in work_class.column.codes]
    assert [published.labels[i] for i in published.of_record] == [maps[text] for text in texts]


def test_maps_of_a_scheme_publish_the_same_table_again(tmp_path):
    people = pa.table({"x": [leaf for leaf, _ in PATHS] * 2, "age": list(range(12))})
    release = ko.anonymize(
        people,
        quasi_identifiers={"x": ko.Hierarchy.from_paths([(*path, "*") for path in PATHS]), "age": None},
        privacy=ko.KAnonymity(3),
        scheme={"x": "gsps", "age": "ops"},
        cost="hierarchical-discernibility",
        suppression=1.0,
    )
    release.maps(tmp_path / "maps.json")
    again = ko.apply_maps(tmp_path / "maps.json", people)
    assert getattr(again, "table", again).equals(release.table)
