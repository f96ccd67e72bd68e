import json
from dataclasses import replace
from datetime import date, datetime, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kohort as ko
from by_definition.verification import classes
from frames import as_lists
from kohort.algorithms import Algorithm
from kohort.algorithms.mondrian.kernels import cut_table as kernel
from kohort.errors import InfeasibleError, InputError, InternalError, UnsupportedError
from kohort.job import choose as pipeline
from kohort.recoding.groups import Groups

PEOPLE = {
    "name": ["Ann", "Bob", "Cat", "Dan", "Eve", "Fay"],
    "age": [21, 22, 23, 41, 42, 43],
    "town": ["Bern", "Biel", "Bern", "Basel", "Basel", "Riehen"],
    "illness": ["flu", "cold", "flu", "cold", "flu", "cold"],
    "score": [1.5, None, 2.5, 3.5, 4.5, None],
}
TOWNS = ko.Hierarchy.from_paths(
    [("Bern", "BE", "*"), ("Biel", "BE", "*"), ("Basel", "BS", "*"), ("Riehen", "BS", "*")]
)
ASKED = {
    "quasi_identifiers": {"age": ko.intervals(10, 20), "town": TOWNS},
    "sensitive": ["illness"],
    "identifiers": ["name"],
    "insensitive": ["score"],
    "privacy": [ko.KAnonymity(3)],
    "shuffle": False,
}


def released(frame, **changes):
    return ko.anonymize(frame, **ASKED | {"shuffle": False} | changes)


def column_of(values, name="x", **options):
    """The published column of a table that has no other."""
    options = {"privacy": [ko.KAnonymity(2)], "quasi_identifiers": [name], "shuffle": False} | options
    return ko.anonymize(pa.table({name: values}), **options).table[name].to_pylist()


# -- the table that comes back ---------------------------------------------------------------------


def test_the_release_is_of_the_kind_that_came_in(native_frame):
    frame = native_frame(PEOPLE)
    table = released(frame).table
    assert type(table) is type(frame)
    assert as_lists(table) == {
        "age": ["[20, 30)"] * 3 + ["[40, 50)"] * 3,
        "town": ["BE"] * 3 + ["BS"] * 3,
        "illness": PEOPLE["illness"],
        "score": PEOPLE["score"],
    }


def test_the_original_is_left_alone(native_frame):
    frame = native_frame(PEOPLE)
    released(frame)
    assert as_lists(frame) == PEOPLE


def test_pandas_columns_keep_their_types_and_the_index_is_lost():
    untouched = pd.DataFrame(
        {
            "category": pd.Categorical(
                ["b", "a", None, "b", "a", "b"], categories=["b", "a", "unused"], ordered=True
            ),
            "nullable": pd.array([1, None, 3, 4, 5, 6], dtype="Int64"),
            "flag": pd.array([True, None, False, True, True, True], dtype="boolean"),
            "when": pd.date_range("2024-03-30 23:30", periods=6, freq="h", tz="Europe/Berlin"),
            "small": pd.array([1, 2, 3, 4, 5, 6], dtype="uint8"),
            "lists": [[1], [2, 3], [], None, [4], [5]],
            "period": pd.period_range("2024-01", periods=6, freq="M"),
        }
    )
    frame = pd.concat([pd.DataFrame(PEOPLE), untouched], axis=1).set_index("name", drop=False)
    frame.index.name = "id"
    table = released(frame, insensitive=["score", *untouched.columns]).table
    untouched["category"] = untouched["category"].cat.remove_unused_categories()  # it may be of other records
    pd.testing.assert_frame_equal(table[list(untouched.columns)], untouched)
    assert list(table.index) == list(range(6))
    assert table.index.name is None
    assert list(table.columns) == ["age", "town", "illness", "score", *untouched.columns]


