"""Profiles: suggested roles and hierarchies, and uniqueness counted by definition."""

import json
from collections import Counter
from datetime import date, timedelta
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.data.column import code_column
from kohort.data.hierarchies.code_systems import words_of
from kohort.data.hierarchies.intervals import Intervals
from kohort.datasets import generate_hospital, load_adult
from kohort.errors import InputError
from kohort.profiling.profile import profile
from kohort.profiling.roles import NO_MEANING, meaning_of, suggest_hierarchy
from kohort.profiling.uniqueness import class_sizes


def roles(found):
    return {column.name: column.role for column in found.columns}


def column_of(name, values):
    """The profile of a table of one column."""
    return profile(pa.table({name: values})).columns[0]


@pytest.fixture(scope="module")
def adult():
    return profile(load_adult())


@pytest.fixture(scope="module")
def hospital():
    return profile(generate_hospital(5000))


# -- whole tables ----------------------------------------------------------------------------------


def test_adult_roles(adult):
    assert adult.records == 45_222
    assert roles(adult) == {
        "age": "quasi-identifier",
        "workclass": "quasi-identifier",
        "fnlwgt": "weight",
        "education": "quasi-identifier",
        "education-num": "identifier",  # it says the same as education
        "marital-status": "quasi-identifier",
        "occupation": "quasi-identifier",
        "relationship": "quasi-identifier",
        "race": "quasi-identifier",
        "sex": "quasi-identifier",
        "capital-gain": "sensitive",
        "capital-loss": "sensitive",
        "hours-per-week": "quasi-identifier",
        "native-country": "quasi-identifier",
        "salary-class": "sensitive",
        "split": "insensitive",
    }


def test_adult_hierarchies_and_warnings(adult):
    column = {found.name: found for found in adult.columns}
    assert column["age"].hierarchy == {"intervals": [5, 10, 20]}
    assert column["native-country"].hierarchy == "auto"
    assert column["sex"].hierarchy is None
    assert column["salary-class"].hierarchy is None
    assert "says the same as 'education'" in column["education-num"].reason
    assert "singles" not in column["age"].reason


def test_hospital_roles_and_hierarchies(hospital):
    found = {column.name: (column.role, column.hierarchy) for column in hospital.columns}
    assert found == {
        "patient_id": ("identifier", None),
        "name": ("identifier", None),
        "sex": ("quasi-identifier", None),
        "age": ("quasi-identifier", {"intervals": [5, 10, 20]}),
        "postcode": ("quasi-identifier", {"mask": "right"}),
        "admitted": ("quasi-identifier", {"date": ["month", "quarter", "year"]}),
        "insurance": ("quasi-identifier", None),
        "occupation": ("quasi-identifier", "auto"),
        "diagnosis": ("sensitive", None),
        "length_of_stay": ("sensitive", None),
        "procedures": ("items", None),
    }


def test_text_is_seen_as_what_it_holds(hospital):
    table = generate_hospital(5000)
    as_text = pa.table({name: table[name].cast(pa.string()) for name in table.column_names[:-1]})
    coded = pa.table({name: as_text[name].dictionary_encode() for name in as_text.column_names})
    for other in (profile(as_text), profile(coded)):
        for ours, theirs in zip(hospital.columns, other.columns):
            assert (ours.kind, ours.distinct, ours.nulls) == (theirs.kind, theirs.distinct, theirs.nulls)
            assert (ours.role, ours.hierarchy) == (theirs.role, theirs.hierarchy)


def test_plain_data_shows_no_values():
    table = pa.table({"city": ["Xanadu"] * 30 + ["Utopia"] * 10, "age": [4711] * 40, "sex": ["f"] * 40})
    found = profile(table)
    hidden = json.dumps(found.to_dict())
    for value in ("Xanadu", "Utopia", "4711"):
        assert value not in hidden
        assert value not in repr(found)
    assert found.to_dict(show_values=True)["columns"][0]["most_common"] == "Xanadu"


