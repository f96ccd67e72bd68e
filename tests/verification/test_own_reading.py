"""Faults in what searches and publishing are made of: verification must not believe any of them.

Each fault is patched into the place where such a bug would be. Either nothing is released, or what the
release says is what honest code finds in it. To add a fault, add a line to one of the tables.
"""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
import kohort.data.column as coding
import kohort.data.hierarchies.categories as build_mask
import kohort.data.hierarchies.dates as build_dates
import kohort.data.hierarchies.intervals as build_intervals
import kohort.data.hierarchies.intervals as build_quantiles
import kohort.data.hierarchy as hierarchy
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InternalError
from kohort.job.verify import verify_release
from kohort.problem.attribute import Attribute
from kohort.problem.costs import COSTS
from kohort.tables.memory import MemoryTable
from kohort.verification.written import compare_codes

TOWNS = Hierarchy.from_paths(
    [(f"{region}{n}", region, side, "*") for region, side in zip("abcd", "NNSS") for n in range(3)]
)
OTHERS = Hierarchy.from_paths(
    [(f"{r}{n}", "other", "A" if r in "ab" else "B", "*") for r in "abcd" for n in range(3)]
)


def people():
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "age": rng.integers(20, 60, 60),
            "town": rng.choice([f"{region}{n}" for region in "abcd" for n in range(3)], 60),
            "born": pa.array(rng.integers(0, 3000, 60).astype("datetime64[D]")),
            "code": rng.choice(["4350", "4351", "4390", "5100", "5177"], 60),
            "weight": rng.uniform(1, 5, 60),
        }
    )


ASKED = {
    "age": {"quasi_identifiers": {"age": ko.intervals(5, 10, 20)}},
    "quantiles": {"quasi_identifiers": {"age": ko.quantiles(3, 2)}},
    "town": {"quasi_identifiers": {"town": TOWNS}, "k": 20},
    "others": {"quasi_identifiers": {"town": OTHERS}, "k": 20},
    "born": {"quasi_identifiers": {"born": ko.dates("month", "quarter", "year")}},
    "half": {"quasi_identifiers": {"born": ko.dates("half", "decade")}},
    "code": {"quasi_identifiers": {"code": ko.mask()}, "k": 20},
    "weighed": {"quasi_identifiers": {"age": ko.intervals(5, 10), "town": TOWNS}, "weight": "weight"},
}


def released(which, **more):
    asked = {"k": 4, "others": "keep", "algorithm": "mondrian", "shuffle": False, **ASKED[which], **more}
    return ko.anonymize(people(), **asked)


def honest(release):
    """The costs that honest code finds in a release."""
    known = {"order": release.original_rows}
    found = verify_release(
        MemoryTable(release.table), release.request, original=MemoryTable(people()), **known
    )
    return found.loss


# -- costs -----------------------------------------------------------------------------------------


def halved(honest):
    return lambda self, values: honest(self, values) / 2


def free(honest):
    return lambda self, values: 0 * honest(self, values)


CELLS = ("loss", "ncp", "tree", "distortion", "suppressions", "entropy", "monotone-entropy")
WRONG_COSTS = [(name, wrong) for name in CELLS for wrong in (halved, free)]


@pytest.mark.parametrize("name, wrong", WRONG_COSTS)
def test_a_wrong_formula_of_a_cost_does_not_certify_itself(monkeypatch, name, wrong):
    """The search minimises by the wrong formula, and the release is measured by the right one."""
    calls = []
    with monkeypatch.context() as faulty:
        faulty.setattr(COSTS[name], "cell", counted(calls, wrong(COSTS[name].cell)))
        release = released(
            "weighed", cost=name, algorithm="full-domain" if name == "distortion" else "mondrian"
        )
    found = honest(release)
    assert calls and release.loss == found
    assert release.cost == found[name] > 0


def counted(calls, method):
    return lambda self, values: calls.append(1) or method(self, values)


# -- hierarchies -----------------------------------------------------------------------------------


def range_too_long(right):
    """The first region also claims the leaves of the second."""

    def ranges(*tree):
        made = right(*tree)
        last = made.hi.copy()
        last[made.label.index("a")] = last[made.label.index("b")]
        return replace(made, hi=last)

    return ranges


