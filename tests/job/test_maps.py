"""The maps of a release: written, read, and applied to the same and to other tables."""

import json
from datetime import date

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kohort as ko
from kohort.errors import InfeasibleError, InputError, UnsupportedError
from strategies import cases

PATHS = [("cat", "pet", "*"), ("dog", "pet", "*"), ("cow", "farm", "*"), ("pig", "farm", "*")]
ANIMALS = ko.Hierarchy.from_paths(PATHS)
PEOPLE = {
    "name": ["Ann", "Bob", "Cid", "Dot"],
    "age": [21, 24, 41, 43],
    "animal": ["cat", "dog", "cow", "cow"],
    "illness": ["flu", "cold", "flu", "cold"],
}


def released(people=PEOPLE, **changes):
    asked = {
        "quasi_identifiers": {"age": ko.intervals(5, 10), "animal": ANIMALS},
        "identifiers": ["name"],
        "sensitive": ["illness"],
        "privacy": [ko.KAnonymity(2)],
        "algorithm": "full-domain",
        "shuffle": False,
    }
    return ko.anonymize(pa.table(people), **asked | changes)


@pytest.fixture
def maps(tmp_path):
    released().maps(tmp_path / "maps.json")
    return tmp_path / "maps.json"


def others(**changes):
    return pa.table(PEOPLE | changes)


# -- the same table --------------------------------------------------------------------------------


@given(
    cases(free=False, labels=("hierarchy",)),
    st.sampled_from(["full-domain", "incognito"]),
    st.sampled_from([0.0, 0.3, 0.6]),
    st.sampled_from(["star", "drop"]),
    st.sampled_from(["value", "star"]),
    st.sampled_from(["auto", True, False]),
)
def test_the_same_table_gives_the_same_release(
    tmp_path_factory, case, algorithm, suppression, suppressed, nulls, shuffle
):
    assume(suppressed == "star" or not any(model.compares_with_whole_table for model in case.privacy))
    asked = {"suppression": suppression, "suppressed": suppressed, "nulls": nulls, "shuffle": shuffle}
    try:
        release = case.anonymize(algorithm=algorithm, **asked)
    except UnsupportedError:  # a number without a single value has no hierarchy
        assume(False)
    path = tmp_path_factory.mktemp("maps") / "maps.json"
    release.maps(path)
    applied = ko.apply_maps(path, case.table, k=case.k)
    if algorithm == "full-domain":
        assert applied.table.equals(release.table)
        assert applied.verdict.to_dict() | {"checks": []} == release.verdict.to_dict() | {"checks": []}
    else:  # incognito withholds nothing, be it allowed or not
        assert applied.verdict.holds


def test_missing_values_that_are_published_as_stars_are_a_class_again(tmp_path):
    table = pa.table({"age": [None, None, None, None, None, "3", "2"]})
    release = ko.anonymize(
        table,
        quasi_identifiers={"age": ko.Hierarchy.from_paths([("3", "*"), ("2", "*")])},
        privacy=[ko.KAnonymity(2)],
        algorithm="full-domain",
        suppression=0.3,
        suppressed="drop",
        nulls="star",
    )
    release.maps(tmp_path / "maps.json")
    assert ko.apply_maps(tmp_path / "maps.json", table, k=2).table.equals(release.table)
    assert release.table["age"].to_pylist() == ["*"] * 5


def test_sensitive_columns_keep_their_order_and_hierarchy(tmp_path):
    tree = ko.Hierarchy.from_paths([("flu", "air", "*"), ("cold", "air", "*"), ("cut", "*")])
    people = PEOPLE | {"wage": ["low", "high", "middle", "low"]}
    release = released(
        people,
        quasi_identifiers={"age": ko.intervals(5, 10), "animal": ANIMALS, "illness": None},
        sensitive=["wage"],
        orders={"wage": ["low", "middle", "high"]},
        privacy=[ko.KAnonymity(2), ko.TCloseness("wage", 0.4, distance="ordered")],
        suppression=0.3,
    )
    release.maps(tmp_path / "maps.json")
    assert ko.apply_maps(tmp_path / "maps.json", pa.table(people), k=2).table.equals(release.table)
    spec = {
        "attributes": {
            "name": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}},
            "animal": {"role": "insensitive"},
            "illness": {"role": "sensitive", "hierarchy": _written(tree, tmp_path)},
        },
        "privacy": {"k": 2, "closeness": {"attribute": "illness", "t": 0.5, "distance": "hierarchical"}},
        "algorithm": "full-domain",
        "suppression": 0.3,
    }
    release = ko.anonymize(pa.table(PEOPLE), spec=spec)
    release.maps(tmp_path / "maps.json")
    assert ko.apply_maps(tmp_path / "maps.json", pa.table(PEOPLE), k=2).table.equals(release.table)


def _written(tree, folder):
    (folder / "tree.csv").write_text("\n".join(";".join(path) for path in tree.paths()))
    return str(folder / "tree.csv")


