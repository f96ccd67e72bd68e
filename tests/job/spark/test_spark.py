"""The Spark engine gives the release of the local engine, verified where the records are."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import kohort as ko
import kohort.spark
from kohort.errors import InfeasibleError, InputError, InternalError, UnsupportedError
from kohort.tables.spark_session import quiet

pytestmark = pytest.mark.spark

N = 60_000
REGION = 45_000
TREES = {
    "sex": None,
    "age": ko.intervals(5, 10, 20),
    "postcode": ko.mask(),
    "admitted": None,
    "occupation": None,  # some are missing
}
ASKED = {
    "quasi_identifiers": TREES,
    "sensitive": ["diagnosis"],
    "identifiers": {"patient_id": "drop", "name": "mask"},
    "insensitive": ["insurance", "length_of_stay"],
    "privacy": [ko.KAnonymity(10)],
    "algorithm": "mondrian",
}
OF_PEOPLE = ASKED | {
    "quasi_identifiers": {name: TREES[name] for name in ("sex", "age", "postcode")},
    "identifiers": ["name"],
    "insensitive": [],
    "person": "patient_id",
    "others": "keep",
}
DIVERSE = [ko.KAnonymity(5), ko.LDiversity("diagnosis", 3)]
FACTS = ("holds", "records", "suppressed", "classes", "smallest_class", "models", "cautions", "people")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def table():
    return ko.datasets.generate_hospital(N, seed=5).drop_columns(["procedures"])


@pytest.fixture(scope="module")
def path(folder, table):
    path = folder / "hospital.parquet"
    pq.write_table(table, path, row_group_size=20_000)
    return path


@pytest.fixture(scope="module")
def visits():
    return ko.datasets.generate_hospital(20_000, seed=2, visits=60_000).drop_columns(["procedures"])


@pytest.fixture(scope="module")
def visits_path(folder, visits):
    path = folder / "visits.parquet"
    pq.write_table(visits, path)
    return path


def collected(frame) -> pa.Table:
    with quiet():
        return frame.toArrow()


def rows_of(published: pa.Table) -> list[str]:
    """The published records in an order that does not depend on where they come from."""
    texts = [[str(value) for value in published.column(name).to_pylist()] for name in published.column_names]
    return sorted("|".join(row) for row in zip(*texts))


def assert_same(made, expected) -> None:
    """The release of a cluster is that of one machine: facts, costs and records."""
    facts, local = made.facts(), expected.facts()
    assert {name: facts[name] for name in FACTS} == {name: local[name] for name in FACTS}
    assert {check["check"] for check in facts["checks"]} == {check["check"] for check in local["checks"]}
    assert facts["loss"] == pytest.approx(local["loss"], rel=1e-12)
    assert rows_of(collected(made.table)) == rows_of(expected.arrow)


def test_classes_are_those_of_the_local_engine(spark, path, table):
    made = kohort.spark.anonymize(path, **ASKED, records_per_region=REGION)
    assert "regions" in made.notes[0]
    assert_same(made, ko.anonymize(table, **ASKED))
    made.close()


@pytest.mark.parametrize(
    "more",
    [
        {"privacy": [*DIVERSE, ko.TCloseness("diagnosis", 0.5)], "nulls": "star", "suppression": 0.01},
        {
            "privacy": [ko.KAnonymity(10), ko.AlphaDeassociation("diagnosis", alpha=0.5)],
            "labels": "tight",
            "cost": "ncp",
        },
    ],
    ids=["diverse and close", "alpha, tight"],
)
def test_models_labels_and_nulls(spark, path, table, more):
    asked = ASKED | more
    made = kohort.spark.anonymize(path, **asked, records_per_region=REGION)
    assert_same(made, ko.anonymize(table, **asked))
    made.close()


def test_other_algorithms_solve_the_regions(spark, path):
    asked = ASKED | {"privacy": DIVERSE, "algorithm": "hilbert"}
    releases = [kohort.spark.anonymize(path, **asked, records_per_region=REGION) for _ in range(2)]
    assert releases[0].notes[0] == "Made on a cluster by Spark, in 2 regions."
    assert releases[0].facts()["holds"]
    assert rows_of(collected(releases[0].table)) == rows_of(collected(releases[1].table))
    for release in releases:
        release.close()


@pytest.mark.parametrize("more", [{}, {"suppression": 0.02}], ids=["all", "some withheld"])
def test_global_recodings_are_those_of_the_local_engine(spark, folder, table, more):
    some = table.slice(0, 20_000).select(["sex", "age", "insurance", "diagnosis"])
    pq.write_table(some, folder / "few.parquet")
    asked = {
        "quasi_identifiers": {"sex": ko.flat(), "age": ko.intervals(5, 10, 20), "insurance": ko.flat()},
        "sensitive": ["diagnosis"],
        "privacy": [ko.KAnonymity(40), ko.LDiversity("diagnosis", 3, kind="distinct")],
        "algorithm": "full-domain",
        **more,
    }
    made, local = kohort.spark.anonymize(folder / "few.parquet", **asked), ko.anonymize(some, **asked)
    assert (made.facts()["suppressed"] > 0) == bool(more)
    assert_same(made, local)
    made.write(folder / f"maps-{bool(more)}.parquet", maps=folder / "maps.json")
    local.maps(folder / "local-maps.json")
    assert json.loads((folder / "maps.json").read_text()) == json.loads(
        (folder / "local-maps.json").read_text()
    )
    (folder / "maps.json").unlink()
    (folder / "local-maps.json").unlink()
    made.close()


def test_a_frame_gives_the_same_release_in_any_number_of_partitions(spark, table):
    some = table.slice(0, 3_000)
    releases = []
    for parts in (1, 5):
        with quiet():
            frame = spark.createDataFrame(some.to_pylist(), schema=_schema()).repartition(parts)
        if parts == 1:  # where the data lives says which engine it is
            made = ko.anonymize(frame, **ASKED)
        else:
            made = kohort.spark.anonymize(frame, **ASKED, order_by=["patient_id"])
        releases.append(collected(made.table))
        made.close()
    assert releases[0].num_rows == 3_000
    assert releases[0].equals(releases[1])  # in the same order, too
    in_order = some.sort_by("patient_id")
    assert rows_of(releases[0]) == rows_of(ko.anonymize(in_order, **ASKED).arrow)


def _schema() -> str:
    return (
        "patient_id string, name string, sex string, age long, postcode string, admitted date, "
        "insurance string, occupation string, diagnosis string, length_of_stay long"
    )


def test_a_region_that_cannot_be_cut_is_one_class(spark, folder):
    ages = np.where(np.arange(50_000) < 49_000, 40, 41 + np.arange(50_000) % 7)
    alike = pa.table({"age": ages, "sex": np.where(np.arange(50_000) % 2, "f", "m")})
    pq.write_table(alike, folder / "alike.parquet")
    asked = {"quasi_identifiers": {"age": None, "sex": None}, "k": 24_900, "algorithm": "mondrian"}
    made = kohort.spark.anonymize(folder / "alike.parquet", **asked, records_per_region=REGION)
    assert_same(made, ko.anonymize(alike, **asked))
    made.close()


def test_people_are_counted(spark, visits_path, visits):
    asked = OF_PEOPLE | {"privacy": [ko.KAnonymity(8), ko.LDiversity("diagnosis", 2, kind="distinct")]}
    made = kohort.spark.anonymize(visits_path, **asked, records_per_region=REGION)
    local = ko.anonymize(visits, **asked)
    facts, expected = made.facts(), local.facts()
    names = (*FACTS, "smallest_class_people", "counted")
    assert {name: facts[name] for name in names} == {name: expected[name] for name in names}
    assert facts["counted"] == "people"
    assert rows_of(collected(made.table)) == rows_of(local.arrow)
    made.close()
    too_strict = [ko.KAnonymity(8), ko.AlphaDeassociation("diagnosis", 0.15)]
    with pytest.raises(UnsupportedError, match="breaks, needs all 60,000 records in one region"):
        kohort.spark.anonymize(visits_path, **(asked | {"privacy": too_strict}), records_per_region=REGION)


SHARES = {
    "entropy l": [ko.LDiversity("diagnosis", 8, kind="entropy")],
    "alpha of two": [ko.AlphaDeassociation("diagnosis", 0.4, values=["stroke", "diabetes"])],
    "t and beta": [ko.TCloseness("diagnosis", 0.4), ko.BetaLikeness("diagnosis", 3)],
    "delta": [ko.DeltaDisclosure("diagnosis", 3)],
}


@pytest.mark.parametrize("promises", SHARES.values(), ids=SHARES)
def test_promises_about_shares_of_people(spark, visits_path, visits, promises):
    asked = OF_PEOPLE | {"privacy": [ko.KAnonymity(5), *promises]}
    made = kohort.spark.anonymize(visits_path, **asked, records_per_region=REGION)
    local = ko.anonymize(visits, **asked)
    assert "regions" in made.notes[0]
    facts, expected = made.facts(), local.facts()
    names = (*FACTS, "smallest_class_people", "parameters")
    assert {name: facts[name] for name in names} == {name: expected[name] for name in names}
    assert rows_of(collected(made.table)) == rows_of(local.arrow)
    sensitive = made.problem.sensitive["diagnosis"]
    whole = local.problem.sensitive["diagnosis"].context.overall
    assert [n * int(whole.sum()) for n in sensitive.context.overall] == [
        n * int(sensitive.context.overall.sum()) for n in whole.tolist()
    ]
    made.close()


def test_classes_of_two_regions_that_look_alike_are_judged_as_one(spark, visits_path, monkeypatch):
    """People with the first diagnosis become `*` but for their sex: that covers them, and tells it."""
    from kohort.job.spark import solve as solving

    class Alike(solving.RegionJob):
        def _labels(self, node, table):
            first = pa.array(table.column("diagnosis").to_numpy() == 0)
            found = {name: labels.cast(pa.string()) for name, labels in super()._labels(node, table).items()}
            starred = {name: pc.if_else(first, "*", found[name]) for name in ("age", "postcode")}
            return {name: labels.dictionary_encode() for name, labels in (found | starred).items()}

    asked = OF_PEOPLE | {"privacy": [ko.KAnonymity(5), ko.LDiversity("diagnosis", 2)]}
    monkeypatch.setattr(solving, "RegionJob", Alike)
    with pytest.raises(UnsupportedError, match="published alike, and together their people break"):
        kohort.spark.anonymize(visits_path, **asked, records_per_region=REGION)
    with pytest.raises(InternalError, match="failed its own verification"):
        kohort.spark.anonymize(visits_path, **asked)


@pytest.mark.parametrize("diversity", [6, 3], ids=["the whole table breaks it", "the whole table keeps it"])
def test_promises_to_people_in_one_region(spark, folder, diversity):
    visits = ko.datasets.generate_hospital(1_500, seed=4, visits=4_000).drop_columns(["procedures"])
    pq.write_table(visits, folder / "few-visits.parquet")
    asked = OF_PEOPLE | {"privacy": [ko.KAnonymity(5), ko.LDiversity("diagnosis", diversity)]}
    made = kohort.spark.anonymize(folder / "few-visits.parquet", **asked)
    local = ko.anonymize(visits, **asked)
    assert made.facts()["parameters"] == local.facts()["parameters"]
    assert rows_of(collected(made.table)) == rows_of(local.arrow)
    made.close()


def test_columns_of_all_types_come_through(spark, folder):
    from datetime import UTC, date, datetime, timedelta
    from decimal import Decimal

    n = 600
    odd = pa.table(
        {
            "when": pa.array(
                [datetime(2024, 1, 1 + i % 9, i % 24, tzinfo=UTC) for i in range(n)],
                pa.timestamp("us", "UTC"),
            ),
            "amount": pa.array([Decimal(i % 7) / 4 for i in range(n)], pa.decimal128(30, 12)),
            "weight": pa.array([None if i % 50 == 0 else -0.0 if i % 2 else 0.5 for i in range(n)]),
            "smoker": pa.array([i % 3 == 0 for i in range(n)]),
            "tags": pa.array([[f"t{i % 4}", None] for i in range(n)]),
            "more": pa.array([{"a": i, "b": str(i)} for i in range(n)]),
            "raw": pa.array([bytes([i % 256]) for i in range(n)]),
            "day": pa.array([date(2024, 1, 1) + timedelta(i) for i in range(n)]),
            "local": pa.array([datetime(2024, 1, 1, i % 24) for i in range(n)], pa.timestamp("us")),
            "ill": pa.array([None if i % 9 == 0 else i % 5 for i in range(n)], pa.int16()),
        }
    )
    pq.write_table(odd, folder / "odd.parquet")
    asked = {
        "quasi_identifiers": ["when", "amount", "weight", "smoker"],
        "sensitive": ["ill"],
        "others": "keep",
        "privacy": [ko.KAnonymity(10), ko.LDiversity("ill", 2, kind="distinct")],
        "algorithm": "mondrian",
    }
    made = kohort.spark.anonymize(folder / "odd.parquet", **asked)
    found, local = collected(made.table), ko.anonymize(odd, **asked)
    assert made.facts()["classes"] == local.facts()["classes"]
    kept = ["tags", "more", "raw", "day", "local", "ill"]
    by_day = sorted(found.select(kept).to_pylist(), key=lambda row: row["day"])
    assert [row | {"more": dict(row["more"])} for row in by_day] == odd.select(kept).to_pylist()
    written = made.write(folder / "odd-release.parquet")
    assert written["records"] == n
    made.close()


def test_csv_is_read_like_the_local_engine_reads_it(spark, folder, table):
    import pyarrow.csv

    pyarrow.csv.write_csv(table.slice(0, 2_000), folder / "some.csv")
    made = kohort.spark.anonymize(folder / "some.csv", **ASKED)
    local = ko.anonymize(folder / "some.csv", **ASKED)
    assert rows_of(collected(made.table)) == rows_of(local.arrow)
    written = made.write(folder / "some-release.csv")
    assert written["records"] == 2_000
    made.close()


def test_what_is_written_is_compared_with_what_was_verified(spark, path, folder, monkeypatch):
    from kohort.release import on_spark

    made = kohort.spark.anonymize(path, **ASKED)
    out = folder / "release.parquet"
    honest, called = on_spark.fingerprint, []

    def lying(frame, columns):
        called.append(1)
        n, total = honest(frame, columns)
        return n, total + len(called)

    with monkeypatch.context() as patched:
        patched.setattr(on_spark, "fingerprint", lying)
        with pytest.raises(InternalError, match="not those that were verified"):
            made.write(out, certificate=folder / "certificate.json")
    assert not out.exists()
    assert not (folder / "certificate.json").exists()
    facts = made.write(out, certificate=folder / "certificate.json")
    assert pq.read_table(out).num_rows == N
    assert json.loads((folder / "certificate.json").read_text())["classes"] == facts["classes"]
    with pytest.raises(InputError, match="already exists"):
        made.write(out)
    made.close()
    assert not list(folder.glob(".kohort-*"))


def test_verification_on_the_cluster_finds_wrong_labels(spark, path, monkeypatch):
    """Workers publish something else than the solution: nothing comes of it."""
    from kohort.job.spark import solve as solving

    class Wrong(solving.RegionJob):
        def _labels(self, node, table):
            found = super()._labels(node, table)
            return found | {"sex": pa.array(["female"]).take(pa.array([0] * len(table)))}

    monkeypatch.setattr(solving, "RegionJob", Wrong)
    with pytest.raises(InternalError, match="failed its own verification"):
        kohort.spark.anonymize(path, **ASKED)


@pytest.mark.parametrize("how", ["memory", "killed"])
def test_a_worker_that_dies_fails_the_job_cleanly(spark, path, monkeypatch, how):
    from kohort.job.spark import solve as solving

    class Dying(solving.RegionJob):  # defined here, so that it is sent to workers by its code
        def _labels(self, node, table):
            import os

            if how == "killed":
                os.kill(os.getpid(), 9)
            raise MemoryError("Unable to allocate 7 GiB")

    monkeypatch.setattr(solving, "RegionJob", Dying)
    with pytest.raises(InputError, match="out of memory"):
        kohort.spark.anonymize(path, **ASKED)


def test_a_source_that_changes_between_readings_is_refused(spark, folder, table):
    path = folder / "changing.parquet"
    pq.write_table(table.slice(0, 1_000), path)

    def change(what, share):
        if what.startswith("solving"):
            pq.write_table(table.slice(5, 1_000), path)

    with pytest.raises(InputError, match=r"changed|could not"):
        kohort.spark.anonymize(path, **ASKED, progress=change)


def test_nothing_that_grows_with_the_records_is_collected(spark, folder, table, taken):
    """What the driver gets is about the same for ten times the records."""
    for n in (N // 10, N):
        taken.append(0)
        repeated = pa.concat_tables([table.slice(0, N // 10)] * (n // (N // 10)))
        pq.write_table(repeated, folder / f"times-{n}.parquet")
        kohort.spark.anonymize(folder / f"times-{n}.parquet", **ASKED, records_per_region=REGION).close()
    assert 0 < taken[1] < 2 * taken[0]
    assert taken[1] < N


def test_nothing_that_grows_with_the_people_is_collected(spark, folder, visits, taken):
    asked = OF_PEOPLE | {"privacy": [ko.KAnonymity(5), ko.TCloseness("diagnosis", 0.5)]}
    few = visits.slice(0, 10_000)
    whose = few.column("patient_id").combine_chunks().dictionary_encode().indices
    place = few.column_names.index("patient_id")
    for times in (1, 6):
        taken.append(0)
        others = [pc.add(whose.cast(pa.int64()), 100_000 * number) for number in range(times)]
        copies = [few.set_column(place, "patient_id", other) for other in others]
        pq.write_table(pa.concat_tables(copies), folder / f"people-{times}.parquet")
        kohort.spark.anonymize(folder / f"people-{times}.parquet", **asked, records_per_region=REGION).close()
    assert 0 < taken[1] < 2 * taken[0]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"shuffle": False}, UnsupportedError, "original order"),
        ({"identifiers": {"patient_id": "pseudonym", "name": "drop"}}, InputError, "secret key"),
        ({"k": 1_000_000, "privacy": ()}, InfeasibleError, "impossible"),
        ({"insensitive": []}, InputError, "insurance"),
    ],
)
def test_what_cannot_be_done_is_refused(spark, path, options, error, words):
    with pytest.raises(error, match=words):
        kohort.spark.anonymize(path, **(ASKED | options))


def test_pseudonyms_are_those_of_the_local_engine(spark, folder, table):
    pq.write_table(table.slice(0, 3_000), folder / "named.parquet")
    asked = ASKED | {
        "identifiers": {"patient_id": "pseudonym", "name": "pseudonym"},
        "joins": {"name": "people"},
        "key": b"a secret of sixteen bytes",
    }
    made = kohort.spark.anonymize(folder / "named.parquet", **asked)
    local = ko.anonymize(table.slice(0, 3_000), **asked)
    assert_same(made, local)
    assert not set(table.column("name").to_pylist()) & set(collected(made.table).column("name").to_pylist())
    made.close()


@pytest.mark.parametrize("name", ["baskets.txt", "baskets.parquet"])
def test_baskets_are_refused_before_spark_starts(name, tmp_path, monkeypatch):
    from cli.running import run
    from kohort.tables import spark_session

    monkeypatch.setattr(spark_session, "spark_session", lambda: pytest.fail("Spark was started"))
    (tmp_path / "items.yaml").write_text("items: {}\nprivacy: {k: 5, m: 2}\n")
    words = "does not support sets of items.*Use engine: local"
    with pytest.raises(UnsupportedError, match=words):
        kohort.spark.anonymize(tmp_path / name, spec=tmp_path / "items.yaml")
    with pytest.raises(UnsupportedError, match=words):
        kohort.spark.anonymize(tmp_path / name, items="bought", privacy=ko.KmAnonymity(5, 2))
    spec = ["--spec", tmp_path / "items.yaml", "--out", tmp_path / "release.txt"]
    ran = run("anonymize", tmp_path / name, *spec, "--engine", "spark")
    assert ran.exit == 2 and "Use engine: local" in " ".join(ran.err.split())


def test_a_path_that_is_missing_is_refused(spark, tmp_path):
    with pytest.raises(InputError, match="no such path"):
        kohort.spark.anonymize(tmp_path / "nowhere.parquet", **ASKED)
    with pytest.raises(InputError, match="does not read"):
        kohort.spark.anonymize(tmp_path / "book.xlsx", **ASKED)


def test_command_line(spark, path, tmp_path):
    from cli.running import run

    spec = tmp_path / "spec.yaml"
    roles = {name: {"role": "insensitive"} for name in ("insurance", "length_of_stay", "diagnosis")}
    roles |= {name: {"role": "identifier"} for name in ("patient_id", "name", "admitted", "occupation")}
    roles |= {name: {"role": "quasi-identifier"} for name in ("sex", "age", "postcode")}
    spec.write_text(json.dumps({"attributes": roles, "privacy": {"k": 10}, "algorithm": "mondrian"}))
    out = tmp_path / "release.parquet"
    command = ["anonymize", path, "--spec", spec, "--engine", "spark"]
    beside = ["--certificate", tmp_path / "certificate.json", "--report", tmp_path / "report.html"]
    done = run(*command, "--out", out, *beside, "--json")
    assert done.exit == 0
    assert json.loads(done.out)["records"] == pq.read_table(out).num_rows == N
    assert "kohort anonymize" in (tmp_path / "report.html").read_text()
    assert run(*command, "--out", out).exit == 2  # it exists
    gone = ["anonymize", tmp_path / "nowhere.parquet", *command[2:]]
    assert run(*gone, "--out", tmp_path / "c.parquet").exit == 2
    assert run(*command, "--out", tmp_path / "b.parquet", "--order-file", tmp_path / "o.csv").exit == 2
    assert not list(tmp_path.glob(".kohort-*"))
