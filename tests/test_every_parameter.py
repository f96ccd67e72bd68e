"""Every parameter of every algorithm refuses what is not of its type, by name, and solves with the rest."""

import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa
import pytest
from annotated_types import Ge, Gt, Le
from pydantic import AllowInfNan, ConfigDict, Strict, TypeAdapter, ValidationError

import kohort as ko
from kohort.algorithms import ALGORITHMS, ITEMS_ALGORITHMS
from kohort.parameters import Within
from kohort.statement.from_yaml import from_yaml as parse_spec

REGISTERED = ALGORITHMS | ITEMS_ALGORITHMS
PARAMETERS = [(name, field.name) for name, kind in REGISTERED.items() for field in fields(kind)]
WRONG = {
    "None": None, "true": True, "false": False, "'2'": "2", "''": "", "'off'": "off", "b'2'": b"2", "0": 0,
    "-1": -1, "1": 1, "10**30": 10**30, "10**400": 10**400, "1.5": 1.5, "0.0": 0.0, "-0.5": -0.5,
    "nan": float("nan"), "inf": float("inf"), "-inf": float("-inf"), "1e300": 1e300, "[]": [], "[2]": [2],
    "{}": {}, "{'a': 1}": {"a": 1}, "{1}": {1}, "object": object(), "1j": 1j, "Decimal": Decimal("2"),
    "Fraction": Fraction(1, 2), "array": np.array([1, 2]), "type": int,
}  # fmt: skip


def by_pydantic(annotation) -> TypeAdapter:
    """The same annotation, strictly judged by somebody else."""
    if get_origin(annotation) is Annotated:
        inner, *limits = get_args(annotation)
        within = [limit for limit in limits if isinstance(limit, Within)]
        bounds = [
            made(value)
            for limit in within
            for made, value in ((Ge, limit.least), (Le, limit.most), (Gt, limit.above))
            if value is not None
        ]
        return TypeAdapter(Annotated[(inner, Strict(), *_finite(inner), *bounds)])
    return TypeAdapter(annotation, config=ConfigDict(strict=True))


def _finite(kind):
    return [AllowInfNan(False)] if kind is float else []


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("algorithm, parameter", PARAMETERS)
def test_a_parameter_is_what_its_annotation_says(algorithm, parameter, value):
    kind = REGISTERED[algorithm]
    judge = by_pydantic(get_type_hints(kind, include_extras=True)[parameter])
    try:
        judge.validate_python(value)
        fits = not isinstance(value, (Decimal, Fraction))  # which pydantic converts after all
    except ValidationError:
        fits = False
    try:
        made = kind(**{parameter: value})
    except ko.InputError as error:
        assert parameter in str(error) or "scheme" in str(error)
        assert not fits or parameter in ("start", "scheme")  # of texts, only the names of something
    else:
        assert fits
        assert getattr(made, parameter) is value


@pytest.mark.parametrize("algorithm, parameter", PARAMETERS)
def test_the_spec_refuses_it_by_name(algorithm, parameter):
    spec = {
        "attributes": {"a": {"role": "quasi-identifier"}},
        "privacy": {"k": 2},
        "algorithm": algorithm,
        "parameters": {parameter: "off"},
    }
    with pytest.raises(ko.InputError, match=f"parameters: .*{parameter}|There is no scheme"):
        parse_spec(spec)


EXTREMES = [
    ("k-anon-cf", {"memory": 1e6, "records": 1e6}),
    ("k-anon-cf", {"memory": 5e-324, "records": 5e-324}),
    ("sequential", {"alpha": 5e-324, "omega": 1.7e308, "scan": 10**9}),
    ("sequential", {"alpha": 1, "omega": 1, "passes": 1, "scan": 1, "polish": True}),
    ("two-anonymity", {"exact": 10**9}),
    ("two-anonymity", {"exact": 0}),
    ("hilbert", {"bits": np.int64(1)}),
]