def test_any_kind_of_dataframe_comes_back(native_frame, maps):
    applied = ko.apply_maps(maps, native_frame(PEOPLE))
    assert type(applied.table) is type(native_frame(PEOPLE))
    assert [str(label) for label in applied.table["animal"]] == ["pet", "pet", "farm", "farm"]


# -- other tables ----------------------------------------------------------------------------------


def test_values_that_the_first_table_lacked_are_published_by_hierarchy_and_interval(maps):
    """23 and 44 lie in intervals; pig is in the hierarchy."""
    applied = ko.apply_maps(maps, others(age=[23, 20, 44, 40], animal=["dog", "dog", "pig", "pig"]))
    shown = sorted(zip(applied.table["age"].to_pylist(), applied.table["animal"].to_pylist()))
    assert shown == [("[20, 25)", "pet")] * 2 + [("[40, 45)", "farm")] * 2
    assert applied.table.column_names == ["age", "animal", "illness"]
    assert applied.verdict is None and applied.facts()["holds"] is None
    assert (
        "Nothing is promised about this table: it was recoded, but not verified. To have it verified, give "
        "a k (--k on the command line)."
    ) in applied.notes


def test_unseen_values_are_an_error_that_names_columns_and_counts_or_become_stars(maps):
    strange = others(age=[21, 24, 99, None], animal=["cat", "emu", "cow", "emu"])
    with pytest.raises(InputError, match=r"'age' \(2 records\), 'animal' \(2 records\)") as error:
        ko.apply_maps(maps, strange)
    assert "emu" not in str(error.value) and "99" not in str(error.value)
    applied = ko.apply_maps(maps, strange, unseen="suppress")
    assert applied.table["age"].to_pylist() == ["[20, 25)", "[20, 25)", "*", "*"]
    assert applied.table["animal"].to_pylist() == ["pet", "*", "farm", "*"]
    assert applied.unseen == {"age": 2, "animal": 2}
    with pytest.raises(InputError, match="error or suppress"):
        ko.apply_maps(maps, strange, unseen="ignore")


def test_a_number_among_texts_is_still_found_in_its_interval(maps):
    applied = ko.apply_maps(maps, others(age=["21", "24", "unknown", "43"]), unseen="suppress")
    assert applied.table["age"].to_pylist() == ["[20, 25)", "[20, 25)", "*", "[40, 45)"]


def test_a_column_that_is_star_everywhere_publishes_anything_as_star(tmp_path):
    release = released(PEOPLE | {"animal": ["cat", "cow", "cow", "cat"]}, privacy=[ko.KAnonymity(4)])
    release.maps(tmp_path / "maps.json")
    applied = ko.apply_maps(tmp_path / "maps.json", others(animal=["emu"] * 4, age=[1, 2, 3, None]))
    assert applied.table["animal"].to_pylist() == applied.table["age"].to_pylist() == ["*"] * 4


def test_dates_lie_in_intervals_too(tmp_path):
    halves = ["[2024-03-01, 2024-03-16)", "[2024-03-16, 2024-03-31]"]
    days = [date(2024, 3, day) for day in (1, 2, 30, 31)]
    tree = ko.Hierarchy.from_paths([(str(day), halves[day.day > 15], "*") for day in days])
    asked = {"quasi_identifiers": {"day": tree}, "privacy": [ko.KAnonymity(2)], "algorithm": "full-domain"}
    ko.anonymize(pa.table({"day": days}), **asked).maps(tmp_path / "maps.json")
    applied = ko.apply_maps(tmp_path / "maps.json", pa.table({"day": [date(2024, 3, 15), date(2024, 3, 31)]}))
    assert applied.table["day"].to_pylist() == halves


def test_a_k_is_verified_or_refused(maps):
    verdict = ko.apply_maps(maps, others(), k=2).verdict
    assert verdict.holds and verdict.smallest_class == 2
    with pytest.raises(InfeasibleError, match="does not satisfy what was asked for"):
        ko.apply_maps(maps, others(), k=3)


FEW = {"age": [21, 24, 22, 43], "animal": ["cat", "dog", "cat", "cow"]}
TOO_FEW = {"age": [21, 22, 21, 43], "animal": ["cat", "dog", "cow", "cow"]}  # two are alone


@pytest.mark.parametrize(
    ("suppressed", "expected"), [("star", ["pet", "pet", "pet"]), ("drop", ["pet", "pet", "pet"])]
)
def test_classes_that_fail_are_withheld_again(tmp_path, suppressed, expected):
    released(PEOPLE | FEW, suppression=0.25, suppressed=suppressed).maps(tmp_path / "maps.json")
    applied = ko.apply_maps(tmp_path / "maps.json", others(**FEW), k=2)
    assert applied.table["animal"].to_pylist() == expected
    assert applied.withheld == applied.verdict.withheld == 1
    too_many = ko.apply_maps(
        tmp_path / "maps.json", others(**TOO_FEW)
    )  # a class of two where one may be withheld
    assert too_many.withheld == (0 if suppressed == "star" else 2)


