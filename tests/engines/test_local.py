"""Where the records of a file are held: in memory, or read in batches."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

import kohort as ko
from kohort.engines import ENGINES, engine_named, local, memory
from kohort.errors import InputError


def test_small_tables_are_held_in_memory_and_large_ones_are_not(monkeypatch):
    monkeypatch.setattr(local, "available_memory", lambda: 1 << 40)
    engine = engine_named("local")
    assert engine.place(1 << 29).held == "memory"
    place = engine.place((1 << 29) + 1)
    assert (place.held, place.asked) == ("streaming", False)
    assert "0.54 GB" in place.why or "537 MB" in place.why


def test_where_memory_is_short_smaller_tables_are_streamed(monkeypatch):
    monkeypatch.setattr(local, "available_memory", lambda: 8_000_000)
    assert engine_named("local").place(1_000_001).held == "streaming"
    assert engine_named("local").place(1_000_000).held == "memory"


def test_memory_and_streaming_can_be_asked_for():
    assert [ENGINES[name]().place(10).held for name in ("memory", "streaming")] == ["memory", "streaming"]
    assert all(ENGINES[name]().place(1 << 50).asked for name in ("memory", "streaming"))
    with pytest.raises(InputError, match="Did you mean 'streaming'"):
        engine_named("streeming")


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch):
    assert memory.available_memory() > 0
    (tmp_path / "limit").write_text("12345\n")
    (tmp_path / "none").write_text("max\n")
    monkeypatch.setattr(memory, "_LIMITS", (tmp_path / "limit", tmp_path / "none", tmp_path / "missing"))
    assert memory.available_memory() == 12345
    monkeypatch.setattr(memory, "_MEMORY", tmp_path / "missing")
    monkeypatch.setattr(memory, "_LIMITS", ())
    assert memory.available_memory() > 12345


def test_a_table_that_memory_is_too_small_for_is_refused_with_figures(monkeypatch, tmp_path):
    people = ko.datasets.generate_hospital(2000, seed=1)
    pq.write_table(people, tmp_path / "people.parquet")
    asked = {"quasi_identifiers": ["sex", "age"], "others": "drop", "k": 5}
    monkeypatch.setattr(local, "available_memory", lambda: 40_000)
    for engine in ("local", "memory", "streaming"):
        with pytest.raises(ko.UnsupportedError, match=r"2,000 records take at least another 0 MB .* spark"):
            ko.anonymize(tmp_path / "people.parquet", **asked, engine=engine)
    monkeypatch.setattr(local, "available_memory", lambda: 50_000)
    assert ko.anonymize(tmp_path / "people.parquet", **asked).verdict.holds
