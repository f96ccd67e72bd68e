"""Made-up hospital records look like hospital records, and are the same for a seed."""

import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kohort.datasets import generate_admissions, generate_hospital
from kohort.errors import InputError

TYPES = {
    "patient_id": pa.string(),
    "name": pa.string(),
    "sex": pa.string(),
    "age": pa.int64(),
    "postcode": pa.string(),
    "admitted": pa.date32(),
    "insurance": pa.string(),
    "occupation": pa.string(),
    "diagnosis": pa.string(),
    "length_of_stay": pa.int64(),
    "procedures": pa.list_(pa.string()),
}


@pytest.fixture(scope="module")
def hospital():
    return generate_hospital(50_000, seed=7)


def of(table, diagnosis):
    return table.filter(pc.equal(table["diagnosis"], diagnosis))


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_any_size(n):
    table = generate_hospital(n)
    assert table.num_rows == n
    assert dict(zip(table.schema.names, table.schema.types)) == TYPES


def test_no_negative_size():
    with pytest.raises(InputError, match="0 or more"):
        generate_hospital(-1)


def test_same_seed_same_records():
    assert generate_hospital(500, seed=3).equals(generate_hospital(500, seed=3))
    assert not generate_hospital(500, seed=3).equals(generate_hospital(500, seed=4))


def test_patients_have_a_number_each(hospital):
    assert pc.count_distinct(hospital["patient_id"]).as_py() == hospital.num_rows


def test_only_occupations_are_missing(hospital):
    nulls = {name: hospital[name].null_count / hospital.num_rows for name in hospital.column_names}
    assert nulls.pop("occupation") == pytest.approx(0.02, abs=0.005)
    assert not any(nulls.values())


def test_postcodes_are_five_digits_and_skewed(hospital):
    codes = hospital["postcode"]
    assert pc.all(pc.match_substring_regex(codes, "^[0-9]{5}$")).as_py()
    assert pc.any(pc.starts_with(codes, "0")).as_py()
    counts = np.sort(codes.value_counts().field("counts").to_numpy())[::-1]
    assert counts[:100].sum() > 0.4 * hospital.num_rows
    assert len(counts) > 1000


def test_ages_look_like_a_hospital(hospital):
    ages = hospital["age"].to_numpy()
    assert ages.min() == 0
    assert 90 < ages.max() <= 100
    assert np.mean(ages == 0) > np.mean(ages == 10)
    assert np.mean(ages >= 60) > 0.4


def test_admissions_cover_three_years(hospital):
    years = pc.year(hospital["admitted"]).value_counts().to_pylist()
    assert {entry["values"] for entry in years} == {2022, 2023, 2024}
    assert min(entry["counts"] for entry in years) > 0.3 * hospital.num_rows
    weekend = pc.mean(pc.cast(pc.greater_equal(pc.day_of_week(hospital["admitted"]), 5), pa.int64()))
    assert weekend.as_py() < 0.25


def test_diagnoses_depend_on_age_and_sex(hospital):
    assert 38 <= pc.count_distinct(hospital["diagnosis"]).as_py() <= 45
    assert of(hospital, "childbirth")["sex"].unique().to_pylist() == ["female"]
    assert of(hospital, "prostate cancer")["sex"].unique().to_pylist() == ["male"]
    assert pc.max(of(hospital, "childbirth")["age"]).as_py() < 60
    assert pc.mean(of(hospital, "dementia")["age"]).as_py() > 70
    assert pc.max(of(hospital, "newborn jaundice")["age"]).as_py() < 4


def test_stays_depend_on_the_diagnosis(hospital):
    assert pc.min(hospital["length_of_stay"]).as_py() >= 1
    depression = pc.mean(of(hospital, "depression")["length_of_stay"]).as_py()
    assert depression > 4 * pc.mean(of(hospital, "tonsillitis")["length_of_stay"]).as_py()


def test_procedures_are_small_sets_that_fit_the_diagnosis(hospital):
    lengths = pc.list_value_length(hospital["procedures"]).to_numpy()
    assert (lengths.min(), lengths.max()) == (0, 8)
    lists = hospital["procedures"].slice(0, 2000).to_pylist()
    assert all(len(set(items)) == len(items) for items in lists)
    assert pc.count_distinct(pc.list_flatten(hospital["procedures"])).as_py() == 120
    hips = pc.list_flatten(of(hospital, "broken hip")["procedures"])
    assert pc.mean(pc.cast(pc.ends_with(hips, " hip"), pa.int64())).as_py() > 0.6


def test_names_follow_the_sex(hospital):
    first = {
        sex: {
            name.split()[0]
            for name in hospital.filter(pc.equal(hospital["sex"], sex))["name"].unique().to_pylist()
        }
        for sex in ("female", "male")
    }
    assert not first["female"] & first["male"]


def test_two_hundred_thousand_records_take_seconds():
    start = time.perf_counter()
    generate_hospital(200_000)
    assert time.perf_counter() - start < 10


def test_admissions_are_one_to_eight_per_patient_and_the_same_for_a_seed():
    stays = generate_admissions(300, seed=1)
    assert stays.equals(generate_admissions(300, seed=1))
    per_patient = stays.group_by("patient").aggregate([([], "count_all"), ("sex", "count_distinct")])
    assert per_patient.num_rows == 300
    assert {min(per_patient["count_all"].to_pylist()), max(per_patient["count_all"].to_pylist())} == {1, 8}
    assert set(per_patient["sex_count_distinct"].to_pylist()) == {1}
    assert generate_admissions(0).num_rows == 0
