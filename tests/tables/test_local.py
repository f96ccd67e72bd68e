"""Where the records of a file are held: in memory, or read in batches."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

import kohort as ko
from kohort.errors import InputError
from kohort.tables import source as local
from kohort.tables.source import check_engine


def test_small_tables_are_held_in_memory_and_large_ones_are_not(monkeypatch):
    monkeypatch.setattr(local, "available_memory", lambda: 1 << 40)
    assert not local.too_large_to_hold(1 << 29)
    why = local.too_large_to_hold((1 << 29) + 1)
    assert "0.54 GB" in why or "537 MB" in why


def test_where_memory_is_short_smaller_tables_are_streamed(monkeypatch):
    monkeypatch.setattr(local, "available_memory", lambda: 8_000_000)
    assert local.too_large_to_hold(1_000_001)
    assert not local.too_large_to_hold(1_000_000)


@pytest.mark.parametrize("name", ["memory", "streaming"])
def test_words_that_are_no_more_change_nothing_and_give_a_warning(name):
    people, asked = ko.datasets.generate_hospital(200, seed=1), {"others": "drop", "k": 5, "shuffle": False}
    with pytest.warns(FutureWarning, match=f"engine: {name} is no more and changes nothing.* Leave it out"):
        found = ko.anonymize(people, quasi_identifiers=["sex", "age"], **asked, engine=name)
    assert found.table == ko.anonymize(people, quasi_identifiers=["sex", "age"], **asked).table


def test_an_engine_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="Did you mean 'local'"):
        check_engine("locale")
    people = ko.datasets.generate_hospital(20)
    with pytest.raises(ko.UnsupportedError, match=r"a path, or a dataframe of Spark's"):
        ko.anonymize(people, quasi_identifiers=["sex"], others="drop", k=2, engine="spark")


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch):
    assert local.available_memory() > 0
    (tmp_path / "limit").write_text("12345\n")
    (tmp_path / "none").write_text("max\n")
    monkeypatch.setattr(local, "_LIMITS", (tmp_path / "limit", tmp_path / "none", tmp_path / "missing"))
    assert local.available_memory() == 12345
    monkeypatch.setattr(local, "_MEMORY", tmp_path / "missing")
    monkeypatch.setattr(local, "_LIMITS", ())
    assert local.available_memory() > 12345


def test_a_table_that_memory_is_too_small_for_is_refused_with_figures(monkeypatch, tmp_path):
    people = ko.datasets.generate_hospital(2000, seed=1)
    pq.write_table(people, tmp_path / "people.parquet")
    asked = {"quasi_identifiers": ["sex", "age"], "others": "drop", "k": 5}
    monkeypatch.setattr(local, "available_memory", lambda: 40_000)
    with pytest.raises(ko.UnsupportedError, match=r"2,000 records take at least another 0 MB .* spark"):
        ko.anonymize(tmp_path / "people.parquet", **asked)
    monkeypatch.setattr(local, "available_memory", lambda: 50_000)
    assert ko.anonymize(tmp_path / "people.parquet", **asked).verdict.holds
