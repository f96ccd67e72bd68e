"""Faults in what the search knows of a promise, each injected into the running product and caught.

A fault is a line of FAULTS: a name, the request that meets it, and what is replaced by what. Without the
fault the request is published, and its verdict holds. With it nothing may be published: verification, which
judges by definitions of its own, must refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.algorithms.items import cuts
from kohort.errors import InternalError
from kohort.job import prepare
from kohort.problem.problem import Problem
from kohort.problem.promises import (
    ITEM_MODELS,
    MODELS,
    ClassCounts,
    ValueContext,
    alpha_deassociation,
    l_diversity,
)
from kohort.problem.units import Units

N = 24
TABLE = pa.table(
    {
        "age": list(range(20, 20 + N)),
        "sex": ["f", "m", "m"] * (N // 3),
        "person": [number // 4 for number in range(N)],
        "patient": [number // 2 for number in range(N)],
        "ill": ["flu"] * 9 + ["cold"] * 9 + ["hiv"] * 6,
        "grade": [1] * 6 + [2] * 6 + [3] * 9 + [4] * 3,
    }
)
EVERYBODY = pa.table({"age": [*range(20, 20 + N)] * 2, "sex": ["f", "m", "m"] * (N // 3) + ["m"] * N})
DRAWN = pa.table({"age": [20 + n % 50 for n in range(2000)] + [75] * 20, "sex": ["f", "m"] * 1010})
BASKETS = pa.table(
    {"items": [["a1", "b1", "x"], ["a1", "b1"], ["a2", "b2"], ["a2", "b1"], ["a1", "b2"], ["a2"]]}
)
ITEMS = ko.groups({"A": ["a1", "a2"], "B": ["b1", "b2"], "X": ["x", "y"]})
IN_A_HIERARCHY = {
    "attributes": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [3, 12]}},
        "ill": {"role": "sensitive", "hierarchy": {"groups": {"lungs": ["flu", "cold"], "blood": ["hiv"]}}},
    },
    "privacy": {"k": 2, "closeness": {"attribute": "ill", "t": 0.1, "distance": "hierarchical"}},
    "algorithm": "full-domain",
}


def ask(*privacy, **more):
    """A request for records with a sensitive value, by mondrian."""
    identifiers = [name for name in ("person", "patient") if name not in str(more.get("person"))]
    asked = {
        "identifiers": identifiers,
        "quasi_identifiers": {"age": None, "sex": None},
        "sensitive": ["ill", "grade"],
        **more,
    }
    return lambda: ko.anonymize(TABLE, privacy=privacy, **{"algorithm": "mondrian", "seed": 1, **asked})


def ask_levels(*privacy):
    """The same by a search over levels of hierarchies."""
    tree = {"age": ko.intervals(3, 6, 12, 24), "sex": ko.flat()}
    return ask(*privacy, quasi_identifiers=tree, algorithm="full-domain")


def ask_items(*privacy):
    return lambda: ko.anonymize(BASKETS, items={"items": ITEMS}, privacy=privacy, algorithm="apriori-items")


def ask_drawn():
    tree = {"age": ko.intervals(10, 30), "sex": ko.flat()}
    promise = ko.DifferentialPrivacy(1, 1e-4, levels={"age": 1, "sex": 0})
    return lambda: ko.anonymize(DRAWN, quasi_identifiers=tree, privacy=[promise], seed=1)


def always(cls) -> dict[tuple[Any, str], Any]:
    """The rule of a model holds for every class, in whatever form a search asks for it."""

    def holds(model, of, context=None):
        return np.ones(len(of.sizes), dtype=bool)

    found = {
        "tally_rule": lambda model: None,
        "deficit": lambda model, of, context=None: np.zeros(len(of.sizes)),
    }
    found["holds_in" if cls.of_table else "holds"] = holds
    if cls.only_counts or cls.enough_k is not MODELS["l-diversity"].enough_k:
        found |= {"needed_k": 1, "enough_k": 1}
    return {(cls, name): replacement for name, replacement in found.items()}


class Fault(NamedTuple):
    name: str
    asked: Callable[[], Any]
    replaced: dict[tuple[Any, str], Any]


def rule_of(model, *, request=ask, k=1, **more):
    """The fault that the rule of a model always holds."""
    of = model.attribute
    name = f"{model.name} always holds: {model.to_dict()}"
    return Fault(
        name, request(*([ko.KAnonymity(k)] if of or k > 1 else []), model, **more), always(type(model))
    )


PEOPLE = {"person": "person", "algorithm": "mondrian"}
LINKED = {"person": {"patient": "pseudonym"}, "algorithm": "auto"}
SECRET = ko.KmAnonymity(1, 1)

FAULTS = [
    # a wrong rule in each model
    Fault(
        "1 record is enough for k", ask(ko.KAnonymity(3)), {(Problem, "k"): 1} | always(MODELS["k-anonymity"])
    ),
    rule_of(ko.RiskLimit(0.3)),
    rule_of(ko.RiskLimit(0.3, "average")),
    rule_of(ko.RiskLimit(0.3, share=0.1)),
    rule_of(ko.RiskLimit(0.2, "maximum", "population", sampling_fraction=0.5)),
    rule_of(ko.LDiversity("ill", 2), k=2),
    rule_of(ko.LDiversity("ill", 2, kind="distinct")),
    rule_of(ko.LDiversity("ill", "3/2", kind="entropy")),
    rule_of(ko.LDiversity("ill", 2, kind="recursive", c=3)),
    rule_of(ko.AlphaDeassociation("ill", 0.5)),
    rule_of(ko.AlphaDeassociation("ill", 0.5, values=["hiv"])),
    rule_of(ko.AlphaDeassociation("ill", 0.5, values=["flu"], rounding="ceiling"), k=2),
    rule_of(ko.AlphaDeassociation("ill", 0.6, values=["hiv", "flu"], combine=False)),
    rule_of(ko.TCloseness("ill", 0.2)),
    rule_of(ko.TCloseness("grade", 0.2, "ordered"), orders={"grade": ["1", "2", "3", "4"]}),
    Fault(
        "t-closeness in a hierarchy always holds",
        lambda: ko.anonymize(TABLE.select(["age", "ill"]), spec=IN_A_HIERARCHY),
        always(MODELS["t-closeness"]),
    ),
    rule_of(ko.DeltaDisclosure("ill", 1)),
    rule_of(ko.BetaLikeness("ill", 0.5)),
    rule_of(ko.BetaLikeness("ill", 5, "enhanced")),
    rule_of(ko.KnownColumns(3, 1)),
    rule_of(ko.KMap(EVERYBODY, 3), request=ask_levels),
    rule_of(ko.DeltaPresence(EVERYBODY, at_most="1/2"), request=ask_levels),
    rule_of(ko.PopulationUniqueness(0.01, sampling_fraction=0.5), request=ask_levels),
    Fault(
        "differential-privacy: 1 record is enough", ask_drawn(), {(MODELS["differential-privacy"], "k"): 1}
    ),
    # people
    Fault(
        "k-anonymity counts records, not people",
        ask(ko.KAnonymity(3), **PEOPLE),
        {(prepare, "units_of"): lambda *_: Units()},
    ),
    Fault(
        "l-diversity of people always holds",
        ask(ko.KAnonymity(2), ko.LDiversity("ill", 2), **PEOPLE),
        always(MODELS["l-diversity"]),
    ),
    Fault(
        "t-closeness of people always holds",
        ask(ko.KAnonymity(1), ko.TCloseness("ill", 0.2), **PEOPLE),
        always(MODELS["t-closeness"]),
    ),
    Fault(
        "l-diversity of histories always holds",
        ask(ko.KAnonymity(2), ko.LDiversity("ill", 2), **LINKED),
        always(MODELS["l-diversity"]),
    ),
    # what several rules are made of
    Fault(
        "the most frequent value of a class counts once",
        ask(ko.KAnonymity(2), ko.LDiversity("ill", 2)),
        {(ClassCounts, "largest"): property(lambda counts: np.ones_like(counts.sizes))}
        | {(MODELS["l-diversity"], "tally_rule"): lambda model: None},
    ),
    Fault(
        "every value differs from all others",
        ask(ko.KAnonymity(2), ko.LDiversity("ill", 2, kind="distinct")),
        {(ClassCounts, "distinct"): property(lambda counts: counts.sizes)}
        | {(MODELS["l-diversity"], "tally_rule"): lambda model: None},
    ),
    *(
        Fault(
            f"{model.name}: fractions are always at most the other",
            ask(ko.KAnonymity(1), model),
            {(module, "at_most"): lambda left, *_: np.ones(len(left), dtype=bool)}
            | {(type(model), "tally_rule"): lambda model: None},
        )
        for model, module in (
            (ko.LDiversity("ill", 2), l_diversity),
            (ko.AlphaDeassociation("ill", 0.5), alpha_deassociation),
        )
    ),
    Fault(
        "listed values are not found",
        ask(ko.KAnonymity(2), ko.AlphaDeassociation("ill", 0.5, values=["flu"])),
        {(ValueContext, "codes"): lambda context, labels: []}
        | {(MODELS["alpha-deassociation"], "tally_rule"): lambda model: None},
    ),
    # items
    Fault(
        "rare itemsets are not repaired",
        ask_items(ko.KmAnonymity(2, 2)),
        {(cuts, "repair_by_size"): lambda search, m, run: ([0] * m, 0)},
    ),
    Fault(
        "item-confidence allows every share",
        ask_items(SECRET, ko.ItemConfidence(["x"], "1/4", m=2)),
        {(ITEM_MODELS["item-confidence"], "limit_among"): lambda *_: 1}
        | {(ITEM_MODELS["item-confidence"], "allows"): lambda model, n, _: np.ones(len(n), dtype=bool)},
    ),
    Fault(
        "rho-uncertainty knows no rules",
        ask_items(SECRET, ko.RhoUncertainty(["x"], "1/2", m=2)),
        {(ITEM_MODELS["rho-uncertainty"], "rules"): lambda *_: iter(())},
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_caught_before_anything_is_published(fault, monkeypatch):
    assert fault.asked().verdict.holds
    for (owner, name), replacement in fault.replaced.items():
        monkeypatch.setattr(owner, name, replacement)
    with pytest.raises(InternalError, match="failed its own verification"):
        fault.asked()


def test_every_model_has_a_fault():
    faulty = {owner.name for fault in FAULTS for owner, _ in fault.replaced if hasattr(owner, "spec_key")}
    assert faulty >= MODELS.keys() | ITEM_MODELS.keys() - {"km-anonymity"}
