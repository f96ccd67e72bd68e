"""A limit on the risk: judged as by definition, translated into the right k, refused where impossible."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kohort as ko
from by_definition.risk_limit import keeps, negative_binomial, population_risk, sample_risks, share_above
from kohort.problem.promises import ClassCounts, RiskLimit
from kohort.problem.promises.sizes import expected_risk
from kohort.verification.promises import OF_CLASSES, Counts, Values, stated


def measured(model, sizes):
    """What verification measures: the search's model only says whether a limit holds."""
    [promise] = stated([model])
    judged = OF_CLASSES[promise.name](promise, Counts(np.array(sizes)), Values())
    return judged.measured(np.ones(len(sizes), dtype=bool))


SIZES = st.lists(st.integers(1, 12), min_size=1, max_size=8)
LIMITS = st.fractions(Fraction(1, 20), 1, max_denominator=24)


@example(sizes=[1, 3], limit=Fraction(1, 2), of="average", strict=False)  # just the limit
@example(sizes=[1, 3], limit=Fraction(1, 2), of="average", strict=True)
@given(sizes=SIZES, limit=LIMITS, of=st.sampled_from(["maximum", "average"]), strict=st.booleans())
def test_a_limit_against_the_sample_is_judged_as_by_definition(sizes, limit, of, strict):
    model, counts = RiskLimit(limit, of, strict=strict), ClassCounts.of_sizes(np.array(sizes))
    risks = sample_risks(sizes)
    assert model.holds(counts).all() == keeps(risks, limit, of, strict)
    assert measured(model, sizes) == (max(risks) if of == "maximum" else sum(risks) / len(risks))


@given(
    sizes=SIZES, limit=LIMITS, of=st.sampled_from(["maximum", "average"]), share=st.sampled_from([0.2, 0.7])
)
def test_a_limit_against_the_population_is_judged_as_by_definition(sizes, limit, of, share):
    model = RiskLimit(limit, of, "population", sampling_fraction=share)
    counts = ClassCounts.of_sizes(np.array(sizes))
    risks = [population_risk(size, share) for size in sizes for _ in range(size)]
    assert float(measured(model, sizes)) == pytest.approx(max(risks) if of == "maximum" else np.mean(risks))
    assert model.holds(counts).all() == keeps(risks, float(limit), of, strict=True)


@example(sizes=[1, 3], limit=Fraction(1, 2), share=Fraction(1, 4), strict=True)  # just the share
@given(sizes=SIZES, limit=LIMITS, share=st.fractions("1/20", "19/20"), strict=st.booleans())
def test_a_limit_for_a_share_of_records_is_judged_as_by_definition(sizes, limit, share, strict):
    model, counts = RiskLimit(limit, strict=strict, share=share), ClassCounts.of_sizes(np.array(sizes))
    above = share_above(sample_risks(sizes), limit, strict)
    assert measured(model, sizes) == above and model.asked == share
    assert model.holds(counts).all() == (above <= share)


@given(sizes=SIZES, limit=LIMITS, share=st.fractions("1/20", "19/20"))
def test_a_limit_for_a_share_is_also_judged_against_the_population(sizes, limit, share):
    model = RiskLimit(limit, "maximum", "population", sampling_fraction=0.3, share=share)
    risks = [population_risk(size, 0.3) for size in sizes for _ in range(size)]
    assert measured(model, sizes) == share_above(risks, float(limit), True)


def test_a_limit_that_is_just_met_needs_one_more_where_it_is_strict():
    everybody = {"against": "population", "sampling_fraction": 1}
    assert RiskLimit(0.1, **everybody, strict=False).least_class == 10
    assert RiskLimit(0.1, **everybody, strict=True).least_class == 11


@pytest.mark.parametrize("share", [0.002, 0.01, 0.3, 0.5, 0.501, 0.9, 0.999])
@pytest.mark.parametrize("size", [1, 2, 3, 11, 12, 40])
def test_the_expected_risk_is_the_sum_of_its_definition(size, share):
    assert expected_risk(size, share) == pytest.approx(population_risk(size, share), rel=1e-7)


def test_large_classes_and_the_whole_population():
    assert [expected_risk(size, 1.0) for size in (1, 4)] == [1.0, 0.25]
    found = [expected_risk(size, 0.1) for size in (199, 200, 201, 202, 5000)]
    assert (np.diff(found) < 0).all() and found[-1] == pytest.approx(0.1 / 5000, rel=1e-2)
    assert sum(negative_binomial(h, 3, 0.4) for h in range(3, 200)) == pytest.approx(1)


@given(limit=LIMITS, strict=st.booleans())
def test_the_k_that_a_limit_needs_is_the_least_that_keeps_it(limit, strict):
    model = RiskLimit(limit, strict=strict)
    kept = [k for k in range(1, 60) if keeps([Fraction(1, k)], limit, "maximum", strict)]
    assert model.needed_k == model.least_class == kept[0]
    assert RiskLimit(limit, "average", strict=strict).needed_k == 1


