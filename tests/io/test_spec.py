import textwrap
from fractions import Fraction

import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from kohort.data.hierarchies.build_hierarchy import FileSource
from kohort.data.hierarchies.categories import Flat, Mask
from kohort.data.hierarchies.dates import Dates
from kohort.data.hierarchies.intervals import Intervals
from kohort.errors import InputError
from kohort.io.read_spec import read_spec, with_files
from kohort.io.yaml_text import load_yaml
from kohort.statement.from_yaml import from_yaml as parse_spec

LEAST = {"attributes": {"age": {"role": "quasi-identifier"}}, "privacy": {"k": 2}}

EVERYTHING = """
attributes:
  name:        {role: identifier}
  person:      {role: identifier, treatment: pseudonym}
  phone:       {role: identifier, treatment: mask}
  sex:         {role: quasi-identifier}
  age:         {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}, weight: 2}
  postcode:    {role: quasi-identifier, hierarchy: {mask: right}, on_missing: suppress}
  admitted:    {role: quasi-identifier, hierarchy: {date: [month, quarter, year]}}
  education:   {role: quasi-identifier, hierarchy: hierarchies/education.csv}
  stage:       {role: quasi-identifier, order: [early, late, 3]}
  ward:        {role: quasi-identifier, order: natural, hierarchy: flat}
  diagnosis:   {role: sensitive}
  income:      {role: sensitive}
  notes:       {role: insensitive}
privacy:
  k: 10
  diversity: {attribute: diagnosis, l: 3, kind: frequency}
  alpha:     {attribute: diagnosis, values: [HIV, 7, true], alpha: 0.5}
  closeness: {attribute: income, t: 0.2, distance: ordered}
cost: ncp
algorithm: mondrian
parameters: {choose: range, strict: true}
suppression: 0.05
suppressed: drop
labels: tight
nulls: star
others: keep
weights: {sex: 0.5}
shuffle: true
seed: 7
time_limit: 60
"""


@pytest.fixture
def spec_file(tmp_path):
    def write(text):
        path = tmp_path / "spec.yaml"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write


def refused(read, source):
    with pytest.raises(InputError) as caught:
        read(source)
    return str(caught.value)


# -- what is accepted ------------------------------------------------------------------------------


def test_every_key_of_the_design_is_understood(spec_file, tmp_path):
    path = spec_file(EVERYTHING)
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "education.csv").write_text("primary;school;*\nbachelor;university;*\n")
    request = with_files(read_spec(path), beside=tmp_path, key=b"secret" * 4)
    assert request.roles.having("identifier") == ["name", "person", "phone"]
    assert request.treatments == {"person": "pseudonym", "phone": "mask"}
    assert request.hierarchies["age"] == Intervals((5, 10, 20))
    assert isinstance(request.hierarchies["postcode"], Mask)
    assert isinstance(request.hierarchies["admitted"], Dates)
    assert isinstance(request.hierarchies["ward"], Flat)
    assert request.hierarchies["education"].leaves == ("primary", "bachelor")
    assert "sex" not in request.hierarchies
    assert request.orders == {"stage": ["early", "late", "3"]}
    assert request.on_missing == {"postcode": "suppress"}
    assert request.weights == {"age": 2, "sex": 0.5}
    assert request.models == (
        ko.KAnonymity(10),
        ko.LDiversity("diagnosis", 3),
        ko.AlphaDeassociation("diagnosis", 0.5, values=["HIV", "7", "true"]),
        ko.TCloseness("income", 0.2, distance="ordered"),
    )
    assert request.algorithm == ko.Mondrian(choose="range", strict=True)
    settings = ("cost", "suppression", "suppressed", "labels", "nulls", "shuffle", "seed", "time_limit")
    expected = ("ncp", 0.05, "drop", "tight", "star", True, 7, 60)
    assert tuple(getattr(request, name) for name in settings) == expected
    assert request.roles.others == "keep"


def test_numbers_of_models_are_exact_decimals(spec_file):
    path = spec_file(
        """
        attributes: {d: {role: sensitive}, q: {role: quasi-identifier}}
        privacy: {alpha: {attribute: d, alpha: 0.1}, closeness: {attribute: d, t: 0.3}}
        """
    )
    alpha, closeness = read_spec(path).models
    assert (alpha.alpha, closeness.t) == (Fraction(1, 10), Fraction(3, 10))


