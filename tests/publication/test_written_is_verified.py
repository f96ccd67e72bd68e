"""What is handed out is what was verified: every fault in between is caught, and nothing is written."""

from __future__ import annotations

import datetime
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import kohort as ko
from kohort.errors import InfeasibleError, InternalError, KohortError, UnsupportedError
from kohort.io import data_files
from kohort.io.tables import read_table
from kohort.job import maps as applying
from kohort.job import order, publish
from kohort.release import job, targets
from kohort.tables.memory import MemoryTable
from reading_in_batches import anonymized_in_batches

FORMATS = ("csv", "csv.gz", "tsv", "parquet", "xlsx", "jsonl", "feather", "sav", "dta")
ASKED = {
    "quasi_identifiers": {"age": ko.intervals(10, 20), "sex": None},
    "sensitive": ["illness"],
    "insensitive": ["nights"],
    "privacy": [ko.KAnonymity(2), ko.LDiversity("illness", 2)],
    "algorithm": "mondrian",
}
PEOPLE = {
    "age": [21, 22, 25, 41, 42, 45, 61, 62],
    "sex": ["f", "m", "f", "m", "f", "m", "f", "m"],
    "illness": ["flu", "cold", "flu", "cough", "flu", "cold", "cough", "flu"],
    "nights": [1, 2, 3, 4, 5, 6, 7, 8],
}


def released(table=None, **changes):
    return ko.anonymize(pa.table(PEOPLE) if table is None else table, **ASKED | changes)


# -- faults in a table: each is put where a bug would be ------------------------------------------------


def swapped(table):
    """The sensitive values of two records in each other's place."""
    values = table["illness"].to_pylist()
    first = next(i for i, value in enumerate(values) if value != values[0])
    values[0], values[first] = values[first], values[0]
    kind = table.schema.field("illness").type
    return table.set_column(
        table.column_names.index("illness"), "illness", pa.array(values, pa.string()).cast(kind)
    )


def altered(table):
    """One cell with another number."""
    values = table["nights"].to_pylist()
    return table.set_column(table.column_names.index("nights"), "nights", pa.array([*values[:-1], 99]))


def emptied(table):
    """One cell without its value."""
    values = table["nights"].to_pylist()
    return table.set_column(table.column_names.index("nights"), "nights", pa.array([*values[:-1], None]))


def with_column(table):
    return table.append_column("name", pa.array(["Ann"] * len(table)))


FAULTS = {
    "a swapped sensitive value": swapped,
    "an altered cell": altered,
    "a cell without its value": emptied,
    "a record dropped": lambda table: table.slice(1),
    "a record doubled": lambda table: pa.concat_tables([table, table.slice(0, 1)]),
    "a record in the place of another": lambda table: table.take([0, 0, *range(2, len(table))]),
    "another order": lambda table: table.take(list(reversed(range(len(table))))),
    "a column too many": with_column,
    "a column missing": lambda table: table.drop_columns(["nights"]),
    "columns renamed": lambda table: table.rename_columns(["sex", "age", "illness", "nights"]),
}


def refused(tmp_path, write):
    """Writing is refused, and nothing is left of it."""
    with pytest.raises(KohortError) as caught:
        write()
    assert "flu" not in str(caught.value) and not list(tmp_path.glob("*"))


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_writer_that_changes_the_table_is_caught(tmp_path, monkeypatch, fault, ending):
    release = released()
    honest = data_files.write_data
    monkeypatch.setattr(
        targets, "write_data", lambda table, *args, **more: honest(FAULTS[fault](table), *args, **more)
    )
    refused(tmp_path, lambda: release.write(tmp_path / f"release.{ending}"))


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("share", [0.5, 0.98])
def test_a_truncated_file_is_caught(tmp_path, monkeypatch, share, ending):
    release = released()
    honest = data_files.write_data

    def truncated(table, path, *args, **more):
        honest(table, path, *args, **more)
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])

    monkeypatch.setattr(targets, "write_data", truncated)
    refused(tmp_path, lambda: release.write(tmp_path / f"release.{ending}"))


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "jsonl"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("shuffle", ["auto", False])
def test_a_writer_of_slices_is_caught(tmp_path, monkeypatch, fault, ending, shuffle):
    original, folder = tmp_path / "people.parquet", tmp_path / "out"
    folder.mkdir()
    pq.write_table(pa.table(PEOPLE), original)
    release = anonymized_in_batches(original, **ASKED, shuffle=shuffle)
    honest = targets.write_slices

    def changed(slices, *args, **more):
        schema = FAULTS[fault](pa.concat_tables(slices.tables))
        honest(replace(slices, schema=schema.schema, tables=iter([schema])), *args, **more)

    monkeypatch.setattr(targets, "write_slices", changed)
    refused(folder, lambda: release.write(folder / f"release.{ending}"))