def test_more_withheld_than_the_maps_allow_is_refused_where_a_k_is_asked_for(tmp_path):
    released(PEOPLE | FEW, suppression=0.25, suppressed="drop").maps(tmp_path / "maps.json")
    with pytest.raises(InfeasibleError, match="Withheld: 2 of 4 records; allowed: 1"):
        ko.apply_maps(tmp_path / "maps.json", others(**TOO_FEW), k=2)
    with pytest.raises(InfeasibleError, match="Every record would be withheld"):
        ko.apply_maps(tmp_path / "maps.json", others(**TOO_FEW).slice(2, 2))


def test_a_column_without_a_role_and_a_missing_one_are_refused(maps):
    with pytest.raises(InputError, match="1 column has no role: 'extra'"):
        ko.apply_maps(maps, others(extra=[1, 2, 3, 4]))
    with pytest.raises(InputError, match="no column 'age'"):
        ko.apply_maps(maps, others().drop_columns(["age"]))


def test_nulls_refuse_is_kept(tmp_path):
    released(nulls="refuse").maps(tmp_path / "maps.json")
    with pytest.raises(InputError, match="1 missing value"):
        ko.apply_maps(tmp_path / "maps.json", others(animal=["cat", "dog", "cow", None]), unseen="suppress")


def test_pseudonyms_are_made_with_the_key(tmp_path):
    key = b"a secret that is long enough"
    release = released(identifiers={"name": "pseudonym"}, key=key)
    release.maps(tmp_path / "maps.json")
    assert key.decode() not in (tmp_path / "maps.json").read_text()
    assert ko.apply_maps(tmp_path / "maps.json", others(), key=key).table.equals(release.table)
    with pytest.raises(InputError, match="secret key"):
        ko.apply_maps(tmp_path / "maps.json", others())


def test_booleans_are_found_however_they_are_spelled(tmp_path):
    tree = ko.Hierarchy.from_paths([("True", "*"), ("False", "*")])
    table = pa.table({"smokes": [True, True, False, False]})
    asked = {"quasi_identifiers": {"smokes": tree}, "privacy": [ko.KAnonymity(2)]}
    release = ko.anonymize(table, **asked, algorithm="full-domain")
    release.maps(tmp_path / "maps.json")
    assert ko.apply_maps(tmp_path / "maps.json", table).table.equals(release.table)


# -- what is in the file ---------------------------------------------------------------------------


def test_a_value_that_only_the_data_has_is_not_in_the_file(tmp_path):
    release = released(
        PEOPLE | {"animal": ["cat", "dog", "emu", "emu"]}, on_missing="suppress", privacy=[ko.KAnonymity(1)]
    )
    release.maps(tmp_path / "maps.json")
    text = (tmp_path / "maps.json").read_text()
    assert "emu" not in text and "cow" in text
    applied = ko.apply_maps(tmp_path / "maps.json", others(animal=["cat", "dog", "gnu", "pig"]))
    assert applied.table["animal"].to_pylist() == ["cat", "dog", "*", "pig"]


def test_the_file_is_readable_and_lists_no_number_that_an_interval_covers(maps):
    text = maps.read_text()
    columns = json.loads(text)["columns"]
    assert columns["age"]["map"] == [
        {"published": "[20, 25)", "values": "in the interval"},
        {"published": "[40, 45)", "values": "in the interval"},
    ]
    assert '{"published": "farm", "values": ["cow", "pig"]}' in text


def test_local_recodings_tight_labels_and_items_have_no_maps(tmp_path):
    with pytest.raises(UnsupportedError, match="mondrian publishes the same value differently"):
        released(algorithm="mondrian").maps(tmp_path / "maps.json")
    with pytest.raises(UnsupportedError, match="labels: hierarchy"):
        released(algorithm="incognito", labels="tight").maps(tmp_path / "maps.json")
    baskets = ko.anonymize(pa.table({"bought": [["a"], ["a"]]}), items="bought", privacy=ko.KmAnonymity(2, 1))
    with pytest.raises(UnsupportedError, match="items"):
        baskets.maps(tmp_path / "maps.json")
    assert not (tmp_path / "maps.json").exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: "{", "not JSON"),
        (
            lambda text: text.replace('"maps"', '"release"'),
            "not a map file of this version of Kohort: kohort",
        ),
        (lambda text: text.replace('"published": "farm"', '"published": 3'), ": columns.animal"),
        (lambda text: text.replace('"k": 2', '"q": 2'), "names a privacy model that this version"),
        (lambda text: text.replace('["cow", "pig"]', '["cow", "cow"]'), "a value twice"),
        (lambda text: text.replace('"age": "quasi-identifier"', '"age": "sensitive"'), "must be the quasi"),
    ],
)
def test_a_broken_file_is_refused_without_its_values(maps, change, says):
    maps.write_text(change(maps.read_text()))
    with pytest.raises(InputError, match=says) as error:
        ko.apply_maps(maps, others())
    assert "cow" not in str(error.value)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(InputError, match="kohort anonymize --maps"):
        ko.apply_maps(tmp_path / "none.json", others())
