"""-0.0 and 0.0 are one value: in codes, models, labels, maps and in what verification reads."""

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from frames import MAKERS
from kohort.data.column import code_column, text_of, unsigned_zero
from kohort.errors import InputError
from kohort.problem.attribute import Attribute, tight_domain
from kohort.verification.reading import read_labels

BOTH = [0.0, -0.0]


@pytest.mark.parametrize(
    "values, texts",
    [
        ([0.0, -0.0, 1.5], ("0.0", "1.5")),
        ([-0.0, 1.5], ("0.0", "1.5")),
        ([0.0, -0.0], ("0",)),
        (["-0.0", "0.0", "1.5"], ("0.0", "1.5")),
        (["-0", "0", "7"], ("0", "7")),
        (["-.0", ".0", "1.5"], (".0", "1.5")),
        (["-0e3", "0e3", "1.5"], ("0e3", "1.5")),
        (["-0.0", "0.0", "none"], ("-0.0", "0.0", "none")),  # texts, not numbers
    ],
)
def test_zero_has_no_sign(values, texts):
    column = code_column("x", pa.array(values))
    assert column.texts == texts
    assert column.numbers is None or not np.signbit(column.numbers).any()


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_zero_has_no_sign_in_any_type_or_dictionary(kind):
    values = pa.array(np.array([*BOTH, 1.5]), pa.float64()).cast(kind)
    assert code_column("x", values).codes.tolist() == [0, 0, 1]
    assert code_column("x", values.dictionary_encode()).codes.tolist() == [0, 0, 1]


def test_texts_of_zeros_and_of_what_is_no_zero():
    assert [text_of(value) for value in (-0.0, 0.0, -0.5)] == ["0.0", "0.0", "-0.5"]
    assert [unsigned_zero(text) for text in ("-0", "-0.00")] == ["0", "0.00"]
    assert [unsigned_zero(text) for text in ("-1e-400", "-0x0", "-")] == ["-1e-400", "-0x0", "-"]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_two_zeros_are_no_diversity(make):
    """Records of one age would be a class, were 0.0 and -0.0 two values."""
    release = ko.anonymize(
        make({"age": [20, 20, 80, 80], "dose": [*BOTH, 1.5, 2.5]}),
        quasi_identifiers=["age"],
        sensitive=["dose"],
        privacy=[ko.KAnonymity(2), ko.LDiversity("dose", 2, kind="distinct")],
        algorithm="mondrian",
    )
    assert release.verdict.classes == 1


@pytest.mark.parametrize("dose", [[0.0, -0.0, 2.5, 2.5], ["0.0", "-0.0", "2.5", "2.5"]])
def test_verification_counts_two_zeros_as_one_value(dose):
    release = pa.table({"age": ["a", "a", "b", "b"], "dose": dose})
    attributes = {"age": {"role": "quasi-identifier"}, "dose": {"role": "sensitive"}}
    diversity = {"attribute": "dose", "l": 2, "kind": "distinct"}
    spec = {"attributes": attributes, "privacy": {"k": 2, "diversity": diversity}}
    verdict = ko.verify(release, spec=spec)
    assert [model.failing_classes for model in verdict.models] == [0, 2]


def test_closeness_has_no_rank_for_a_second_zero():
    signed = pa.table({"age": ["a", "a", "b", "b"], "dose": [0.0, 2.5, -0.0, 2.5]})
    spec = {
        "attributes": {"age": {"role": "quasi-identifier"}, "dose": {"role": "sensitive"}},
        "privacy": {"closeness": {"attribute": "dose", "t": 0}, "k": 2},
    }
    assert ko.verify(signed, spec=spec).holds


def test_a_quasi_identifier_publishes_one_zero():
    table = pa.table({"x": [0.0, -0.0, 1.5, 1.5]})
    release = ko.anonymize(table, quasi_identifiers=["x"], k=2, algorithm="mondrian", shuffle=False)
    assert release.table["x"].to_pylist() == ["0.0", "0.0", "1.5", "1.5"]


