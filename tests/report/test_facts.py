"""The facts of a report against loops over records, and what the public version holds."""

import json
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from by_definition import report as by_definition
from kohort.report.facts import MOST_CHARTS, report_facts
from report.kinds import KINDS, TREE, facts_of, people, release_of


def covers(label, value):
    """By reading the label as a person would."""
    if label == "*" or str(label) == str(value) or TREE.get(value) == label:
        return True
    if label.startswith("["):
        low, high = label[1:-1].split(", ")
        return float(low) <= value and (value <= float(high) if label.endswith("]") else value < float(high))
    return False


def test_columns_by_definition():
    made, facts = release_of("plain"), facts_of("plain")
    original = people().take(pa.array(made.original_rows)).to_pydict()
    published = made.arrow.to_pydict()
    for attribute in facts["attributes"]:
        name = attribute["name"]
        values = sorted(set(original[name]))
        assert attribute["loss"] == pytest.approx(float(by_definition.loss(published[name], covers, values)))
        assert attribute["values"] == len(values)
        assert attribute["published_values"] == len(set(published[name]))
        same = np.mean([str(a) == str(b) for a, b in zip(original[name], published[name])])
        assert attribute["unchanged"] == attribute["steps"]["unchanged"] == pytest.approx(same)
        assert attribute["starred"] == pytest.approx(np.mean([v == "*" for v in published[name]]))
        assert sum(attribute["steps"].values()) == pytest.approx(1)


def test_the_loss_of_columns_makes_up_that_of_the_release():
    facts = facts_of("weighted")
    weighted = sum(a["weight"] * a["loss"] for a in facts["attributes"])
    assert weighted / sum(a["weight"] for a in facts["attributes"]) == pytest.approx(facts["loss"]["loss"])


def test_levels_are_those_of_the_hierarchy():
    made = release_of("plain")
    [animal] = [a for a in facts_of("plain")["attributes"] if a["name"] == "animal"]
    published = made.arrow["animal"].to_pylist()
    level = [2 if v == "*" else 1 if v in TREE.values() else 0 for v in published]
    assert [entry["share"] for entry in animal["levels"]] == pytest.approx(
        [level.count(i) / len(level) for i in range(3)]
    )
    assert [a["levels"] for a in facts_of("tight labels")["attributes"]] == [None] * 3


@pytest.mark.parametrize("kind", ["plain", "tight labels"])
def test_distributions_by_definition(kind):
    made = release_of(kind)
    original = people().take(pa.array(made.original_rows)).to_pydict()
    published = made.arrow.to_pydict()
    found = facts_of(kind)["distributions"]
    for name in ("animal", "sex"):
        values = sorted(set(original[name]))
        read = covers if kind == "plain" else in_set
        after = by_definition.spread(published[name], read, values)
        assert [row["value"] for row in found[name]] == values
        assert [row["before"] for row in found[name]] == [original[name].count(v) for v in values]
        assert [row["after"] for row in found[name]] == pytest.approx([float(after[v]) for v in values])
    after = by_definition.spread(published["age"], covers, sorted(set(original["age"])))
    starts = [float(row["value"]) for row in found["age"]]
    for start, stop, row in zip(starts, [*starts[1:], np.inf], found["age"]):
        assert row["before"] == sum(start <= age < stop for age in original["age"])
        assert row["after"] == pytest.approx(float(sum(n for age, n in after.items() if start <= age < stop)))


def in_set(label, value):
    return label in ("*", value) or (label.startswith("{") and value in label[1:-1].split(", "))


def test_a_distribution_of_many_values_names_the_most_frequent():
    words = [f"word {i % 40}" for i in range(100)]
    made = ko.anonymize(
        pa.table({"word": words}), quasi_identifiers={"word": ko.flat()}, privacy=[ko.KAnonymity(2)]
    )
    rows = report_facts(made)["distributions"]["word"]
    assert len(rows) == 12 and rows[-1]["value"] == "(29 others)"
    assert sum(row["before"] for row in rows) == sum(row["after"] for row in rows) == 100
    assert min(row["before"] for row in rows[:-1]) == 3


def test_dates_and_missing_values_have_a_place():
    days = [date(2020, 1, 1) + timedelta(days=7 * i) for i in range(40)]
    table = pa.table({"day": pa.array([*days, None, None], pa.date32())})
    made = ko.anonymize(table, quasi_identifiers=["day"], privacy=[ko.KAnonymity(2)], algorithm="mondrian")
    rows = report_facts(made)["distributions"]["day"]
    assert rows[-1] == {"value": "(missing)", "before": 2.0, "after": 2.0}
    assert rows[0]["value"][:4] in ("2019", "2020")
    assert sum(row["before"] for row in rows) == 42


