"""Roles settled for the whole table: what others know, keys, twins, and what many columns cost."""

import json

import numpy as np
import pyarrow as pa
import pytest

from kohort.profiling.keys import DOZEN
from kohort.profiling.profile import profile
from kohort.profiling.uniqueness import _loss_of_columns, contributions

RNG = np.random.default_rng(5)
N = 600


def drawn(values, n=N):
    return RNG.integers(0, values, n)


KNOWN = {"age": 18 + drawn(60), "sex": drawn(2), "city": [f"town {i}" for i in drawn(20)]}


def found(columns):
    return {column.name: column for column in profile(pa.table(columns)).columns}


def roles(columns):
    return {name: column.role for name, column in found(columns).items()}


# -- what others know ------------------------------------------------------------------------------


def test_what_is_known_by_name_comes_first_and_doubt_ends_at_a_dozen():
    doubtful = {f"x{i}": [f"v{v}" for v in drawn(i + 2)] for i in range(20)}
    columns = found(KNOWN | doubtful)
    quasi = [name for name, column in columns.items() if column.role == "quasi-identifier"]
    assert len(quasi) == DOZEN and set(KNOWN) <= set(quasi)
    assert {columns[name].known for name in KNOWN} == {"likely"}
    assert columns["x19"].role == "quasi-identifier" and columns["x19"].known == "possible"
    assert columns["x0"].role == "sensitive"
    assert "fewer people than the 12 quasi-identifiers" in columns["x0"].reason


def test_all_that_is_known_by_name_stays_a_quasi_identifier():
    named = {f"city {i}": [f"v{v}" for v in drawn(4)] for i in range(15)}
    assert set(roles(named).values()) == {"quasi-identifier"}


def test_exact_numbers_are_seldom_known_unless_nothing_else_is():
    amounts = RNG.normal(size=N)
    assert found(KNOWN | {"x": amounts})["x"].role == "sensitive"
    assert "seldom know exactly" in found(KNOWN | {"x": amounts})["x"].reason
    assert found({"x": amounts})["x"].role == "quasi-identifier"


def test_numbers_that_look_like_codes_of_equal_length_are_no_amounts():
    assert found(KNOWN | {"x": 1000 + drawn(300)})["x"].role == "quasi-identifier"


def test_answers_of_a_questionnaire():
    answers = {f"x{i}": 1 + drawn(7) for i in range(3)}
    assert {found(KNOWN | answers)[name].role for name in answers} == {"sensitive"}
    two = dict(list(answers.items())[:2])
    assert {found(KNOWN | two)[name].role for name in two} == {"quasi-identifier"}


def test_labels_of_a_file_are_names_too():
    from kohort.data.codebook import Codebook, with_codebook

    table = pa.table({"v1": drawn(5), "v2": drawn(5)})
    fields = [
        with_codebook(table.schema.field("v1"), Codebook(label="Marital status")),
        with_codebook(table.schema.field("v2"), Codebook(label="Satisfaction with life")),
    ]
    columns = profile(table.cast(pa.schema(fields))).columns
    assert [column.role for column in columns] == ["quasi-identifier", "sensitive"]


# -- columns that tell others ----------------------------------------------------------------------


def test_a_column_that_says_the_same_is_dropped():
    columns = found(KNOWN | {"x": np.log(KNOWN["age"])})
    assert columns["x"].role == "identifier"
    assert "says the same as 'age'" in columns["x"].reason


def test_a_column_that_tells_a_quasi_identifier_is_one():
    region = [f"region {town[-1]}" for town in KNOWN["city"]]  # towns of one region may differ
    diagnosis = [f"{town}, {i}" for town, i in zip(KNOWN["city"], drawn(2))]
    columns = found(KNOWN | {"diagnosis": diagnosis, "score": region})
    assert columns["diagnosis"].role == "quasi-identifier"
    assert "tell 'city'" in columns["diagnosis"].reason
    assert columns["score"].role == "sensitive"


def test_values_that_hardly_anybody_shares_tell_nothing_by_chance():
    assert found(KNOWN | {"income": RNG.normal(size=N)})["income"].role == "sensitive"