def test_diversity_alpha_and_closeness_take_lists():
    models = parse_spec(
        {
            **LEAST,
            "attributes": {"a": {"role": "sensitive"}, "b": {"role": "sensitive"}},
            "privacy": {
                "k": 5,
                "diversity": [
                    {"attribute": "a", "l": 2},
                    {"attribute": "b", "l": 3, "kind": "recursive", "c": 2},
                ],
                "alpha": [{"attribute": "a", "alpha": 0.5, "values": ["x", "y"], "combine": False}],
                "closeness": [],
            },
        }
    ).models
    assert models == (
        ko.KAnonymity(5),
        ko.LDiversity("a", 2),
        ko.LDiversity("b", 3, kind="recursive", c=2),
        ko.AlphaDeassociation("a", 0.5, values=["x", "y"], combine=False),
    )


def test_defaults_are_the_careful_ones():
    spec = parse_spec(LEAST)
    assert (spec.cost, spec.algorithm_name, spec.suppression, spec.others) == ("loss", "auto", 0.0, "error")
    assert (spec.labels, spec.nulls, spec.suppressed, spec.shuffle, spec.seed) == (
        "hierarchy",
        "value",
        "star",
        "auto",
        0,
    )


def test_a_scheme_is_for_all_columns_or_for_one():
    attributes = {"age": {"role": "quasi-identifier", "scheme": "ops"}, "sex": {"role": "quasi-identifier"}}
    asked = parse_spec({**LEAST, "attributes": attributes, "scheme": "ghs"})
    assert (asked.scheme, asked.schemes) == ("ghs", {"age": "ops"})
    assert "scheme" in refused(parse_spec, {**LEAST, "scheme": "opps"})


def test_yaml_words_that_look_like_something_else_are_texts(spec_file):
    """Norway is NO, a code is 010, a day is 2024-01-31: as they are in the data."""
    path = spec_file(
        """
        attributes:
          on: {role: quasi-identifier, order: [NO, yes, 010, 2024-01-31, 1_000]}
          y: {role: quasi-identifier, order: [true, false]}
        privacy: {k: 2}
        """
    )
    assert read_spec(path).orders == {
        "on": ["NO", "yes", "010", "2024-01-31", "1_000"],
        "y": ["true", "false"],
    }


def test_a_spec_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + yaml.safe_dump(LEAST).encode())
    assert read_spec(path) == parse_spec(LEAST)


def test_a_hierarchy_file_is_looked_for_beside_the_spec(spec_file, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    path = spec_file(
        """
        attributes: {town: {role: quasi-identifier, hierarchy: towns.csv}}
        privacy: {k: 2}
        """
    )
    (tmp_path / "towns.csv").write_text("Bern;BE;*\nBiel;BE;*\n")
    assert read_spec(path).columns["town"].hierarchy == FileSource("towns.csv")
    release = ko.anonymize(pa.table({"town": ["Bern", "Biel"]}), spec=path)
    assert release.table["town"].to_pylist() == ["BE", "BE"]


# -- what is refused, and where --------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, line, says",
    [
        ("atributes: {}\nprivacy: {k: 2}\n", 1, "Did you mean 'attributes'"),
        ("privacy:\n  k: 2\nsupression: 0.1\n", 3, "Did you mean 'suppression'"),
        (
            "attributes:\n  age:\n    role: sensitive\n    heirarchy: x.csv\nprivacy: {k: 2}\n",
            4,
            "'hierarchy'",
        ),
        ("privacy:\n  k: 2\n  diversty: {}\n", 3, "Did you mean 'diversity'"),
        ("privacy:\n  diversity:\n    attribute: d\n    ll: 3\n    l: 3\n", 4, "Did you mean 'l'"),
        ("privacy:\n  alpha:\n    - attribute: d\n      alfa: 0.5\n      alpha: 0.5\n", 4, "'alpha'"),
        ("privacy: {k: 2}\nalgorithm: mondrian\nparameters:\n  choos: cost\n", 3, "Did you mean 'choose'"),
    ],
)
def test_unknown_keys_are_answered_with_the_nearest_known_one_and_the_line(spec_file, text, line, says):
    message = refused(read_spec, spec_file(text))
    assert f"spec.yaml, line {line}:" in message
    assert says in message