def test_polars_columns_keep_their_types():
    untouched = {
        "category": pl.Series(["b", "a", None, "b", "a", "b"], dtype=pl.Categorical),
        "choice": pl.Series(["b", "a", None, "b", "a", "b"], dtype=pl.Enum(["a", "b"])),
        "when": pl.Series([datetime(2024, 3, 30, 23, tzinfo=timezone.utc)] * 6),
        "lists": pl.Series([[1], [2, 3], [], None, [4], [5]]),
        "struct": pl.Series([{"a": 1.0}, {"a": float("nan")}, None, {"a": 2.0}, {"a": 3.0}, {"a": 4.0}]),
        "time": pl.Series([None] * 6, dtype=pl.Time),
        "raw": pl.Series([b"\xff"] * 6),
    }
    frame = pl.DataFrame({**PEOPLE, **untouched})
    table = released(frame, insensitive=["score", *untouched]).table
    assert {name: table.schema[name] for name in untouched} == {
        name: s.dtype for name, s in untouched.items()
    }
    for name in untouched:
        assert table[name].to_list()[0] == frame[name].to_list()[0]
    assert released(frame.lazy(), insensitive=["score", *untouched]).table.equals(table)


def test_arrow_columns_keep_their_types_and_metadata():
    kept = {
        "category": pa.array(["b", "a", None, "b", "a", "b"]).dictionary_encode(),
        "tiny": pa.array([1, 2, 3, 4, 5, 6], pa.int8()),
        "when": pa.array([0, 1, 2, 3, 4, None], pa.timestamp("ns", "Asia/Tokyo")),
        "lists": pa.array([[1.0, float("nan")], [], None, [2.0], [3.0], [4.0]]),
        "view": pa.array(list("abcdef"), pa.string_view()),
        "id": pa.array([bytes([i]) * 16 for i in range(6)], pa.uuid()),
    }
    frame = pa.table({**PEOPLE, **kept})
    table = released(frame, insensitive=["score", *kept]).table
    assert {name: table.schema.field(name).type for name in kept} == {
        n: array.type for n, array in kept.items()
    }
    published = released(frame, insensitive=["score", *kept]).arrow
    assert published.column_names == table.column_names
    assert pa.types.is_dictionary(published.schema.field("age").type)


def test_published_columns_are_text_even_where_nothing_was_generalized(native_frame):
    frame = native_frame({"age": [1, 1, 2, 2]})
    table = ko.anonymize(frame, quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)], shuffle=False).table
    assert as_lists(table)["age"] == ["1", "1", "2", "2"]


def test_categorical_quasi_identifiers_are_coded_by_their_values():
    values = ["b", "a", None, "b", "a", None]
    for frame in (
        pd.DataFrame({"x": pd.Categorical(values, categories=["unused", "b", "a"])}),
        pl.DataFrame({"x": pl.Series(values, dtype=pl.Categorical)}),
        pa.table({"x": pa.array(values).dictionary_encode()}),
        pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0, 1, None] * 2, pa.uint8()), ["b", "a"])}),
    ):
        release = ko.anonymize(frame, quasi_identifiers=["x"], privacy=[ko.KAnonymity(2)], shuffle=False)
        assert as_lists(release.table)["x"] == values


# -- what cannot be read ---------------------------------------------------------------------------


def test_an_empty_table_has_nothing_to_anonymize(native_frame):
    with pytest.raises(InputError, match="no records"):
        ko.anonymize(native_frame({"age": []}), quasi_identifiers=["age"], privacy=[ko.KAnonymity(1)])


def test_column_names_that_are_used_twice_or_are_no_texts_are_refused():
    asked = {"quasi_identifiers": ["a"], "privacy": [ko.KAnonymity(1)], "others": "keep"}
    for frame in (pd.DataFrame([[1, 2]], columns=["a", "a"]), pa.table([[1], [2]], names=["a", "a"])):
        with pytest.raises(InputError, match="used more than once: 'a'"):
            ko.anonymize(frame, **asked)
    with pytest.raises(InputError, match="must be text"):
        ko.anonymize(pd.DataFrame({"a": [1], 0: [2]}), **asked)


@pytest.mark.parametrize("data", [{"age": [1]}, [1, 2], pd.Series([1]), None, 5])
def test_something_that_is_no_table_is_refused(data):
    with pytest.raises(InputError, match="pandas, Polars or PyArrow"):
        ko.anonymize(data, quasi_identifiers=["age"], privacy=[ko.KAnonymity(1)])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, "a"], dtype=object),
        pd.Series([2**70, 1], dtype=object),
        pd.Series([1j, 2j]),
        pd.Series([[1], [2]]),
        pd.Series(pd.period_range("2024", periods=2, freq="Y")),
    ],
)
def test_a_column_without_single_values_of_one_type_cannot_be_a_quasi_identifier(column):
    with pytest.raises(InputError, match="Column 'x'"):
        ko.anonymize(pd.DataFrame({"x": column}), quasi_identifiers=["x"], privacy=[ko.KAnonymity(2)])


