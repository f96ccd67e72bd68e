from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition import models as by_definition
from by_definition.verification import classes, value_counts
from kohort.errors import InputError
from kohort.tables.memory import MemoryTable
from kohort.verification import published_classes, verify_models

LABELS = ["*", "a", "b", None]

published_tables = st.integers(1, 3).flatmap(
    lambda r: st.lists(
        st.tuples(*[st.sampled_from(LABELS)] * r, st.sampled_from(["flu", "cold", None])),
        min_size=1,
        max_size=20,
    )
)


def verdict_of(columns, quasi_identifiers, models, **options):
    table = MemoryTable(pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()}))
    return verify_models(published_classes(table, quasi_identifiers, models), models, **options)


@given(published_tables, st.integers(1, 4), st.fractions(1, 3, max_denominator=4))
def test_classes_and_models_are_those_of_a_plain_group_by(rows, k, l):  # noqa: E741
    columns = {f"q{j}": list(values) for j, values in enumerate(zip(*rows))}
    quasi_identifiers = list(columns)[:-1]
    columns["illness"] = columns.pop(f"q{len(quasi_identifiers)}")
    models = [ko.KAnonymity(k), ko.LDiversity("illness", l)]
    verdict = verdict_of(columns, quasi_identifiers, models, suppression=0.5)

    found = classes([columns[name] for name in quasi_identifiers])
    counts = {look: value_counts(records, columns["illness"]) for look, records in found.items()}
    frequency = {look: by_definition.frequency(list(c.values())) for look, c in counts.items()}
    fails_k = {look for look, records in found.items() if len(records) < k}
    fails_l = {look for look in found if frequency[look] < l}
    all_star = ("*",) * len(quasi_identifiers)
    withheld = {all_star} & set(found)
    if 2 * sum(len(found[look]) for look in withheld) > len(rows):  # too many to be withheld
        withheld &= fails_k | fails_l
    kept = set(found) - withheld

    assert verdict.classes == len(kept)
    assert verdict.withheld == sum(len(found[look]) for look in withheld)
    assert verdict.smallest_class == min((len(found[look]) for look in kept), default=None)
    k_verdict, l_verdict = verdict.models
    assert k_verdict.failing_classes == len(fails_k & kept)
    assert l_verdict.failing_classes == len(fails_l & kept)
    assert l_verdict.measured == min((frequency[look] for look in kept), default=None)
    assert verdict.holds == (not (fails_k | fails_l) and verdict.withheld <= Fraction(1, 2) * len(rows))
    listed = verdict.violations.to_pydict()
    looks = list(zip(*(listed[name] for name in quasi_identifiers)))
    assert set(looks) == fails_k | fails_l
    for look, size, fails in zip(looks, listed["class_size"], listed["fails"]):
        assert size == len(found[look])
        assert ("k-anonymity" in fails) == (look in fails_k)
        assert ("l-diversity" in fails) == (look in fails_l)


def test_a_broken_class_is_shown_by_its_published_values_and_what_it_fails():
    verdict = verdict_of({"age": ["20-29", "20-29", "30-39"]}, ["age"], [ko.KAnonymity(2)])
    assert not verdict.holds
    assert verdict.violations.to_pylist() == [{"age": "30-39", "class_size": 1, "fails": "k-anonymity"}]
    [reason] = verdict.reasons()
    assert "every class has at least 2 records (asked 2, measured 1)" in reason


def test_missing_values_are_a_value_of_their_own():
    verdict = verdict_of({"age": [None, None, "1"]}, ["age"], [ko.KAnonymity(2)])
    assert verdict.violations["age"].to_pylist() == ["1"]
    verdict = verdict_of({"age": [None, "1", "1"]}, ["age"], [ko.KAnonymity(2)])
    assert verdict.violations["age"].to_pylist() == [None]


def test_many_columns_with_many_values_are_told_apart():
    """More combinations than fit into 62 bits: a collision would make two records one class."""
    n = 300
    columns = {f"q{j}": [str((i * (j + 3)) % n) for i in range(n)] for j in range(12)}
    names = list(columns)
    columns["q11"][1] = columns["q11"][0]
    verdict = verdict_of(columns, names, [ko.KAnonymity(1)])
    assert verdict.classes == len(set(zip(*columns.values()))) == n
    sizes = Counter(zip(*columns.values()))
    assert verdict.smallest_class == min(sizes.values())


# -- withheld records ------------------------------------------------------------------------------

WITHHELD = {"age": ["1", "1", "1", "*"], "sex": ["f", "f", "f", "*"]}


def test_records_that_are_star_everywhere_are_withheld_up_to_the_limit():
    allowed = verdict_of(WITHHELD, ["age", "sex"], [ko.KAnonymity(1)], suppression=0.25)
    assert (allowed.holds, allowed.withheld, allowed.classes, allowed.smallest_class) == (True, 1, 1, 3)
    refused = verdict_of(WITHHELD, ["age", "sex"], [ko.KAnonymity(2)], suppression=0.24)
    assert refused.holds is False
    assert "Withheld: 1 of 4 records; allowed: 0." in refused.reasons()


def test_withheld_records_must_keep_the_promises_together():
    """Anybody who fits no class is known to be one of them."""
    verdict = verdict_of(WITHHELD, ["age", "sex"], [ko.KAnonymity(2)], suppression=0.25)
    assert not verdict.holds
    [reason] = verdict.reasons()
    assert "1 record is withheld as `*`" in reason and "k-anonymity" in reason
    assert verdict.violations.to_pylist() == [
        {"age": "*", "sex": "*", "class_size": 1, "fails": "k-anonymity"}
    ]