# -- keys ------------------------------------------------------------------------------------------

PEOPLE = np.arange(N) // 3
SEX = RNG.integers(0, 2, N)[PEOPLE]


@pytest.mark.parametrize("name", ["id", "zper", "patient_id"])
def test_a_repeated_key_whose_records_agree_in_sex_is_a_person(name):
    columns = found({name: 1000 + PEOPLE, "sex": SEX, "age": drawn(60)})
    assert columns[name].role == "person"
    assert "200 people have 3.0 records on average and 3 at most" in columns[name].reason


def test_a_repeated_key_whose_records_differ_in_sex_is_no_person():
    assert found({"zper": 1000 + PEOPLE, "sex": drawn(2), "age": drawn(60)})["zper"].role != "person"


def test_without_sex_or_birth_the_name_must_say_it():
    assert found({"customer_no": PEOPLE, "age": drawn(60)})["customer_no"].role == "person"
    assert found({"zper": PEOPLE, "age": drawn(60)})["zper"].role != "person"


def test_unique_ids_and_incomplete_ids_are_identifiers():
    assert found({"patient_id": np.arange(N), "sex": SEX})["patient_id"].role == "identifier"
    some = pa.array(PEOPLE, mask=PEOPLE == 7)
    assert found({"patient_id": some, "sex": SEX})["patient_id"].role == "identifier"


def test_a_persons_name_is_no_key():
    names = [f"Ann {i}" for i in PEOPLE]
    assert found({"name": names, "sex": SEX})["name"].role == "identifier"


def test_a_household_and_its_people():
    columns = found({"hh_id": PEOPLE // 2, "pers_id": PEOPLE, "sex": SEX, "age": drawn(60)})
    assert (columns["hh_id"].role, columns["pers_id"].role) == ("household", "person")
    assert "100 households have 6.0 records on average" in columns["hh_id"].reason
    assert found({"household": drawn(6), "sex": SEX})["household"].role == "quasi-identifier"


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("fnlwgt", 10_000 + drawn(5000), "weight"),
        ("design_weight", RNG.lognormal(0, 0.3, N), "weight"),
        ("weight", RNG.lognormal(0, 0.3, N), "weight"),
        ("weight", 40.5 + drawn(80), "quasi-identifier"),  # of a body
        ("birth_weight", 0.5 + drawn(5), "quasi-identifier"),
    ],
)
def test_weights(name, values, role):
    assert found({name: values, "sex": SEX})[name].role == role


# -- what columns add and cost ---------------------------------------------------------------------


def test_contributions_sum_to_the_unique_share():
    columns = {"a": drawn(30), "b": drawn(30), "same": np.zeros(N, dtype=np.int64)}
    added = contributions(columns, N, seed=0)
    _, counts = np.unique(columns["a"] * 30 + columns["b"], return_counts=True)
    assert sum(added.values()) == pytest.approx((counts == 1).sum() / N)
    assert added["same"] == 0.0
    assert added["a"] == pytest.approx(added["b"], rel=0.5)
    assert contributions({}, N, seed=0) == {}


def test_a_warning_above_a_dozen_with_what_a_column_saves():
    named = {f"city {i}": [f"v{v}" for v in drawn(4)] for i in range(13)}
    table = pa.table(named | {"age": drawn(60)})
    savings = profile(table).savings
    assert len(savings.without) == 5
    assert all(saving.loss <= savings.loss + 0.05 for saving in savings.without)
    sentence = savings.sentence(14)
    assert (
        sentence.startswith("14 quasi-identifiers are many") and repr(savings.without[0].column) in sentence
    )
    json.dumps(profile(table).to_dict())
    assert profile(table.select(table.column_names[2:])).savings is None


def test_estimated_loss_by_hand():
    """Four records in two columns: halved once at k = 2, each half keeps one column and loses the other."""
    places = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert _loss_of_columns(places, 2).tolist() == [0.0, 1.0]
    assert _loss_of_columns(places, 3).tolist() == [1.0, 1.0]
    assert _loss_of_columns(places, 1).tolist() == [0.0, 0.0]