@pytest.mark.parametrize(
    "kind", ["plain", "everything starred", "some withheld", "some left out", "shuffled"]
)
def test_classes_and_guesses_by_definition(kind):
    made, facts = release_of(kind), facts_of(kind)
    published = made.arrow.to_pydict()
    names = facts["quasi_identifiers"]
    classes = by_definition.classes_of(published, names)
    if facts["suppressed"]:
        classes.pop(("*",) * len(names), None)
    sizes = sorted(map(len, classes.values()))
    found = facts["class_sizes"]
    assert (found["smallest"], found["largest"]) == (sizes[0], sizes[-1])
    assert found["median"] == np.median(sizes) and found["average"] == pytest.approx(np.mean(sizes))
    assert sum(b["records"] for b in found["bins"]) == sum(sizes)
    assert sum(b["classes"] for b in found["bins"]) == len(sizes) == facts["classes"]
    for entry in found["bins"]:
        low, _, high = entry["size"].partition("–")
        inside = [size for size in sizes if int(low) <= size <= int(high or low)]
        assert (entry["classes"], entry["records"]) == (len(inside), sum(inside))
    [guess] = facts["guesses"]
    by_class = by_definition.guesses(classes, published[guess["name"]])
    assert guess["highest"] == float(max(share for share, _ in by_class.values()))
    assert guess["fewest_values"] == min(different for _, different in by_class.values())
    certain = [key for key, (share, _) in by_class.items() if share == 1]
    assert guess["certain_records"] == sum(len(classes[key]) for key in certain)
    assert guess["average"] == pytest.approx(
        float(sum(share * len(classes[key]) for key, (share, _) in by_class.items()) / sum(sizes))
    )
    assert sum(b["share"] for b in guess["bins"]) == pytest.approx(1)


def test_the_riskiest_classes_come_first():
    made = release_of("plain")
    found = facts_of("plain")["riskiest"]
    published = made.arrow.to_pydict()
    classes = by_definition.classes_of(published, found["columns"])
    by_class = by_definition.guesses(classes, published["illness"])
    risk = {key: max(share, 1 / len(classes[key])) for key, (share, _) in by_class.items()}
    assert found["of"] == len(classes)
    shown = [tuple(entry["values"]) for entry in found["classes"]]
    assert [risk[key] for key in shown] == sorted(risk.values(), reverse=True)[: len(shown)]
    for entry in found["classes"]:
        assert entry["records"] == len(classes[tuple(entry["values"])])
        assert entry["chance"] == 1 / entry["records"]


def test_many_columns_are_drawn_in_part():
    facts = facts_of("many columns")
    assert len(facts["attributes"]) == 100 and len(facts["distributions"]) == MOST_CHARTS
    drawn = [a["loss"] for a in facts["attributes"] if a["name"] in facts["distributions"]]
    assert min(drawn) >= sorted((a["loss"] for a in facts["attributes"]), reverse=True)[MOST_CHARTS - 1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", ["internal", "public"])
def test_facts_are_plain_data_with_the_figures_of_the_certificate(kind, version):
    made, facts = release_of(kind), facts_of(kind, version)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    certificate = made.facts(version=version)
    for key in ("records", "classes", "smallest_class", "loss", "gap", "bound", "holds", "algorithm"):
        assert facts[key] == certificate[key]
    for ours, theirs in zip(facts["models"], certificate["models"]):
        assert (ours["asked"], ours["measured"]) == (theirs["asked"], theirs["measured"])


def test_the_public_version_is_made_of_the_internal_one():
    made = release_of("plain")
    assert report_facts(made, version="public") == facts_of("plain", "public")
    for name in ("distributions", "riskiest", "making", "roles", "items", "seconds"):
        assert name in facts_of("plain") and name not in facts_of("plain", "public")


def test_an_unknown_version_is_refused():
    with pytest.raises(ko.InputError, match="internal or public"):
        report_facts(release_of("plain"), version="secret")


def test_in_public_a_small_number_of_withheld_records_is_not_told():
    assert facts_of("some withheld")["suppressed"] == 1
    assert facts_of("some withheld", "public")["suppressed"] is None
