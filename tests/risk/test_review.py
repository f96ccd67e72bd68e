"""Recipients and the review of a release: risk by what they may know, dates, and a population."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from by_definition.knowledge import people_alike
from by_definition.risk import covers
from kohort.algorithms import Run
from kohort.job.sides import classes_of
from kohort.problem.promises import RiskLimit
from kohort.risk.assess import attributes_of_both, people_fitting
from kohort.risk.review import due_date, recipient_risks, review_release
from kohort.statement.approval import QUESTIONS, Recipient
from kohort.statement.from_yaml import from_yaml as parse_spec
from kohort.tables.memory import MemoryTable

SPEC = {
    "attributes": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}},
        "sex": {"role": "quasi-identifier"},
        "ill": {"role": "sensitive"},
    },
    "privacy": {"risk": {"limit": 0.09}},
    "recipients": [
        {"name": "University", "knows": ["age"], "controls": ["contract"], "review": "2027-06-30"},
        {"name": "Everybody"},
    ],
    "context": {"purpose": "research"},
    "algorithm": "mondrian",
}


def people(n=300, seed=1):
    rng = np.random.default_rng(seed)
    columns = {"age": rng.integers(20, 60, n), "sex": rng.choice(["f", "m"], n)}
    return pa.table({**columns, "ill": rng.choice(["flu", "cold", "cough"], n)})


@pytest.fixture(scope="module")
def release():
    return ko.anonymize(people(), spec=SPEC)


def test_the_risk_of_a_recipient_follows_from_what_they_know(release):
    request = release.request
    found = recipient_risks(release.sides, request.recipients, [RiskLimit(0.09), RiskLimit(0.001)])
    rows = [tuple(map(str, row.values())) for row in people().to_pylist()]
    shown = [tuple(row.values()) for row in release.table.to_pylist()]
    for facts, chosen in zip(found, [(0,), (0, 1)]):
        for side, of in (("before", rows), ("after", shown)):
            sizes = people_alike(of, chosen)
            assert facts[side]["maximum"] == pytest.approx(1 / min(sizes))
            assert facts[side]["average"] == pytest.approx(np.mean([1 / size for size in sizes]))
        assert [entry["holds"] for entry in facts["limits"]] == [True, False]
    assert found[0]["review"] == "2027-06-30" and "1 control stated" in found[0]["sentence"]


def test_people_are_counted_for_recipients_too():
    table = people().append_column("who", pa.array([i // 2 for i in range(300)]))
    release = ko.anonymize(table, quasi_identifiers=["age", "sex"], person="who", others="drop", k=3,
                           recipients=[{"name": "all"}], algorithm="mondrian")  # fmt: skip
    [facts] = recipient_risks(release.sides, release.request.recipients, [])
    shown = [tuple(row.values()) for row in release.table.to_pylist()]
    whose = [int(row) // 2 for row in release.original_rows]
    assert facts["after"]["smallest_class"] == min(people_alike(shown, (0, 1), whose))
    sizes = [len({who for row, who in zip(shown, whose) if row == labels}) for labels in set(shown)]
    assert facts["after"]["average"] == pytest.approx(len(sizes) / sum(sizes))


@pytest.mark.parametrize(
    ("on", "holds", "words"),
    [
        ("2027-06-29", True, "in 1 day."),
        ("2027-06-30", True, "in 0 days."),
        ("2027-07-01", False, "was due on 2027-06-30, 1 day ago"),
    ],
)
def test_a_date_of_review_that_has_passed_is_a_finding(on, holds, words):
    found = due_date(Recipient("Office", review=date(2027, 6, 30)), date.fromisoformat(on))
    assert found.holds is holds and words in found.detail
    assert due_date(Recipient("Office"), date(2027, 1, 1)).holds is None


def reviewed(release, population=None, original=None, on=date(2027, 1, 1), **changes):
    request = parse_spec(SPEC | changes)
    verdict = ko.verify(release.table, spec=SPEC | changes)
    table = None if population is None else MemoryTable(population)
    found = review_release(
        MemoryTable(release.table), request, verdict, on=on, population=table, original=original
    )
    return {check.name: check for check in found}


def test_a_release_that_stands(release):
    bigger = pa.concat_tables([people(), people(2000, seed=2)])
    found = reviewed(release, bigger)
    assert all(check.holds is not False for check in found.values())
    assert found["review for Everybody"].holds is None and found["population"].holds
    assert found["risk for University"].holds and found["risk in the population"].holds


def test_people_of_the_population_are_counted_as_by_definition(release):
    population = people(150, seed=5)
    published, request = MemoryTable(release.table), release.request
    labels = [published.column(name) for name in ("age", "sex")]
    classes = classes_of([column.codes for column in labels], published.n_records)
    attributes = attributes_of_both(release.dataset, MemoryTable(population), request)
    counts = people_fitting(labels, classes, attributes, release.dataset.n_records, Run())
    for codes, count in zip(classes.codes, counts):
        texts = [column.texts[code] for column, code in zip(labels, codes)]
        assert count == sum(
            all(covers(t, str(person[a.name]), a) for t, a in zip(texts, release.problem.attributes))
            for person in population.to_pylist()
        )


def test_a_population_that_does_not_contain_the_sample_is_a_finding(release):
    found = reviewed(release, people(60, seed=3), release.dataset)
    assert found["population"].holds is False
    assert "does not contain the sample" in found["population"].detail


def test_records_are_not_taken_for_people(release):
    attributes = SPEC["attributes"] | {"who": {"role": "person"}}
    table = people().append_column("who", pa.array([i // 2 for i in range(300)]))
    asked = {"attributes": attributes, "privacy": {"risk": {"limit": 0.2}}}
    made = ko.anonymize(table, spec=SPEC | asked)
    found = reviewed(made, people(), **asked)
    assert (
        found["risk for University"].holds is None
        and "cannot be counted" in found["risk for University"].detail
    )
    assert found["population"].holds and "every class fits one of them" in found["population"].detail


def test_limits_that_do_not_hold_any_more(release):
    found = reviewed(release, privacy={"risk": {"limit": 0.01}})
    assert found["promises"].holds is False and found["risk for Everybody"].holds is False
    assert reviewed(release, recipients=[])["recipients"].holds is None


def test_a_population_needs_the_quasi_identifiers(release):
    with pytest.raises(ko.InputError, match="no column 'sex'"):
        reviewed(release, people().select(["age"]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recipients": [{"knows": ["age"]}]}, "no name"),
        ({"recipients": [{"name": " "}]}, "no name"),
        ({"recipients": [{"name": "x", "review": "soon"}]}, "must be a date"),
        ({"recipients": [{"name": "x", "knows": ["ag"]}]}, "Did you mean 'age'"),
        ({"recipients": [{"name": "x", "knows": "age"}]}, "list"),
        ({"recipients": [{"name": "x"}, {"name": "x"}]}, "same name"),
        ({"recipients": [{"name": "x", "control": []}]}, "Did you mean 'controls'"),
        ({"context": {"purpos": "x"}}, "Did you mean 'purpose'"),
        ({"context": {"purpose": ""}}, "must be text"),
        ({"utility": {"model": []}}, "unknown key"),
        ({"privacy": {"risk": {"limit": 0}}}, "above 0"),
    ],
)
def test_what_cannot_be_said_is_refused(changes, message):
    with pytest.raises(ko.InputError, match=message):
        parse_spec(SPEC | changes)


def test_python_takes_the_same():
    release = ko.anonymize(
        people(),
        quasi_identifiers=["age", "sex"],
        sensitive=["ill"],
        k=5,
        algorithm="mondrian",
        recipients=SPEC["recipients"],
        context={"purpose": "research"},
        utility={"models": ["age ~ sex"], "labels": "spread"},
    )
    assert [r.name for r in release.request.recipients] == ["University", "Everybody"]
    assert release.request.utility.labels == "spread" and set(release.request.context) <= set(QUESTIONS)
    for wrong in ({"recipients": "me"}, {"recipients": [{"nam": "x"}]}, {"utility": {"labels": "mean"}}):
        with pytest.raises(ko.InputError):
            ko.anonymize(people(), quasi_identifiers=["age", "sex"], sensitive=["ill"], k=5, **wrong)