def test_objects_of_polars_are_refused():
    frame = pl.DataFrame({"x": pl.Series([object(), object()], dtype=pl.Object)})
    with pytest.raises(InputError, match="Column 'x'"):
        ko.anonymize(frame, quasi_identifiers=["x"], privacy=[ko.KAnonymity(2)])


# -- roles -----------------------------------------------------------------------------------------


def test_a_column_without_a_role_is_an_error_that_names_it(native_frame):
    with pytest.raises(InputError, match=r"'score'.*others: keep"):
        released(native_frame(PEOPLE), insensitive=[])


@pytest.mark.parametrize("others, kept", [("keep", True), ("drop", False)])
def test_others_are_kept_or_dropped_where_that_is_said(native_frame, others, kept):
    table = released(native_frame(PEOPLE), insensitive=[], others=others).table
    assert ("score" in as_lists(table)) is kept


def test_an_unknown_column_is_answered_with_the_nearest_one(native_frame):
    for wrong in ({"quasi_identifiers": ["aeg"]}, {"insensitive": ["scroe"]}, {"identifiers": ["nam"]}):
        with pytest.raises(InputError, match=r"Did you mean '(age|score|name)'"):
            released(native_frame(PEOPLE), **wrong)


def test_a_column_has_one_role(native_frame):
    with pytest.raises(InputError, match="'age' has two roles"):
        released(native_frame(PEOPLE), sensitive=["illness", "age"])


def test_a_model_must_name_a_sensitive_column(native_frame):
    with pytest.raises(InputError, match="'score', which is not a sensitive column"):
        released(native_frame(PEOPLE), privacy=[ko.LDiversity("score", 2)])


# -- missing values --------------------------------------------------------------------------------


def test_a_missing_value_is_a_value_of_its_own(native_frame):
    frame = native_frame({"age": [21, 22, None, None]})
    release = ko.anonymize(frame, quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)], shuffle=False)
    assert as_lists(release.table)["age"] == ["[21, 22]", "[21, 22]", None, None]
    town = native_frame({"town": ["Bern", "Biel", None, None]})
    release = ko.anonymize(town, quasi_identifiers={"town": TOWNS}, privacy=[ko.KAnonymity(2)], shuffle=False)
    assert as_lists(release.table)["town"] == ["BE", "BE", None, None]


def test_missing_values_may_be_published_as_stars(native_frame):
    frame = native_frame({"age": [21, 22, None, None]})
    asked = {"quasi_identifiers": ["age"], "privacy": [ko.KAnonymity(2)]}
    assert as_lists(ko.anonymize(frame, nulls="star", **asked, shuffle=False).table)["age"][2:] == ["*", "*"]


def test_missing_values_may_be_refused(native_frame):
    frame = native_frame({"age": [21, 22, None, None]})
    with pytest.raises(InputError, match="'age' has 2 missing values"):
        ko.anonymize(frame, quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)], nulls="refuse")
    assert released(native_frame({**PEOPLE}), nulls="refuse")  # score, which has some, is not asked about


@pytest.mark.parametrize("labels", ["hierarchy", "tight"])
def test_a_column_of_missing_values_only_stays_one(native_frame, labels):
    frame = native_frame({"x": [None] * 4, "age": [1, 2, 3, 4]})
    release = ko.anonymize(
        frame, quasi_identifiers=["x", "age"], privacy=[ko.KAnonymity(2)], labels=labels, shuffle=False
    )
    assert as_lists(release.table) == {"x": [None] * 4, "age": ["[1, 2]"] * 2 + ["[3, 4]"] * 2}


def test_nan_is_a_missing_value():
    assert column_of([1.5, float("nan"), None, 2.5]) == ["[1.5, 2.5]", None, None, "[1.5, 2.5]"]


# -- hierarchies -----------------------------------------------------------------------------------


