"""What Polars panics about is written otherwise, or refused before it does."""

import traceback
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest

from kohort.cli.app import main
from kohort.errors import UnsupportedError
from kohort.io.formats.fitting import by_polars
from kohort.io.tables import read_table, write_table

TEXT_FORMATS = [".csv", ".jsonl", ".xlsx", ".sav", ".dta"]
DISTANT = {
    "after": pa.array([None, 10**8], pa.date32()),
    "before": pa.array([-(10**8), 0], pa.date32()),
    "moment": pa.array([10**18], pa.timestamp("us")),
    "zoned": pa.array([10**18], pa.timestamp("us", "Europe/Madrid")),
    "encoded": pa.array([10**8], pa.date32()).dictionary_encode(),
    "milliseconds": pa.array([10**8 * 86_400_000], pa.date64()),
}


@pytest.mark.parametrize("suffix", TEXT_FORMATS)
@pytest.mark.parametrize("name", DISTANT)
def test_years_after_9999_are_refused_by_the_name_of_their_column(tmp_path, capfd, suffix, name):
    with pytest.raises(UnsupportedError, match=f"years 1 to 9999, as in '{name}'. Correct them"):
        write_table(pa.table({name: DISTANT[name]}), tmp_path / f"t{suffix}")
    assert capfd.readouterr().err == ""  # a panic would print a stack


def test_parquet_and_arrow_keep_any_year(tmp_path):
    for suffix in (".parquet", ".arrow"):
        table = pa.table({"after": DISTANT["after"]})
        write_table(table, tmp_path / f"t{suffix}")
        assert read_table(tmp_path / f"t{suffix}").table.equals(table)


@pytest.mark.parametrize("suffix", TEXT_FORMATS)
def test_the_first_and_the_last_day_are_written(tmp_path, suffix):
    table = pa.table({"day": pa.array([-719_162, 2_932_896], pa.date32())})
    if suffix in (".sav", ".dta"):
        table = table.slice(1)
    write_table(table, tmp_path / f"t{suffix}")
    last = read_table(tmp_path / f"t{suffix}").table["day"][-1].as_py()
    assert str(last).removesuffix(" 00:00:00") == "9999-12-31"  # beside a text, Excel's days are times


@pytest.mark.parametrize("suffix", [*TEXT_FORMATS, ".parquet"])
def test_decimals_of_any_length_are_written(tmp_path, capfd, suffix):
    values = [Decimal("1.50"), Decimal("-12345678901234567890123456789012345678901234.25"), None]
    if suffix == ".xlsx":  # numbers of Excel's have 15 digits
        values = values[:1]
    table = pa.table({"x": pa.array(values, pa.decimal256(60, 2)), "y": [1] * len(values)})
    write_table(table, tmp_path / f"t{suffix}")
    read = read_table(tmp_path / f"t{suffix}").table["x"].to_pylist()
    assert [None if value is None else Decimal(value) for value in read] == values
    assert "panicked" not in capfd.readouterr().err


def test_long_decimals_in_lists_are_refused(tmp_path):
    table = pa.table({"x": pa.array([[Decimal("1.5")]], pa.list_(pa.decimal256(50, 2)))})
    with pytest.raises(UnsupportedError) as caught:
        write_table(table, tmp_path / "t.jsonl")
    assert "PanicException" not in "".join(traceback.format_exception(caught.value))


def test_any_other_panic_is_an_error_of_ours():
    refused = pytest.raises(UnsupportedError, match="Writing a file failed: Polars cannot cope")
    with refused, by_polars("Writing a file"):
        raise pl.exceptions.PanicException("SECRET")


def test_a_command_ends_with_an_error_even_so(tmp_path, monkeypatch, capsys):
    def panic(*_, **__):
        raise pl.exceptions.PanicException("SECRET")

    monkeypatch.setattr("kohort.io.data_files.read_table", panic)
    (tmp_path / "t.csv").write_text("a\n1\n")
    monkeypatch.setattr("sys.argv", ["kohort", "profile", str(tmp_path / "t.csv")])
    monkeypatch.delenv("KOHORT_DEBUG", raising=False)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    said = capsys.readouterr().err
    assert "a bug in Kohort (PanicException). Nothing was written." in said
    assert "SECRET" not in said