@pytest.mark.parametrize(
    "text, place",
    [
        ("attributes:\n  age: {role: quasi}\nprivacy: {k: 2}\n", "line 2: attributes.age.role"),
        ("attributes:\n  age: quasi-identifier\nprivacy: {k: 2}\n", "line 2: attributes.age"),
        ("attributes: [age]\nprivacy: {k: 2}\n", "line 1: attributes"),
        ("attributes:\n  age: {hierarchy: x.csv}\nprivacy: {k: 2}\n", "line 2: attributes.age.role"),
        ("privacy: 5\n", "line 1: privacy"),
        ("privacy:\n  k: five\n", "line 2: privacy.k"),
        ("privacy:\n  k: 2.5\n", "line 2: privacy.k"),
        ("privacy:\n  k: 0\n", "line 2: privacy.k"),
        ("privacy:\n  k: true\n", "line 2: privacy.k"),
        ("privacy:\n  k: 2\n  m: two\n", "line 3: privacy.m"),
        ("privacy:\n  diversity: {attribute: d, l: 0}\n", "line 2: privacy.diversity"),
        ("privacy:\n  diversity: {attribute: d, l: 2, kind: blurred}\n", "line 2: privacy.diversity"),
        ("privacy:\n  alpha: {attribute: d, alpha: 2}\n", "line 2: privacy.alpha"),
        ("privacy:\n  alpha: {alpha: 0.5}\n", "line 2: privacy.alpha"),
        ("privacy:\n  closeness: {attribute: d, t: -1}\n", "line 2: privacy.closeness"),
        ("privacy: {k: 2}\ncost: lost\n", "line 2: cost"),
        ("privacy: {k: 2}\nalgorithm: mondrain\n", "line 2: algorithm"),
        ("privacy: {k: 2}\nsuppression: 1.5\n", "line 2: suppression"),
        ("privacy: {k: 2}\nsuppression: some\n", "line 2: suppression"),
        ("privacy: {k: 2}\nsuppressed: gone\n", "line 2: suppressed"),
        ("privacy: {k: 2}\nlabels: nice\n", "line 2: labels"),
        ("privacy: {k: 2}\nnulls: none\n", "line 2: nulls"),
        ("privacy: {k: 2}\nothers: perhaps\n", "line 2: others"),
        ("privacy: {k: 2}\nweights: {age: heavy}\n", "line 2: weights.age"),
        ("privacy: {k: 2}\nshuffle: often\n", "line 2: shuffle"),
        ("privacy: {k: 2}\nseed: -1\n", "line 2: seed"),
        ("privacy: {k: 2}\nseed: 1.5\n", "line 2: seed"),
        ("privacy: {k: 2}\ntime_limit: 0\n", "line 2: time_limit"),
        ("privacy: {k: 2}\nparameters: {choose: x}\nalgorithm: mondrian\n", "line 2: parameters"),
        (
            "attributes:\n  age: {role: quasi-identifier, hierarchy: {intervals: -5}}\nprivacy: {k: 2}\n",
            "line 2: attributes.age.hierarchy",
        ),
        (
            "attributes:\n  age:\n    role: sensitive\n    order: {a: 1}\nprivacy: {k: 2}\n",
            "line 4: attributes.age.order",
        ),
        ("attributes:\n  2020: {role: sensitive}\nprivacy: {k: 2}\n", "line 2: attributes.2020"),
    ],
)
def test_a_wrong_value_is_named_by_its_place(spec_file, text, place):
    message = refused(read_spec, spec_file(text))
    assert f"spec.yaml, {place}" in message
    assert "pydantic" not in message
    assert "Value error" not in message


def test_all_problems_are_told_at_once(spec_file):
    message = refused(read_spec, spec_file("privacy: {k: 0}\ncost: lost\nseed: x\n"))
    assert [line.split(":")[0] for line in message.splitlines()] == [
        "spec.yaml, line 1",
        "spec.yaml, line 2",
        "spec.yaml, line 3",
    ]


def test_privacy_must_be_said(spec_file):
    assert "privacy: this key is missing" in refused(read_spec, spec_file("attributes: {}\n"))


@pytest.mark.parametrize(
    "text, line",
    [
        ("privacy: {k: 2}\ncost: loss\ncost: ncp\n", 3),
        ("attributes:\n  age: {role: sensitive}\n  sex: {role: sensitive}\n  age: {role: identifier}\n", 4),
        ("privacy: {k: 2, k: 3}\n", 1),
    ],
)
def test_a_key_that_is_used_twice_is_refused(spec_file, text, line):
    message = refused(read_spec, spec_file(text))
    assert f"line {line}" in message
    assert "used twice" in message


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n- b\n", "just words\n", "42\n"])
def test_a_spec_that_is_no_mapping_is_refused(spec_file, text):
    assert "a spec must be a mapping" in refused(read_spec, spec_file(text))