def test_values_missing_from_a_hierarchy_are_an_error_that_counts_them(native_frame):
    frame = native_frame({"town": ["Bern", "Biel", "Atlantis", "Atlantis"]})
    asked = {"quasi_identifiers": {"town": TOWNS}, "privacy": [ko.KAnonymity(2)]}
    with pytest.raises(
        InputError, match=r"'town'(.|\n)*1 value is missing(.|\n)*on_missing: suppress"
    ) as caught:
        ko.anonymize(frame, **asked, shuffle=False)
    assert "Atlantis" not in str(caught.value)
    release = ko.anonymize(frame, on_missing="suppress", **asked, shuffle=False)
    assert as_lists(release.table)["town"] == ["BE", "BE", "*", "*"]
    tight = ko.anonymize(frame, on_missing="suppress", labels="tight", **asked, shuffle=False)
    assert as_lists(tight.table)["town"][2:] == ["*", "*"]


def test_booleans_are_spelled_as_in_their_hierarchy(native_frame):
    frame = native_frame({"x": [True, True, False, False]})
    for true, false in (("True", "False"), ("TRUE", "FALSE"), ("true", "false")):
        hierarchy = ko.Hierarchy.from_paths([(true, "yes", "*"), (false, "no", "*")])
        release = ko.anonymize(
            frame, quasi_identifiers={"x": hierarchy}, privacy=[ko.KAnonymity(2)], shuffle=False
        )
        assert as_lists(release.table)["x"] == [true, true, false, false]


def test_numbers_without_a_hierarchy_are_any_interval_and_texts_are_value_or_star():
    assert column_of([5, 1, 9, 7]) == ["[1, 5]", "[1, 5]", "[7, 9]", "[7, 9]"]
    assert column_of(["a", "a", "b", "c"]) == ["a", "a", "*", "*"]
    assert column_of([date(2024, 1, 1), date(2024, 1, 2), date(2024, 5, 1), date(2024, 5, 1)]) == (
        ["[2024-01-01, 2024-01-02]"] * 2 + ["2024-05-01"] * 2
    )


def test_an_order_makes_intervals_of_texts():
    orders = {"x": ["low", "middle", "high", "highest"]}
    values = ["high", "low", "highest", "middle"]
    assert column_of(values, orders=orders) == ["[high, highest]", "[low, middle]"] * 2
    with pytest.raises(InputError, match="1 of its values are missing"):
        column_of(values, orders={"x": ["low", "middle", "high"]})
    with pytest.raises(InputError, match="1 are named twice"):
        column_of(values, orders={"x": [*orders["x"], "low"]})


def test_an_order_may_be_given_in_the_columns_own_type():
    assert column_of([True, False, True, False], orders={"x": [True, False]}) == ["true", "false"] * 2
    assert column_of([3, 1, 2, 2], orders={"x": [2, 3, 1]}) == ["[3, 1]", "[3, 1]", "2", "2"]


def test_an_order_does_not_change_what_intervals_mean():
    """Intervals are of numbers, whatever the order: 3 is in [2, 4), not at place 0."""
    hierarchy = {"x": ko.intervals(2)}
    assert column_of([3, 2, 0, 1], quasi_identifiers=hierarchy, orders={"x": [3, 2, 1, 0]}) == (
        ["[2, 4)", "[2, 4)", "[0, 2)", "[0, 2)"]
    )


def test_an_order_for_a_column_that_needs_none_is_refused(native_frame):
    with pytest.raises(InputError, match="order is given for 'score'"):
        released(native_frame(PEOPLE), orders={"score": [1]})


# -- strange values --------------------------------------------------------------------------------


def test_the_value_star_is_a_value_like_any_other_but_reads_as_suppressed():
    values = ["*", "*", "a", "a"]
    assert column_of(values) == values
    release = ko.anonymize(
        pa.table({"x": values}), quasi_identifiers=["x"], privacy=[ko.KAnonymity(2)], shuffle=False
    )
    assert release.loss["suppressions"] == 2
    assert release.verdict.withheld == 0