def test_an_empty_table():
    found = profile(pa.table({"age": pa.array([], pa.int64()), "name": pa.array([], pa.string())}))
    assert (found.records, found.classes, found.highest_risk, found.average_risk) == (0, 0, 0.0, 0.0)
    json.dumps(found.to_dict())
    assert profile(pa.table({})).columns == ()


def test_options_are_checked():
    with pytest.raises(InputError, match="must be a whole number of at least 1"):
        profile(pa.table({"age": [1]}), max_combination=0)


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "name",
        "Surname",
        "first_name",
        "lastName",
        "PatientName",
        "SSN",
        "mrn",
        "phone_number",
        "mobile2",
        "E-Mail",
        "email_address",
        "homeAddress",
        "IPAddress",
        "url",
        "account number",
        "driver's-license",
        "licensePlate",
        "device_id",
        "fingerprint",
        "photo",
        "Vorname",
        "Straße",
        "Telefonnummer",
        "prénom",
        "courriel",
        "apellidos",
        "teléfono",
        "dirección",
    ],
)
def test_identifiers_by_name(name):
    meaning = meaning_of(name)
    assert (meaning.role, meaning.certain) == ("identifier", True)


@pytest.mark.parametrize(
    "name",
    [
        "age",
        "patient_age",
        "ageGroup",
        "sex",
        "ZIP",
        "zip_code",
        "PostCode",
        "address_city",
        "date of birth",
        "dateOfBirth",
        "diagnosis_date",
        "marital-status",
        "year",
        "PLZ",
        "Geburtsdatum",
        "Alter",
        "Staatsangehörigkeit",
        "code_postal",
        "date de naissance",
        "código_postal",
        "fecha_nacimiento",
        "edad",
    ],
)
def test_quasi_identifiers_by_name(name):
    assert meaning_of(name).role == "quasi-identifier"


@pytest.mark.parametrize(
    "name", ["diagnosis", "drug_name", "Diagnosen", "maladie", "salaire", "enfermedad", "income_last_year"]
)
def test_sensitive_by_name(name):
    assert meaning_of(name).role == "sensitive"


@pytest.mark.parametrize(
    "name", ["stage", "page", "message", "essex", "zipper", "recipient", "curl", "tempered", "x1", "", "年龄"]
)
def test_words_inside_other_words_say_nothing(name):
    assert meaning_of(name) == NO_MEANING


def test_words_of_a_name():
    assert words_of("HTTPServer_nameÄ-2x") == ["http", "server", "name", "a", "2", "x"]


@pytest.mark.parametrize(("distinct", "role"), [(40, "identifier"), (3, "quasi-identifier")])
def test_an_id_identifies_only_where_it_is_mostly_distinct(distinct, role):
    assert column_of("unit_id", [f"u{i % distinct}" for i in range(40)]).role == role


def test_yes_or_no_is_no_identifier():
    assert column_of("email", ["yes", "no"] * 20).role == "quasi-identifier"
    assert column_of("photo", [True, False] * 20).role == "quasi-identifier"


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "about"),
    [
        ([f"someone{i}@example.org" for i in range(30)], "e-mail"),
        ([f"+41 44 {i:03} 12 34" for i in range(30)], "phone"),
        ([f"https://example.org/{i}" for i in range(30)], "web addresses"),
        ([f"10.0.0.{i}" for i in range(30)], "IP"),
        ([f"{100 + i}-12-3456" for i in range(30)], "social security"),
        ([f"CH93 0076 2011 6238 {i:04} 7" for i in range(30)], "IBAN"),
        ([f"Case {i}: came in with a cough, and went home the day after." for i in range(30)], "free text"),
        ([f"thing{i}" for i in range(30)], "Nearly every record"),
        (list(range(30)), "Nearly every record"),
    ],
)
def test_identifiers_by_value(values, about):
    found = column_of("x", values)
    assert found.role == "identifier"
    assert about in found.reason


def test_values_that_identify_win_over_the_name():
    assert column_of("city", [f"someone{i}@example.org" for i in range(30)]).role == "identifier"


