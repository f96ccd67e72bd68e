"""The built-in tables: their counts, types and readable values."""

import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kohort import datasets
from kohort.errors import InputError

HEALTH_NUMBERS = {
    "person",
    "year",
    "age",
    "education",
    "family_size",
    "income",
    "chronic_diseases",
    "doctor_visits",
    "hospital_admissions",
    "medical_spending",
}


@pytest.mark.parametrize(("split", "records"), [(None, 45_222), ("train", 30_162), ("test", 15_060)])
def test_adult_has_the_counts_of_the_papers(split, records):
    assert datasets.load_adult(split).shape == (records, 16)


def test_adult_has_whole_numbers_and_text_and_nothing_missing():
    table = datasets.load_adult()
    numbers = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
    for name, column in zip(table.column_names, table.columns):
        assert column.type == (pa.int64() if name in numbers else pa.string())
        assert column.null_count == 0


def test_adult_has_no_third_part():
    with pytest.raises(InputError, match="Did you mean 'train'"):
        datasets.load_adult("trian")


@pytest.mark.parametrize(("year", "records"), [(None, 20_190), (1, 5_638), (5, 1_714)])
def test_health_has_the_person_years_of_the_study(year, records):
    assert datasets.load_health(year).num_rows == records
    assert datasets.load_health(year, raw=True).shape == (records, 45)


def test_health_in_the_first_year_has_one_record_per_person():
    table = datasets.load_health(1)
    assert pc.count_distinct(table["person"]).as_py() == table.num_rows
    assert table.num_columns == 17


def test_health_is_readable():
    table = datasets.load_health()
    for name, column in zip(table.column_names, table.columns):
        assert column.type == (pa.int64() if name in HEALTH_NUMBERS else pa.string())
    assert set(table["health"].unique().to_pylist()) == {"excellent", "good", "fair", "poor"}
    assert set(table["race"].unique().to_pylist()) == {"black", "not black", "unknown"}
    assert table["education"].null_count == 4
    assert pc.min_max(table["age"]).as_py() == {"min": 0, "max": 64}


def test_health_says_what_the_raw_table_says():
    raw, table = datasets.load_health(raw=True), datasets.load_health()
    fair = pc.equal(table["health"], "fair")
    assert fair.equals(pc.equal(raw["hlthf"], 1))
    excellent = pc.sum(pc.equal(table["health"], "excellent")).as_py()
    assert excellent == raw.num_rows - sum(pc.sum(raw[c]).as_py() for c in ("hlthg", "hlthf", "hlthp"))
    below_60 = pc.sum(pc.equal(table["mental_health"], "below 60"))
    assert below_60 == pc.sum(pc.less(raw["mhi"], 60))
    unknown = pc.sum(pc.equal(table["race"], "unknown")).as_py()
    assert unknown == pc.sum(pc.and_(pc.greater(raw["black"], 0), pc.less(raw["black"], 1))).as_py()


def test_health_has_five_years():
    with pytest.raises(InputError, match="years 1 to 5"):
        datasets.load_health(6)


def test_importing_the_package_loads_nothing_heavy():
    program = "import sys, kohort.datasets; sys.exit(bool({'pyarrow', 'polars'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_package_offers_what_it_lists():
    assert dir(datasets) == datasets.__all__
    assert all(callable(getattr(datasets, name)) for name in datasets.__all__)
    with pytest.raises(AttributeError, match="load_nothing"):
        _ = datasets.load_nothing
