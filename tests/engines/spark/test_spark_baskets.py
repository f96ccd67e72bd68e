"""Baskets on a cluster: the cut of one machine, verified where the baskets are."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as ko
import kohort.spark
from kohort.engines.spark import baskets as on_cluster
from kohort.engines.spark.session import quiet
from kohort.errors import InternalError, UnsupportedError
from kohort.pipeline.items import Items
from kohort.pipeline.spark import basket_search

N = 4_000
ASKED = {"items": {"items": ko.order("frequency", fanout=5)}, "privacy": [ko.KmAnonymity(5, 2)]}
FACTS = ("holds", "records", "suppressed", "classes", "smallest_class", "models", "cautions", "algorithm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("baskets")


@pytest.fixture(scope="module")
def table():
    """Generated baskets; some are repeated, one is empty, one is missing, and one names an item twice."""
    made = ko.datasets.generate_baskets(N - 3, n_items=300).column("items").to_pylist()
    return pa.table({"items": pa.array([[], *made[:2_000], None, *made[2_000:], ["7", "7", "8"]])})


@pytest.fixture(scope="module")
def path(folder, table):
    pq.write_table(table, folder / "baskets.parquet", row_group_size=900)
    return folder / "baskets.parquet"


@pytest.fixture(autouse=True)
def many_parts(monkeypatch):
    monkeypatch.setattr(basket_search, "_PER_PART", 1_000)


def baskets_of(published) -> list[str]:
    return sorted("missing" if basket is None else "|".join(basket) for basket in published)


def collected(made) -> list:
    with quiet():
        return made.table.toArrow().column("items").to_pylist()


@pytest.mark.parametrize(
    "more",
    [{}, {"privacy": [ko.KmAnonymity(20, 3)], "items": {"items": ko.order("natural", fanout=4)}}],
    ids=["by frequency", "by number"],
)
def test_baskets_are_those_of_the_local_engine(spark, path, table, more):
    asked = ASKED | more
    made, local = kohort.spark.anonymize(path, **asked), ko.anonymize(table, **asked)
    facts, expected = made.facts(), local.facts()
    assert {name: facts[name] for name in FACTS} == {name: expected[name] for name in FACTS}
    assert facts["items"].pop("ncp") == pytest.approx(expected["items"].pop("ncp"), rel=1e-12)
    assert facts["items"] == expected["items"]
    assert facts["loss"] == pytest.approx(expected["loss"], rel=1e-12)
    assert set(expected["notes"]) <= set(facts["notes"])
    assert {c["check"] for c in expected["checks"]} <= {c["check"] for c in facts["checks"]}
    assert baskets_of(collected(made)) == baskets_of(local.arrow.column("items").to_pylist())
    made.close()


def test_items_may_be_dropped(spark, path, table):
    asked = {**ASKED, "items": Items("items", ko.order("frequency", fanout=50), suppress=True)}
    made, local = kohort.spark.anonymize(path, **asked), ko.anonymize(table, **asked)
    assert made.facts()["items"]["dropped"] == local.facts()["items"]["dropped"] > 0
    assert made.loss == pytest.approx(local.loss)
    made.close()


def test_files_of_lines(spark, folder, table):
    lines = ["" if basket is None else " ".join(basket) for basket in table.column("items").to_pylist()]
    (folder / "baskets.txt").write_text("\n".join(lines) + "\n")
    spec = {"items": {"hierarchy": {"order": "frequency", "fanout": 5}}, "privacy": {"k": 5, "m": 2}}
    made = kohort.spark.anonymize(folder / "baskets.txt", spec=spec)
    local = ko.anonymize(folder / "baskets.txt", spec=spec)
    local.write(folder / "local.txt")
    facts = made.write(folder / "release.txt", certificate=folder / "certificate.json")
    assert json.loads((folder / "certificate.json").read_text())["loss"] == facts["loss"]
    parts = sorted((folder / "release.txt").glob("part-*"))
    written = sorted(line for part in parts for line in part.read_text().splitlines())
    assert written == sorted((folder / "local.txt").read_text().splitlines())
    made.write(folder / "release.parquet")
    assert len(pq.read_table(folder / "release.parquet")) == N
    made.close()


def test_lines_that_are_not_what_was_verified_are_not_published(spark, path, folder, monkeypatch):
    from kohort.io.baskets import BasketShape
    from kohort.publication import spark_release

    made = kohort.spark.anonymize(path, **ASKED)
    made = replace(made, shape=BasketShape())
    honest = spark_release.as_lines
    monkeypatch.setattr(spark_release, "as_lines", lambda *given: honest(*given).limit(10))
    with pytest.raises(InternalError, match="not those that were verified"):
        made.write(folder / "wrong.txt")
    assert not (folder / "wrong.txt").exists()
    made.close()


@pytest.mark.parametrize("how", ["rare", "uncovered"])
def test_verification_finds_wrong_baskets(spark, path, monkeypatch, how):
    class Wrong(basket_search._BasketJob):
        def publish(self, batches):
            import pyarrow as pa

            for batch in super().publish(batches):
                lists = batch.column("items").to_pylist()
                if how == "rare":  # the items themselves
                    lists = batch.column(basket_search.ORIGINAL_BASKET).to_pylist()
                else:
                    lists = [basket and [*basket[:-1], lists[1][0]] for basket in lists]
                shown = pa.array(lists, pa.list_(pa.string()))
                yield pa.RecordBatch.from_arrays([shown, batch.column(1)], names=batch.schema.names)

    monkeypatch.setattr(basket_search, "_BasketJob", Wrong)
    with pytest.raises(InternalError, match="failed its own verification") as failed:
        kohort.spark.anonymize(path, **ASKED)
    assert ("known items" if how == "rare" else "covered") in str(failed.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"algorithm": "local-items"}, "local-items"),
        ({"items": {"items": ko.order("cooccurrence", fanout=5)}}, "cooccurrence"),
    ],
)
def test_what_is_not_done_is_refused(spark, path, options, words):
    with pytest.raises(UnsupportedError, match=words):
        kohort.spark.anonymize(path, **(ASKED | options))


def test_too_many_baskets_are_refused_with_figures(spark, path, monkeypatch):
    monkeypatch.setattr(on_cluster, "MOST_BASKETS", 100)
    with pytest.raises(UnsupportedError, match=r"different baskets with [0-9,]+ items.*up to 100 baskets"):
        kohort.spark.anonymize(path, **ASKED)


def test_reports_of_baskets_are_refused(spark, path, tmp_path):
    made = kohort.spark.anonymize(path, **ASKED)
    with pytest.raises(UnsupportedError, match="without a report"):
        made.write(tmp_path / "release.parquet", report=tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
    made.close()