def test_a_few_records_are_no_evidence():
    assert column_of("x", ["a", "b", "c"]).role == "quasi-identifier"


def test_unique_measurements_are_no_identifiers():
    found = column_of("x", [i / 7 for i in range(50)])
    assert found.role == "quasi-identifier"
    assert "singles people out: 100%" in found.reason


def test_all_null_and_constant_columns():
    empty = column_of("age", pa.nulls(30))
    assert (empty.role, empty.reason, empty.nulls, empty.distinct) == ("insensitive", "It is empty.", 30, 0)
    assert column_of("age", [30] * 30).role == "insensitive"
    assert column_of("diagnosis", ["flu"] * 30).role == "sensitive"
    assert column_of("age", [30] * 29 + [None]).role == "quasi-identifier"  # some have it, one has not


def test_nan_is_missing():
    found = column_of("height", [1.5, float("nan"), None, 1.5])
    assert (found.nulls, found.distinct, found.most_common_share) == (2, 1, 0.5)


def test_a_technical_name_is_not_trusted_with_many_values():
    assert column_of("version", ["a", "b"] * 20).role == "insensitive"
    assert column_of("version", [i // 2 for i in range(80)]).role == "quasi-identifier"


def test_lists_structures_and_bytes():
    table = pa.table(
        {
            "bought": [["a", "b"], ["a"], None],
            "inner": [{"x": 1}, {"x": 2}, None],
            "raw": [b"1", b"2", None],
            "lists": [[{"x": 1}], [], None],
        }
    )
    found = profile(table)
    assert [column.role for column in found.columns] == ["items", "identifier", "identifier", "identifier"]
    assert [column.nulls for column in found.columns] == [1, 1, 1, 1]
    assert (found.columns[0].distinct, found.columns[0].most_common) == (2, "a")


@pytest.mark.parametrize(
    ("name", "values", "hierarchy"),
    [
        ("age", list(range(17, 91)), {"intervals": [5, 10, 20]}),
        ("age", [str(a) for a in range(17, 91)], {"intervals": [5, 10, 20]}),
        ("height", [1.5 + i / 100 for i in range(50)], {"intervals": [0.05, 0.1, 0.2]}),
        ("weight", list(range(10)), {"intervals": [2]}),
        ("weight", [*range(100), 10**9], {"intervals": [5, 10, 20]}),
        ("zip", [f"{i:05}" for i in range(900, 990)], {"code": "us-zip"}),
        ("postcode", list(range(10_000, 10_090)), {"mask": "right"}),
        ("race", [1, 2, 3, 4, 5, 6] * 5, "flat"),  # codes, not amounts
        ("district", list(range(1, 30)), "auto"),
        ("region", [f"CH-{i:02}" for i in range(30)], {"mask": "right"}),
        ("city", [f"town {'x' * i}" for i in range(30)], "auto"),
        (
            "born",
            [date(2020, 1, 1) + timedelta(i) for i in range(30)],
            {"date": ["month", "quarter", "year"]},
        ),
        ("born", [f"2020-01-{i:02}" for i in range(1, 30)], {"date": ["month", "quarter", "year"]}),
        ("born", [f"{1930 + i}-07-01" for i in range(80)], {"date": ["month", "year", "decade"]}),
        (
            "seen",
            [f"2020-01-{i:02} 08:15" for i in range(1, 30)],
            {"date": ["day", "month", "quarter", "year"]},
        ),
        ("born", [f"{i:02}.01.2020" for i in range(1, 30)], "auto"),
        ("weight", [1.0, 2, 3, 4, 5, 6, float("inf")], "auto"),
        ("weight", [1e15 + i / 8 for i in range(8)], "auto"),
        ("sex", ["f", "m"] * 10, None),
    ],
)
def test_hierarchies_suit_the_values(name, values, hierarchy):
    found = column_of(name, values)
    assert found.role == "quasi-identifier"
    assert found.hierarchy == hierarchy


numbers = st.one_of(st.floats(allow_nan=False, width=64), st.integers(-(10**12), 10**12), st.floats(0, 1))


@given(st.lists(numbers, min_size=6, max_size=40, unique=True))
def test_suggested_intervals_can_be_built(values):
    column = code_column("weight", pa.array([float(value) for value in values]))
    hierarchy = suggest_hierarchy(column)
    assert hierarchy == "auto" or 1 <= len(hierarchy["intervals"]) <= 3
    if hierarchy != "auto":
        tree = Intervals(tuple(hierarchy["intervals"])).build(column)
        assert len(tree.leaves) == len(values)


# -- uniqueness ------------------------------------------------------------------------------------

small_tables = st.integers(1, 25).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "age": st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=n, max_size=n),
            "sex": st.lists(st.sampled_from(["f", "m", None]), min_size=n, max_size=n),
            "city": st.lists(st.sampled_from("abcd"), min_size=n, max_size=n),
            "year": st.lists(st.booleans(), min_size=n, max_size=n),
        }
    )
)


