"""What the three algorithms of (alpha, k)-anonymity owe together."""

from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given

import kohort as ko
from alpha_problems import alpha_cases
from kohort.errors import InfeasibleError

ALPHA_K = ("incognito", "progressive", "top-down")
each = pytest.mark.parametrize("name", ALPHA_K)


def groups_of(release, quasi_identifiers):
    """The published table grouped by what a stranger sees."""
    columns = release.table.to_pydict()
    found = {}
    for row in zip(*columns.values()):
        record = dict(zip(columns, row))
        found.setdefault(tuple(record[q] for q in quasi_identifiers), []).append(record)
    return list(found.values())


def keeps(group, model):
    """By the definition, on one group of published records."""
    counts = Counter(record[model.attribute] for record in group)
    values = model.values or list(counts)
    sums = [sum(counts[v] for v in values)] if model.values and model.combine else [counts[v] for v in values]
    return max(sums) <= Fraction(model.alpha) * len(group)


@each
@given(case=alpha_cases(feasible=False))
def test_a_release_is_made_exactly_if_the_whole_table_keeps_alpha(name, case):
    """Otherwise the smallest feasible alpha is named."""
    whole = case.table.to_pylist()
    if all(keeps(whole, model) for model in case.privacy[1:]):
        release = case.anonymize(name)
        for group in groups_of(release, case.quasi_identifiers):
            assert len(group) >= case.privacy[0].k
            assert all(keeps(group, model) for model in case.privacy[1:])
        return
    with pytest.raises(InfeasibleError, match="so alpha must be at least "):
        case.anonymize(name)


@each
@given(case=alpha_cases(max_records=9))
def test_local_recoding_and_full_domain_hold_on_labels_of_any_kind(name, case):
    release = case.anonymize(name, labels="tight")
    for group in groups_of(release, case.quasi_identifiers):
        assert len(group) >= case.privacy[0].k and all(keeps(group, model) for model in case.privacy[1:])


@each
def test_exact_fractions_a_third_is_a_third(name):
    table = pa.table({"b": ["b1"] * 3 + ["b2"] * 3, "sens": ["c", "n", "n"] * 2})
    release = ko.anonymize(
        table,
        quasi_identifiers={"b": ko.flat()},
        sensitive=["sens"],
        privacy=[ko.KAnonymity(3), ko.AlphaDeassociation("sens", "1/3", values=["c"])],
        algorithm=name,
        shuffle=False,
    )
    assert release.table["b"].to_pylist() == ["b1"] * 3 + ["b2"] * 3


@each
@pytest.mark.parametrize("alpha", ["0." + 40 * "3" + "4", 0.1 + 0.2 + 1 / 30])
def test_an_alpha_with_many_digits_is_a_number_like_any_other(name, alpha):
    """Its denominator may be larger than any integer of the machine."""
    table = pa.table({"b": ["b1"] * 3 + ["b2"] * 4, "sens": ["c", "n", "n"] * 2 + ["n"]})
    release = ko.anonymize(
        table,
        quasi_identifiers={"b": ko.flat()},
        sensitive=["sens"],
        privacy=[ko.KAnonymity(3), ko.AlphaDeassociation("sens", alpha, values=["c"])],
        algorithm=name,
        shuffle=False,
    )
    assert release.table["b"].to_pylist() == ["b1"] * 3 + ["b2"] * 4


PATIENTS = ko.datasets.generate_hospital(600, seed=4)
COLUMNS = {"sex": ko.flat(), "age": ko.intervals(5, 10, 20, top=90), "postcode": ko.mask()}
ILLNESSES = sorted(set(PATIENTS["diagnosis"].to_pylist()), key=lambda v: (v is None, v))


@each
@pytest.mark.parametrize(
    "alpha",
    [
        [ko.AlphaDeassociation("diagnosis", 0.3, values=ILLNESSES[:4])],
        [ko.AlphaDeassociation("diagnosis", 0.3, values=ILLNESSES[:4], combine=False)],
        [ko.AlphaDeassociation("diagnosis", "1/4")],
        [ko.AlphaDeassociation("diagnosis", 0.3), ko.AlphaDeassociation("insurance", 0.9)],
    ],
    ids=["several as one", "each of several", "every value", "two attributes"],
)
def test_the_general_models_hold_in_an_independent_group_by(name, alpha):
    names = sorted({model.attribute for model in alpha})
    release = ko.anonymize(
        PATIENTS.select([*COLUMNS, *names]),
        quasi_identifiers=COLUMNS,
        sensitive=names,
        privacy=[ko.KAnonymity(4), *alpha],
        algorithm=name,
    )
    groups = groups_of(release, COLUMNS)
    assert len(groups) > 1
    for group in groups:
        assert len(group) >= 4
        assert all(keeps(group, model) for model in alpha)
