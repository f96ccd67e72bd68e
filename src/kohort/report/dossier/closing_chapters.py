"""The chapters on utility and on how to reproduce a release."""

from __future__ import annotations

from typing import Any

from kohort.report.dossier.chapters import Chapter
from kohort.report.page import Section, Table
from kohort.report.sections import reproduce_section
from kohort.report.sentences import beside_the_best, number, percent


def utility_chapter(facts: dict[str, Any]) -> Chapter:
    parts = [_loss(facts), _answers(facts["utility"])]
    if facts["analyses"] or facts["means"]:
        parts.append(_analyses(facts))
    return Chapter("utility", "Utility", "computed", [part for part in parts if part is not None])


def _loss(facts: dict[str, Any]) -> Section:
    rows = [[name, number(value)] for name, value in facts["loss"].items()]
    known = beside_the_best(facts) or ". How much less could be lost is not known: there is no lower bound"
    words = [f"The information loss ({facts['cost']}) is {number(facts['loss'].get(facts['cost']))}{known}."]
    table = Table(("measure", "value"), rows, folded="All measures of information loss")
    return Section("loss", "Information loss", words, tables=[table])


def _answers(utility: dict[str, Any]) -> Section | None:
    """What counting, learning and associating still find."""
    names = ("queries", "itemsets", "classification", "association")
    points = [utility[name]["sentence"] for name in names if utility[name] and "sentence" in utility[name]]
    return Section("answers", "What analysts still find", points=points) if points else None


def _analyses(facts: dict[str, Any]) -> Section:
    tables = []
    for model in facts["analyses"]:
        if "coefficients" in model:
            rows = [_coefficient(row) for row in model["coefficients"]]
            head = (model["model"], "original", "release", "overlap of intervals")
            tables.append(Table(head, rows))
    if facts["means"]:
        rows = [
            [m["column"], *(_mean(m[side]) for side in ("before", "after")), percent(m["overlap"])]
            for m in facts["means"]
        ]
        head = ("mean and quartiles", "original", "release", "overlap of intervals of the mean")
        tables.append(Table(head, rows))
    words = [
        "The 95 % intervals of coefficients and means are compared between the original and the release: 100 "
        "% if they are the same, 0 % if they are apart. In large tables intervals are narrow, and even small "
        "changes take them apart."
    ]
    points = [model["sentence"] for model in facts["analyses"]]
    return Section("analyses", "Regressions, means and quartiles", words, points=points, tables=tables)


def _coefficient(row: dict[str, Any]) -> list[Any]:
    return [row["coefficient"], _estimate(row["before"]), _estimate(row["after"]), percent(row["overlap"])]


def _estimate(found: dict[str, Any] | None) -> str:
    if found is None:
        return "cannot be estimated"
    low, high = found["interval"]
    return f"{number(found['value'])} ({number(low)} to {number(high)})"


def _mean(found: dict[str, Any]) -> str:
    low, middle, high = map(number, found["quartiles"])
    return f"{number(found['mean'])}; {low}, {middle}, {high}"


def reproduce_chapter(facts: dict[str, Any]) -> Chapter:
    return Chapter("reproduce", "How to reproduce it", "computed", [reproduce_section(facts)])