def test_a_strict_limit_of_009_needs_12():
    assert RiskLimit(0.09).needed_k == 12 and RiskLimit("1/11").needed_k == 12
    assert RiskLimit("1/11", strict=False).needed_k == 11
    assert "needs k = 12" in RiskLimit(0.09).why_this_k() and "0.0909" in RiskLimit(0.09).why_this_k()


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": 1.01},
        {"limit": 0.1, "of": "median"},
        {"limit": 0.1, "against": "village"},
        {"limit": 0.1, "strict": "yes"},
        {"limit": 0.1, "against": "population"},
        {"limit": 0.1, "sampling_fraction": 0.5},
        {"limit": 0.1, "against": "population", "sampling_fraction": 0},
        {"limit": 0.1, "share": 0},
        {"limit": 0.1, "share": 1},
        {"limit": 0.1, "of": "average", "share": 0.1},
    ],
)
def test_what_is_no_limit_is_refused(wrong):
    with pytest.raises(ko.InputError, match=r"limit|RiskLimit"):
        RiskLimit(**wrong)


def people(n=300):
    rng = np.random.default_rng(3)
    return pa.table({"age": rng.integers(20, 60, n), "town": [f"t{i}" for i in rng.integers(0, 6, n)]})


@pytest.mark.parametrize("algorithm", ["mondrian", "full-domain", "forest"])
@pytest.mark.parametrize(
    "limit",
    [
        RiskLimit(0.09),
        RiskLimit(0.2, "average"),
        RiskLimit(0.05, "maximum", "population", sampling_fraction=0.2),
        RiskLimit(0.05, "average", "population", sampling_fraction=0.3),
        RiskLimit(0.09, share=0.2),
    ],
)
def test_a_release_keeps_its_limit(algorithm, limit):
    release = ko.anonymize(
        people(),
        quasi_identifiers={"age": ko.intervals(5, 20), "town": None},
        privacy=limit,
        algorithm=algorithm,
    )
    [found] = release.verdict.models
    assert found.model == "risk-limit" and found.holds and found.measured <= found.asked
    sizes = [len(rows) for rows in classes(release.table).values()]
    if limit.share is not None:
        assert found.measured == Fraction(sum(size for size in sizes if size < 12), sum(sizes))
    elif limit.against == "sample":
        assert found.measured == pytest.approx(
            max(sample_risks(sizes)) if limit.of == "maximum" else len(sizes) / sum(sizes)
        )
    assert not limit.of_whole_table or not release.claims


def classes(table):
    found = {}
    for row in table.select(["age", "town"]).to_pylist():
        found.setdefault(tuple(row.values()), []).append(row)
    return found


def test_an_average_keeps_more_detail_than_a_maximum():
    asked = {"quasi_identifiers": {"age": ko.intervals(5, 20), "town": None}, "algorithm": "mondrian"}
    highest = ko.anonymize(people(), privacy=RiskLimit(0.1), **asked)
    average = ko.anonymize(people(), privacy=RiskLimit(0.1, "average"), **asked)
    assert average.loss["loss"] < highest.loss["loss"]
    assert average.verdict.smallest_class < 10 <= highest.verdict.smallest_class


def test_a_share_above_the_limit_keeps_more_detail_than_none():
    asked = {"quasi_identifiers": {"age": ko.intervals(5, 20), "town": None}, "algorithm": "mondrian"}
    nobody = ko.anonymize(people(), privacy=RiskLimit(0.09), **asked)
    some = ko.anonymize(people(), privacy=RiskLimit(0.09, share=0.3), **asked)
    assert some.loss["loss"] < nobody.loss["loss"]
    assert some.verdict.smallest_class < 12 <= nobody.verdict.smallest_class
    assert "for at least 70 % of records" in some.verdict.models[0].promise


def test_a_limit_that_the_table_is_too_small_for_is_refused():
    for of in ("maximum", "average"):
        with pytest.raises(ko.InfeasibleError, match=r"risk limit of 0.09 is impossible.*12 or more"):
            ko.anonymize(people(11), quasi_identifiers=["age", "town"], privacy=RiskLimit(0.09, of))


def test_a_release_that_breaks_a_limit_fails_verification():
    release = ko.anonymize(people(), quasi_identifiers=["age"], others="keep", k=5, algorithm="mondrian")
    spec = {
        "attributes": {"age": {"role": "quasi-identifier"}},
        "privacy": {"risk": {"limit": 0.01}},
        "others": "keep",
    }
    verdict = ko.verify(release.table, spec=spec)
    [found] = verdict.models
    assert (
        not verdict.holds
        and found.failing_classes > 0
        and found.measured == Fraction(1, verdict.smallest_class)
    )


def test_people_are_counted_where_they_have_several_records():
    table = people(400).append_column("who", pa.array([i // 2 for i in range(400)]))
    release = ko.anonymize(
        table,
        quasi_identifiers=["age"],
        person="who",
        others="drop",
        privacy=RiskLimit(0.1),
        algorithm="mondrian",
    )
    [found] = release.verdict.models
    assert release.verdict.people.smallest_class >= 11 and found.promise.startswith(
        "the chance that a person"
    )
    linked = {"quasi_identifiers": ["age"], "person": {"who": "pseudonym"}, "others": "drop"}
    with pytest.raises(ko.UnsupportedError, match="risk-limit as asked is not possible for linked records"):
        ko.anonymize(table, privacy=RiskLimit(0.1, "average"), **linked)