@pytest.mark.parametrize("ending", FORMATS)
def test_without_a_fault_every_format_is_written(tmp_path, ending):
    for shuffle in ("auto", False):
        release = released(shuffle=shuffle)
        release.write(tmp_path / f"release.{ending}")
        found = read_table(tmp_path / f"release.{ending}").table
        assert [str(each) for each in found["nights"].to_pylist()] == [
            str(each) for each in release.arrow["nights"].to_pylist()
        ]


# -- faults before the verdict: in the order, or in the table that is put in order -----------------------


def in_published(published, fault):
    """What is published with a fault in it, as a bug in publishing would make it."""
    if fault == "swapped":
        table = swapped(pa.table({"illness": published.dataset.arrow("illness")}))
        return replace(published, columns={**published.columns, "illness": table["illness"].combine_chunks()})
    rows = {
        "dropped": published.rows[1:],
        "doubled": np.append(published.rows, published.rows[0]),
        "replaced": np.append(published.rows[1:], published.rows[1]),
    }[fault]
    return replace(published, kept=rows)


@pytest.mark.parametrize("fault", ["swapped", "dropped", "doubled", "replaced"])
@pytest.mark.parametrize("where", [job, applying])
def test_a_fault_in_settling_the_order_is_caught(tmp_path, monkeypatch, where, fault):
    honest, maps = order.settle_order, tmp_path / "maps.json"
    if where is applying:
        released(algorithm="full-domain").maps(maps)

    def faulty(prepared, published):
        made, found = honest(prepared, published)
        return in_published(made, fault).held(), found

    monkeypatch.setattr(where, "settle_order", faulty)
    with pytest.raises((InternalError, InfeasibleError)):
        ko.apply_maps(maps, pa.table(PEOPLE), k=2) if where is applying else released()


@pytest.mark.parametrize("fault", [lambda rows: rows[1:], lambda rows: np.append(rows[1:], rows[1])])
@pytest.mark.parametrize("where", ["one table", "two tables"])
def test_a_fault_in_dealing_is_caught(monkeypatch, fault, where):
    honest = order.dealt_order
    monkeypatch.setattr(order, "dealt_order", lambda *given: fault(honest(*given)))
    with pytest.raises(InternalError):
        released() if where == "one table" else two_tables()


def two_tables():
    people = pa.table({"id": [f"p{i}" for i in range(8)], "age": PEOPLE["age"], "sex": PEOPLE["sex"]})
    events = pa.table({"id": [f"p{i}" for i in range(8)], "illness": PEOPLE["illness"]})
    asked = ASKED | {"insensitive": [], "privacy": [ko.KAnonymity(2)], "algorithm": "auto"}
    return ko.anonymize(people, events=events, person="id", **asked)


@pytest.mark.parametrize("which", ["people", "events"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "sav"])
def test_two_files_are_compared_too(tmp_path, monkeypatch, which, ending):
    release, honest = two_tables(), data_files.write_data

    def doubling(table, path, *args, **more):
        twice = pa.concat_tables([table, table.slice(0, 1)])
        honest(
            twice if ("illness" in table.column_names) == (which == "events") else table, path, *args, **more
        )

    monkeypatch.setattr(targets, "write_data", doubling)
    names = {"out": tmp_path / f"people.{ending}", "events": tmp_path / f"events.{ending}"}
    refused(tmp_path, lambda: release.write(**names))


# -- dataframes --------------------------------------------------------------------------------------

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("fault", ["swapped", "replaced", "altered"])
def test_a_dataframe_that_is_not_what_was_verified_is_not_handed_out(monkeypatch, kind, fault):
    honest = publish._with_used_categories

    def faulty(frame):
        made = pa.table(
            pl.DataFrame(honest(frame)).to_arrow() if kind == "pandas" else honest(frame).to_arrow()
        )
        replaced = FAULTS["a record in the place of another"]
        made = {"swapped": swapped, "replaced": replaced, "altered": altered}[fault](made)
        return made.to_pandas() if kind == "pandas" else pl.from_arrow(made)

    monkeypatch.setattr(publish, "_with_used_categories", faulty)
    release = released(FRAMES[kind](PEOPLE))
    with pytest.raises(InternalError):
        _ = release.table


# -- what the caller does with the table afterwards ------------------------------------------------------


def change_pandas(frame):
    frame.index = list(reversed(frame.index))
    frame.loc[:, "illness"] = "flu"
    frame.pop("sex")
    frame["nights"] = 0
    frame["name"] = "Ann"