def test_commas_quotes_braces_and_newlines_survive_in_sets():
    values = ["a,b", 'say "hi"', "{x}", "two\nlines", "ünïcode", " space ", "", "c\r"]
    published = column_of(values, labels="tight", privacy=[ko.KAnonymity(4)])
    assert all(label.startswith("{") and label.endswith("}") for label in published)
    release = ko.anonymize(
        pa.table({"x": values}), quasi_identifiers=["x"], privacy=[ko.KAnonymity(4)], labels="tight"
    )
    assert release.verdict.holds  # every set was read back and covers its values


def test_times_are_told_apart_to_the_nanosecond():
    times = pa.array([1_000, 2_000, 3_000, 3_999], pa.timestamp("ns"))
    assert column_of(times, privacy=[ko.KAnonymity(1)]) == [
        "1970-01-01 00:00:00.000001",
        "1970-01-01 00:00:00.000002",
        "1970-01-01 00:00:00.000003",
        "1970-01-01 00:00:00.000003999",
    ]


def test_zeros_of_either_sign_are_one_value():
    assert column_of([0.0, -0.0, 1.0, 1.0]) == ["0", "0", "1", "1"]


# -- how much is asked -----------------------------------------------------------------------------


def test_one_row_can_be_published_with_k_1_only(native_frame):
    frame = native_frame({"age": [21]})
    release = ko.anonymize(frame, quasi_identifiers=["age"], privacy=[ko.KAnonymity(1)], shuffle=False)
    assert as_lists(release.table) == {"age": ["21"]}
    assert any("k = 1 protects nobody" in caution.what for caution in release.verdict.cautions)
    with pytest.raises(InfeasibleError, match="k can be at most 1"):
        ko.anonymize(frame, quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)], shuffle=False)


def test_k_1_with_another_model_protects_somebody():
    release = released(pa.table(PEOPLE), privacy=[ko.LDiversity("illness", 2)])
    assert not any("protects nobody" in caution.what for caution in release.verdict.cautions)


def test_k_may_be_the_whole_table_but_not_more(native_frame):
    release = released(native_frame(PEOPLE), privacy=[ko.KAnonymity(6)])
    assert release.verdict.classes == 1
    with pytest.raises(InfeasibleError, match="6 records"):
        released(native_frame(PEOPLE), privacy=[ko.KAnonymity(7)])


def test_a_constant_column_is_published_as_it_is(native_frame):
    frame = native_frame({"x": [7, 7, 7], "y": ["a", "a", "a"]})
    for labels in ("hierarchy", "tight"):
        release = ko.anonymize(
            frame, quasi_identifiers=["x", "y"], privacy=[ko.KAnonymity(3)], labels=labels, shuffle=False
        )
        assert as_lists(release.table) == {"x": ["7"] * 3, "y": ["a"] * 3}
        assert release.loss["loss"] == 0


def test_equal_records_are_never_generalized_if_there_are_k_of_them():
    columns = {"x": ["a"] * 5 + ["b"] * 5, "y": [1] * 5 + [2] * 5}
    release = ko.anonymize(pa.table(columns), quasi_identifiers=["x", "y"], privacy=[ko.KAnonymity(5)])
    assert release.loss["loss"] == 0


def test_a_column_of_weight_0_pays_for_the_others():
    columns = {"a": [1, 2] * 4, "b": [1, 1, 2, 2] * 2}
    table = ko.anonymize(
        pa.table(columns),
        quasi_identifiers=["a", "b"],
        privacy=[ko.KAnonymity(4)],
        weights={"a": 0},
        shuffle=False,
    ).table
    assert table["a"].to_pylist() == ["*"] * 8
    assert table["b"].to_pylist() == ["1", "1", "2", "2"] * 2
    other = ko.anonymize(
        pa.table(columns),
        quasi_identifiers=["a", "b"],
        privacy=[ko.KAnonymity(4)],
        weights={"a": 1e9},
        shuffle=False,
    ).table
    assert other["a"].to_pylist() == ["1", "2"] * 4


@pytest.mark.parametrize("weights", [{"age": -1}, {"age": float("nan")}, {"score": 1}, {"age": 0, "town": 0}])
def test_weights_that_make_no_sense_are_refused(weights):
    with pytest.raises(InputError):
        released(pa.table(PEOPLE), weights=weights)