def test_alpha_orders_and_hierarchies_may_spell_zero_with_its_sign():
    table = pa.table({"x": [0.0, -0.0, 1.5, 1.5], "dose": [0.0, 2.5, -0.0, 2.5]})
    hierarchy = ko.Hierarchy.from_paths([("-0.0", "low", "*"), ("1.5", "high", "*")])
    release = ko.anonymize(
        table,
        quasi_identifiers={"x": hierarchy},
        sensitive=["dose"],
        orders={"dose": ["-0.0", 2.5]},
        privacy=[ko.KAnonymity(2), ko.AlphaDeassociation("dose", 0.5, values=[-0.0])],
        algorithm="mondrian",
        shuffle=False,
    )
    assert release.table["x"].to_pylist() == ["-0.0", "-0.0", "1.5", "1.5"]
    assert not release.notes or "does not occur" not in " ".join(release.notes)
    with pytest.raises(InputError, match="1 are named twice"):
        ko.anonymize(
            table, quasi_identifiers=["x"], orders={"x": [0.0, -0.0, 1.5]}, others="keep", privacy=[]
        )


def test_labels_of_other_tools_may_have_the_sign():
    column = code_column("x", pa.array([-0.0, 1.5, 2.5]))
    reading = read_labels(["-0.0", "{-0.0, 1.5}", "[-0.0, 1.5]"], Attribute(column, tight_domain(column)))
    assert reading.understood.all()
    covers = [reading.covers(np.full(3, label), np.arange(3)).tolist() for label in range(3)]
    assert covers == [[True, False, False], [True, True, False], [True, True, False]]


def test_a_map_knows_zero_by_either_sign(tmp_path):
    release = ko.anonymize(
        pa.table({"x": [0.0, 0.0, 1.5, 1.5]}),
        quasi_identifiers={"x": ko.flat()},
        privacy=[ko.KAnonymity(2)],
        algorithm="full-domain",
    )
    release.maps(tmp_path / "maps.json")
    applied = ko.apply_maps(tmp_path / "maps.json", pa.table({"x": ["-0.0", "1.5"]}))
    assert applied.table["x"].to_pylist() == ["0.0", "1.5"]


# -- other numbers that are written in several ways ------------------------------------------------


def test_a_number_that_is_written_in_two_ways_is_one_sensitive_value():
    column = code_column(
        "x", pa.array(["1.50", "-0", "2", "0.0", None, "1.5", "0.1", "0.10000000000000000001"])
    )
    merged = column.with_equal_numbers_merged()
    assert merged.texts == ("0", "0.1", "0.10000000000000000001", "1.5", "2", None)
    assert merged.codes.tolist() == [3, 0, 4, 0, 5, 3, 1, 2]
    assert len(merged.numbers) == 5


@pytest.mark.parametrize("texts", [["007", "7"], ["1.5", "1.25"], ["1", "2"], ["a", "b"]])
def test_other_columns_are_left_as_they_are(texts):
    column = code_column("x", pa.array(texts))
    assert column.with_equal_numbers_merged() is column


@pytest.mark.parametrize("doses", [["1.5", "1.50"], ["0", "-0.0"], ["1e1", "10.0"]])
def test_two_spellings_of_a_number_are_no_diversity(doses):
    table = pa.table({"age": [20, 20, 80, 80], "dose": [*doses, "2.5", "3.5"]})
    diverse = ko.LDiversity("dose", 2, kind="distinct")
    asked = {"sensitive": ["dose"], "privacy": [ko.KAnonymity(2), diverse], "algorithm": "mondrian"}
    release = ko.anonymize(table, quasi_identifiers=["age"], shuffle=False, **asked)
    assert release.verdict.classes == 1
    assert release.table["dose"].to_pylist() == table["dose"].to_pylist()  # published as they were
    spec = {
        "attributes": {"age": {"role": "quasi-identifier"}, "dose": {"role": "sensitive"}},
        "privacy": {"k": 2, "diversity": [{"attribute": "dose", "l": 2, "kind": "distinct"}]},
    }
    assert not ko.verify(table, spec=spec).holds


def test_alpha_knows_a_number_by_any_spelling():
    table = pa.table({"age": [20, 20, 80, 80], "dose": ["1.5", "1.50", "2.5", "3.5"]})
    for spelled in ("1.5", "1.50", "15e-1"):
        release = ko.anonymize(
            table,
            quasi_identifiers=["age"],
            sensitive=["dose"],
            privacy=[ko.KAnonymity(2), ko.AlphaDeassociation("dose", 0.5, values=[spelled])],
            algorithm="mondrian",
        )
        assert release.verdict.classes == 1
        assert not any("not occur" in note for note in release.notes)