def change_polars(frame):
    frame.replace_column(frame.get_column_index("illness"), pl.Series("illness", ["flu"] * 8))
    frame.insert_column(0, pl.Series("name", ["Ann"] * 8))
    frame.extend(frame.clone())


@pytest.mark.parametrize("shuffle", ["auto", False])
@pytest.mark.parametrize("when", ["before the table was asked for", "afterwards"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow over NumPy"])
def test_a_release_owns_what_it_verified(tmp_path, kind, when, shuffle):
    nights = np.array(PEOPLE["nights"])
    columns = PEOPLE | {"nights": nights}
    frame = FRAMES[kind](columns) if kind in FRAMES else pa.table(columns)
    release = released(frame, shuffle=shuffle)
    expected = released(shuffle=shuffle).arrow.to_pylist()
    if when == "afterwards":
        assert MemoryTable(release.table).frame.rows(named=True) == expected
    nights[:] = 0
    {"pandas": change_pandas, "polars": change_polars}.get(kind, lambda _: None)(frame)
    assert MemoryTable(release.table).frame.rows(named=True) == expected
    release.write(tmp_path / "release.parquet")
    assert pq.read_table(tmp_path / "release.parquet").to_pylist() == expected


# -- nothing else is in the files ------------------------------------------------------------------------


def odd_ones(kind):
    """30 records in fives that are alike, and one of its own that is withheld; `note` is the column."""
    ages = [20 + i // 5 for i in range(30)] + [99]
    texts = [f"usual {i % 3}" for i in range(30)] + ["SECRET"]
    days = [datetime.date(2020, 1, 1 + i % 3) for i in range(30)] + [datetime.date(2033, 3, 3)]
    note = {
        "text": pa.array(texts).dictionary_encode(),
        "ordered": pa.DictionaryArray.from_arrays(
            pa.array([i % 3 for i in range(30)] + [3]),
            ["usual 0", "usual 1", "usual 2", "SECRET"],
            ordered=True,
        ),
        "number": pa.array([i % 3 for i in range(30)] + [777_777]).dictionary_encode(),
        "date": pa.array(days).dictionary_encode(),
        "bytes": pa.array([text.encode() for text in texts]).dictionary_encode(),
        "list": pa.ListArray.from_arrays(list(range(32)), pa.array(texts).dictionary_encode()),
        "struct": pa.StructArray.from_arrays([pa.array(texts).dictionary_encode()], ["a"]),
    }[kind]
    return pa.table({"age": ages, "note": note})


ODD = ("SECRET", 777_777, datetime.date(2033, 3, 3), b"SECRET", {"a": "SECRET"}, ["SECRET"])


def without_the_odd_one(table, **changes):
    asked = {"quasi_identifiers": {"age": ko.flat()}, "insensitive": ["note"], "algorithm": "full-domain"}
    return ko.anonymize(table, k=5, suppression=0.1, suppressed="drop", **asked | changes)


def entries(values):
    """Everything that the buffers of a column hold, used or not."""
    if pa.types.is_dictionary(values.type):
        return [entry for chunk in values.chunks for entry in chunk.dictionary.to_pylist()]
    return values.to_pylist()


def assert_nothing_odd(content):
    days = (datetime.date(2033, 3, 3) - datetime.date(1970, 1, 1)).days
    for secret in (b"SECRET", (777_777).to_bytes(4, "little"), days.to_bytes(4, "little")):
        assert secret not in content


@pytest.mark.parametrize("shuffle", ["auto", False])
@pytest.mark.parametrize("kind", ["text", "ordered", "number", "date", "bytes", "list", "struct"])
def test_no_buffer_has_values_of_records_left_out(tmp_path, kind, shuffle):
    release = without_the_odd_one(odd_ones(kind), shuffle=shuffle)
    assert release.arrow.num_rows == 30
    for table in (release.table, release.arrow):
        assert not [entry for entry in entries(table["note"]) if entry in ODD]
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        assert_nothing_odd(sink.getvalue().to_pybytes())
    release.write(tmp_path / "release.feather")
    release.write(tmp_path / "release.parquet")
    feather_table = feather.read_table(tmp_path / "release.feather")
    assert not [entry for entry in entries(feather_table["note"]) if entry in ODD]
    assert_nothing_odd((tmp_path / "release.feather").read_bytes())
    with pq.ParquetFile(tmp_path / "release.parquet") as file:
        group = file.metadata.row_group(0)
        for place in range(group.num_columns):
            found = group.column(place).statistics
            assert found is None or not found.has_min_max or found.max not in ODD
        assert not [entry for entry in entries(file.read()["note"]) if entry in ODD]
    pq.write_table(
        pq.read_table(tmp_path / "release.parquet"), tmp_path / "plain.parquet", compression="none"
    )
    assert_nothing_odd((tmp_path / "plain.parquet").read_bytes())


def categories(frame):
    column = frame["note"]
    if isinstance(frame, pl.DataFrame):
        return (
            column.dtype.categories.to_list()
            if isinstance(column.dtype, pl.Enum)
            else column.unique().to_list()
        )
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    return column.cat.categories.tolist() if kind is None else entries(pa.chunked_array([pa.array(column)]))


@pytest.mark.parametrize("shuffle", ["auto", False])
@pytest.mark.parametrize("kind", ["pandas", "pandas Arrow", "polars", "polars enum"])
def test_no_category_is_that_of_a_record_left_out(kind, shuffle):
    table = odd_ones("text")
    if kind == "pandas Arrow":
        frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    elif kind == "pandas":
        frame = table.to_pandas()
    else:
        frame = pl.from_arrow(table)
    if kind == "polars enum":
        frame = frame.cast({"note": pl.Enum(["SECRET", "usual 0", "usual 1", "usual 2"])})
    release = without_the_odd_one(frame, shuffle=shuffle)
    assert sorted(categories(release.table)) == ["usual 0", "usual 1", "usual 2"]
    assert sorted(release.arrow["note"].chunk(0).dictionary.to_pylist()) == ["usual 0", "usual 1", "usual 2"]


@pytest.mark.parametrize("seed", range(5))
def test_a_sample_has_nothing_of_the_records_that_were_not_drawn(tmp_path, seed):
    texts = [f"text {i}" for i in range(200)]
    table = pa.table({"age": [i % 2 for i in range(200)], "note": pa.array(texts).dictionary_encode()})
    release = without_the_odd_one(table, sample=0.1, seed=seed)
    assert set(entries(release.table["note"])) == set(release.table["note"].to_pylist())
    frame = without_the_odd_one(table.to_pandas(), sample=0.1, seed=seed).table
    assert len(frame["note"].cat.categories) == len(frame) == 20


# -- formats that do not distinguish everything ----------------------------------------------------------

MOMENTS = [datetime.datetime(2020, 10, 25, hour, 30, tzinfo=datetime.timezone.utc) for hour in (0, 1)]
LONG = [Decimal("12345678901234567890"), Decimal("12345678901234567891")]
UNLIKE = {  # values that are two, and the formats that would make them one: refused, or held as text
    "infinities": (pa.array([float("inf"), float("-inf")]), {".jsonl": "refused", ".xlsx": "held"}),
    "long decimals": (pa.array(LONG), {".xlsx": "held", ".sav": "held", ".dta": "held", ".jsonl": "held"}),
    "long numbers": (pa.array([2**53, 2**53 + 1]), {".xlsx": "held", ".sav": "held", ".dta": "held"}),
    "the 17th digit": (
        pa.array([0.30000000000000004, 0.3]),
        {".xlsx": "held", ".sav": "held", ".csv": "held"},
    ),
    "zones": (
        pa.array(MOMENTS, pa.timestamp("us", "Europe/Berlin")),
        {".xlsx": "held", ".sav": "held", ".dta": "held", ".csv": "held", ".jsonl": "held"},
    ),
    "spaces": (pa.array(["a", "a "]), {".sav": "refused", ".dta": "held", ".xlsx": "held", ".csv": "held"}),
    "empty and missing": (pa.array(["", None]), {".sav": "refused", ".dta": "refused", ".xlsx": "held"}),
    "old dates": (pa.array([datetime.date(1850, 1, 1), datetime.date(1950, 1, 1)]), {".xlsx": "held"}),
}
CASES = [(values, ending, what) for values, (_, of) in UNLIKE.items() for ending, what in of.items()]


@pytest.mark.parametrize(("values", "ending", "what"), CASES)
def test_two_values_stay_two_or_are_refused(tmp_path, values, ending, what):
    two = UNLIKE[values][0]
    table = pa.table({"age": [1, 1, 1, 1], "value": pa.concat_arrays([two, two])})
    release = ko.anonymize(table, quasi_identifiers=["age"], insensitive=["value"], k=2)
    path = tmp_path / f"release{ending}"
    if what == "refused":
        with pytest.raises(UnsupportedError, match=r"'value'.*Parquet"):
            release.write(path)
        assert not list(tmp_path.glob("*"))
    else:
        release.write(path)
        assert MemoryTable(read_table(path).table).column("value").counts.tolist() == [2, 2]