@pytest.mark.parametrize(
    "wrong",
    [
        {"suppression": 1},
        {"suppression": -0.1},
        {"suppressed": "gone"},
        {"labels": "nice"},
        {"nulls": "none"},
        {"on_missing": "shrug"},
        {"time_limit": 0},
        {"seed": -1},
        {"cost": "lost"},
        {"engine": "steam"},
        {"privacy": []},
        {"privacy": [ko.KAnonymity(2), ko.KAnonymity(3)]},
        {"privacy": [5]},
        {"quasi_identifiers": {}},
        {"quasi_identifiers": None},
        {"others": "some"},
    ],
)
def test_options_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InputError):
        released(pa.table(PEOPLE), **wrong)


def test_the_ceiling_is_refused_where_values_are_published_alike():
    table = pa.table({"age": [1, 2, None, None], "illness": ["HIV", "flu", "flu", "flu"]})
    ceiling = ko.AlphaDeassociation("illness", 0.5, values=["HIV"], rounding="ceiling")
    asked = {"quasi_identifiers": ["age"], "sensitive": ["illness"], "privacy": [ko.KAnonymity(2), ceiling]}
    assert ko.anonymize(table, **asked).verdict.holds
    with pytest.raises(UnsupportedError, match="'age'"):
        ko.anonymize(table, nulls="star", **asked)


def test_values_that_alpha_protects_and_nobody_has_are_noted_without_naming_them():
    model = ko.AlphaDeassociation("illness", 0.5, values=["plague", "flu"])
    release = released(pa.table(PEOPLE), privacy=[ko.KAnonymity(2), model])
    [note] = [note for note in release.notes if "alpha" in note]
    assert "'illness'" in note
    assert "plague" not in note


# -- order of records ------------------------------------------------------------------------------


def test_records_are_shuffled_by_the_seed(native_frame):
    frame = native_frame({"id": list(range(40)), "age": [i % 5 for i in range(40)]})
    asked = {"quasi_identifiers": ["age"], "insensitive": ["id"], "privacy": [ko.KAnonymity(4)]}
    plain = as_lists(ko.anonymize(frame, shuffle=False, **asked).table)
    one, again, two = (
        as_lists(ko.anonymize(frame, shuffle=True, seed=seed, **asked).table) for seed in (1, 1, 2)
    )
    assert one == again
    assert one["id"] != two["id"] != plain["id"]
    assert sorted(one["id"]) == plain["id"]
    assert sorted(zip(one["id"], one["age"])) == list(zip(plain["id"], plain["age"]))


def test_a_shuffled_release_has_a_fresh_index():
    frame = pd.DataFrame({"age": [1, 2, 3, 4]}, index=[9, 8, 7, 6])
    release = ko.anonymize(frame, quasi_identifiers=["age"], privacy=[ko.KAnonymity(2)], shuffle=True)
    assert list(release.table.index) == [0, 1, 2, 3]


# -- withheld records, which no algorithm of today leaves but every future one may -------------------


class Withholding(Algorithm):
    """Two groups, the first half and the second of those that are not withheld; the last ones are."""

    n_withheld = 1
    name, summary, paper, promise = "withholding", "", "", ""
    recoding, withholds = Groups, True

    @classmethod
    def meets(cls, model):
        return True

    def refuse(self, problem):
        pass

    def solve(self, problem, run):
        kept = problem.n_records - self.n_withheld
        group = -np.ones(problem.n_records, dtype=np.int64)
        group[:kept] = np.arange(kept) >= (kept + 1) // 2
        return Groups(group)


@pytest.fixture
def withholding(monkeypatch):
    monkeypatch.setattr(pipeline, "parameters_of", lambda algorithm: {})
    return Withholding()


def test_withheld_records_are_a_star_everywhere_where_they_keep_the_promises(native_frame, withholding):
    withholding.n_withheld = 2
    people = {name: [values[i] for i in (0, 1, 3, 4, 2, 5)] for name, values in PEOPLE.items()}
    release = released(
        native_frame(people), privacy=[ko.KAnonymity(2)], algorithm=withholding, suppression=0.4
    )
    table = as_lists(release.table)
    assert table["age"] == ["[20, 30)"] * 2 + ["[40, 50)"] * 2 + ["*"] * 2
    assert table["town"][-2:] == ["*", "*"]
    assert table["illness"] == people["illness"]
    assert release.verdict.withheld == release.facts()["suppressed"] == 2
    assert release.facts()["suppressed_as"] == "star"
    assert any("published as `*`" in note for note in release.notes)
    assert release.loss["discernibility"] == 2 * 2 + 2 * 2 + 2 * 6