def test_withheld_records_must_be_diverse():
    columns = {"age": ["1", "1", "*", "*"], "illness": ["flu", "cold", "HIV", "HIV"]}
    models = [ko.KAnonymity(2), ko.LDiversity("illness", 2, kind="distinct")]
    verdict = verdict_of(columns, ["age"], models, suppression=0.5)
    assert all(model.holds for model in verdict.models) and not verdict.holds
    columns["illness"][3] = "flu"
    verdict = verdict_of(columns, ["age"], models, suppression=0.5)
    assert verdict.holds and verdict.withheld == 2
    assert "records withheld as *" in [check.name for check in verdict.checks]


def test_records_that_are_star_everywhere_and_form_a_class_are_a_class():
    verdict = verdict_of({"age": ["*", "*", "1", "1"]}, ["age"], [ko.KAnonymity(2)])
    assert (verdict.holds, verdict.withheld, verdict.classes) == (True, 0, 2)
    verdict = verdict_of({"age": ["*", "*", "1", "1"]}, ["age"], [ko.KAnonymity(2)], suppression=0.4)
    assert (verdict.holds, verdict.withheld, verdict.classes) == (True, 0, 2)


def test_records_that_are_star_everywhere_and_may_be_withheld_are_withheld_however_many_look_alike():
    verdict = verdict_of({"age": ["*", "*", "1", "1"]}, ["age"], [ko.KAnonymity(2)], suppression=0.5)
    assert (verdict.holds, verdict.withheld, verdict.classes) == (True, 2, 1)


def test_stars_in_some_columns_only_are_no_excuse():
    verdict = verdict_of(
        {"age": ["1", "1", "*"], "sex": ["f", "f", "f"]}, ["age", "sex"], [ko.KAnonymity(2)], suppression=0.5
    )
    assert (verdict.holds, verdict.withheld) == (False, 0)


def test_records_that_were_left_out_count_as_withheld():
    verdict = verdict_of({"age": ["1", "1"]}, ["age"], [ko.KAnonymity(2)], suppression=0.2, dropped=1)
    assert (verdict.holds, verdict.withheld) == (False, 1)
    verdict = verdict_of({"age": ["1"] * 4}, ["age"], [ko.KAnonymity(2)], suppression=0.2, dropped=1)
    assert (verdict.holds, verdict.withheld, verdict.records) == (True, 1, 4)


def test_the_limit_is_an_exact_share():
    """0.07 * 100 is 7.000000000000001 in floating point, 0.29 * 100 is 28.999999999999996."""
    for share, withheld in ((0.07, 7), (0.29, 29)):
        columns = {"age": ["*"] * withheld + ["1"] * (100 - withheld)}
        assert verdict_of(columns, ["age"], [ko.KAnonymity(1)], suppression=share).withheld == withheld
        less = verdict_of(columns, ["age"], [ko.KAnonymity(withheld + 1)], suppression=share - 0.01)
        assert f"{withheld} of 100 records; allowed" in less.reasons()[0]


def test_t_closeness_compares_with_all_records_withheld_ones_among_them():
    """Whole table: half flu. The class alone has 2 of 3 flu, 1/6 away; without the withheld it would be 0."""
    columns = {"age": ["1", "1", "1", "*"], "illness": ["flu", "flu", "cold", "cold"]}
    close = verdict_of(columns, ["age"], [ko.KAnonymity(2), ko.TCloseness("illness", 0.2)], suppression=0.25)
    assert all(model.holds for model in close.models)
    assert close.models[1].measured == Fraction(1, 6)
    assert not verdict_of(
        columns, ["age"], [ko.KAnonymity(2), ko.TCloseness("illness", 0.1)], suppression=0.25
    ).holds


def test_a_table_of_withheld_records_only_has_no_class():
    verdict = verdict_of({"age": ["*"]}, ["age"], [ko.KAnonymity(2)])
    assert (verdict.classes, verdict.smallest_class, verdict.models[0].measured) == (0, None, None)
    assert verdict.holds is False  # none may be withheld
    assert verdict.to_dict()["models"][0]["measured"] is None


# -- names -----------------------------------------------------------------------------------------


def test_a_quasi_identifier_may_be_called_like_a_column_of_the_violations():
    columns = {"class_size": ["1", "2", "2"], "fails": ["x", "y", "y"]}
    verdict = verdict_of(columns, ["class_size", "fails"], [ko.KAnonymity(2)])
    assert verdict.violations.to_pylist() == [
        {"class_size": "1", "fails": "x", "class_size_": 1, "fails_": "k-anonymity"}
    ]


def test_a_column_that_is_not_there_is_named_with_the_nearest():
    with pytest.raises(InputError, match=r"no column 'aeg'\. Did you mean 'age'"):
        verdict_of({"age": ["1"]}, ["aeg"], [ko.KAnonymity(1)])
    with pytest.raises(InputError, match="no column 'illness'"):
        verdict_of({"age": ["1"]}, ["age"], [ko.LDiversity("illness", 1)])
    with pytest.raises(InputError, match="no quasi-identifier"):
        verdict_of({"age": ["1"]}, [], [ko.KAnonymity(1)])


def test_a_verdict_goes_into_json():
    columns = {"age": ["1", "1", "2"], "illness": ["flu", "cold", "flu"]}
    verdict = verdict_of(
        columns,
        ["age"],
        [
            ko.KAnonymity(1),
            ko.LDiversity("illness", 2, kind="recursive", c=3),
            ko.TCloseness("illness", "1/3"),
        ],
    ).to_dict()
    recursive, closeness = verdict["models"][1:]
    assert recursive["measured"] is None  # infinite: a class has fewer than two values
    assert (recursive["asked"], recursive["holds"], recursive["failing_classes"]) == (3, False, 1)
    assert closeness["asked"] == pytest.approx(1 / 3)
    assert verdict["holds"] is False
