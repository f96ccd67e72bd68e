"""Hierarchies of postcodes, ICD-10, NACE, occupations and countries, by the structure of the codes."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from kohort.data.column import code_column
from kohort.data.hierarchies.build_hierarchy import Auto, from_spec
from kohort.data.hierarchies.categories import Code, code
from kohort.data.hierarchies.code_systems import CODE_SYSTEMS, REGION_OF_COUNTRY, recognized_code
from kohort.errors import InputError


def column(values, name="x"):
    return code_column(name, pa.array(values))


def path(system, value):
    [found] = Code(system).build(column([value])).paths()
    return found[1:-1]


@pytest.mark.parametrize(
    ("system", "value", "above"),
    [
        ("uk-postcode", "SW1A 1AA", ("SW1A 1", "SW1A", "SW")),
        ("uk-postcode", "sw1a1aa", ("SW1A 1", "SW1A", "SW")),
        ("uk-postcode", "M1 1AE", ("M1 1", "M1", "M")),
        ("uk-postcode", "m11ae", ("M1 1", "M1", "M")),
        ("uk-postcode", "M11", ("M",)),  # the district itself is the leaf
        ("uk-postcode", "DN55 1PT", ("DN55 1", "DN55", "DN")),
        ("us-zip", "94110", ("941**", "9****")),
        ("us-zip", "94110-1234", ("94110", "941**", "9****")),
        ("us-zip", 2115, ("021**", "0****")),
        ("de-postcode", "D-10115", ("101**", "10***", "1****")),
        ("de-postcode", 1067, ("010**", "01***", "0****")),
        ("fr-postcode", "75001", ("75***",)),
        ("fr-postcode", "97110", ("971**",)),
        ("ca-postcode", "K1A 0B1", ("K1A", "K")),
        ("ca-postcode", "k1a0b1", ("K1A", "K")),
        ("icd10", "J45.0", ("J45", "J40-J49", "J00-J99")),
        ("icd10", "J450", ("J45", "J40-J49", "J00-J99")),
        ("icd10", "B20", ("B20-B29", "A00-B99")),
        ("icd10", "D48.9", ("D48", "D40-D49", "C00-D49")),
        ("icd10", "D50.0", ("D50", "D50-D59", "D50-D89")),
        ("icd10", "H59.9", ("H59", "H50-H59", "H00-H59")),
        ("icd10", "H60.1", ("H60", "H60-H69", "H60-H95")),
        ("icd10", "S72.001A", ("S72.0", "S72", "S70-S79", "S00-T98")),
        ("icd10", "T20.1", ("T20", "T20-T29", "S00-T98")),
        ("icd10", "C7A.01", ("C7A.0", "C7A", "C70-C79", "C00-D49")),
        ("icd10", "U07.1", ("U07", "U00-U09", "U00-U99")),
        ("icd10", "W19", ("W10-W19", "V00-Y99")),
        ("nace", "10.71", ("10.7", "10", "C")),
        ("nace", "C10.71", ("10.7", "10", "C")),
        ("nace", "0111", ("01.1", "01", "A")),
        ("nace", "99", ("U",)),
        ("soc", "29-1141", ("29-1140", "29-1000", "29-0000")),
        ("soc", "29-1141.00", ("29-1141", "29-1140", "29-1000", "29-0000")),
        ("isco", "2221", ("222*", "22**", "2***")),
        ("isco", 110, ("011*", "01**", "0***")),
        ("uk-soc", 2231, ("223*", "22**", "2***")),
        ("country", "FR", ("Europe",)),
        ("country", "bra", ("Americas",)),
    ],
)
def test_levels_of_a_code(system, value, above):
    assert path(system, value) == above


def test_a_district_stands_beside_the_units_in_it():
    tree = code("uk-postcode").build(column(["SW1A", "SW1A 1AA", "SW1A 2AA", "N1 9GU"]))
    found = {leaf[0]: leaf[1:] for leaf in tree.paths()}
    assert found["SW1A"] == ("SW1A", "SW", "*")
    assert found["SW1A 1AA"] == ("SW1A 1", "SW1A", "SW", "*")
    assert len(set(tree.published)) == len(tree.published)


def test_countries_are_listed_once_in_both_forms():
    assert len(REGION_OF_COUNTRY) == 2 * 250
    assert sum(len(code) == 2 for code in REGION_OF_COUNTRY) == 250
    assert {REGION_OF_COUNTRY[code] for code in ("DE", "DEU")} == {"Europe"}


def test_values_that_are_no_codes_are_counted_and_not_shown():
    diagnoses = pa.table({"dx": ["J45.0", "J45.1", "Zebulon", "Zebulon"], "age": [1, 1, 1, 1]})
    options = {"quasi_identifiers": {"dx": ko.code("icd10"), "age": None}, "privacy": [ko.KAnonymity(2)]}
    with pytest.raises(InputError, match="1 value does not look like ICD-10 codes such as J45") as caught:
        ko.anonymize(diagnoses, **options)
    assert "2 records, 50.0%" in str(caught.value) and "Zebulon" not in str(caught.value)
    with pytest.raises(InputError, match="none of its 1 values looks like UK postcodes"):
        code("uk-postcode").build(column(["Zebulon"]))
    release = ko.anonymize(diagnoses, **options, on_missing="suppress", shuffle=False)
    assert release.table["dx"].to_pylist() == ["J45", "J45", "*", "*"]


def test_an_unknown_system_is_refused_with_a_hint():
    with pytest.raises(InputError, match="icd10"):
        code("icd11")
    with pytest.raises(InputError, match="needs its parameter"):
        from_spec("code")


def test_to_spec_and_back():
    for system in CODE_SYSTEMS:
        assert from_spec(Code(system).to_spec()) == Code(system)


@pytest.mark.parametrize("system", CODE_SYSTEMS)
def test_the_example_fits(system):
    for example in CODE_SYSTEMS[system].example.split(" or "):
        assert CODE_SYSTEMS[system].levels(example)


@pytest.mark.parametrize("system", CODE_SYSTEMS)
@given(data=st.data())
def test_any_codes_make_a_tree_with_labels_of_their_own(system, data):
    pattern = CODE_SYSTEMS[system].pattern
    values = data.draw(st.sets(st.from_regex(pattern, fullmatch=True), min_size=1, max_size=12))
    tree = Code(system).build(column(sorted(values)))
    assert set(tree.leaves) == values
    assert len(set(tree.published)) == len(tree.published)


@pytest.mark.parametrize(
    ("name", "values", "system"),
    [
        ("PLZ", ["10115", "80331"], "de-postcode"),
        ("zip", [2115, 94110], "us-zip"),
        ("code_postal", ["75001", "69001"], "fr-postcode"),
        ("postcode", ["SW1A 1AA", "N1 9GU"], "uk-postcode"),
        ("home", ["SW1A 1AA", "N1 9GU", "M1 1AE", "DN55 1PT", "EH1 1YZ"], "uk-postcode"),
        ("home", ["K1A 0B1", "M5V 3L9", "H2X 1Y4", "V6B 4Y8", "T2P 2M5"], "ca-postcode"),
        ("main_diagnosis", ["J45.0", "I10"], "icd10"),
        ("x", ["J45.0", "I10.9", "E11.9", "S72.0", "K35.8"], "icd10"),
        ("citizenship", ["FR", "DE"], "country"),
        ("nace_2", ["10.71", "01.11"], "nace"),
        ("isco08", [2221, 2310], "isco"),
        ("occupation", ["29-1141", "11-1011"], "soc"),
        ("postcode", ["10115", "80331"], None),  # of which country?
        ("amount", ["10115", "80331"], None),
        ("diagnosis", ["flu", "cold"], None),
        ("country", ["France", "Spain"], None),
        ("grade", ["A1", "B2", "C3", "D4", "E5"], None),
        ("zip", [1.5, 2.5], None),
        ("zip", [None], None),
    ],
)
def test_recognition_by_name_and_structure(name, values, system):
    assert recognized_code(column(values, name)) == system


def test_auto_takes_recognized_codes():
    chosen = Auto().choose(column(["J45.0", "I10", "E11.9", "S72.0", "K35.8"], "diagnosis"))
    assert chosen.builder == Code("icd10")
    described = Auto().describe(column(["J45.0", "I10", "E11.9", "S72.0", "K35.8"], "diagnosis"))
    assert "the levels of ICD-10 codes" in described
