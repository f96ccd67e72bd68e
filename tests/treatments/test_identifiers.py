import hashlib
import hmac
import json

import pyarrow as pa
import pytest

import kohort as ko
from frames import as_lists
from kohort.data.column import code_column
from kohort.errors import InputError
from kohort.treatments.identifiers import MASK, pseudonyms

KEY, OTHER_KEY = b"0123456789abcdef", b"fedcba9876543210"


def pseudonyms_of(values, key=KEY, *, name="person", join=None):
    return pseudonyms(code_column(name, pa.array(values)), key, join=join).to_pylist()


def test_a_pseudonym_is_the_digest_of_the_value_under_a_key_of_its_column():
    own = hmac.new(KEY, b"kohort pseudonyms of person", hashlib.sha256).digest()
    expected = hmac.new(own, b"Ann", hashlib.sha256).hexdigest()[:32]
    assert pseudonyms_of(["Ann", "Bob", "Ann"])[::2] == [expected, expected]


def test_nobody_sees_that_a_value_of_one_column_is_in_another():
    me, spouse = pseudonyms_of(["Ann", "Bob"], name="me"), pseudonyms_of(["Bob", "Ann"], name="spouse")
    assert not set(me) & set(spouse)


def test_columns_that_are_to_be_joined_have_the_same_pseudonyms():
    me = pseudonyms_of(["Ann", "Bob"], name="me", join="people")
    assert me == pseudonyms_of(["Bob", "Ann"], name="spouse", join="people")[::-1]
    assert me == pseudonyms_of(["Ann", "Bob"], name="people")  # a column is called like the join


def test_the_same_key_gives_the_same_pseudonyms_in_any_table():
    first, second = pseudonyms_of(["Ann", "Bob"]), pseudonyms_of(["Zoe", "Bob", "Ann"])
    assert first == second[:0:-1]
    assert len(set(pseudonyms_of([f"p{i}" for i in range(1000)]))) == 1000


def test_another_key_gives_other_pseudonyms():
    assert not set(pseudonyms_of(["Ann", "Bob"])) & set(pseudonyms_of(["Ann", "Bob"], OTHER_KEY))


def test_whole_numbers_are_the_same_person_in_every_type():
    assert pseudonyms_of([7, 8]) == pseudonyms_of(["7", "8"]) == pseudonyms_of([7.0, 8.0])


def test_a_missing_value_has_no_pseudonym():
    assert pseudonyms_of(["Ann", None])[1] is None
    assert pseudonyms_of(["", "Ann"])[0] is not None  # an empty text is a value


def test_the_dictionary_does_not_keep_the_order_of_the_originals():
    """A file may store it; sorted by pseudonym it says nothing."""
    dictionary = pseudonyms(code_column("person", pa.array([f"p{i:03}" for i in range(50)])), KEY).dictionary
    assert dictionary.to_pylist() == sorted(dictionary.to_pylist())


@pytest.mark.parametrize("key", [None, b"", b"fifteen bytes..", "a text of sixteen", 16])
def test_a_key_that_is_missing_short_or_no_bytes_is_refused(key):
    with pytest.raises(InputError, match="'person' need a secret key of at least 16 bytes"):
        pseudonyms_of(["Ann"], key)


PEOPLE = {"person": ["Ann", "Bob", None], "phone": [[1], [2, 3], [4]], "age": [20, 21, 22]}


def released(native_frame, **changes):
    asked = {
        "quasi_identifiers": ["age"],
        "identifiers": {"person": "pseudonym", "phone": "mask"},
        "privacy": [ko.KAnonymity(3)],
        "key": KEY,
        "shuffle": False,
    }
    return ko.anonymize(native_frame(PEOPLE), **asked | changes)


def test_identifiers_are_dropped_masked_or_replaced_in_their_place(native_frame):
    table = as_lists(released(native_frame).table)
    assert list(table) == ["person", "phone", "age"]
    assert table["person"] == pseudonyms_of(["Ann", "Bob", None])
    assert table["phone"] == [MASK] * 3  # even lists
    dropped = released(native_frame, identifiers={"person": "drop", "phone": "drop"})
    assert list(as_lists(dropped.table)) == ["age"]


def test_the_key_is_in_nothing_that_is_written(native_frame):
    release = released(native_frame)
    written = json.dumps(release.facts()) + repr(release) + repr(release.request) + str(release.arrow.schema)
    for trace in (KEY.decode(), KEY.hex(), repr(KEY)):
        assert trace not in written


def test_pseudonyms_without_a_key_are_refused(native_frame):
    with pytest.raises(InputError, match="secret key"):
        released(native_frame, key=None)


COUPLES = {"me": ["Ann", "Bob", "Cy"], "spouse": ["Bob", "Ann", "Di"], "age": [20, 21, 22]}


def couples(**columns):
    """The pseudonyms of `me` and `spouse`, by a spec with more to say of these columns."""
    identifier = {"role": "identifier", "treatment": "pseudonym"}
    attributes = {"age": {"role": "quasi-identifier"}, "me": identifier, "spouse": identifier}
    spec = {"attributes": attributes | columns, "privacy": {"k": 3}, "shuffle": False}
    table = ko.anonymize(pa.table(COUPLES), spec=spec, key=KEY).table
    return table["me"].to_pylist(), table["spouse"].to_pylist()


def test_pseudonyms_of_two_columns_do_not_meet_unless_a_join_is_asked_for():
    me, spouse = couples()
    assert not set(me) & set(spouse)
    joined = {"role": "identifier", "treatment": "pseudonym", "join": "people"}
    me, spouse = couples(me=joined, spouse=joined)
    assert me[:2] == spouse[:2][::-1] and me[2] != spouse[2]
    columns = {"identifiers": {"me": "pseudonym", "spouse": "pseudonym"}, "key": KEY}
    asked = {"quasi_identifiers": ["age"], "privacy": [ko.KAnonymity(3)], **columns}
    in_python = ko.anonymize(
        pa.table(COUPLES), **asked, joins={"me": "people", "spouse": "people"}, shuffle=False
    )
    assert in_python.table["me"].to_pylist() == me


def test_a_join_is_for_pseudonyms_only():
    with pytest.raises(InputError, match="A join is given for 'spouse'"):
        couples(spouse={"role": "identifier", "join": "people"})


def test_a_treatment_is_for_identifiers_only(native_frame):
    spec = {
        "attributes": {"age": {"role": "quasi-identifier", "treatment": "mask"}},
        "others": "drop",
        "privacy": {"k": 3},
    }
    with pytest.raises(InputError, match="'age', which has the role quasi-identifier"):
        ko.anonymize(native_frame(PEOPLE), spec=spec)
    with pytest.raises(InputError, match="'treatment of person' must be drop"):
        released(native_frame, identifiers={"person": "hide", "phone": "drop"})