def test_a_withheld_record_is_left_out_where_a_star_would_give_it_away(native_frame, withholding):
    release = released(
        native_frame(PEOPLE), privacy=[ko.KAnonymity(2)], algorithm=withholding, suppression=0.2
    )
    table = as_lists(release.table)
    assert "*" not in table["age"]
    assert table["illness"] == PEOPLE["illness"][:-1]
    assert release.verdict.withheld == release.facts()["suppressed"] == 1
    assert release.facts()["suppressed_as"] == "drop"
    assert any("left out" in note and "k-anonymity" in note for note in release.notes)
    assert release.loss["discernibility"] == 3 * 3 + 2 * 2 + 6


def test_nobody_is_said_to_be_left_out_who_is_not():
    """A class of `*` may be taken for withheld, and is published also with suppressed: drop."""
    people = pa.table({"age": [20, 21, 22, 23, 24, 25, 47, 48, 99]})
    release = ko.anonymize(
        people,
        quasi_identifiers={"age": ko.intervals(10, 20)},
        privacy=[ko.KAnonymity(3)],
        algorithm="mondrian",
        suppression=0.4,
        suppressed="drop",
    )
    assert release.table["age"].to_pylist().count("*") == 3
    assert not any("left out" in note for note in release.notes)


def test_sensitive_values_of_withheld_records_give_nobody_away(withholding):
    """One who is 99 years old fits no class, so is one of the withheld: `*`, HIV, whatever l is."""
    withholding.n_withheld = 2
    table = {"age": [21, 22, 41, 42, 98, 99], "illness": ["flu", "cold", "flu", "cold", "HIV", "HIV"]}
    asked = {
        "quasi_identifiers": ["age"],
        "sensitive": ["illness"],
        "privacy": [ko.KAnonymity(2), ko.LDiversity("illness", 2, kind="distinct")],
    }
    release = ko.anonymize(pa.table(table), algorithm=withholding, suppression=0.4, **asked)
    assert "HIV" not in release.table["illness"].to_pylist()
    assert any("l-diversity of 'illness'" in note for note in release.notes)


def test_withheld_records_that_can_neither_be_shown_nor_left_out_are_united_with_others(withholding):
    """Without the withheld records the rest has other shares of the illnesses than the classes have."""
    table = pa.table({"age": [1, 2, 3, 4, 5], "illness": ["flu", "cold", "flu", "flu", "cold"]})
    asked = {
        "quasi_identifiers": ["age"],
        "sensitive": ["illness"],
        "privacy": [ko.KAnonymity(2), ko.TCloseness("illness", 0.2)],
    }
    release = ko.anonymize(table, algorithm=withholding, suppression=0.2, **asked)
    assert (release.verdict.holds, release.verdict.withheld, release.verdict.records) == (True, 0, 5)
    assert any("united with other groups" in note for note in release.notes)


def test_a_withheld_record_may_be_left_out(native_frame, withholding):
    release = released(
        native_frame(PEOPLE),
        privacy=[ko.KAnonymity(2)],
        algorithm=withholding,
        suppression=0.2,
        suppressed="drop",
    )
    table = as_lists(release.table)
    assert table["illness"] == PEOPLE["illness"][:-1]
    assert (release.verdict.withheld, release.verdict.records, release.facts()["records"]) == (1, 5, 6)
    starred = released(
        native_frame(PEOPLE), privacy=[ko.KAnonymity(2)], algorithm=withholding, suppression=0.2
    )
    assert release.loss == pytest.approx(starred.loss)


def test_t_closeness_does_not_go_with_records_that_are_left_out(withholding):
    with pytest.raises(UnsupportedError, match="suppressed: star"):
        released(
            pa.table(PEOPLE),
            privacy=[ko.KAnonymity(2), ko.TCloseness("illness", 0.5)],
            suppression=0.2,
            suppressed="drop",
        )


