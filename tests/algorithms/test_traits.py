"""What goes with what follows from traits: a table of all algorithms, a new cost and a new model."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.algorithms import ALGORITHMS, EVERY_ALGORITHM, ITEMS_ALGORITHMS, for_scheme, is_for_items
from kohort.errors import UnsupportedError
from kohort.problem.costs import COSTS, SeparableCost
from kohort.problem.promises import ITEM_MODELS, MODELS, Model
from kohort.recoding.columns import AttributeMaps, Partitions
from kohort.recoding.groups import Groups
from kohort.recoding.items import ItemNodes
from kohort.verification import measure
from kohort.verification.promises import OF_CLASSES, Judged

K = {"k-anonymity", "risk-limit"}
ALPHA_K = K | {"alpha-deassociation"}
ANY = ALPHA_K | {"l-diversity", "t-closeness", "delta-disclosure", "beta-likeness"}
OF_TABLES = ANY | {"known-columns", "k-map", "delta-presence", "population-uniqueness"}
METRIC = {"loss", "ncp", "tree", "suppressions", "monotone-entropy"}
SUMS = METRIC | {"entropy"}
SEPARABLE = SUMS | {"distortion"}
BLOCKS = {"loss", "ncp", "tree", "monotone-entropy", "discernibility", "hierarchical-discernibility"}
ALL = SEPARABLE | BLOCKS | {"ambiguity", "average-class-size"}

ITEMS = {"km-anonymity", "item-confidence", "rho-uncertainty"}
GOES_WITH = {
    # name: models it meets, costs it minimises, what it returns, whether it may withhold records
    "auto": (OF_TABLES | {"differential-privacy"}, SUMS, Groups, True),
    "improve": (ANY, SUMS, Groups, True),
    "k-anon": (K, SUMS, Groups, False),
    "k-anon-cf": (K, SUMS, Groups, False),
    "mondrian": (ANY, SUMS, Groups, False),
    "agglomerative": (K, SUMS, Groups, False),
    "sequential": (K, SUMS, Groups, False),
    "hilbert": (K, SUMS, Groups, False),
    "mdav": (K, SUMS, Groups, False),
    "full-domain": (OF_TABLES, ALL, AttributeMaps, True),
    "incognito": (OF_TABLES, SEPARABLE, AttributeMaps, False),
    "progressive": (ALPHA_K, SEPARABLE, Groups, False),
    "top-down": (ALPHA_K, SEPARABLE, Groups, False),
    "forest": (K, METRIC, Groups, True),
    "two-anonymity": (K, METRIC, Groups, False),
    "three-anonymity": (K, METRIC, Groups, False),
    "optimal": (K, SUMS, Groups, True),
    "optimal-recoding": (K, BLOCKS, Partitions, True),
    "bottom-up": (K, BLOCKS, Partitions, True),
    "top-down-search": (K, BLOCKS, Partitions, True),
    "apriori-items": (ITEMS, {"ncp"}, ItemNodes, False),
    "local-items": (ITEMS, {"ncp"}, ItemNodes, False),
    "improve-items": (ITEMS, {"ncp"}, ItemNodes, False),
    "vertical-items": (ITEMS, {"ncp"}, ItemNodes, False),
    "direct-items": (ITEMS, {"ncp"}, ItemNodes, False),
    "optimal-items": (ITEMS, {"ncp"}, ItemNodes, False),
}


def test_the_table_names_every_algorithm():
    assert list(GOES_WITH) == list(EVERY_ALGORITHM) == [*ALGORITHMS, *ITEMS_ALGORITHMS]
    assert set(COSTS) == ALL


@pytest.mark.parametrize("name", GOES_WITH)
def test_what_goes_with_what(name):
    algorithm = EVERY_ALGORITHM[name]
    models, costs, recoding, withholds = GOES_WITH[name]
    known = ITEM_MODELS if is_for_items(name) else MODELS
    assert algorithm.models == tuple(model for model in known if model in models)
    assert algorithm.costs == tuple(cost for cost in COSTS if cost in costs)
    assert (algorithm.recoding, algorithm.withholds) == (recoding, withholds)
    assert algorithm.for_items is (recoding is ItemNodes) is is_for_items(algorithm()) is is_for_items(name)


OUTLIER = pa.table({"a": [*"xxxxyyyy", "z"], "b": [*"ppppqqqq", "r"]})


@pytest.mark.parametrize("name", ALGORITHMS)
def test_only_those_withhold_that_say_so_and_all_return_what_they_say(name):
    k = {"two-anonymity": 2, "three-anonymity": 3}.get(name, 4)
    release = ko.anonymize(
        OUTLIER,
        quasi_identifiers={"a": ko.flat(), "b": ko.flat()},
        privacy=[ko.KAnonymity(k)],
        algorithm=name,
        suppression=0.2,
        suppressed="drop",
    )
    assert release.verdict.withheld == int(ALGORITHMS[name].withholds)
    assert isinstance(release.recoding, ALGORITHMS[name].recoding)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_where_a_scheme_is_asked_for_a_search_takes_it(name):
    algorithm = ALGORITHMS[name]()
    searches = {"auto": "optimal-recoding", "top-down": "top-down-search"}
    searches |= {search: search for search in ("optimal-recoding", "bottom-up", "top-down-search")}
    assert algorithm.takes_scheme == hasattr(algorithm, "scheme")
    if name not in searches:
        with pytest.raises(ko.UnsupportedError, match="optimal-recoding, bottom-up, top-down-search"):
            for_scheme(algorithm, "ops", {})
        return
    assert for_scheme(algorithm, "ops", {}) == ALGORITHMS[searches[name]](scheme="ops")
    assert for_scheme(algorithm, "ops", {"a": "ghs"}).scheme == {"a": "ghs", "*": "ops"}


# -- a new cost, and a new model, as somebody would add them ------------------------------------------


class Steep(SeparableCost):
    """The square of the share of other values that a cell covers."""

    name: ClassVar[str] = "steep"
    meaning: ClassVar[str] = "square of the share of the other values that a published cell covers"

    def cell(self, values):
        return ((values.width - 1) / max(values.n_leaves - 1, 1)) ** 2


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_new_cost_is_minimised_by_all_that_can(name, monkeypatch):
    monkeypatch.setitem(COSTS, "steep", Steep)
    asked = {"quasi_identifiers": {"age": ko.intervals(5, 10)}, "cost": "steep", "algorithm": name}
    table = pa.table({"age": [21, 22, 24, 41, 42, 47]})
    k = {"two-anonymity": 2, "three-anonymity": 3}.get(name, 2)
    with pytest.raises(UnsupportedError, match="no definition of the cost 'steep'"):
        ko.anonymize(table, privacy=[ko.KAnonymity(k)], **asked)
    monkeypatch.setitem(measure._MEAN_CELLS, "steep", lambda labels: measure.loss_of_labels(labels) ** 2)
    monkeypatch.setattr(measure, "COST_NAMES", (*measure.COST_NAMES, "steep"))
    assert "steep" in ALGORITHMS[name].costs
    release = ko.anonymize(table, privacy=[ko.KAnonymity(k)], **asked)
    assert 0 < release.loss["steep"] < release.loss["loss"] < 1
    assert all(b is None or b <= release.loss["steep"] + 1e-12 for b in (release.bound, release.solver_bound))


@dataclass(frozen=True)
class NotAll(Model):
    """No class has one and the same value only."""

    name: ClassVar[str] = "not-all"
    spec_key: ClassVar[str] = "not_all"
    attribute: str

    def holds(self, counts, context=None):
        return counts.distinct >= 2

    def describe(self):
        return f"no class has a single value of {self.attribute!r}"

    def _refusal(self, whole_table, context):
        return "The table has a single value."


def not_all(promise, counts, values):
    """The same, as verification defines it."""
    several = np.bincount(counts.class_of, minlength=len(counts.sizes)) > 1
    return Judged(2, several, lambda chosen: 1 + int(several[chosen].all()))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_new_model_is_met_or_united_for_or_refused(name, monkeypatch):
    monkeypatch.setitem(MODELS, "not-all", NotAll)
    monkeypatch.setitem(OF_CLASSES, "not-all", not_all)
    meets = "not-all" in ALGORITHMS[name].models
    assert meets == (GOES_WITH[name][0] >= ANY)
    people = pa.table({"age": [21, 22, 24, 41, 42, 47], "ill": [*"aabbab"]})
    k = {"three-anonymity": 3}.get(name, 2)
    try:
        release = ko.anonymize(
            people,
            quasi_identifiers={"age": ko.intervals(5, 10)},
            sensitive=["ill"],
            privacy=[ko.KAnonymity(k), NotAll("ill")],
            algorithm=name,
        )
    except ko.UnsupportedError as error:
        assert name == "improve" or issubclass(ALGORITHMS[name].recoding, Partitions), error
        return
    ages, ills = (np.array(release.table[name].to_pylist()) for name in ("age", "ill"))
    assert all(len(set(ills[ages == age])) == 2 for age in set(ages))