@pytest.mark.parametrize("name, parameters", EXTREMES)
def test_what_is_accepted_is_solved(name, parameters):
    people = pa.table({"age": ["21", "22", "41", "42"], "sex": ["f", "m", "f", "f"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = ko.anonymize(
            people,
            quasi_identifiers={"age": ko.intervals(10, 20), "sex": ko.flat()},
            privacy=[ko.KAnonymity(2)],
            algorithm=REGISTERED[name](**parameters),
        )
    assert release.verdict.holds


def test_numpy_scalars_are_numbers_and_are_kept_as_python_has_them():
    made = ko.Hilbert(bits=np.int64(3))
    assert (type(made.bits), made.bits) == (int, 3)
    assert type(ko.KAnonCF(memory=np.float32(0.5)).memory) is float
    assert replace(made, bits=4).bits == 4


def test_the_message_says_what_is_wanted_and_what_was_got():
    with pytest.raises(ko.InputError) as caught:
        ko.KAnonCF(memory="2")
    wanted = "must be a number above 0, at most 1,000,000. Got '2' (text)."
    assert str(caught.value) == f"The 'memory' parameter of k-anon-cf {wanted}"


MODELS = [
    (ko.KAnonymity, {"k": 2}),
    (ko.RiskLimit, {"limit": 0.1, "of": "average", "against": "population", "sampling_fraction": 0.5}),
    (ko.RiskLimit, {"limit": 0.1, "strict": False}),
    (ko.RiskLimit, {"limit": 0.1, "share": 0.05}),
    (ko.KmAnonymity, {"k": 2, "m": 2}),
    (ko.LDiversity, {"attribute": "s", "l": 2, "kind": "recursive", "c": 1}),
    (ko.TCloseness, {"attribute": "s", "t": 0.2, "distance": "equal"}),
    (ko.DeltaDisclosure, {"attribute": "s", "delta": 1}),
    (ko.KnownColumns, {"k": 2, "known": 2}),
    (ko.KMap, {"population": "people.csv", "k": 2}),
    (ko.DeltaPresence, {"population": "people.csv", "at_least": 0, "at_most": 1}),
    (ko.PopulationUniqueness, {"share": 0.1, "sampling_fraction": 0.1, "estimate": "auto"}),
    (ko.DifferentialPrivacy, {"epsilon": 1, "delta": 0.1, "levels": {"a": 1}}),
    (ko.BetaLikeness, {"attribute": "s", "beta": 1, "kind": "basic"}),
    (
        ko.AlphaDeassociation,
        {"attribute": "s", "alpha": 0.5, "values": ["a"], "combine": True, "rounding": "none"},
    ),
    (ko.ItemConfidence, {"sensitive": ["a"], "limit": 0.5, "m": 1}),
    (ko.RhoUncertainty, {"sensitive": ["a"], "rho": 0.5, "m": 1}),
    (ko.Items, {"column": "a", "separator": ";", "multiset": False, "weight": 0.5}),
    (ko.mask, {"side": "right", "char": "*"}),
    (ko.order, {"values": "natural", "fanout": 2}),
    (ko.quantiles, {"split": 2, "depth": 2}),
    (ko.code, {"system": "icd10"}),
    (ko.by_frequency, {"fanout": 2}),
    (ko.groups, {"mapping": {"a": ["b"]}}),
    (lambda origin, top, bottom: ko.intervals(5, origin=origin, top=top, bottom=bottom),
     {"origin": 0, "top": 50, "bottom": 0}),
    (lambda width: ko.intervals(1, width), {"width": 2}),
    (lambda period: ko.dates(period), {"period": "year"}),
]  # fmt: skip


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("make, good", MODELS)
def test_models_and_builders_take_it_or_refuse_it(make, good, value):
    for name in good:
        try:
            make(**(good | {name: value}))
        except ko.InputError:
            continue
        assert value is not True or name in ("multiset", "combine", "strict")  # true is no number


@pytest.mark.parametrize("number", ["nan", float("nan"), float("inf"), "1e999999999", "9" * 5000, True])
def test_models_refuse_what_is_no_number(number):
    for make in (ko.KAnonymity, lambda least: ko.LDiversity("s", least), lambda t: ko.TCloseness("s", t)):
        with pytest.raises(ko.InputError, match="must be"):
            make(number)


OPTIONS = [
    "suppression",
    "suppressed",
    "labels",
    "nulls",
    "on_missing",
    "diversify_weight",
    "shuffle",
    "seed",
]
OPTIONS += ["time_limit", "weights", "orders", "scheme", "key", "engine", "cost", "algorithm", "privacy"]
OPTIONS += ["quasi_identifiers", "sensitive", "identifiers", "insensitive", "others", "items", "header"]


@pytest.mark.parametrize("option", OPTIONS)
def test_options_are_refused_by_type(option):
    people = pa.table({"age": [21, 22, 41, 42], "s": ["a", "b", "a", "b"]})
    asked = {"quasi_identifiers": {"age": None}, "sensitive": ["s"], "privacy": [ko.KAnonymity(2)]}
    wrong = [float("nan"), "x", object(), 1j, np.array([1, 2])]
    for value in wrong:
        with pytest.raises(ko.KohortError):
            ko.anonymize(people, **(asked | {"algorithm": "mondrian", option: value}))


@pytest.mark.parametrize("key", ["suppression", "seed", "shuffle", "time_limit", "items_weight"])
@pytest.mark.parametrize("value", ["0.5", "off", "1", float("nan"), float("inf")])
def test_the_spec_converts_nothing(key, value):
    spec = {"attributes": {"age": {"role": "quasi-identifier"}}, "privacy": {"k": 2}, key: value}
    with pytest.raises(ko.InputError, match=key):
        parse_spec(spec)


def test_lists_of_a_comparison_are_lists():
    people = pa.table({"age": [21, 22, 41, 42]})
    spec: Mapping = {"attributes": {"age": {"role": "quasi-identifier"}}, "privacy": {"k": 2}}
    for wrong in ({"k": 5}, {"k": "5"}, {"algorithms": "mondrian"}, {"queries": "x"}, {"time_limit": np.nan}):
        with pytest.raises(ko.InputError, match="must be"):
            ko.compare(people, spec=spec, **wrong)