def levels_too_low(right):
    return lambda *tree: replace(made := right(*tree), level=made.level // 2)


def leaves_swapped(right):
    return property(lambda self: right.func(self)[::-1])


def names_exchanged(right):
    """Nodes that need the name of the node above them get that of the other one."""

    def names(tree):
        found = right(tree)
        first, second = found.index("other (A)"), found.index("other (B)")
        found[first], found[second] = found[second], found[first]
        return found

    return names


# -- labels that are made from values ----------------------------------------------------------------


def shifted_limits(right):
    return lambda self, width, index: right(self, width, index + 1)


def limits_plus_two(right):
    return lambda limits: right([str(int(float(limit)) + 2) for limit in limits])


def next_period(right):
    return {level: partial(lambda label, number: label(number + 1), label) for level, label in right.items()}


def another_mask(right):
    return lambda self, code, length: [f"9{label[1:]}" for label in right(self, code, length)]


def equal_first_letters_merged(right):
    """Texts that begin alike become one value."""

    def merged(codes, values):
        codes, found = right(codes, values)
        if found.kind != "string":
            return codes, found
        first = {}
        same = np.array([first.setdefault(text[:1], n) for n, text in enumerate(found.texts)] or [0])
        kept = sorted(first.values())
        place = np.searchsorted(kept, same).astype(np.int32)
        return np.where(codes < 0, -1, place[codes]), replace(found, texts=[found.texts[n] for n in kept])

    return merged


WRONG_LABELS = [
    ("town", hierarchy, "_with_ranges", range_too_long),
    ("town", hierarchy, "_with_ranges", levels_too_low),
    ("others", hierarchy, "_unique_labels", names_exchanged),
    ("town", Attribute, "leaf_of_code", leaves_swapped),
    ("code", Attribute, "leaf_of_code", leaves_swapped),
    ("age", build_intervals.Intervals, "_label", shifted_limits),
    ("quantiles", build_quantiles, "_labels", limits_plus_two),
    ("born", build_dates, "_LABELS", next_period),
    ("half", build_dates, "_LABELS", next_period),
    ("code", build_mask.Mask, "_masked", another_mask),
    ("town", coding, "_equal_texts_merged", equal_first_letters_merged),
]


@pytest.mark.parametrize("which, where, name, wrong", WRONG_LABELS)
def test_a_label_that_does_not_cover_what_it_stands_for_is_caught(monkeypatch, which, where, name, wrong):
    columns = ASKED[which]["quasi_identifiers"]
    monkeypatch.setattr(where, name, wrong(vars(where)[name]))
    if "town" in columns:
        monkeypatch.setitem(columns, "town", Hierarchy.from_paths([*columns["town"].paths()]))
    with pytest.raises(InternalError):
        released(which)


@pytest.mark.parametrize("wrong", [range_too_long, levels_too_low])
def test_a_hierarchy_of_items_is_counted_again(monkeypatch, wrong):
    monkeypatch.setattr(hierarchy, "_with_ranges", wrong(hierarchy._with_ranges))
    tree = Hierarchy.from_paths([*TOWNS.paths()])
    baskets = pa.table({"items": [["a0", "b0"], ["a0", "b0"], ["c1", "b1"], ["c1", "a1"]]})
    with pytest.raises(InternalError, match="hierarchy"):
        ko.anonymize(baskets, items={"items": tree}, privacy=[ko.KmAnonymity(2, 2)])


# -- numbers -----------------------------------------------------------------------------------------


def spec_of(name, k, hierarchy="none", **more):
    columns = {name: {"role": "quasi-identifier", "hierarchy": hierarchy}}
    return {"attributes": columns, "privacy": {"k": k}, **more}


def verified(tmp_path, texts, k=3):
    path = tmp_path / "release.csv"
    path.write_text("\n".join(["age,town", *(f"{text},a" for text in texts)]) + "\n")
    return ko.verify(path, spec=spec_of("age", k, others="keep"))


def test_numbers_that_are_written_differently_are_different_to_a_reader(tmp_path):
    assert not verified(tmp_path, ["30", "30.0", "30.00"]).holds
    assert verified(tmp_path, ["30", "30", "30"]).holds
    assert verified(tmp_path, ["30.0", "30.0", "30.0"]).holds


def test_equal_numbers_of_a_typed_column_are_equal():
    ages = pa.table({"age": pa.array([30.0, 30, 30])})
    assert ko.verify(ages, spec=spec_of("age", 3)).holds


def test_a_number_covers_itself_however_it_is_written(tmp_path):
    original = pa.table({"age": [30, 30, 41, 41]})
    asked = {"spec": spec_of("age", 2)}
    path = tmp_path / "release.csv"
    path.write_text("age\n30.0\n30.0\n41\n41\n")
    assert ko.verify(path, original=original, **asked).holds
    path.write_text("age\n30.5\n30.5\n41\n41\n")
    assert not ko.verify(path, original=original, **asked).holds


LARGE = 2**60
LARGEST = [
    [LARGE + step for step in range(1, 60, 7)],
    [2**64 - 1 - step for step in range(9)],
    [f"0.1234567890123456{step:02d}" for step in range(9)],
    [f"{2**53 + step}.5" for step in range(9)],
    [-LARGE + step for step in range(9)],
]


@pytest.mark.parametrize("values", LARGEST)
@pytest.mark.parametrize("builder", [ko.quantiles(2, 2), ko.quantiles(3, 1)])
def test_numbers_beyond_53_bits_are_covered_exactly(values, builder):
    table = pa.table({"x": pa.array(np.repeat(np.array(values), 2))})
    for labels in ("hierarchy", "tight"):
        asked = {"quasi_identifiers": {"x": builder}, "k": 4, "labels": labels, "algorithm": "mondrian"}
        release = ko.anonymize(table, shuffle=False, **asked)
        assert len(set(release.table["x"].to_pylist())) > 1
        for label, value in zip(release.table["x"].to_pylist(), table["x"].to_pylist()):
            assert holds(label, value), label


def test_intervals_of_numbers_with_more_digits_than_floats_are_exact():
    step = 2**14
    large = [2**64 - step * n + apart for n in (1, 2) for apart in (-1, 0, 1)]
    small = [
        f"0.{digit}{end}" for digit in (2, 3) for end in ("", "0000000000000000001", "9999999999999999999")
    ]
    for values, width in ((large, step), (small, 0.1)):
        table = pa.table({"x": pa.array(np.repeat(np.array(values), 2))})
        release = ko.anonymize(table, quasi_identifiers={"x": ko.intervals(width)}, k=4, shuffle=False)
        for label, value in zip(release.table["x"].to_pylist(), table["x"].to_pylist()):
            assert holds(label, value), label


def holds(label, value):
    """Whether a number is what a label says, in exact arithmetic."""
    number = Fraction(value)
    if label == "*":
        return True
    if label.startswith("< "):
        return number < Fraction(label[2:])
    if label.startswith(">= "):
        return number >= Fraction(label[3:])
    if label.startswith("["):
        low, high = (Fraction(end) for end in label[1:-1].split(", "))
        return low <= number and (number < high or (label[-1] == "]" and number == high))
    return number == Fraction(label)


def test_a_label_that_is_false_by_one_in_a_large_number_is_caught(monkeypatch):
    right = build_quantiles._labels
    monkeypatch.setattr(
        build_quantiles, "_labels", lambda limits: right([str(int(float(limit)) + 1) for limit in limits])
    )
    table = pa.table({"x": [LARGE + step for step in range(8) for _ in range(2)]})
    with pytest.raises(InternalError, match="cover"):
        ko.anonymize(table, quasi_identifiers={"x": ko.quantiles(2, 2)}, k=4, algorithm="mondrian")


# -- codes beside values -----------------------------------------------------------------------------

WRITTEN = [["b", "a", None, "b"], [3, 1, None, 3], ["30", "30.0", None, "30"], [1.5, 0.25, None, 1.5]]


@pytest.mark.parametrize("values", WRITTEN)
@pytest.mark.parametrize("as_dictionary", [False, True])
def test_a_single_wrong_code_is_seen(values, as_dictionary):
    """Of text and numbers, in dictionaries or not, however they are spelled."""
    written = pa.chunked_array([values[:1], values[1:]])
    written = written.dictionary_encode() if as_dictionary else written
    column = coding.code_column("x", written)
    compare_codes(column, written)
    for record, code in enumerate(column.codes):
        wrong = column.codes.copy()
        wrong[record] = (code + 1) % len(column.texts)
        with pytest.raises(InternalError, match="not read as it is written"):
            compare_codes(replace(column, codes=wrong), written)
    with pytest.raises(InternalError, match="not read as it is written"):
        compare_codes(replace(column, texts=(column.texts[0],) * len(column.texts)), written)
