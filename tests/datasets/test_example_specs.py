"""The example specs: a role for every column, and hierarchies that are trees and hold every value."""

from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from kohort.datasets import example_spec, generate_hospital, load_adult, load_health
from kohort.errors import InputError

TABLES = {
    "adult": load_adult,
    "health": load_health,
    "hospital": lambda: generate_hospital(20_000),
}
ROLES = {"identifier", "quasi-identifier", "sensitive", "insensitive", "person"}
HIERARCHY_FILES = sorted(Path(example_spec("adult")).parent.glob("hierarchies/*/*.csv"))


def read_spec(name):
    return yaml.safe_load(Path(example_spec(name)).read_text(encoding="utf-8"))


def read_paths(file):
    return [line.split(";") for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", TABLES)
def test_every_column_has_a_role(name):
    spec, table = read_spec(name), TABLES[name]()
    assert list(spec["attributes"]) == table.column_names
    assert {attribute["role"] for attribute in spec["attributes"].values()} <= ROLES
    assert spec["privacy"]["k"] == 10


@pytest.mark.parametrize("name", TABLES)
def test_diversity_is_of_a_sensitive_attribute_that_has_it(name):
    spec, table = read_spec(name), TABLES[name]()
    diversity = spec["privacy"].get("diversity")
    if diversity:
        assert spec["attributes"][diversity["attribute"]]["role"] == "sensitive"
        assert len(table[diversity["attribute"]].unique()) > diversity["l"]


@pytest.mark.parametrize("name", TABLES)
def test_every_value_is_in_its_hierarchy(name):
    spec, table = read_spec(name), TABLES[name]()
    for column, attribute in spec["attributes"].items():
        if isinstance(attribute.get("hierarchy"), str):
            paths = read_paths(Path(example_spec(name)).parent / attribute["hierarchy"])
            values = {str(value) for value in table[column].unique().to_pylist() if value is not None}
            assert values <= {path[0] for path in paths}, column


@pytest.mark.parametrize("name", TABLES)
def test_interval_widths_are_multiples(name):
    for attribute in read_spec(name)["attributes"].values():
        hierarchy = attribute.get("hierarchy")
        widths = hierarchy.get("intervals", []) if isinstance(hierarchy, dict) else []
        assert all(wide % narrow == 0 for narrow, wide in pairwise(widths))


@pytest.mark.parametrize("file", HIERARCHY_FILES, ids=lambda f: f"{f.parent.name}/{f.stem}")
def test_each_hierarchy_is_a_tree(file):
    paths = read_paths(file)
    assert len({len(path) for path in paths}) == 1
    assert {path[-1] for path in paths} == {"*"}
    assert len({path[0] for path in paths}) == len(paths)
    for level in range(len(paths[0]) - 1):
        parents = {(path[level], path[level + 1]) for path in paths}
        assert len(parents) == len({child for child, _ in parents})


def test_every_hierarchy_file_is_used():
    used = {
        Path(example_spec(name)).parent / attribute["hierarchy"]
        for name in TABLES
        for attribute in read_spec(name)["attributes"].values()
        if isinstance(attribute.get("hierarchy"), str)
    }
    assert used == set(HIERARCHY_FILES)


def test_unknown_names_get_a_hint():
    with pytest.raises(InputError, match="Did you mean 'adult'"):
        example_spec("adults")