@pytest.mark.parametrize(
    "text, line",
    [("privacy: {k: 2\ncost: loss\n", 2), ("privacy:\n\tk: 2\n", 2), ("a: b: c\n", 1), ("a: *nobody\n", 1)],
)
def test_text_that_is_no_yaml_is_refused_with_the_line(spec_file, text, line):
    message = refused(read_spec, spec_file(text))
    assert f"spec.yaml, line {line}" in message
    assert "not valid YAML" in message


@pytest.mark.parametrize("text", ["a: !!python/object/apply:os.system [ls]\n", "a: \x00\n", "--- a\n--- b\n"])
def test_yaml_that_is_dangerous_or_garbled_is_refused(spec_file, text):
    assert "not valid YAML" in refused(read_spec, spec_file(text))


def test_files_that_cannot_be_read_are_refused(tmp_path):
    assert "There is no spec" in refused(read_spec, tmp_path / "nothing.yaml")
    assert "cannot be read" in refused(read_spec, tmp_path)
    (tmp_path / "latin.yaml").write_bytes("attributes: {größe: x}".encode("latin-1"))
    assert "not UTF-8" in refused(read_spec, tmp_path / "latin.yaml")


def test_a_spec_from_a_mapping_names_the_place_without_a_line():
    message = refused(parse_spec, {**LEAST, "privacy": {"k": "x"}})
    assert message.startswith("spec: privacy.k")
    assert "Did you mean 'privacy'" in refused(parse_spec, {**LEAST, "privcy": {}})


def test_a_hierarchy_file_that_is_broken_is_refused_when_it_is_read(spec_file, tmp_path):
    spec = parse_spec({**LEAST, "attributes": {"t": {"role": "quasi-identifier", "hierarchy": "t.csv"}}})
    with pytest.raises(InputError, match=r"t\.csv"):
        with_files(spec, beside=tmp_path)
    (tmp_path / "t.csv").write_text("a;A;*\na;B;*\nb;B;*\n")
    with pytest.raises(InputError, match="column 't'"):
        with_files(spec, beside=tmp_path)


# -- changes on the command line -------------------------------------------------------------------


def test_overridden_changes_what_is_given_and_nothing_else():
    spec = parse_spec({**LEAST, "algorithm": "mondrian", "parameters": {"strict": True}, "seed": 3})
    changed = spec.overridden(k=7, cost="ncp", seed=None, time_limit=5.0)
    assert (changed.asked_k, changed.models) == (7, (ko.KAnonymity(7),))
    assert (changed.cost, changed.seed, changed.time_limit) == ("ncp", 3, 5.0)
    assert changed.algorithm == ko.Mondrian(strict=True)
    assert spec.asked_k == 2
    assert spec.cost == "loss"


def test_another_algorithm_does_not_inherit_parameters():
    written = {**LEAST, "algorithm": "mondrian", "parameters": {"strict": True}}
    assert parse_spec(written, algorithm="auto").algorithm_name == "auto"
    for spec in (
        parse_spec(written, algorithm="mondrian"),
        parse_spec(written).overridden(algorithm="mondrian"),
    ):
        assert spec.algorithm == ko.Mondrian(strict=True)


@pytest.mark.parametrize("change", [{"k": 0}, {"cost": "lost"}, {"algorithm": "mondrain"}])
def test_a_wrong_change_is_refused(change):
    with pytest.raises(InputError):
        parse_spec(LEAST).overridden(**change)
    with pytest.raises(InputError):
        parse_spec(LEAST, **change)


def test_a_spec_is_frozen():
    with pytest.raises(Exception, match="cannot assign"):
        parse_spec(LEAST).cost = "ncp"


# -- whatever is in the file -----------------------------------------------------------------------

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.floats(-2, 2)
    | st.sampled_from(["quasi-identifier", "sensitive", "age", "loss", "auto", "drop", "flat", "x.csv", ""])
)
known_keys = st.sampled_from(
    [
        "attributes",
        "privacy",
        "k",
        "m",
        "age",
        "role",
        "hierarchy",
        "diversity",
        "attribute",
        "l",
        "alpha",
        "values",
        "t",
        "cost",
        "algorithm",
        "parameters",
        "weights",
        "order",
        "seed",
        "items",
        "intervals",
        "mask",
    ]
)
contents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(known_keys, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(known_keys, contents, max_size=5))
def test_any_content_is_a_spec_or_an_input_error(content):
    try:
        spec = parse_spec(content)
    except InputError:
        return
    assert isinstance(spec.models, tuple)


@given(st.text(max_size=60))
def test_any_text_is_yaml_or_an_input_error(text):
    try:
        load_yaml(text, name="spec.yaml")
    except InputError as error:
        assert str(error).startswith("spec.yaml")
