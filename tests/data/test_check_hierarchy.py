import pyarrow as pa
import pytest

from kohort.data.column import code_column
from kohort.data.hierarchies.checks import Findings, check
from kohort.data.hierarchy import Hierarchy
from kohort.data.path_tree import Pairs
from kohort.errors import InputError

PATHS = [("cat", "pet", "*"), ("dog", "pet", "*"), ("cow", "farm", "*")]


def column(values):
    return code_column("animal", pa.array(values))


def test_a_good_hierarchy():
    findings = check(PATHS, column(["cat", "dog", "cow", None]))
    assert not findings.errors
    assert findings.message() == "The hierarchy can be used as it is."
    assert findings.offending() == {}
    findings.raise_if_broken("animal")
    assert check(Hierarchy.from_paths(PATHS)) == check(PATHS)


def test_everything_is_told_at_once_and_no_value_of_the_data():
    wrong = [*PATHS, ("cat", "pet", "*"), ("dog", "farm", "*"), ("pet", "farm"), ("emu",)]
    findings = check(wrong, column(["cat", "secret", "secret", "COW", None]))
    assert findings.errors and findings.broken
    assert findings.message().splitlines() == [
        "1 leaf is listed with different ancestors. List each leaf once.",
        "2 values are missing from it (3 records, 60.0% of all). 1 differ from a leaf only in case, spaces "
        "or the form of a number. Add them, or set on_missing: suppress.",
        "Note: 1 line repeats a leaf with the same ancestors, which does no harm.",
        "Note: 1 label is both a leaf and an inner node ('pet'); inner ones are published with their "
        "parent's name, and a value may be read as the inner one, which counts in the loss. Give them "
        "different names.",
        "Note: 2 lines do not end in the root and got the root *.",
        "Note: 4 of its 5 leaves are not in the data.",
    ]
    assert findings.offending() == {
        "missing": ["COW", "secret"],
        "contradicting": ["dog"],
        "leaf_and_inner": ["pet"],
        "unused": ["dog", "cow", "pet", "emu"],
    }
    with pytest.raises(InputError, match="The hierarchy of column 'animal' cannot be used") as error:
        findings.raise_if_broken("animal")
    assert "secret" not in str(error.value) and "Note" not in str(error.value)


def test_missing_values_may_be_allowed():
    findings = check(Hierarchy.from_paths(PATHS), column(["emu"]))
    assert findings.errors and not findings.broken
    findings.raise_if_broken("animal", allow_missing=True)
    with pytest.raises(InputError, match="1 value is missing"):
        findings.raise_if_broken("animal")


def test_at_most_five_labels_are_named():
    paths = [(f"v{i}", "*") for i in range(8)] + [(f"c{i}", f"v{i}", "*") for i in range(8)]
    assert "('v0', 'v1', 'v2', 'v3', 'v4' and 3 more)" in check(paths).message()


def test_files_written_root_first_are_recognised():
    message = check([("*", "pet", "cat"), ("*", "pet", "dog")]).message()
    assert "Does the file name the root first?" in message


def test_no_leaves():
    findings = check([])
    assert findings.broken
    assert "It has no leaves" in findings.message()


def test_a_leaf_that_is_repeated_to_fill_a_line_is_no_inner_node():
    assert check([("a", "a", "*"), ("b", "x", "*")]).leaf_and_inner == ()


def test_numbers_in_another_form_are_near_misses():
    findings = check([("3", "*"), ("0.50", "*")], column([3.5, 0.5, 3.0]))
    assert (len(findings.missing), findings.near_misses) == (3, 2)


def test_pairs_become_paths():
    pairs = Pairs.of(
        [("pet", "*"), ("cat", "pet"), ("dog", "pet"), ("cow", "farm"), ("cat", "pet"), ("*", "*")]
    )
    assert pairs.paths == [("cat", "pet", "*"), ("dog", "pet", "*"), ("cow", "farm")]
    assert (pairs.repeated, pairs.cycles, pairs.two_parents) == (1, (), ())


def test_pairs_with_cycles_and_two_parents():
    pairs = Pairs.of([("a", "b"), ("b", "c"), ("c", "b"), ("d", "x"), ("d", "y"), ("e", None)])
    assert set(pairs.cycles) == {"b", "c"}
    assert pairs.two_parents == ("d",)
    assert pairs.paths == [("a",), ("d", "x"), ("e",)]
    message = Findings(leaves=3, cycles=pairs.cycles, two_parents=pairs.two_parents).message()
    assert "2 labels are among their own ancestors ('b', 'c')" in message
    assert "1 label is given two parents ('d')" in message


def test_nothing_but_a_cycle():
    assert Pairs.of([("a", "b"), ("b", "a")]).paths == []
    assert "no leaves" not in Findings(cycles=("a", "b")).message()
