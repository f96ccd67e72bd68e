"""The experiments run on what the papers say they do."""

from pathlib import Path

import pytest

import kohort as ko

pytestmark = pytest.mark.benchmarks

ALPHA_K = Path(__file__).parents[1] / "experiments" / "alpha_k"
HEIGHTS = {
    "workclass": 3,
    "education": 4,
    "marital-status": 3,
    "occupation": 2,
    "race": 2,
    "native-country": 3,
}


def test_the_table_of_the_comparison_in_the_docs_is_that_of_its_csv_file():
    from experiments.compare.__main__ import PAGE, with_table

    page = PAGE.read_text(encoding="utf-8")
    assert page.count("| mondrian |") == 3 and with_table(page) == page


def test_the_taxonomies_of_alpha_k_are_as_high_as_table_12_says_and_have_all_values():
    adult = ko.datasets.load_adult()
    for name, height in HEIGHTS.items():
        hierarchy = ko.read_hierarchy(ALPHA_K / "hierarchies" / f"{name}.csv")
        assert hierarchy.height == height
        assert set(adult[name].to_pylist()) == set(hierarchy.leaves)
    ages = ko.intervals(5, 10, 20).build(
        ko.anonymize(adult.select(["age"]), quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)])
        .problem.attributes[0]
        .column
    )
    assert ages.height == 4


def test_the_table_of_releases_together_in_the_docs_is_that_of_its_csv_files():
    from experiments.again.__main__ import table

    page = (Path(__file__).parents[1] / "docs" / "again.md").read_text(encoding="utf-8")
    assert table().count("\n") == 11 and table() in page


def test_people_come_to_and_leave_the_tables_of_adult():
    from experiments.again.__main__ import adult_tables

    first, second, third, *_ = adult_tables(0.05)
    assert first.num_rows == 3000 and second.num_rows < 6000
    assert len(set(first["person"].to_pylist()) - set(second["person"].to_pylist())) > 100
    assert len(set(third["person"].to_pylist()) - set(second["person"].to_pylist())) == 3000


def test_the_bound_of_an_experiment_is_the_solvers_where_nothing_checked_it():
    from experiments.bounds import best_bound, best_gap

    people = ko.datasets.load_adult().select(["age", "sex"]).slice(0, 60)
    release = ko.anonymize(
        people, quasi_identifiers=["age", "sex"], privacy=[ko.KAnonymity(3)], algorithm="forest"
    )
    assert release.bound is None and release.solver_bound is not None
    assert best_bound(release) == release.solver_bound
    assert best_gap(release) == release.solver_gap
