from pathlib import Path

import pyarrow as pa
import pytest

from kohort.data.column import code_column
from kohort.data.hierarchies.build_hierarchy import Auto, FileSource, from_spec
from kohort.data.hierarchies.categories import Flat, Groups, Mask
from kohort.data.hierarchies.dates import Dates
from kohort.data.hierarchies.intervals import Intervals, Quantiles
from kohort.data.hierarchies.orders import ByFrequency, Order
from kohort.errors import InputError


@pytest.mark.parametrize(
    "spec, builder",
    [
        (None, None),
        ("none", None),
        ("flat", Flat()),
        ("auto", Auto()),
        ("a/education.csv", FileSource("a/education.csv")),
        ({"intervals": [5, 10, 20]}, Intervals((5, 10, 20))),
        ({"intervals": 5, "origin": 1, "top": 90, "bottom": 10}, Intervals((5,), 1, 90, 10)),
        ({"quantiles": 3}, Quantiles(3)),
        ({"mask": "right"}, Mask()),
        ({"mask": "left", "char": "#"}, Mask("left", "#")),
        ({"date": ["month", "year"]}, Dates(("month", "year"))),
        ({"date": "year"}, Dates(("year",))),
        ({"groups": {"x": ["a"]}}, Groups({"x": ["a"]})),
        ({"tree": {"x": ["a"], "y": ["b"]}}, Groups({"x": ["a"], "y": ["b"]})),
        ({"tree": {"*": {"x": ["a"]}}}, Groups({"x": ["a"]})),
        ({"tree": {"Any": ["a", "b"]}}, Groups(["a", "b"], root="Any")),
        ({"tree": "t.yaml"}, FileSource("t.yaml", "tree")),
        ({"pairs": "p.csv", "delimiter": ","}, FileSource("p.csv", "pairs", ",")),
        ({"file": "f.csv", "header": True}, FileSource("f.csv", header=True)),
        ({"order": "natural", "fanout": 3}, Order("natural", 3)),
        ({"order": ["a", "b"]}, Order(("a", "b"))),
        ({"fanout": 5, "order": "id"}, Order("natural", 5)),
        ({"fanout": 5, "order": "frequency"}, Order("frequency", 5)),
        ({"fanout": [5, 4], "order": "file"}, Order("file", (5, 4))),
        ({"fanout": 5}, Order("natural", 5)),
        ({"frequency": 4}, ByFrequency(4)),
        ({"flat": True}, Flat()),
        ({"auto": True}, Auto()),
    ],
)
def test_what_a_spec_means(spec, builder):
    assert from_spec(spec) == builder


@pytest.mark.parametrize(
    "spec, message",
    [
        ({"interval": [5]}, "Unknown key 'interval' in a hierarchy. Did you mean 'intervals'"),
        (
            {"intervals": [5], "char": "*"},
            "by 'intervals' does not take 'char'. Options: origin, top, bottom",
        ),
        ({"intervals": [5], "mask": "right"}, "does not take 'mask'"),
        ({"date": ["month"], "top": 3}, "Options: none"),
        ({}, "must name the way it is built"),
        ({"top": 5}, "must name the way it is built"),
        ({5: 3}, "Unknown key 5"),
        (5, "must be a file, a word"),
        (["a"], "must be a file, a word"),
        ("mask", r"needs its parameter, such as \{mask: right\}"),
        ({"flat": False}, "switched on by flat: true. Got False"),
        ({"tree": {"x": ["a"]}, "encoding": "utf-8"}, "does not take encoding"),
        ({"tree": {"x": None}}, "Groups must be a mapping"),
        ({"file": 3}, "must be a path. Got 3"),
        ({"file": "a.csv", "delimiter": 3}, "'delimiter' of a hierarchy file must be text"),
        ({"file": "a.csv", "header": "yes"}, "'header' of a hierarchy file must be true or false"),
    ],
)
def test_wrong_specs(spec, message):
    with pytest.raises(InputError, match=message):
        from_spec(spec)


def test_a_spec_is_left_as_it_was():
    spec = {"intervals": [5], "top": 90}
    from_spec(spec)
    assert spec == {"intervals": [5], "top": 90}


@pytest.mark.parametrize(
    "source",
    [
        FileSource("a.csv"),
        FileSource("a.csv", "tree"),
        FileSource("a", "pairs", "|"),
        FileSource("a", encoding="cp1252"),
    ],
)
def test_files_come_back(source):
    assert from_spec(source.to_spec()) == source


def test_file_sources():
    assert FileSource(Path("a") / "b.csv").path == "a/b.csv"
    with pytest.raises(InputError, match=r"Unknown kind of hierarchy file 'pair'. Did you mean 'pairs'"):
        FileSource("a.csv", "pair")


def test_ends_of_a_label_that_have_its_sign_in_them_are_quoted():
    """`a … b … c` would be read as from a to `b … c`, or from `a … b` to c."""
    found = []
    for values in (("a", "b … c", "d", "e"), ("a … b", "c", "d", "e")):
        hierarchy = Order(values, 2).build(code_column("x", pa.array(values)))
        found += [label for label in hierarchy.label if label not in values and label != "*"]
    assert found == ['a … "b … c"', "d … e", '"a … b" … c', "d … e"]