def unique_share(rows):
    return sum(count for count in Counter(rows).values() if count == 1) / len(rows)


@given(small_tables)
def test_uniqueness_and_risk_by_definition(columns):
    found = profile(pa.table(columns))
    rows = list(zip(*(columns[name] for name in found.quasi_identifiers))) or [()] * found.records
    sizes = Counter(rows)
    assert found.unique_share == pytest.approx(unique_share(rows))
    assert (found.classes, found.smallest_class) == (len(sizes), min(sizes.values()))
    assert found.highest_risk == pytest.approx(max(1 / sizes[row] for row in rows))
    assert found.average_risk == pytest.approx(sum(1 / sizes[row] for row in rows) / len(rows))


@given(small_tables)
def test_combinations_by_definition(columns):
    found = profile(pa.table(columns))
    listed = found.combinations.worst
    expected = {
        chosen: unique_share(list(zip(*(columns[name] for name in chosen))))
        for size in (1, 2, 3)
        for chosen in combinations(found.quasi_identifiers, size)
    }
    assert {c.columns: c.unique_share for c in listed} == pytest.approx(expected)
    assert [c.unique_share for c in listed] == sorted((c.unique_share for c in listed), reverse=True)
    assert found.combinations.counted == len(expected)
    assert not found.combinations.sampled


@given(small_tables)
def test_columns_by_definition(columns):
    found = profile(pa.table(columns))
    for column in found.columns:
        values = columns[column.name]
        counts = Counter(value for value in values if value is not None)
        assert (column.distinct, column.nulls) == (len(counts), values.count(None))
        assert column.unique_share == pytest.approx(list(counts.values()).count(1) / len(values))
        assert column.most_common_share == pytest.approx(max(counts.values(), default=0) / len(values))


def test_class_sizes_of_more_combinations_than_fit_in_an_integer():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 1000, 200) for _ in range(12)]
    columns = [np.concatenate([column, column[:50]]) for column in columns]
    expected = Counter(zip(*(column.tolist() for column in columns)))
    assert sorted(class_sizes(columns, 250)) == sorted(expected.values())


def test_many_columns_are_combined_within_bounds():
    rng = np.random.default_rng(0)
    table = pa.table({f"city {i}": rng.integers(0, i + 2, 300) for i in range(40)})
    found = profile(table).combinations
    assert found.counted <= 250
    assert len(found.worst) <= 30
    assert "city 39" in found.columns
    assert "city 0" not in found.columns
    assert {len(c.columns) for c in found.worst} == {1, 2, 3}


def test_large_tables_are_sampled_for_combinations_only():
    table = generate_hospital(3000)
    whole, sampled = profile(table), profile(table, sample=1000, seed=1)
    assert (sampled.combinations.sampled, sampled.combinations.records) == (True, 1000)
    assert sampled.unique_share == whole.unique_share
    assert sampled == profile(table, sample=1000, seed=1)
    assert sampled.combinations.worst[-1].unique_share >= whole.combinations.worst[-1].unique_share