def test_a_release_that_fails_its_own_verification_is_never_made(withholding):
    with pytest.raises(InternalError, match="was not made"):
        released(pa.table(PEOPLE), privacy=[ko.KAnonymity(2)], algorithm=withholding)  # none may be withheld
    with pytest.raises(InternalError, match="every class has at least 4"):
        released(pa.table(PEOPLE), privacy=[ko.KAnonymity(4)], algorithm=withholding, suppression=0.2)


def test_a_recoding_that_does_not_cover_is_never_published(monkeypatch):
    """A bug in the application of groups is caught by reading the labels."""
    right = Groups.apply

    def wrong(self, attribute):
        published = right(self, attribute)
        return replace(published, labels=[f"[{99 + i}, {100 + i}]" for i in range(len(published.labels))])

    monkeypatch.setattr(Groups, "apply", wrong)
    with pytest.raises(InternalError, match="do not cover their original"):
        column_of([1, 2, 3, 4])


def test_an_algorithm_that_leaves_everybody_out_makes_no_release(withholding, monkeypatch):
    def nobody(problem, run):
        return Groups(np.full(problem.n_records, -1))

    monkeypatch.setattr(withholding, "solve", nobody, raising=False)
    with pytest.raises(InternalError, match="Every record"):
        released(pa.table(PEOPLE), algorithm=withholding, suppression=0.9, suppressed="drop")


# -- what the release says -------------------------------------------------------------------------


def test_the_release_says_what_was_done():
    release = released(pa.table(PEOPLE), seed=5)
    facts = release.facts()
    assert (facts["records"], facts["classes"], facts["smallest_class"], facts["suppressed"]) == (6, 2, 3, 0)
    assert facts["holds"] is True
    assert facts["models"][0]["measured"] == 3
    assert facts["algorithm"] == release.algorithm
    assert facts["seed"] == 5
    assert facts["cost"] == "loss"
    assert facts["loss"]["loss"] == release.cost == release.loss["loss"]
    assert set(facts["seconds"]) >= {"code", "solve", "apply", "verify"}
    assert all(seconds >= 0 for seconds in facts["seconds"].values())
    assert facts["quasi_identifiers"] == ["age", "town"]
    assert facts["roles"]["name"] == "identifier"
    assert facts["gap"] == pytest.approx(release.cost / release.bound - 1, abs=1e-8)  # rounding is no gap


def test_auto_says_which_algorithm_it_chose_and_why():
    release = released(pa.table(PEOPLE), algorithm="auto")
    assert release.algorithm != "auto"
    assert any(release.algorithm in note for note in release.notes)
    assert not any("chosen" in note for note in released(pa.table(PEOPLE), algorithm="mondrian").notes)


def test_no_cell_of_the_data_is_in_the_facts_or_in_what_is_printed():
    secret = {
        "age": [90001, 90002, 90003, 90004],
        "town": ["SENTINELa", "SENTINELb", "SENTINELc", "SENTINELd"],
        "illness": ["SENTINELx", "SENTINELy"] * 2,
    }
    release = ko.anonymize(
        pa.table(secret),
        quasi_identifiers=["age", "town"],
        sensitive=["illness"],
        privacy=[ko.KAnonymity(2), ko.LDiversity("illness", 2)],
    )
    printed = json.dumps(release.facts()) + repr(release) + repr(release.verdict)
    assert "SENTINEL" not in printed
    assert "9000" not in printed


def test_a_certificate_is_the_facts_in_a_file(tmp_path):
    release = released(pa.table(PEOPLE))
    release.certificate(
        tmp_path / "c.json", sha256={"input": "abc", "output": "def"}, salt=b"s" * 32, version="internal"
    )
    read = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    facts = release.facts(sha256={"input": "abc", "output": "def"}, salt=b"s" * 32)
    assert read == json.loads(json.dumps(facts))


def test_classes_of_the_table_are_those_of_the_verdict():
    release = released(pa.table(PEOPLE))
    table = release.table.to_pydict()
    assert len(classes([table["age"], table["town"]])) == release.verdict.classes


def test_the_sample_of_large_groups_is_smaller_than_the_tables_of_these_tests():
    """Tests of large groups rely on it: see the tests of Mondrian."""
    assert kernel.SAMPLE * 2 < 41_000
